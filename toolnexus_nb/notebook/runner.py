"""Whether a command of this cell is awaited or waited for. It only chooses; `tools/background.py` does the waiting.

* **Awaited.** The transformer (`transformers.py`) has put `await` before the magic's call, because a loop runs in this
  thread and the cell is the outermost one. The command is a coroutine of the cell: the kernel's loop stays free, so a
  click on Allow is served while the cell runs (1 ms on ipykernel 7.4), and a 25 Hz tick lets Stop through at once
  (ipykernel#881). The rounds themselves run on the background loop; `Chat.ask` hops there.
* **Blocking.** Everywhere else: a terminal, under `%%time` and `%%capture`, in a function, in a script. The coroutine
  runs on the background loop and this thread waits, so that Stop and Ctrl-C get through.

Stop, either way: the cell's task is cancelled (or KeyboardInterrupt arrives), the work is cancelled and gets a
bounded time to clean up, and `RunStopped` is raised, or `CellStopped` where no run was going: KeyboardInterrupts that
show as one line, so that Run All ends there as well.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from ..tools.background import block, ticking

T = TypeVar("T")

_awaited: ContextVar[bool] = ContextVar("toolnexus_cell_is_awaited", default=False)


@contextmanager
def cell_awaits() -> Iterator[None]:
    """While entered, `run` gives a coroutine, since the cell has `await` before the call."""
    token = _awaited.set(True)
    try:
        yield
    finally:
        _awaited.reset(token)


def can_await() -> bool:
    """Whether a cell that is transformed now can be awaited: a loop runs here, on the main thread."""
    if threading.current_thread() is not threading.main_thread():
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class CellStopped(KeyboardInterrupt):
    """Stop was pressed while a command worked that was no run: one line instead of a traceback."""

    def _render_traceback_(self) -> list[str]:
        return ["Stopped."]


def run(make: Callable[[], Awaitable[T]]) -> Any:
    """`make()` for the running cell: a coroutine where the cell awaits it, else its value.

    Raises RunStopped (a run was stopped) or CellStopped (something else was); both are KeyboardInterrupts of one line.
    """
    if _awaited.get():
        return _in_awaited_cell(make)
    return _in_blocked_cell(make)


async def _in_awaited_cell(make: Callable[[], Awaitable[T]]) -> T:
    try:
        return await ticking(make())
    except (asyncio.CancelledError, KeyboardInterrupt) as stop:
        raise _one_line(stop) from None


def _in_blocked_cell(make: Callable[[], Awaitable[T]]) -> T:
    ends: list[asyncio.CancelledError] = []

    async def work() -> T:
        try:
            return await make()
        except asyncio.CancelledError as end:
            ends.append(end)  # what a cancelled run had come to is on the work's exception, not on the waiter's
            raise

    try:
        return block(work)
    except KeyboardInterrupt as stop:
        raise _one_line(*ends, stop) from None


def _one_line(*stops: BaseException) -> KeyboardInterrupt:
    """The one-line exception for a stop: RunStopped where one of these carries the result of a run."""
    from ..rounds.result import RunStopped

    for stop in stops:
        if isinstance(stop, RunStopped):
            return stop
        result = getattr(stop, "result", None)
        if result is not None:
            return RunStopped(result, getattr(stop, "left_running", ()))
    return CellStopped()

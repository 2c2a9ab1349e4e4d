"""Our own daemon threads for plain functions; background.py says why and how they are used."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import os
import queue
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar, cast

T = TypeVar("T")

HAS_THREADS: bool = sys.platform not in ("emscripten", "wasi")
_IDLE = 60.0
"""Seconds an unused thread is kept."""


def call_on(loop: asyncio.AbstractEventLoop, callback: Callable[[], object]) -> None:
    """Schedule on another thread's loop; nothing to do if that loop was closed meanwhile."""
    try:
        loop.call_soon_threadsafe(callback)
    except RuntimeError:
        if not loop.is_closed():
            raise


class _Call:
    """One function call in a thread, and the loop that waits for it."""

    def __init__(self, function: Callable[[], Any], label: str) -> None:
        self.function = function
        self.label = label
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()
        self.context = contextvars.copy_context()
        self.finished = False

    def run(self) -> Callable[[], None]:
        """Call the function; the returned function hands the outcome to the waiter."""
        value: Any = None
        error: BaseException | None = None
        try:
            value = self.context.run(self.function)
        except (StopIteration, GeneratorExit) as end:  # a future refuses the one, the other ends who awaits it
            error = RuntimeError(f"{type(end).__name__}: {end}".removesuffix(": "))
            error.__cause__ = end
        except BaseException as raised:
            error = raised
        self.finished = True
        _left.pop(self, None)
        return lambda: call_on(self.loop, lambda: self._settle(value, error))

    def _settle(self, value: Any, error: BaseException | None) -> None:
        if self.future.done():
            return
        if error is None:
            self.future.set_result(value)
        else:
            self.future.set_exception(error)


class _Threads:
    """Daemon threads that are reused; as many as there are calls at one time."""

    def __init__(self) -> None:
        self._idle: deque[queue.SimpleQueue[_Call]] = deque()

    def start(self, call: _Call) -> None:
        try:
            self._idle.pop().put(call)
        except IndexError:
            inbox: queue.SimpleQueue[_Call] = queue.SimpleQueue()
            inbox.put(call)
            threading.Thread(target=self._work, args=(inbox,), name="toolnexus-tool", daemon=True).start()

    def _work(self, inbox: queue.SimpleQueue[_Call]) -> None:
        while True:
            try:
                call = inbox.get(timeout=_IDLE)
            except queue.Empty:
                try:
                    self._idle.remove(inbox)
                except ValueError:
                    continue  # a call is on its way to this thread
                return
            deliver = call.run()
            self._idle.append(inbox)  # before the outcome is known: whoever waits for it may call again at once
            deliver()
            del call, deliver  # arguments and result must not live until the next call


_threads = _Threads()
_left: dict[_Call, float] = {}


async def in_thread(fn: Callable[..., T], /, *args: Any, label: str = "") -> T:
    """Call a plain function in a daemon thread of ours, with the caller's contextvars, and await its result.

    When the awaiting task is cancelled the thread cannot be stopped: it is left, and `left_running()` names it by
    `label` until it ends. Without threads the function is called at hand.
    """
    if not HAS_THREADS:
        return fn(*args)
    call = _Call(functools.partial(fn, *args), label or getattr(fn, "__name__", "") or repr(fn))
    _threads.start(call)
    try:
        return cast(T, await call.future)
    except asyncio.CancelledError:
        if not call.finished:
            _left[call] = time.monotonic()
            if call.finished:  # it ended between the two lines
                _left.pop(call, None)
        raise


def left_running() -> list[str]:
    """Labels of the functions that still run in threads although nobody waits for them, oldest first."""
    return [call.label for call in list(_left)]


def _forget_parent() -> None:
    """After fork only the forking thread lives on."""
    global _threads
    _threads = _Threads()
    _left.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parent)

"""The one background loop, our own threads, the main thread's queue, and the maker of `x_sync` twins.

Who runs what, who waits where, and who may cancel whom:

* **One loop in one daemon thread** (`background_loop`). HTTP pools, MCP sessions, rounds and async tools live there,
  so a session opened in one cell is used from the next, from any loop and from none. It starts on first use; after
  `fork` the child starts its own. Where there are no threads (Pyodide) everything runs on the loop at hand.
* **Awaiting callers** use `hop(make)`: the work runs on the background loop in the caller's contextvars, the caller's
  loop stays free (buttons, comms), and a 25 Hz tick wakes it, since ipykernel notices Stop only when the loop wakes
  (ipykernel#881; 19.5 s measured without the tick, 0.08 s with it).
* **Callers that cannot await** use `block(make)`: it waits in short steps, so Ctrl-C and Stop get through. It works
  under a running loop (that loop stands still meanwhile) and refuses on the background loop itself, where it could
  only hang.
* **Cancelling the waiter cancels the work**, then waits at most `GRACE` seconds for its clean-up. Whatever the work
  does in that time, the waiter is cancelled: `hop` raises CancelledError and `block` KeyboardInterrupt. If the work
  ended with a CancelledError or KeyboardInterrupt of its own (a subclass that carries a partial result), that very
  one is raised; any other exception of the work becomes the `__cause__`. Ending the work never ends the loop.
* **Plain functions** run through `in_thread(fn)`: daemon threads of ours, reused, in the caller's contextvars (daemon,
  because `asyncio.to_thread` keeps the interpreter alive after an abandoned call). No thread can be stopped from
  outside: when its waiter is cancelled it is left, named by `left_running()` until it ends, and its result is
  dropped.
* **The main thread** runs what is bound to it through `on_main_thread(fn)`: a queue that `hop` and `block` empty
  while they wait on the main thread. If nobody waits there, the caller gets an error at once instead of hanging.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import functools
import inspect
import os
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Generic, NoReturn, ParamSpec, TypeVar, cast

from . import threads
from .main_thread import BlockPump, LoopPump, main_thread_open, on_main_thread, pumping
from .threads import HAS_THREADS, call_on, in_thread, left_running

__all__ = [
    "GRACE",
    "HAS_THREADS",
    "TICK",
    "background_loop",
    "block",
    "hop",
    "in_thread",
    "left_running",
    "main_thread_open",
    "on_background_loop",
    "on_main_thread",
    "submit",
    "sync_twin",
    "ticking",
]

T = TypeVar("T")
P = ParamSpec("P")

TICK = 0.04
"""Seconds between two wake-ups of a loop that waits: 25 Hz."""
GRACE = 0.25
"""Seconds a cancelled piece of work gets for its clean-up before its waiter goes on without it."""


class _Background:
    """The loop and its thread; one per process."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._serve, name="toolnexus-loop", daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        while not self.loop.is_closed():
            try:
                self.loop.run_forever()
            except BaseException as error:
                # asyncio lets KeyboardInterrupt and SystemExit of a task out of run_forever. They have been given to
                # the task's waiter already; the sessions and pools of everybody else must go on.
                if not isinstance(error, KeyboardInterrupt | SystemExit):
                    self.loop.call_exception_handler({"message": "the background loop failed", "exception": error})


_background: _Background | None = None
_start_lock = threading.Lock()


def background_loop() -> asyncio.AbstractEventLoop:
    """The loop that lives in a thread of ours, started on first use.

    Raises RuntimeError where there are no threads (Pyodide): there, await on the loop at hand.
    """
    global _background
    if not threads.HAS_THREADS:
        raise RuntimeError("this Python has no threads, so there is no background loop: await on the running loop")
    with _start_lock:
        if _background is None or not _background.thread.is_alive():
            _background = _Background()
        return _background.loop


def on_background_loop() -> bool:
    """Whether the calling thread is the background loop's own."""
    return _background is not None and threading.current_thread() is _background.thread


def submit(coro: Coroutine[Any, Any, T], context: contextvars.Context | None = None) -> concurrent.futures.Future[T]:
    """Run a coroutine on the background loop without waiting, in `context` (default: the caller's contextvars)."""
    run = context.run if context is not None else contextvars.copy_context().run
    return run(asyncio.run_coroutine_threadsafe, coro, background_loop())


class _Job(Generic[T]):
    """One piece of work on the background loop, watched from another thread.

    Unlike a concurrent future it is done only when the work has really ended, so that its clean-up can be waited for.
    """

    def __init__(self, make: Callable[[], Awaitable[T]], on_done: Callable[[], None]) -> None:
        self._make = make
        self._on_done = on_done
        self._task: asyncio.Task[None] | None = None
        self._cancel_asked = False
        self._loop = background_loop()
        self.done = False
        self.error: BaseException | None = None
        self.value: T | None = None

    def start(self) -> None:
        self._loop.call_soon_threadsafe(self._start)  # carries the caller's contextvars along

    def _start(self) -> None:
        self._task = self._loop.create_task(self._run())
        if self._cancel_asked:
            self._task.cancel()

    async def _run(self) -> None:
        # Everything is caught and handed to the waiter: a KeyboardInterrupt must not travel through the loop.
        try:
            self.value = await self._make()
        except BaseException as error:
            self.error = error
        finally:
            self.done = True
            self._on_done()

    def cancel(self) -> None:
        """Ask the work to end; from any thread, at most once."""
        if not self._cancel_asked:
            self._cancel_asked = True
            self._loop.call_soon_threadsafe(self._cancel_task)

    def _cancel_task(self) -> None:
        if self._task is not None:
            self._task.cancel()
            if not self.done and self._task.done():  # cancelled before its first step: _run never began
                self._never_ran()
            self._task.add_done_callback(lambda _: None if self.done else self._never_ran())

    def _never_ran(self) -> None:
        self.error = asyncio.CancelledError()
        self.done = True
        self._on_done()

    def result(self) -> T:
        """The value, or the error raised as it was."""
        if self.error is not None:
            raise self.error
        return cast(T, self.value)

    def raise_stopped(self, stop: BaseException) -> NoReturn:
        """What a stopped waiter raises: the work's own KeyboardInterrupt or CancelledError subclass, else `stop`."""
        error = self.error
        if isinstance(error, KeyboardInterrupt) or (
            isinstance(error, asyncio.CancelledError) and type(error) is not asyncio.CancelledError
        ):
            raise error from None
        raise stop from (None if isinstance(error, asyncio.CancelledError) else error)


class _Ticker:
    """Wakes the running loop 25 times a second while it is entered."""

    def __enter__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._handle = self._loop.call_later(TICK, self._again)

    def _again(self) -> None:
        self._handle = self._loop.call_later(TICK, self._again)

    def __exit__(self, *error: object) -> None:
        self._handle.cancel()


async def ticking(awaitable: Awaitable[T]) -> T:
    """Await at hand, waking the loop 25 times a second, so that Stop is noticed at once."""
    with _Ticker():
        return await awaitable


async def hop(make: Callable[[], Awaitable[T]]) -> T:
    """Run `make()` on the background loop and wait for it from whatever loop runs here.

    Ticks and empties the main thread's queue while it waits. Cancelling the caller cancels the work and waits up to
    `GRACE` for its clean-up. On the background loop itself, and without threads, the work is awaited at hand.
    """
    if not threads.HAS_THREADS or on_background_loop():
        return await make()
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def settle() -> None:
        if not ended.done():
            ended.set_result(None)

    job = _Job(make, lambda: call_on(loop, settle))
    with _Ticker(), pumping(LoopPump(loop)):
        try:
            job.start()
            await asyncio.shield(ended)
        except asyncio.CancelledError as stop:
            job.cancel()
            await asyncio.wait([ended], timeout=GRACE)
            job.raise_stopped(stop)
    return job.result()


def block(make: Callable[[], Awaitable[T]]) -> T:
    """Run `make()` on the background loop and wait for it without awaiting.

    Works in a script, in a cell and under a running loop. KeyboardInterrupt (Stop, Ctrl-C) cancels the work, waits up
    to `GRACE` for its clean-up and is raised again. Raises RuntimeError on the background loop's own thread (use
    `await`).
    """
    if not threads.HAS_THREADS:
        return _block_in_pyodide(make)
    if on_background_loop():
        raise RuntimeError(
            "a blocking call (an x_sync function) was made on toolnexus_nb's own loop, where it could only wait for "
            "itself: use the awaitable form here, or call it from a plain (non-async) tool"
        )
    wake = threading.Event()
    job = _Job(make, wake.set)
    pump = BlockPump(wake)
    with pumping(pump):
        try:
            job.start()
            while not job.done:
                wake.wait(0.1)
                wake.clear()
                pump.run_waiting()
        except KeyboardInterrupt as stop:
            job.cancel()
            _wait_bounded(job, wake)
            job.raise_stopped(stop)
    return job.result()


def _wait_bounded(job: _Job[Any], wake: threading.Event) -> None:
    end = time.monotonic() + GRACE
    try:
        while not job.done and (left := end - time.monotonic()) > 0:
            wake.wait(min(left, 0.05))
            wake.clear()
    except KeyboardInterrupt:
        return  # a second Stop: go now


def _block_in_pyodide(make: Callable[[], Awaitable[T]]) -> T:
    from pyodide.ffi import can_run_sync, run_sync

    if not can_run_sync():
        raise RuntimeError("this browser cannot wait in the middle of Python code (no JSPI): use the awaitable form")
    return cast(T, run_sync(make()))


def sync_twin(function: Callable[P, Awaitable[T]]) -> Callable[P, T]:
    """The blocking twin of a coroutine function or method: `ask_sync = sync_twin(ask)`.

    It keeps the signature and the docstring. Works in a script, in a cell and under a running loop (see `block`).
    """

    @functools.wraps(function)
    def twin(*args: P.args, **kwargs: P.kwargs) -> T:
        return block(lambda: function(*args, **kwargs))

    name = getattr(function, "__name__", "call")
    twin.__name__ = f"{name}_sync"
    twin.__qualname__ = f"{getattr(function, '__qualname__', name)}_sync"
    twin.__doc__ = f"{inspect.getdoc(function) or ''}\n\nBlocking form of `{name}`.".strip()
    return twin


def _forget_parent() -> None:
    """After fork only the forking thread lives on: its child starts a loop of its own."""
    global _background, _start_lock
    _background, _start_lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parent)

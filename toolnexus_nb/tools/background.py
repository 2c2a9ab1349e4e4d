"""The one background loop, our own threads, the main thread's queue, and the maker of `x_sync` twins.

Who runs what, who waits where, and who may cancel whom:

* **One loop in one daemon thread** (`background_loop`). HTTP pools, MCP sessions, rounds and async tools live there, so a
  session opened in one cell is used from the next, from any loop and from none. It starts on first use; after `fork` the
  child starts its own. Where there are no threads (Pyodide) everything runs on the loop at hand.
* **Awaiting callers** use `hop(make)`: the work runs on the background loop in the caller's contextvars, the caller's loop
  stays free (buttons, comms), and a 25 Hz tick wakes it, since ipykernel notices Stop only when the loop wakes
  (ipykernel#881; 19.5 s measured without the tick, 0.08 s with it).
* **Callers that cannot await** use `block(make)`: it waits in short steps, so Ctrl-C and Stop get through. It works under a
  running loop (that loop stands still meanwhile) and refuses on the background loop itself, where it could only hang.
* **Cancelling the waiter cancels the work**, then waits at most `GRACE` seconds for its clean-up. Whatever the work does in
  that time, the waiter is cancelled: `hop` raises CancelledError and `block` KeyboardInterrupt. If the work ended with a
  CancelledError or KeyboardInterrupt of its own (a subclass that carries a partial result), that very one is raised;
  any other exception of the work becomes the `__cause__`. Ending the work never ends the loop.
* **Plain functions** run through `in_thread(fn)`: daemon threads of ours, reused, in the caller's contextvars (daemon,
  because `asyncio.to_thread` keeps the interpreter alive after an abandoned call). No thread can be stopped from outside:
  when its waiter is cancelled it is left, named by `left_running()` until it ends, and its result is dropped.
* **The main thread** runs what is bound to it through `on_main_thread(fn)`: a queue that `hop` and `block` empty while they
  wait on the main thread. If nobody waits there, the caller gets an error at once instead of hanging.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import functools
import inspect
import os
import queue
import sys
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Generic, NoReturn, ParamSpec, TypeVar, cast

T = TypeVar("T")
P = ParamSpec("P")

HAS_THREADS: bool = sys.platform not in ("emscripten", "wasi")
TICK = 0.04
"""Seconds between two wake-ups of a loop that waits: 25 Hz."""
GRACE = 0.25
"""Seconds a cancelled piece of work gets for its clean-up before its waiter goes on without it."""
_IDLE = 60.0
"""Seconds an unused thread is kept."""


# --- the loop ---------------------------------------------------------------------------------------------------------


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
                # asyncio lets KeyboardInterrupt and SystemExit of a task out of run_forever. They have been given to the
                # task's waiter already; the sessions and pools of everybody else must go on.
                if not isinstance(error, KeyboardInterrupt | SystemExit):
                    self.loop.call_exception_handler({"message": "the background loop failed", "exception": error})


_background: _Background | None = None
_start_lock = threading.Lock()


def background_loop() -> asyncio.AbstractEventLoop:
    """The loop that lives in a thread of ours, started on first use.

    Raises RuntimeError where there are no threads (Pyodide): there, await on the loop at hand.
    """
    global _background
    if not HAS_THREADS:
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
    if not HAS_THREADS or on_background_loop():
        return await make()
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def settle() -> None:
        if not ended.done():
            ended.set_result(None)

    job = _Job(make, lambda: _call_on(loop, settle))
    with _Ticker(), _pumping(_LoopPump(loop)):
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

    Works in a script, in a cell and under a running loop. KeyboardInterrupt (Stop, Ctrl-C) cancels the work, waits up to
    `GRACE` for its clean-up and is raised again. Raises RuntimeError on the background loop's own thread (use `await`).
    """
    if not HAS_THREADS:
        return _block_in_pyodide(make)
    if on_background_loop():
        raise RuntimeError(
            "a blocking call (an x_sync function) was made on toolnexus_nb's own loop, where it could only wait for "
            "itself: use the awaitable form here, or call it from a plain (non-async) tool"
        )
    wake = threading.Event()
    job = _Job(make, wake.set)
    pump = _BlockPump(wake)
    with _pumping(pump):
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
    from pyodide.ffi import can_run_sync, run_sync  # type: ignore[import-not-found]

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


def _call_on(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
    """Schedule on another thread's loop; nothing to do if that loop was closed meanwhile."""
    try:
        loop.call_soon_threadsafe(callback)
    except RuntimeError:
        if not loop.is_closed():
            raise


# --- threads of our own -----------------------------------------------------------------------------------------------


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
        except StopIteration as stop:  # a future refuses it: it would end the generator that awaits
            error = RuntimeError(f"StopIteration: {stop.value!r}")
            error.__cause__ = stop
        except BaseException as raised:
            error = raised
        self.finished = True
        _left.pop(self, None)
        return lambda: _call_on(self.loop, lambda: self._settle(value, error))

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

    When the awaiting task is cancelled the thread cannot be stopped: it is left, and `left_running()` names it by `label`
    until it ends. Without threads the function is called at hand.
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


# --- the main thread's queue ------------------------------------------------------------------------------------------


class _Item:
    """A function on its way to the main thread."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function
        self.context = contextvars.copy_context()
        self.future: concurrent.futures.Future[Any] = concurrent.futures.Future()

    def run(self) -> Any:
        """Call the function; the value goes to the future unless it is awaitable, which the pump must drive."""
        if not self.future.set_running_or_notify_cancel():
            return None
        try:
            value = self.context.run(self.function)
        except BaseException as error:
            self.future.set_exception(error)
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise  # Stop was pressed while it ran: the pumping caller must hear of it too
            return None
        if inspect.isawaitable(value):
            return value
        self.future.set_result(value)
        return None

    def refuse(self, reason: str) -> None:
        if self.future.set_running_or_notify_cancel():
            self.future.set_exception(RuntimeError(reason))


_NOBODY = (
    "this must run on the main thread, but nothing there is waiting for it: await the call in a cell, "
    "or use its x_sync form on the main thread"
)


class _LoopPump:
    """A caller that awaits on the main thread: items run as callbacks of its loop, awaitables as its tasks."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._tasks: set[asyncio.Future[None]] = set()

    def post(self, item: _Item) -> None:
        _call_on(self._loop, lambda: self._run(item))

    def _run(self, item: _Item) -> None:
        awaitable = item.run()
        if awaitable is not None:
            task = item.context.run(asyncio.ensure_future, _drive(awaitable, item), loop=self._loop)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def run_waiting(self) -> None:
        """Nothing to do: the loop runs what was posted."""

    def close(self) -> list[_Item]:
        """Nothing is kept here: posted callbacks run on the loop even after its waiter is gone."""
        return []


class _BlockPump:
    """A caller that blocks the main thread: it is woken and runs the items between two waits."""

    def __init__(self, wake: threading.Event) -> None:
        self._wake = wake
        self._items: deque[_Item] = deque()

    def post(self, item: _Item) -> None:
        self._items.append(item)
        self._wake.set()

    def run_waiting(self) -> None:
        while self._items:
            item = self._items.popleft()
            awaitable = item.run()
            if awaitable is not None:
                self._run_awaitable(awaitable, item)

    def _run_awaitable(self, awaitable: Awaitable[Any], item: _Item) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            item.context.run(asyncio.run, _drive(awaitable, item))
            return
        if getattr(loop, "_nest_patched", False):  # the user asked for nest_asyncio, which makes this possible
            item.context.run(loop.run_until_complete, _drive(awaitable, item))
            return
        if inspect.iscoroutine(awaitable):
            awaitable.close()
        item.future.set_exception(
            RuntimeError(
                "an async tool of the main thread cannot run while the cell blocks its loop: await the call instead "
                "of using its x_sync form (or run `%toolnexus nest` first)"
            )
        )

    def close(self) -> list[_Item]:
        """What was posted too late to be run here."""
        left = list(self._items)
        self._items.clear()
        return left


async def _drive(awaitable: Awaitable[Any], item: _Item) -> None:
    try:
        item.future.set_result(await awaitable)
    except BaseException as error:
        item.future.set_exception(error)
        if isinstance(error, asyncio.CancelledError | KeyboardInterrupt | SystemExit):
            raise


_pumps: list[_LoopPump | _BlockPump] = []
_pumps_lock = threading.Lock()


@contextmanager
def _pumping(pump: _LoopPump | _BlockPump) -> Iterator[None]:
    """Offer the main thread to `on_main_thread` while entered; on any other thread it offers nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with _pumps_lock:
        _pumps.append(pump)
    try:
        yield
    finally:
        with _pumps_lock:
            _pumps.remove(pump)
            for item in pump.close():
                if _pumps:
                    _pumps[-1].post(item)
                else:
                    item.refuse(_NOBODY)


@contextmanager
def main_thread_open(loop: asyncio.AbstractEventLoop | None) -> Iterator[Callable[[], None]]:
    """Keep the main thread's queue open for a caller that waits several times and works in between.

    `loop` is the caller's own loop if it awaits, None if it blocks. Gives a function that runs what was queued meanwhile:
    a caller that blocks calls it between two waits. On any other thread it offers nothing.
    """
    pump = _BlockPump(threading.Event()) if loop is None else _LoopPump(loop)
    with _pumping(pump):
        yield pump.run_waiting


async def on_main_thread(fn: Callable[..., T], /, *args: Any) -> T:
    """Call a function on the main thread, in the caller's contextvars; an awaitable it returns is awaited there too.

    Raises RuntimeError when no `hop` or `block` waits on the main thread. On the main thread itself, and without threads,
    the function is called at hand.
    """
    if not HAS_THREADS or threading.current_thread() is threading.main_thread():
        value: Any = fn(*args)
        return cast(T, await value if inspect.isawaitable(value) else value)
    item = _Item(functools.partial(fn, *args))
    with _pumps_lock:
        if not _pumps:
            raise RuntimeError(_NOBODY)
        _pumps[-1].post(item)  # the innermost waiter is the one that is really waiting
    return cast(T, await asyncio.wrap_future(item.future))


def _forget_parent() -> None:
    """After fork only the forking thread lives on: its child starts a loop and threads of its own."""
    global _background, _start_lock, _pumps_lock, _threads
    _background, _start_lock, _pumps_lock, _threads = None, threading.Lock(), threading.Lock(), _Threads()
    _pumps.clear()
    _left.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parent)

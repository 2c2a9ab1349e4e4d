"""The main thread's queue, for what is bound to that thread; background.py says who empties it."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import functools
import inspect
import os
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from . import threads
from .threads import call_on

T = TypeVar("T")


class _Item:
    """A function on its way to the main thread."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function
        self.context = contextvars.copy_context()
        self.future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        self.stop: Callable[[], None] = lambda: None
        """Cancels the awaitable that the function returned, once there is one."""

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


class LoopPump:
    """A caller that awaits on the main thread: items run as callbacks of its loop, awaitables as its tasks."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._tasks: set[asyncio.Future[None]] = set()

    def post(self, item: _Item) -> None:
        call_on(self._loop, lambda: self._run(item))

    def _run(self, item: _Item) -> None:
        awaitable = item.run()
        if awaitable is not None:
            task = item.context.run(asyncio.ensure_future, _drive(awaitable, item), loop=self._loop)
            item.stop = lambda: call_on(self._loop, task.cancel)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def run_waiting(self) -> None:
        """Nothing to do: the loop runs what was posted."""

    def close(self) -> list[_Item]:
        """Nothing is kept here: posted callbacks run on the loop even after its waiter is gone."""
        return []


class BlockPump:
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


_pumps: list[LoopPump | BlockPump] = []
_pumps_lock = threading.Lock()


@contextmanager
def pumping(pump: LoopPump | BlockPump) -> Iterator[None]:
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

    `loop` is the caller's own loop if it awaits, None if it blocks. Gives a function that runs what was queued
    meanwhile: a caller that blocks calls it between two waits. On any other thread it offers nothing.
    """
    pump = BlockPump(threading.Event()) if loop is None else LoopPump(loop)
    with pumping(pump):
        yield pump.run_waiting


async def on_main_thread(fn: Callable[..., T], /, *args: Any) -> T:
    """Call a function on the main thread, in the caller's contextvars; an awaitable it returns is awaited there too.

    Raises RuntimeError when no `hop` or `block` waits on the main thread. On the main thread itself, and without
    threads, the function is called at hand.
    """
    if not threads.HAS_THREADS or threading.current_thread() is threading.main_thread():
        value: Any = fn(*args)
        return cast(T, await value if inspect.isawaitable(value) else value)
    item = _Item(functools.partial(fn, *args))
    with _pumps_lock:
        if not _pumps:
            raise RuntimeError(_NOBODY)
        _pumps[-1].post(item)  # the innermost waiter is the one that is really waiting
    try:
        return cast(T, await asyncio.wrap_future(item.future))
    except asyncio.CancelledError:
        item.stop()
        raise


def _forget_parent() -> None:
    """After fork nobody waits in the child yet."""
    global _pumps_lock
    _pumps_lock = threading.Lock()
    _pumps.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parent)

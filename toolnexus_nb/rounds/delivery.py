"""From the loop where the rounds run to the thread that asked.

The run is on the background loop; its handlers, hooks and `approve` belong to the caller's thread: the cell, a
script, a worker. So the asking side waits for a batch of events (`take`), deals with it, and comes back; coming back
is what lets a tool start whose ToolStarted was in the batch. It waits in one of two ways, awaiting (`Awaiting`) or
blocking (`Blocking`), and is written once: `drive` runs the blocking form, in which nothing ever suspends.

Where it waits: `hop`/`block` tick, keep the main thread's queue moving, and turn Stop into CancelledError or
KeyboardInterrupt. Then the run is stopped, its last events are still delivered, and the exception goes on.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any, Protocol, TypeVar, cast

from ..tools.background import HAS_THREADS, block, hop, main_thread_open, on_background_loop, submit, ticking
from .dispatch import Dispatcher
from .engine import CLEAN_UP, Run
from .events import Event, RunFinished

T = TypeVar("T")


class Asker(Protocol):
    """How the side that asked waits."""

    def open(self) -> AbstractContextManager[Callable[[], None]]: ...

    async def wait(self, make: Callable[[], Awaitable[T]]) -> T:
        """Wait for work of the background loop."""
        ...

    async def within(self, seconds: float, make: Callable[[], Coroutine[Any, Any, T]]) -> T | None:
        """Wait for work of the background loop, but no longer; None if that loop did not answer."""
        ...

    async def own(self, awaitable: Awaitable[T]) -> T:
        """Wait for what a handler of ours returned."""
        ...

    def start(self, awaitable: Awaitable[T], done: Callable[[Awaitable[T]], Coroutine[Any, Any, None]]) -> None:
        """Let an awaitable of a hook or of `approve` go on while events are delivered."""
        ...


class Awaiting:
    """A coroutine on some loop: handlers run there, async ones as part of it."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def open(self) -> AbstractContextManager[Callable[[], None]]:
        return main_thread_open(asyncio.get_running_loop())

    async def wait(self, make: Callable[[], Awaitable[T]]) -> T:
        return await hop(make)

    async def within(self, seconds: float, make: Callable[[], Coroutine[Any, Any, T]]) -> T | None:
        if not HAS_THREADS or on_background_loop():
            return await make()
        work = asyncio.wrap_future(submit(make()))
        await asyncio.wait([work], timeout=seconds)
        return work.result() if work.done() else None

    async def own(self, awaitable: Awaitable[T]) -> T:
        return await ticking(awaitable)

    def start(self, awaitable: Awaitable[T], done: Callable[[Awaitable[T]], Coroutine[Any, Any, None]]) -> None:
        task = asyncio.get_running_loop().create_task(done(awaitable))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()


class Blocking:
    """A plain caller: handlers run on its thread; what an async one returns is awaited on the background loop."""

    def open(self) -> AbstractContextManager[Callable[[], None]]:
        return main_thread_open(None)

    async def wait(self, make: Callable[[], Awaitable[T]]) -> T:
        return block(make)

    async def within(self, seconds: float, make: Callable[[], Coroutine[Any, Any, T]]) -> T | None:
        if not HAS_THREADS:
            return block(make)
        try:
            return submit(make()).result(seconds)
        except concurrent.futures.TimeoutError:
            return None

    async def own(self, awaitable: Awaitable[T]) -> T:
        return block(lambda: awaitable)

    def start(self, awaitable: Awaitable[T], done: Callable[[Awaitable[T]], Coroutine[Any, Any, None]]) -> None:
        block(lambda: done(awaitable))

    def close(self) -> None:
        """Nothing goes on behind a caller that blocks."""


def drive(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine whose every wait blocks."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return cast(T, end.value)
    coroutine.close()
    raise RuntimeError("the blocking form of a coroutine suspended")


@dataclass
class _Question:
    """A function to be called on the thread that asked, and where its value goes."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    answer: asyncio.Future[Any]


class Delivery:
    """One run on its way to the side that asked: the sink of its events. Made there; `make` builds the run, on the loop
    that runs it.

    `heard`: whether anybody hears the events. If nobody does, only the last crosses over, and no tool waits.
    """

    def __init__(self, make: Callable[[Delivery], Run], dispatcher: Dispatcher, *, heard: bool) -> None:
        self.heard = heard or bool(dispatcher.handlers)
        self._make = make
        self._dispatcher = dispatcher
        self._items: list[Event | _Question] = []
        self._more: asyncio.Event | None = None
        self._told: list[asyncio.Future[None]] = []
        """Who waits until what it told has been dealt with: not taken yet, and taken."""
        self._taken: list[asyncio.Future[None]] = []
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = False
        self._ended = False
        self.run: Run | None = None

    # --- on the loop that runs it -------------------------------------------------------------------------------------

    def _start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._more = more = asyncio.Event()
        self.run = self._make(self)
        self._task = self.run.start()
        self._task.add_done_callback(lambda _: more.set())

    def write(self, event: Event) -> None:
        if self.heard or isinstance(event, RunFinished):
            self._put(event)

    async def tell(self, event: Event) -> None:
        if self.heard and not self._stopping:
            dealt_with = asyncio.get_running_loop().create_future()
            self._told.append(dealt_with)
            self._put(event)
            await dealt_with

    def _put(self, item: Event | _Question) -> None:
        assert self._more is not None
        self._items.append(item)
        self._more.set()

    async def ask(self, function: Callable[..., Any], *args: Any) -> Any:
        question = _Question(function, args, asyncio.get_running_loop().create_future())
        self._put(question)
        return await question.answer

    async def _take(self) -> list[Event | _Question]:
        """The next batch; the first one starts the run. Taking it says that the one before has been dealt with."""
        if self._task is None:
            self._start()
        assert self._more is not None and self._task is not None
        for dealt_with in self._taken:
            if not dealt_with.done():
                dealt_with.set_result(None)
        self._taken = []
        while not self._items and not self._task.done():
            self._more.clear()
            await self._more.wait()
        await asyncio.sleep(0)  # what comes along in the same step crosses over together
        if not self._items and not self._task.cancelled():
            self._task.result()  # an error of ours must not look like a quiet end
        items, self._items = self._items, []
        self._taken, self._told = self._told, []
        return items

    async def _stop(self) -> list[Event | _Question]:
        """Stop the run and give its last events."""
        if self.run is None or self._task is None:
            return []
        self._stopping = True  # nobody takes any more: nothing must wait for that
        self.run.stop()
        if not self._task.done():
            await asyncio.wait([self._task], timeout=2 * CLEAN_UP)
        items, self._items = self._items, []
        return items

    # --- on the side that asked ---------------------------------------------------------------------------------------

    async def events(self, asker: Awaiting | Blocking) -> AsyncGenerator[Event, None]:
        """Deliver: call the handlers, then yield each event. A stop in the middle still delivers what is left."""
        with asker.open() as run_waiting:
            batch: deque[Event | _Question] = deque()
            try:
                while not self._ended and (batch := deque(await asker.wait(self._take))):
                    while batch:
                        item = batch.popleft()
                        if isinstance(item, _Question):
                            self._serve(item, asker)
                            continue
                        made = await self._dispatcher.dispatch(item, asker.own)
                        self._ended = self._ended or isinstance(item, RunFinished)
                        yield item
                        for event in made:
                            yield event
                    run_waiting()
            finally:
                asker.close()
                await self.end(asker, batch)

    async def end(self, asker: Awaiting | Blocking, batch: Iterable[Event | _Question] = ()) -> None:
        """Stop a run that has not ended; deliver the rest of the batch and the last events, which a blocked loop does
        not give."""
        run = self.run
        if self._ended or run is None:
            return
        self._ended = True
        items = await asker.within(3 * CLEAN_UP, self._stop)
        told = [*batch, *(items or ())]
        if not any(isinstance(item, RunFinished) for item in told):
            run.abandon()
            told = [*told, RunFinished(run.round, run.result)]
        for item in told:
            if not isinstance(item, _Question):
                await self._dispatcher.dispatch(item, asker.own)

    def _serve(self, question: _Question, asker: Awaiting | Blocking) -> None:
        """Call the function here; what it gives, or raises, goes back to the run."""
        try:
            value = question.function(*question.args)
        except Exception as error:
            self._reply(question, error=error)
            return
        if not isawaitable(value):
            self._reply(question, value)
            return

        async def finish(awaitable: Awaitable[Any]) -> None:
            try:
                self._reply(question, await awaitable)
            except (Exception, asyncio.CancelledError) as error:
                self._reply(question, error=error)  # also when it was cancelled: the run must not wait for ever

        asker.start(value, finish)

    def _reply(self, question: _Question, value: Any = None, error: BaseException | None = None) -> None:
        assert self._loop is not None

        def settle() -> None:
            if question.answer.done():
                return
            if error is not None:
                question.answer.set_exception(error)
            else:
                question.answer.set_result(value)

        self._loop.call_soon_threadsafe(settle)

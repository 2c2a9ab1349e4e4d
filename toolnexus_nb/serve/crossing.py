"""An async iterator of the background loop, read from the server's loop.

Rounds, MCP sessions and HTTP pools live on the one background loop (`tools/background.py`), requests on uvicorn's. The
work fills a bounded buffer there; the reader empties it here, a batch at a time, and each side wakes the other only
when that one waits: with hundreds of streams the two loops trade a few wake-ups and not one for every delta. A client
that reads slowly fills the buffer and so holds its own round up, and nobody else's. Leaving the reader cancels the work
and waits for its clean-up, at most `GRACE` seconds.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

from ..tools.background import GRACE, submit

T = TypeVar("T")

_ROOM = 256
"""Items that may wait for the reader before the work has to."""


class Crossing(Generic[T]):
    """The buffer between the two loops. Deque operations are atomic; each flag is written by its own side."""

    def __init__(self, make: Callable[[], AsyncIterator[T]]) -> None:
        self._items: deque[T] = deque()
        self._here = asyncio.get_running_loop()
        self._something = asyncio.Event()
        self._reader_waits = False
        self._there: asyncio.AbstractEventLoop | None = None
        self._room: asyncio.Event | None = None
        self._ended = False
        self._error: BaseException | None = None
        self._work: concurrent.futures.Future[None] = submit(self._fill(make))

    async def _fill(self, make: Callable[[], AsyncIterator[T]]) -> None:
        """The work's side, on the background loop."""
        self._there, self._room = asyncio.get_running_loop(), asyncio.Event()
        self._room.set()
        source = make()
        try:
            async for item in source:
                self._items.append(item)
                self._wake_reader()
                if len(self._items) >= _ROOM:
                    await self._wait_for_room(self._room)
        except BaseException as error:
            self._error = error
        finally:
            try:
                close = getattr(source, "aclose", None)
                if close is not None:
                    await close()
            finally:
                self._ended = True
                self._wake_reader()

    async def _wait_for_room(self, room: asyncio.Event) -> None:
        while len(self._items) >= _ROOM:
            room.clear()
            if len(self._items) >= _ROOM:  # looked at again: the reader may have been here before the flag was down
                await room.wait()

    def _wake_reader(self) -> None:
        if self._reader_waits or self._ended:
            self._reader_waits = False
            with contextlib.suppress(RuntimeError):  # the server's loop has closed: nobody reads any more
                self._here.call_soon_threadsafe(self._something.set)

    def _wake_work(self) -> None:
        if self._there is not None and self._room is not None and not self._room.is_set():
            self._there.call_soon_threadsafe(self._room.set)

    async def batches(self, heartbeat: float | None = None) -> AsyncIterator[list[T]]:
        """Everything that is there, as lists; an empty one after `heartbeat` seconds of silence.

        What the work raises comes out after the items before it; if something else cancelled it, RuntimeError.
        """
        while True:
            silent = not await self._wait(heartbeat)
            ended = self._ended  # read before the buffer: what was put in before the end must not be missed
            batch = [self._items.popleft() for _ in range(len(self._items))]
            if batch:
                self._wake_work()
                yield batch
            elif ended:
                if isinstance(self._error, Exception):
                    raise self._error
                if self._error is not None:
                    raise RuntimeError("the work was stopped from elsewhere") from self._error
                return
            elif silent:
                yield []

    async def _wait(self, seconds: float | None) -> bool:
        """Until there is an item or the end, at most `seconds`; False when the time is up."""
        self._something.clear()
        self._reader_waits = True
        try:
            if self._items or self._ended:
                return True
            async with asyncio.timeout(seconds):
                return await self._something.wait()
        except TimeoutError:
            return False
        finally:
            self._reader_waits = False

    async def close(self) -> None:
        """Cancel the work, if it still runs, and wait for its clean-up."""
        if self._ended:
            return
        self._work.cancel()
        end = self._here.time() + GRACE
        while not self._ended and (left := end - self._here.time()) > 0:
            self._items.clear()
            self._wake_work()
            await self._wait(left)


@asynccontextmanager
async def crossing(make: Callable[[], AsyncIterator[T]]) -> AsyncIterator[Crossing[T]]:
    """Iterate `make()` on the background loop, in the caller's contextvars.

    async with crossing(make) as across:
        async for batch in across.batches(): ...
    """
    across: Crossing[T] = Crossing(make)
    try:
        yield across
    finally:
        await across.close()

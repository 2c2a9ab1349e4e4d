"""From the story of a run to whoever reads it: events in order, some of which hold the story until they were read."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from typing import Protocol

from .events import Event


class Sink(Protocol):
    """Where a run writes its events. `heard`: whether anybody wants others than the last."""

    heard: bool

    def write(self, event: Event) -> None:
        """Hand an event on, without waiting."""
        ...

    async def tell(self, event: Event) -> None:
        """Hand an event on and wait until its reader has dealt with it."""
        ...


class Pipe:
    """Events on their way. Belongs to one loop; `async for` over it ends when it is closed and empty."""

    heard = True

    def __init__(self) -> None:
        self._events: deque[tuple[Event, asyncio.Future[None] | None]] = deque()
        self._more = asyncio.Event()
        self._closed = False

    def write(self, event: Event) -> None:
        self._events.append((event, None))
        self._more.set()

    async def tell(self, event: Event) -> None:
        read: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._events.append((event, read))
        self._more.set()
        await read

    def close(self) -> None:
        """Nothing more will be written."""
        self._closed = True
        self._more.set()

    def abandon(self) -> None:
        """Nobody reads on: whoever waits to be read is cancelled."""
        for _, read in self._events:
            if read is not None and not read.done():
                read.cancel()

    async def __aiter__(self) -> AsyncGenerator[Event, None]:
        while True:
            while self._events:
                event, read = self._events.popleft()
                yield event
                if read is not None and not read.done():
                    read.set_result(None)
            if self._closed:
                return
            self._more.clear()
            await self._more.wait()

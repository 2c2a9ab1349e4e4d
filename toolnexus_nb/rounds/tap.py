"""The one place that sees requests and bytes pass. The wire view and the recorder read what it keeps.

Nothing here holds a key: headers and addresses are hidden before they are kept, and the endpoint's secrets are
blanked in the bytes that come back.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from .secrets import HIDDEN, Headers, hide_url
from .transport import Transport, TransportRequest, TransportResponse

KEPT_EXCHANGES = 100
"""Exchanges kept with one run; the oldest go first, so that a very long run keeps flat memory."""


@dataclass(frozen=True, slots=True)
class WireRequest:
    """What was sent. `headers` and `url` are fit for eyes; `body` is the JSON object, `{}` for GET."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]


@dataclass(slots=True)
class Exchange:
    """One request and what came back for it.

    `chunks` are (seconds since it was sent, bytes); `sent_at` is `time.time()`; `first_byte` and `ended` are seconds
    since then, None while they have not happened; `attempt` counts from 1; `error` says how it failed;
    `stopped` says who ended it from this side before it was complete (Stop, or the run's time limit), else "".
    """

    request: WireRequest
    sent_at: float
    attempt: int = 1
    round: int = 0
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    chunks: list[tuple[float, bytes]] = field(default_factory=list)
    first_byte: float | None = None
    ended: float | None = None
    error: str | None = None
    stopped: str = ""
    notes: Sequence[str] = ()

    @property
    def body(self) -> bytes:
        """All bytes that came back."""
        return b"".join(chunk for _, chunk in self.chunks)


_observers: list[Callable[[Exchange], None]] = []
collecting: ContextVar[list[Exchange] | None] = ContextVar("toolnexus_exchanges", default=None)
"""Where the exchanges of the run at hand are kept; set by the engine."""


def on_exchange(callback: Callable[[Exchange], None]) -> Callable[[], None]:
    """Call `callback(exchange)` after every exchange of every client has ended; gives the undo.

    Called on the background loop's thread: keep it short and hand over to yours. An error in it is kept in
    `exchange.notes` and breaks nothing.
    """
    _observers.append(callback)

    def undo() -> None:
        if callback in _observers:
            _observers.remove(callback)

    return undo


class Tap:
    """Watches a transport: every request, every byte, every end."""

    def __init__(self, transport: Transport, secrets: Sequence[str] = ()) -> None:
        self._transport = transport
        self._secrets = tuple(secret.encode() for secret in secrets)

    async def send(
        self, request: TransportRequest, body: Mapping[str, Any], *, attempt: int = 1, round: int = 0
    ) -> TransportResponse:
        """Send and watch. `body` is what `request.body` was made of, kept instead of the bytes."""
        if any(secret in request.body for secret in self._secrets):
            body = json.loads(self.hide(request.body))
        shown = Headers(request.headers).shown()
        exchange = Exchange(
            WireRequest(request.method, hide_url(request.url), shown, body), time.time(), attempt, round
        )
        kept = collecting.get()
        if kept is not None:
            kept.append(exchange)
            del kept[:-KEPT_EXCHANGES]
        started = time.perf_counter()
        try:
            response = await self._transport.send(request)
        except BaseException as error:
            self._end(exchange, started, error)
            raise
        exchange.status = response.status
        exchange.headers = Headers(response.headers).shown()
        exchange.notes = tuple(response.notes)
        return _Watched(response, exchange, started, self)

    def hide(self, chunk: bytes) -> bytes:
        """The bytes with this endpoint's secrets blanked."""
        for secret in self._secrets:
            if secret in chunk:
                chunk = chunk.replace(secret, HIDDEN.encode())
        return chunk

    def _end(self, exchange: Exchange, started: float, error: BaseException | None = None) -> None:
        if exchange.ended is not None:
            return
        exchange.ended = time.perf_counter() - started
        if error is not None:
            exchange.error = f"{type(error).__name__}: {error}".rstrip(": ")
        if isinstance(error, asyncio.CancelledError):
            exchange.stopped = "stopped by you"
        for observer in tuple(_observers):
            try:
                observer(exchange)
            except Exception as failure:  # an observer must not break the run it watches
                exchange.notes = (*exchange.notes, f"an observer failed: {type(failure).__name__}: {failure}")


class _Watched:
    """A response whose bytes are kept as they pass."""

    def __init__(self, response: TransportResponse, exchange: Exchange, started: float, tap: Tap) -> None:
        self.status = response.status
        self.headers = response.headers
        self.notes = response.notes
        self._response = response
        self._exchange = exchange
        self._started = started
        self._tap = tap
        self._bytes = self._iterate()

    async def _iterate(self) -> AsyncIterator[bytes]:
        exchange, hide, started = self._exchange, self._tap.hide, self._started
        try:
            async for chunk in self._response:
                at = time.perf_counter() - started
                if exchange.first_byte is None:
                    exchange.first_byte = at
                chunk = hide(chunk)
                exchange.chunks.append((at, chunk))
                yield chunk
        except (Exception, asyncio.CancelledError) as error:
            self._tap._end(exchange, started, error)
            raise

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._bytes

    async def aclose(self) -> None:
        try:
            await self._response.aclose()
        finally:
            self._tap._end(self._exchange, self._started)

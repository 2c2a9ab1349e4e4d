"""The one contract between asking and answering: a request goes out, a status, headers and bytes come back.

httpx's transport is one, the keyless models are others, `faults` and the recorder wrap any of them. Whatever a
transport does inside, failures to reach the other side leave it as `APIConnectionError` or `APITimeoutError`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from .secrets import Headers, hide_url


@dataclass(frozen=True, slots=True)
class Timeout:
    """Seconds. `connect`: until the connection stands. `read`: the longest silence between two bytes (comments count as
    life). `total`: the whole answer. None waits for ever."""

    connect: float | None = 10.0
    read: float | None = 300.0
    total: float | None = None

    @classmethod
    def of(cls, value: Timeout | float | None) -> Timeout:
        """A number means the longest silence, as in httpx; None is the default."""
        if isinstance(value, Timeout):
            return value
        return cls() if value is None else cls(connect=min(10.0, float(value)), read=float(value))


@dataclass(frozen=True)
class TransportRequest:
    """One HTTP request. `body` is JSON text as UTF-8, `b""` for GET. Its repr holds no key."""

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=Headers, repr=False)
    body: bytes = field(default=b"", repr=False)
    stream: bool = False
    timeout: Timeout = Timeout()

    def json(self) -> dict[str, Any]:
        """The body as a dict, `{}` when there is none."""
        return dict(json.loads(self.body)) if self.body else {}

    def __str__(self) -> str:
        return f"{self.method} {hide_url(self.url)}"


@runtime_checkable
class TransportResponse(Protocol):
    """What came back. Header names are lower case. Iterating gives the bytes as they arrive and may raise
    `APIConnectionError` or `APITimeoutError`; `aclose` is safe to call at any time, also twice."""

    status: int
    headers: Mapping[str, str]
    notes: Sequence[str]

    def __aiter__(self) -> AsyncIterator[bytes]: ...

    async def aclose(self) -> None: ...


@runtime_checkable
class Transport(Protocol):
    """Sends requests. Called on the background loop (in Pyodide: on the loop at hand)."""

    async def send(self, request: TransportRequest) -> TransportResponse: ...

    async def aclose(self) -> None: ...


class BytesResponse:
    """A response made of chunks at hand or of an async iterable of chunks: for keyless models and tests."""

    def __init__(
        self,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        chunks: Iterable[bytes] | AsyncIterable[bytes] = (),
        notes: Sequence[str] = (),
    ) -> None:
        self.status = status
        self.headers: Mapping[str, str] = {name.lower(): value for name, value in (headers or {}).items()}
        self.notes: Sequence[str] = tuple(notes)
        self._chunks = self._iterate(chunks)

    @staticmethod
    async def _iterate(chunks: Iterable[bytes] | AsyncIterable[bytes]) -> AsyncIterator[bytes]:
        if isinstance(chunks, AsyncIterable):
            try:
                async for chunk in chunks:
                    yield chunk
            finally:
                close = getattr(chunks, "aclose", None)
                if close is not None:
                    await close()
        else:
            for chunk in chunks:
                yield chunk

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._chunks

    async def aclose(self) -> None:
        close = getattr(self._chunks, "aclose", None)
        if close is not None:
            await close()

"""HTTP over httpx: one pool per client and loop, kept alive, closed promptly at Stop and at the end of a stream."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..openai.errors import APIConnectionError, APITimeoutError, ToolnexusError
from ..tools.background import in_thread
from .secrets import hide_url
from .setup_error import SetupError
from .transport import TransportRequest

if TYPE_CHECKING:
    import httpx

_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_DRAIN = 0.2
"""Seconds that the rest of a finished stream may take before its connection is closed instead of being used again."""


class HttpTransport:
    """Sends over httpx. Made without I/O; the pool opens with the first request and belongs to the loop that sends."""

    def __init__(self, *, proxy: str | None = None, verify: bool | str = True) -> None:
        self._proxy = proxy
        self._verify = verify
        self._pool: httpx.AsyncClient | None = None
        self._owner: tuple[int, int] | None = None

    async def send(self, request: TransportRequest) -> HttpResponse:
        """Send and return as soon as the headers are there.

        Raises APIConnectionError or APITimeoutError, with the address and what to do; SetupError for a bad address.
        """
        loop = asyncio.get_running_loop()
        deadline = None if request.timeout.total is None else loop.time() + request.timeout.total
        try:
            async with asyncio.timeout_at(deadline):
                response = await self._exchange(request)
        except Exception as error:
            raise translate(error, request) from None
        return HttpResponse(response, request, deadline)

    async def _exchange(self, request: TransportRequest) -> httpx.Response:
        """httpx's part, in a frame of its own: its objects show headers, and no error may hold them."""
        if self._pool is None or self._pool.is_closed or self._owner != _here():
            # Importing httpx and reading certificates takes a while; the loop must hear of Stop meanwhile.
            self._pool = await in_thread(self._open_pool, label="opening the HTTP pool")
            self._owner = _here()
        import httpx

        limits = request.timeout
        timeout = httpx.Timeout(connect=limits.connect, read=limits.read, write=limits.read, pool=limits.connect)
        outgoing = self._pool.build_request(
            request.method, request.url, headers=dict(request.headers), content=request.body or None, timeout=timeout
        )
        return await self._pool.send(outgoing, stream=True)

    def _open_pool(self) -> httpx.AsyncClient:
        try:
            import httpx
        except ImportError:
            raise SetupError("HTTP needs httpx, which is not here (in a browser): connect rehearsal instead") from None

        # A proxy of the environment is for the world outside: a server on this machine is asked directly.
        around: Mapping[str, None] = {f"all://{host}": None for host in _LOOPBACK}
        return httpx.AsyncClient(
            proxy=self._proxy,
            verify=self._verify,
            mounts=None if self._proxy else around,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=60),
        )

    async def aclose(self) -> None:
        """Close the pool; a later request opens a new one."""
        pool, self._pool = self._pool, None
        if pool is not None and self._owner == _here():
            await pool.aclose()


class HttpResponse:
    """Bytes of one httpx response, as they arrive."""

    notes: Sequence[str] = ()

    def __init__(self, response: httpx.Response, request: TransportRequest, deadline: float | None) -> None:
        self.status = response.status_code
        self.headers: Mapping[str, str] = {name.lower(): value for name, value in response.headers.items()}
        self._response = response
        self._request = request
        self._deadline = deadline
        self._tail = b""
        self._bytes = self._iterate()
        self._closing: asyncio.Task[None] | None = None

    async def _iterate(self) -> AsyncIterator[bytes]:
        plain = "content-encoding" not in self.headers
        pieces = self._response.aiter_raw() if plain else self._response.aiter_bytes()
        try:
            if self._deadline is None:
                async for piece in pieces:
                    self._tail = piece
                    yield piece
                return
            while True:
                async with asyncio.timeout_at(self._deadline):
                    last = await anext(pieces, None)
                if last is None:
                    return
                self._tail = last
                yield last
        except Exception as error:
            raise translate(error, self._request) from None

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._bytes

    async def aclose(self) -> None:
        """Give the connection back if the answer has been read, else close it. After `[DONE]` the few bytes that end
        the body are read first, in the background, so that the next round finds the connection open (D12)."""
        if self._closing is not None or self._response.is_closed:
            return
        if self._tail[-16:].rstrip().endswith(b"[DONE]"):
            self._closing = asyncio.get_running_loop().create_task(self._drain())
            _closing.add(self._closing)
            self._closing.add_done_callback(_closing.discard)
        else:
            await self._response.aclose()

    async def _drain(self) -> None:
        try:
            async with asyncio.timeout(_DRAIN):
                async for _ in self._bytes:
                    pass
        except (TimeoutError, ToolnexusError):
            pass  # the answer is complete; only the reuse of the connection is lost
        finally:
            await self._response.aclose()


_closing: set[asyncio.Task[None]] = set()


def translate(error: Exception, request: TransportRequest) -> Exception:
    """httpx's exceptions, and time limits, as ours; anything else as it is."""
    import httpx

    where = hide_url(request.url)
    if isinstance(error, httpx.ConnectTimeout):
        return APITimeoutError(f"no connection within {request.timeout.connect:g} s", endpoint=where)
    if isinstance(error, httpx.TimeoutException):
        return APITimeoutError(f"nothing came for {request.timeout.read:g} s (timeout read)", endpoint=where)
    if isinstance(error, TimeoutError):
        return APITimeoutError(f"not finished after {request.timeout.total:g} s (timeout total)", endpoint=where)
    if isinstance(error, httpx.UnsupportedProtocol | httpx.InvalidURL):
        return SetupError(f"{where} is not an address: {error}")
    if isinstance(error, httpx.ConnectError):
        return APIConnectionError(_reason(error), endpoint=where)
    if isinstance(error, httpx.HTTPError):
        return APIConnectionError(f"the connection broke: {_reason(error)}", endpoint=where)
    return error


def _reason(error: Exception) -> str:
    return str(error).rstrip(".") or type(error).__name__


def _here() -> tuple[int, int]:
    """Which loop of which process runs here: a pool belongs to one."""
    return os.getpid(), id(asyncio.get_running_loop())

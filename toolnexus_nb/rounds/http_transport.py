"""HTTP over httpx: one pool per client and loop, kept alive, closed promptly at Stop and at the end of a stream."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..openai.errors import APIConnectionError, APITimeoutError
from ..tools.background import in_thread
from .secrets import hide_url
from .setup_error import SetupError
from .transport import TransportRequest

if TYPE_CHECKING:
    import httpx

_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_PATIENCE = 0.05
"""Seconds that the end of a body may take after the last event of a stream."""
_LAST_EVENT = re.compile(rb"(?:^|[\r\n])data: ?\[DONE\]\s*$")


class HttpTransport:
    """Sends over httpx. Made without I/O; the pool opens with the first request and belongs to the loop that sends."""

    def __init__(self, *, proxy: str | None = None, verify: bool | str = True) -> None:
        self._proxy = proxy
        self._verify = verify
        self._pool: httpx.AsyncClient | None = None
        self._owner: tuple[int, int] | None = None
        self._address: tuple[str, httpx.URL] | None = None
        """The last address, and as httpx reads it, which takes it longer than sending."""

    async def send(self, request: TransportRequest) -> HttpResponse:
        """Send and return as soon as the headers are there.

        Raises APIConnectionError or APITimeoutError, with the address and what to do; SetupError for a bad address.
        """
        loop = asyncio.get_running_loop()
        deadline = None if request.timeout.total is None else loop.time() + request.timeout.total
        try:
            if deadline is None:
                response = await self._exchange(request)
            else:
                async with asyncio.timeout_at(deadline):
                    response = await self._exchange(request)
        except Exception as error:
            raise translate(error, request) from None
        return HttpResponse(response, request, deadline)

    async def _exchange(self, request: TransportRequest) -> httpx.Response:
        """httpx's part, in a frame of its own: its objects show headers, and no error may hold them."""
        pool = self._open()
        if pool is None:
            # Importing httpx and reading certificates takes a while; the loop must hear of Stop meanwhile.
            opened = await in_thread(self._open_pool, label="opening the HTTP pool")
            pool = self._open()  # of another first request, which was faster
            if pool is None:
                pool, self._pool, self._owner = opened, opened, _here()
        import httpx

        if self._address is None or self._address[0] != request.url:
            self._address = request.url, httpx.URL(request.url)
        limits = request.timeout
        timeout = {"connect": limits.connect, "read": limits.read, "write": limits.read, "pool": limits.connect}
        # Not the pool's build_request, which reads the address again and merges what is never set here.
        outgoing = httpx.Request(
            request.method,
            self._address[1],
            headers={"accept-encoding": pool.headers["accept-encoding"], **request.headers},
            content=request.body or None,
            extensions={"timeout": timeout},
        )
        return await pool.send(outgoing, stream=True)

    def _open(self) -> httpx.AsyncClient | None:
        """The pool, if there is one that can be used here."""
        usable = self._pool is not None and not self._pool.is_closed and self._owner == _here()
        return self._pool if usable else None

    def _open_pool(self) -> httpx.AsyncClient:
        try:
            import httpx
        except ImportError:
            raise SetupError("HTTP needs httpx, which is not here (in a browser): connect rehearsal instead") from None

        # A proxy of the environment is for the world outside: a server on this machine is asked directly.
        around: Mapping[str, None] = {f"all://{host}": None for host in _LOOPBACK}
        try:
            return httpx.AsyncClient(
                proxy=self._proxy,
                verify=self._verify,
                mounts=None if self._proxy else around,
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=60),
            )
        except (OSError, ValueError, ImportError) as error:
            raise SetupError(
                f"HTTP could not be set up: {error}. Check the variables HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and "
                "SSL_CERT_FILE"
            ) from None

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
        self.headers: Mapping[str, str] = _plain_headers(response.headers.raw)
        self._response = response
        self._request = request
        self._deadline = deadline
        self._bytes = self._iterate()

    async def _iterate(self) -> AsyncIterator[bytes]:
        plain = "content-encoding" not in self.headers
        pieces = self._response.aiter_raw() if plain else self._response.aiter_bytes()
        before = b""
        try:
            while True:
                if self._deadline is None:
                    piece = await anext(pieces, None)
                else:
                    async with asyncio.timeout_at(self._deadline):
                        piece = await anext(pieces, None)
                if piece is None:
                    return
                if b"[DONE]" in piece and _LAST_EVENT.search(before[-16:] + piece):
                    await self._read_end(pieces)
                before = piece
                yield piece
        except Exception as error:
            raise translate(error, self._request) from None

    async def _read_end(self, pieces: AsyncIterator[bytes]) -> None:
        """Read the few bytes that end a body after `data: [DONE]`: then its connection is free for the next round. A
        server that stays silent there is not waited for (D12)."""
        try:
            async with asyncio.timeout(_PATIENCE):
                async for _ in pieces:
                    pass
        except Exception:  # the answer is complete; only the use of this connection again is lost
            await self._response.aclose()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._bytes

    async def aclose(self) -> None:
        """Give the connection back if the answer has been read to its end, else close it."""
        await self._response.aclose()


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


def _plain_headers(raw: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers by lower-case name; values of a name that comes again are joined, as HTTP has it."""
    headers: dict[str, str] = {}
    for name, value in raw:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


def _reason(error: Exception) -> str:
    return str(error).rstrip(".") or type(error).__name__


def _here() -> tuple[int, int]:
    """Which loop of which process runs here: a pool belongs to one."""
    return os.getpid(), id(asyncio.get_running_loop())

"""A server at an address: Streamable HTTP, or the older HTTP with server-sent events.

Both go through an `httpx2` client of ours, which carries the configured headers and notes how each request was
answered: the SDK tells only "server returned an error response", a person needs "HTTP 401".
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from .mcp_errors import Reply

if TYPE_CHECKING:
    from .mcp_config import ServerSpec

# A result arrives as one event; the SDK's own bound of 1 MiB would refuse a photograph.
_LARGEST_EVENT = 256 * 1024 * 1024

replies_to_this: ContextVar[list[Reply] | None] = ContextVar("toolnexus_mcp_replies", default=None)
"""The HTTP answers to the requests made in this context; the SDK sends each request in its caller's context."""


class HttpLog:
    """How the last requests of one session were answered."""

    def __init__(self) -> None:
        self.replies: deque[Reply] = deque(maxlen=20)
        self.session_ended = False
        """The server no longer knows our session (404 to a request that named it): a new one is needed."""

    async def note(self, response: Any) -> None:
        reply = Reply(response.request.method, response.status_code, response.headers.get("content-type", ""))
        of_session = "mcp-session-id" in response.request.headers
        if reply.method == "GET" and of_session:
            return  # a server need not open the stream for messages of its own; nothing is wrong if it refuses
        self.replies.append(reply)
        mine = replies_to_this.get()
        if mine is not None:
            mine.append(reply)
        if reply.status == 404 and of_session and reply.method == "POST":
            self.session_ended = True


@asynccontextmanager
async def http_transport(spec: ServerSpec, log: HttpLog) -> AsyncIterator[tuple[Any, Any]]:
    """Streams for `mcp.Client` over Streamable HTTP."""
    from mcp.client.streamable_http import streamable_http_client

    async with (
        _client(spec, log, dict(spec.headers)) as client,
        streamable_http_client(spec.url, http_client=client, max_sse_event_size=_LARGEST_EVENT) as streams,
    ):
        yield streams


@asynccontextmanager
async def sse_transport(spec: ServerSpec, log: HttpLog) -> AsyncIterator[tuple[Any, Any]]:
    """Streams for `mcp.Client` over the older transport: one GET that stays open, and POSTs."""
    from mcp.client.sse import sse_client

    def make(headers: dict[str, str] | None = None, timeout: Any = None, auth: Any = None) -> Any:
        return _client(spec, log, headers or {})

    async with sse_client(spec.url, headers=dict(spec.headers), httpx_client_factory=make) as streams:
        yield streams


def _client(spec: ServerSpec, log: HttpLog, headers: dict[str, str]) -> Any:
    import httpx2

    # Reading waits longer than any call may take: the call's own time limit ends it, with a cancel the server hears of.
    timeout = httpx2.Timeout(spec.open_timeout, read=max(300.0, spec.call_timeout + 30))
    return httpx2.AsyncClient(headers=headers, auth=spec.auth, timeout=timeout, event_hooks={"response": [log.note]})

"""The ways a server may want to be opened, tried in their order within one time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from .mcp_config import ServerSpec
from .mcp_errors import McpServerError, opening_error
from .mcp_session import Listener, Session
from .mcp_stdio import Tail

_FALL_BACK_TO_SSE = frozenset({400, 404, 405, 406, 415, 501})
"""Answers of servers that know only the older transport (specification, transports, backwards compatibility)."""


async def connect(
    spec: ServerSpec, stderr: Tail, find_listener: Callable[[], Listener | None], deadline: float
) -> Session:
    """Open a session in whatever way the server understands, until `deadline` on the loop's clock.

    A process that ends on the newest protocol's first question is started once more with the older handshake (some
    servers end on any message they do not know). An address that refuses Streamable HTTP is tried with SSE.
    Raises McpServerError that says why the first way failed.
    """
    failure: McpServerError | None = None
    for transport, mode in _ways(spec):
        stderr.clear()
        session = Session(spec, transport, mode, stderr, find_listener)
        try:
            async with asyncio.timeout_at(deadline):
                await session.open()
            return session
        except Exception as error:
            if failure is None or transport == "stdio":
                failure = opening_error(spec, error, session.circumstances())
                failure.__cause__ = error
            if isinstance(error, TimeoutError) or not _another_way(session):
                break
    assert failure is not None
    raise failure


def _ways(spec: ServerSpec) -> list[tuple[str, str]]:
    """(transport, mode) in the order they are tried."""
    if spec.command:
        return [("stdio", "auto"), ("stdio", "legacy")]
    if spec.url:
        return [("sse", "auto")] if spec.transport == "sse" else [("http", "auto"), ("sse", "auto")]
    return [("in process", "auto")]


def _another_way(failed: Session) -> bool:
    """Whether it failed in a way that the next one of `_ways` may mend."""
    process = failed.process
    if process is not None:
        return process.ended_by_itself
    bad = {reply.status for reply in failed.http.replies if reply.status >= 400}
    return bool(bad) and bad <= _FALL_BACK_TO_SSE

"""How much one request may ask of the server, and how many may ask at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from starlette.types import Receive, Scope

from .asgi import ClientGone, header
from .problems import Problem

MIB = 1024 * 1024


@dataclass(frozen=True)
class Limits:
    """What `create_app` allows. Every value is per request but `at_once`, which counts the whole app."""

    body_bytes: int = 16 * MIB
    """Size of a request's body; pictures travel inside it as base64. More is a 413."""
    body_seconds: float = 30.0
    """Time a client has to send its body. More is a 408."""
    at_once: int = 512
    """Replies being made at one time. One more is a 429 with retry-after."""
    seconds: float = 600.0
    """Time for the whole reply, all rounds and tools. More is a 504, or an error event once the stream has begun."""
    heartbeat: float = 15.0
    """Seconds of silence after which a stream sends a comment, so that proxies keep the connection."""


async def read_body(scope: Scope, receive: Receive, limits: Limits) -> bytes:
    """The request's whole body.

    Raises Problem 413 (as soon as the declared or the received size is too much) and 408, and ClientGone.
    """
    declared = header(scope, "content-length") or ""
    if declared.isdecimal() and int(declared) > limits.body_bytes:
        raise _too_large(limits)
    body = bytearray()
    try:
        async with asyncio.timeout(limits.body_seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientGone
                body += message.get("body", b"")
                if len(body) > limits.body_bytes:
                    raise _too_large(limits)
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        raise Problem(
            408, f"the request's body did not arrive within {limits.body_seconds:g} s", headers={"connection": "close"}
        ) from None


def _too_large(limits: Limits) -> Problem:
    return Problem(
        413,
        f"the request's body is larger than this server takes ({limits.body_bytes:,} bytes)",
        code="request_too_large",
        headers={"connection": "close"},  # the rest of the body is not read
    )


class Gate:
    """Counts the replies that are being made; lets no more in than the limit."""

    def __init__(self, at_once: int) -> None:
        self.at_once = at_once
        self.inside = 0

    @contextmanager
    def enter(self) -> Iterator[None]:
        """Raises Problem 429 when the server is full."""
        if self.inside >= self.at_once:
            raise Problem(
                429,
                f"the server is making {self.inside} replies already, as many as it may; try again in a moment",
                code="server_busy",
                headers={"retry-after": "1"},
            )
        self.inside += 1
        try:
            yield
        finally:
            self.inside -= 1

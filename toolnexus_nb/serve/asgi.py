"""Small pieces of ASGI: a JSON answer, a body that is read with limits, and work that ends when the client is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from starlette.types import Receive, Scope, Send

from .chat_wire import dump

T = TypeVar("T")


class ClientGone(Exception):
    """The client closed the connection before its answer was complete."""


def header(scope: Scope, name: str) -> str | None:
    """The first header of that (lower-case) name, or None."""
    wanted = name.encode("latin-1")
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == wanted), None)


def raw_headers(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]


async def send_bytes(
    send: Send, body: bytes, content_type: str, status: int = 200, headers: Mapping[str, str] | None = None
) -> None:
    """One whole answer, with its length."""
    about = {"content-type": content_type, "content-length": str(len(body)), **(headers or {})}
    await send({"type": "http.response.start", "status": status, "headers": raw_headers(about)})
    await send({"type": "http.response.body", "body": body})


async def send_json(send: Send, value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
    await send_bytes(send, dump(value), "application/json", status, headers)


async def while_connected(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """Await `work`; when the client goes away first, cancel it, wait for its clean-up and raise ClientGone.

    The request's body must have been read: from then on `receive` has nothing to say but that the client is gone.
    """
    task = asyncio.ensure_future(work)
    watch = asyncio.ensure_future(_disconnected(receive))
    try:
        await asyncio.wait([task, watch], return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise ClientGone
    finally:
        task.cancel()
        watch.cancel()
        await asyncio.gather(task, watch, return_exceptions=True)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass

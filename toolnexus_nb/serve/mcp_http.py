"""`/mcp`: the MCP server over streamable HTTP, inside the app.

mcp is imported and its session manager started with the first request, so a server that only answers chats never pays
for it, and an app that is served twice (stopped, started again) gets a fresh manager each time: the SDK's runs once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from starlette.types import Receive, Scope, Send

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager


class McpEndpoint:
    """An ASGI app. Host, Origin and key are checked before it is reached."""

    def __init__(self, make_server: Callable[[], Server[Any]], *, body_bytes: int) -> None:
        self._make_server = make_server
        self._body_bytes = body_bytes
        self._running: _Running | None = None
        self._starting: asyncio.Lock | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        running = await self._start()
        await running.manager.handle_request(scope, receive, send)

    async def _start(self) -> _Running:
        loop = asyncio.get_running_loop()
        if self._running is not None and self._running.loop is loop:
            return self._running
        if self._running is not None:  # the loop that served it before has ended without telling
            self._running = self._starting = None
        self._starting = self._starting or asyncio.Lock()
        async with self._starting:
            if self._running is None:
                running = _Running(await asyncio.to_thread(self._make_manager), loop)
                await running.ready.wait()
                self._running = running
            return self._running

    def _make_manager(self) -> StreamableHTTPSessionManager:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
        from mcp.server.transport_security import TransportSecuritySettings

        return StreamableHTTPSessionManager(
            self._make_server(),
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # access.py has checked
            max_request_body_size=self._body_bytes,
        )

    async def stop(self) -> None:
        """End all sessions; the next request starts anew."""
        running, self._running, self._starting = self._running, None, None
        if running is not None:
            await running.stop()


class _Running:
    """The session manager and the task that owns it: its task group must be left in the task that entered it."""

    def __init__(self, manager: StreamableHTTPSessionManager, loop: asyncio.AbstractEventLoop) -> None:
        self.manager = manager
        self.loop = loop
        self.ready = asyncio.Event()
        self._over = asyncio.Event()
        self._owner = loop.create_task(self._own())

    async def _own(self) -> None:
        try:
            async with self.manager.run():
                self.ready.set()
                await self._over.wait()
        finally:
            self.ready.set()  # nobody may wait for a manager that failed to start

    async def stop(self) -> None:
        self._over.set()
        await asyncio.wait([self._owner], timeout=5)

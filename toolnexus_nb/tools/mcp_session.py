"""One MCP session: the task that owns it, and requests made through it. Everything here runs on the background loop.

The rules of the SDK this follows: a `mcp.Client` must be entered and left by the same task, since it holds anyio cancel
scopes; it may be used by any task of its loop meanwhile. So each session has one *owner task* that enters the transport
and the client, says "ready", waits until it is told to stop or the server is gone, and leaves both again. It is never
cancelled from outside: a cancel scope inside it is, which anyio unwinds in order.

A request races the owner: when the connection breaks, some transports fail in the owner and leave the request waiting.
"""

from __future__ import annotations

import asyncio
import atexit
import contextvars
import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from .background import submit
from .mcp_config import ServerSpec
from .mcp_errors import (
    Circumstances,
    McpServerError,
    Refused,
    Reply,
    SessionExpired,
    cause_of,
    lost_error,
)
from .mcp_http import HttpLog, http_transport, replies_to_this, sse_transport
from .mcp_mending import mending
from .mcp_stdio import ServerProcess, Tail, stdio_transport

T = TypeVar("T")

_MOST_PAGES = 1000
_CLEAN_UP = 0.2
"""Seconds a cancelled request gets to send its cancel."""

running: set[Session] = set()
"""Sessions whose owner task lives; asyncio itself holds tasks only weakly."""
_of_parent: list[Session] = []
"""After a fork: the sessions of the process we come from, kept so that nothing of them is finalised here."""


class Listener(Protocol):
    """Who hears what a server says by itself. Held weakly, so that an unused server object can be collected."""

    def on_log(self, level: str, logger: str | None, data: Any) -> None: ...
    def on_change(self, what: str) -> None: ...
    def note_fault(self, text: str) -> None: ...
    async def on_elicitation(self, params: Any) -> Any: ...


@dataclass(frozen=True)
class About:
    """What a server said of itself when it was opened."""

    name: str = ""
    version: str = ""
    protocol: str = ""
    instructions: str = ""


class Session:
    """A connection from its opening to its end.

    `find_listener` gives the listener while it lives. `mode` is the SDK's: "auto" asks with the newest protocol first,
    "legacy" starts with the older handshake.
    """

    def __init__(
        self, spec: ServerSpec, transport: str, mode: str, stderr: Tail, find_listener: Callable[[], Listener | None]
    ) -> None:
        self.spec = spec
        self.transport = transport
        self.mode = mode
        self.client: Any = None
        self.process = ServerProcess(stderr) if transport == "stdio" else None
        self.http = HttpLog()
        self.about = About()
        self.opened_at = 0.0
        self._find_listener = find_listener
        self._leave = asyncio.Event()
        self._closed = asyncio.Event()
        self._closed_here = False
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._owner: asyncio.Task[None] | None = None
        self._scope: Any = None
        self._error: BaseException | None = None
        self._clocks: set[asyncio.Timeout] = set()
        self._contexts: dict[object, contextvars.Context] = {}

    # --- life ---

    @property
    def is_open(self) -> bool:
        return self.client is not None and not self._leave.is_set() and not self.http.session_ended

    async def open(self) -> None:
        """Connect and shake hands. Raises what the transport or the SDK raised; nothing is left behind then."""
        self._owner = asyncio.create_task(self._own(), name=f"mcp-{self.spec.name}")
        running.add(self)
        self._owner.add_done_callback(lambda _: running.discard(self))
        try:
            await asyncio.shield(self._ready)
        except BaseException:
            await self.abandon()
            raise

    async def abandon(self) -> None:
        """End a session that did not get ready, wherever it is in its opening."""
        if self.process is not None:
            self.process.hurry = True
        self._leave.set()
        if self._scope is not None:
            self._scope.cancel()
        await self._wait_for_owner()

    async def close(self) -> None:
        """Leave in order; returns when the process, the connection and the owner task are gone."""
        self._closed_here = self._closed_here or self.is_open
        self._leave.set()
        await self._wait_for_owner()

    def leave_soon(self) -> None:
        """The same without waiting; on the loop's thread."""
        self._leave.set()

    async def _wait_for_owner(self) -> None:
        if self._owner is not None and self._owner is not asyncio.current_task():
            await asyncio.wait([self._owner], timeout=10)

    async def _own(self) -> None:
        import anyio

        try:
            with anyio.CancelScope() as self._scope:
                if self._leave.is_set():
                    return  # given up before this task had its first turn
                async with AsyncExitStack() as stack:
                    self.client = await self._connect(stack)
                    self.opened_at = time.time()
                    if not self._ready.done():
                        self._ready.set_result(None)
                    await self._leave.wait()
                    self.client = None
        except BaseException as error:
            self._error = error
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
        finally:
            self.client = None
            self._leave.set()
            self._closed.set()
            if not self._ready.done():
                self._ready.set_exception(cause_of(self._error) if self._error else ConnectionError("closed"))
                self._ready.exception()  # seen, so that asyncio does not warn when nobody waits any more

    async def _connect(self, stack: AsyncExitStack) -> Any:
        from mcp import Client

        _keep_sdk_quiet()
        client = Client(
            self._reachable(),
            mode=self.mode,
            logging_callback=self._on_log,
            log_level=self.spec.log_level or "info",  # type: ignore[arg-type]
            message_handler=self._on_message,
            elicitation_callback=self._on_elicitation if self.spec.elicitation is not None else None,
            client_info=_client_info(),
        )
        await stack.enter_async_context(client)
        # The SDK raises when a result contradicts its output schema, and the result is lost. It is kept and compared by
        # `mcp_output_schema`, which reports the difference.
        setattr(client.session, "validate_tool_result", _accept_result)  # noqa: B010
        info = client.server_info  # None: newer servers need not say who they are
        self.about = About(
            name=(info.title or info.name) if info else "",
            version=(info.version or "") if info else "",
            protocol=client.protocol_version,
            instructions=client.instructions or "",
        )
        await self._ask_for_logs(client)
        self._listen_for_changes(client, stack)
        return client

    def _reachable(self) -> Any:
        """What `mcp.Client` is to connect to."""
        if self.transport == "in process":
            return _server_object(self.spec.server)
        if self.transport == "sse":
            return mending(sse_transport(self.spec, self.http), self._on_mended)
        if self.transport == "http":
            return mending(http_transport(self.spec, self.http), self._on_mended)
        assert self.process is not None
        return mending(stdio_transport(self.spec, self.process, self._leave.set), self._on_mended)

    # --- requests ---

    async def request(self, make: Callable[[Any], Awaitable[T]], *, limit: float | None, doing: str) -> T:
        """Await `make(client)`. Cancelling it cancels the request at the server and keeps the session.

        Raises TimeoutError after `limit` seconds, McpServerError when the server goes away, Refused when it says no.
        """
        client = self.client
        if client is None or not self.is_open:
            raise await self._lost(doing)
        key = object()
        self._contexts[key] = contextvars.copy_context()
        replies: list[Reply] = []
        token = replies_to_this.set(replies)
        try:
            work = asyncio.ensure_future(make(client))
        finally:
            replies_to_this.reset(token)
        gone = asyncio.ensure_future(self._closed.wait())
        try:
            async with self._clock(limit):
                await asyncio.wait([work, gone], return_when=asyncio.FIRST_COMPLETED)
            error = None if not work.done() or work.cancelled() else work.exception()
            if error is not None and self.http.session_ended:
                name = self.spec.name
                raise SessionExpired(f"MCP server {name!r} ended the session during {doing}.", server=name) from error
            if not work.done() or _is_broken_connection(error):
                raise await self._lost(doing) from (self._error or error)
            if isinstance(error, Exception):
                raise Refused(cause_of(error), replies) from error
            return work.result()
        finally:
            del self._contexts[key]
            for task in (work, gone):
                task.cancel()
                task.add_done_callback(_seen)
            await asyncio.wait([work, gone], timeout=_CLEAN_UP)

    async def _lost(self, doing: str) -> McpServerError:
        """Let the owner unwind (that is when the exit code is known), and say what happened."""
        self._leave.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(2 if self.process is None else 4):
                await self._closed.wait()
        return lost_error(self.spec, self.circumstances(), doing)

    def circumstances(self) -> Circumstances:
        process = self.process
        return Circumstances(
            exit_code=process.exit_code if process and process.ended_by_itself else None,
            stderr=process.stderr.lines if process else (),
            noise=process.noise.lines if process else (),
            replies=tuple(self.http.replies),
            closed_here=self._closed_here,
        )

    @contextmanager
    def _no_clock(self) -> Iterator[None]:
        """Stop the clocks of all running requests while a person is asked: their time is not the server's."""
        now = asyncio.get_running_loop().time()
        left = {clock: deadline - now for clock in self._clocks if (deadline := clock.when()) is not None}
        for clock in left:
            clock.reschedule(None)
        try:
            yield
        finally:
            now = asyncio.get_running_loop().time()
            for clock, seconds in left.items():
                if clock in self._clocks:
                    clock.reschedule(now + seconds)

    @asynccontextmanager
    async def _clock(self, limit: float | None) -> AsyncIterator[None]:
        """A time limit that the session knows of, so that it can be stopped while a person is asked."""
        async with asyncio.timeout(limit) as clock:
            self._clocks.add(clock)
            try:
                yield
            finally:
                self._clocks.discard(clock)

    async def every_page(self, method: str, items: str) -> list[Any]:
        """All items of a paged list (`list_tools`, "tools"). A server that turns in a circle is an error.

        All pages together get the time an opening may take.
        """
        now = asyncio.get_running_loop().time
        end = now() + self.spec.open_timeout
        found: list[Any] = []
        seen: set[str] = set()
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = await self.request(
                lambda client, cursor=cursor: getattr(client, method)(cursor=cursor, cache_mode="refresh"),  # type: ignore[misc]
                limit=end - now(),
                doing=method,
            )
            found += getattr(page, items)
            cursor = page.next_cursor
            if cursor is None:
                return found
            if cursor in seen:
                raise McpServerError(f"MCP server {self.spec.name!r} repeats a page of {method}", server=self.spec.name)
            seen.add(cursor)
        raise McpServerError(
            f"MCP server {self.spec.name!r} has more than {_MOST_PAGES} pages in {method}", server=self.spec.name
        )

    # --- what the server says by itself ---

    def _on_mended(self, remark: str) -> None:
        if (listener := self._find_listener()) is not None:
            listener.note_fault(f"MCP server {self.spec.name!r}: {remark}")

    async def _on_log(self, params: Any) -> None:
        if (listener := self._find_listener()) is not None:
            listener.on_log(params.level, params.logger, params.data)

    async def _on_message(self, message: Any) -> None:
        method = getattr(message, "method", "")
        if method.endswith("/list_changed") and (listener := self._find_listener()) is not None:
            listener.on_change(method.split("/")[1])

    async def _on_elicitation(self, context: Any, params: Any) -> Any:
        from mcp.types import ElicitResult

        listener = self._find_listener()
        if listener is None:
            return ElicitResult(action="cancel")
        # In the context of the call it belongs to, as far as that can be told: a form must open under that call's cell,
        # and older connections ask in the context in which the session was opened.
        context = next(reversed(self._contexts.values()), None)
        with self._no_clock():
            return await asyncio.create_task(_awaited(listener.on_elicitation(params)), context=context)

    async def _ask_for_logs(self, client: Any) -> None:
        """Older connections say the level once; newer ones with each request (`log_level=` above)."""
        level = self.spec.log_level
        if level is None or client.server_capabilities.logging is None or client.session.discover_result is not None:
            return
        from mcp import MCPError
        from mcp.types import EmptyResult, SetLevelRequest, SetLevelRequestParams

        with suppress(MCPError):  # a server that refuses still works; its logs come at its own level
            params = SetLevelRequestParams(level=level)
            await client.session.send_request(SetLevelRequest(params=params), EmptyResult)

    def _listen_for_changes(self, client: Any, stack: AsyncExitStack) -> None:
        """Newer connections tell changes only to those who listen; older ones by notification (`_on_message`)."""
        tools = client.server_capabilities.tools
        if client.session.discover_result is None or tools is None or not tools.list_changed:
            return
        task = asyncio.create_task(self._listen(client), name=f"mcp-{self.spec.name}-changes")

        async def end() -> None:
            task.cancel()
            await asyncio.wait([task], timeout=1)

        stack.push_async_callback(end)

    async def _listen(self, client: Any) -> None:
        from mcp import MCPError
        from mcp.client.subscriptions import SubscriptionLost

        for pause in (0.2, 1.0, 5.0, 30.0):
            try:
                async with client.listen(tools_list_changed=True) as subscription:
                    async for _ in subscription:
                        pass  # the SDK hands each event to `_on_message` as well, where older servers' arrive too
                return  # the server closed it in order
            except (SubscriptionLost, TimeoutError):
                await asyncio.sleep(pause)
            except (MCPError, RuntimeError):
                return  # it does not offer this; `refresh()` and a reconnect still see changes


def _is_broken_connection(error: BaseException | None) -> bool:
    from mcp import MCPError
    from mcp.types import CONNECTION_CLOSED

    # The code alone says nothing: -32000 is also what many servers use for errors of their own.
    return isinstance(error, MCPError) and error.code == CONNECTION_CLOSED and error.message.startswith(_BROKEN)


_BROKEN = ("Connection closed", "SSE stream ")
"""How the SDK's own words for it begin."""


def _seen(task: asyncio.Future[Any]) -> None:
    """Look at how a cancelled request ended, so that asyncio does not warn that nobody did."""
    if not task.cancelled():
        task.exception()


async def _awaited(work: Awaitable[T]) -> T:
    return await work


async def _accept_result(name: str, result: Any) -> None:
    """In place of the SDK's check."""


def _keep_sdk_quiet() -> None:
    """The SDK logs tracebacks of faults we report in a sentence; without any handler Python prints them into the cell.

    Whoever sets up logging still gets them.
    """
    for name in ("mcp", "client"):
        log = logging.getLogger(name)
        if not log.handlers:
            log.addHandler(logging.NullHandler())


def _client_info() -> Any:
    from mcp.types import Implementation

    from .. import __version__

    return Implementation(name="toolnexus_nb", version=__version__)


def _server_object(server: Any) -> Any:
    """An SDK server, or the one inside a FastMCP object."""
    from mcp.server import MCPServer, Server

    if isinstance(server, MCPServer | Server):
        return server
    inner = getattr(server, "_mcp_server", None)
    if isinstance(inner, Server):
        return inner
    kind = type(server).__name__
    raise TypeError(f"server= takes an MCPServer (from mcp.server import MCPServer) or a FastMCP object, not {kind}")


# --- the interpreter's end --------------------------------------------------------------------------------------------

_exit_watched_in: int | None = None


def close_at_exit() -> None:
    """See to it that the interpreter's end closes what is open; a forked child must not close its parent's."""
    global _exit_watched_in
    if _exit_watched_in != os.getpid():
        _exit_watched_in = os.getpid()
        atexit.register(_close_if_ours, os.getpid())


def _close_if_ours(pid: int) -> None:
    if pid == os.getpid():
        end_all_sessions()


def _leave_to_parent() -> None:
    _of_parent.extend(running)
    running.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


def end_all_sessions() -> None:
    """End every session and its process, in at most three seconds; a server that is called again opens anew.

    For the interpreter's exit and the extension's unloading; from any thread but the background loop's.
    """
    sessions = list(running)
    if not sessions:
        return
    for session in sessions:
        if session.process is not None:
            session.process.hurry = True

    async def close() -> None:
        await asyncio.gather(*(session.close() for session in sessions), return_exceptions=True)

    with suppress(Exception):  # whatever the state of the loop at this point, the processes still have to end
        submit(close()).result(timeout=3)
    for session in sessions:
        if session.process is not None:
            session.process.end_now()

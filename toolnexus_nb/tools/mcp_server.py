"""`McpServer`: what a user holds of an MCP server, through all its sessions. The rules are at the top of `mcp.py`."""

from __future__ import annotations

import asyncio
import os
import time
import weakref
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from ..openai.errors import redact
from ..openai.json_text import json_ready
from .background import HAS_THREADS, background_loop, hop, in_thread, sync_twin
from .mcp_config import ServerSpec, unknown_names
from .mcp_elicitation import Elicitation, answer
from .mcp_errors import McpServerError, Refused, SessionExpired, describe, opening_error, refused_call
from .mcp_opening import connect
from .mcp_output_schema import MISMATCH, checked
from .mcp_reading import get_prompt, list_prompts, list_resources, list_tools, read_resource
from .mcp_results import result_of_call
from .mcp_session import About, Session, close_at_exit
from .mcp_status import LogEntry, McpPrompt, McpResource, McpStatus
from .mcp_stdio import Tail
from .mcp_tools import make_tool, offered, source_of, tool_name
from .results import ToolResult

if TYPE_CHECKING:
    from ..openai.types import Message
    from .context import ToolContext
    from .definition import Tool
    from .toolkit import Toolkit

T = TypeVar("T")

MOST_FAILED_RECONNECTS = 3
_KEPT_LOGS = 200
_MOST_NOTES = 50
_SETTLE = 0.05
"""Seconds to wait for more of the same when a server says that its list changed; some say it five times."""
_LONGEST_SETTLE = 30.0


_servers: weakref.WeakSet[McpServer] = weakref.WeakSet()


def _begin_anew_after_fork() -> None:
    """A forked child has its own sessions: those of its parent live on the parent's loop, and it must not end them."""
    for server in _servers:
        server._session = server._listing = None
        server._opening = asyncio.Lock()
        if server._stop_session is not None:
            server._stop_session.detach()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew_after_fork)


class McpServer:
    """One MCP server of a toolkit. Made by `toolkit.add_mcp`; kept in `toolkit.servers`."""

    def __init__(self, toolkit: Toolkit, spec: ServerSpec) -> None:
        self.spec = spec
        self.name = spec.name
        self.logs: deque[LogEntry] = deque(maxlen=_KEPT_LOGS)
        self.notes: list[str] = []
        """What a person should know: an unknown name in a filter, a result that contradicts its schema, a question."""
        self.last_error = ""
        self._toolkit = weakref.ref(toolkit)
        self._session: Session | None = None
        self._stop_session: weakref.finalize[[Session], McpServer] | None = None
        self._stderr = Tail()
        self._listed: dict[str, Any] = {}
        self._tools: dict[str, Tool] = {}
        self._opening = asyncio.Lock()
        self._listing: asyncio.Task[None] | None = None
        self._list_changed = False
        self._wanted_open = False
        self._why_not_open = ""
        self._failures = 0
        self._calls = self._failed = self._opened = 0
        self._seconds = 0.0
        _servers.add(self)

    # --- what a person sees ---

    @property
    def state(self) -> str:
        """open, opening, closed, failed, lost or disabled; see `McpStatus`."""
        if self.spec.disabled and not self._wanted_open:
            return "disabled"
        if self._session is not None and self._session.is_open:
            return "open"
        if not self._wanted_open:
            return "closed"
        if self._opening.locked():
            return "opening"
        return "failed" if self._failures else "lost"

    @property
    def is_open(self) -> bool:
        return self.state == "open"

    @property
    def stderr(self) -> list[str]:
        """The last lines the server wrote to stderr, secrets blanked; of this session, or of the last one.

        What it printed on stdout and is no message comes after them: a `print` left in a server is meant for somebody.
        """
        process = self._session.process if self._session is not None else None
        printed = [f"(stdout, no MCP message) {line}" for line in process.noise.lines] if process is not None else []
        return [self._redacted(line) for line in (*self._stderr.lines, *printed)]

    @property
    def tools(self) -> list[str]:
        """The names of its tools in the toolkit, in the server's order."""
        return [self._tools[name].name for name in self._listed if name in self._tools]

    def status(self) -> McpStatus:
        """How the server is doing; from any thread, also while it is being opened or closed."""
        session = self._session
        state = self.state
        about = session.about if session is not None else About()
        process = session.process if session is not None else None
        return McpStatus(
            name=self.name,
            state=state,
            transport=session.transport if session is not None else self.spec.transport,
            target=self._redacted(self.spec.target),
            server_name=about.name,
            version=about.version,
            protocol=about.protocol,
            instructions=about.instructions,
            since=session.opened_at if session is not None and state == "open" else None,
            pid=process.pid if process is not None and state == "open" else None,
            tools=tuple(self.tools),
            hidden=tuple(name for name in self._listed if name not in self._tools),
            calls=self._calls,
            failed=self._failed,
            seconds=self._seconds,
            reopened=max(0, self._opened - 1),
            last_error=self.last_error,
            stderr=tuple(self.stderr[-10:]),
            notes=tuple(self.notes),
        )

    def __str__(self) -> str:
        status = self.status()
        about = f" {status.server_name} {status.version}".rstrip() + "," if status.server_name else ""
        tools = f"{len(status.tools)} tool{'s' if len(status.tools) != 1 else ''}"
        return f"MCP server {self.name!r}:{about} {status.state}, {tools} ({status.transport}: {status.target})"

    def __repr__(self) -> str:
        return f"<{self}>"

    def _redacted(self, text: str) -> str:
        return redact(text, secrets=self.spec.secrets)

    # --- opening and closing ---

    async def open(self) -> None:
        """Open the session if it is not open, and bring its tools into the toolkit. Raises McpServerError."""
        await hop(self._open)

    async def close(self) -> None:
        """End the session and its process. A closed server stays closed: its tools answer that it is."""
        await hop(self._close)

    async def remove(self) -> None:
        """Close, and take the server and its tools out of the toolkit."""
        await hop(self._remove)

    async def reconnect(self) -> None:
        """End the session and open a new one. Raises McpServerError."""
        await hop(self._reconnect)

    async def refresh(self) -> None:
        """Read the list of tools again."""
        await hop(self._refresh)

    async def _open(self) -> None:
        failures = self._failures
        async with self._opening:
            if self._session is not None and self._session.is_open:
                return
            if self._failures > failures:  # another call has just tried in vain: to try again would double the wait
                raise McpServerError(self._why_not_open, server=self.name, stderr=self.stderr)
            self._take_list(await self._connect())
            toolkit = self._toolkit()
            if toolkit is not None:
                toolkit.servers.setdefault(self.name, self)  # after toolkit.close() it is closed with it again

    async def _open_apart(self) -> list[Any]:
        """Open without touching the toolkit, and give its list: empty if disabled, or on failure (a finding)."""
        if self.spec.disabled:
            return []
        async with self._opening:
            try:
                return await self._connect()
            except McpServerError as error:
                self.note_fault(str(error))
                return []

    async def _connect(self) -> list[Any]:
        """Open a new session and list its tools, both within the time an opening may take. Raises McpServerError."""
        self._wanted_open = True
        if self._session is not None:
            await self._session.close()
        self._session = None
        try:
            self._session, listed = await self._connected()
        except McpServerError as error:
            self._failures += 1
            self.last_error = self._why_not_open = str(error)
            raise
        self._failures = 0
        self._opened += 1
        if self._stop_session is not None:
            self._stop_session.detach()
        self._stop_session = weakref.finalize(self, _leave_soon, self._session)
        self._stop_session.atexit = False
        return listed

    async def _connected(self) -> tuple[Session, list[Any]]:
        close_at_exit()
        await in_thread(import_module, "mcp", label="importing mcp")  # a second or more, in which this loop goes on
        deadline = asyncio.get_running_loop().time() + self.spec.open_timeout
        session = await connect(self.spec, self._stderr, weakref.ref(self), deadline)
        try:
            async with asyncio.timeout_at(deadline):
                listed = await list_tools(session)
        except BaseException as error:
            await session.abandon()
            if isinstance(error, Exception):
                raise opening_error(self.spec, error, session.circumstances()) from error
            raise
        return session, listed

    async def _close(self) -> None:
        self._wanted_open = False
        self._failures = 0
        async with self._opening:
            if self._listing is not None:
                self._listing.cancel()
            if self._session is not None:
                await self._session.close()

    async def _remove(self) -> None:
        await self._close()
        self._take_list([])
        toolkit = self._toolkit()
        if toolkit is not None and toolkit.servers.get(self.name) is self:
            del toolkit.servers[self.name]

    async def _reconnect(self) -> None:
        async with self._opening:
            if self._session is not None:
                await self._session.close()
        self._failures = 0
        await self._open()

    async def _ready(self) -> Session:
        """The open session; a lost one is opened again. Raises McpServerError."""
        session = self._session
        if session is not None and session.is_open:
            return session
        if not self._wanted_open:
            raise McpServerError(
                f"MCP server {self.name!r} is closed; `await server.reconnect()` or toolkit.add_mcp opens it again.",
                server=self.name,
            )
        if self._failures >= MOST_FAILED_RECONNECTS:
            raise McpServerError(
                f"MCP server {self.name!r} could not be opened again {self._failures} times, so it is not tried any "
                f"more: {self._why_not_open} Then use `%toolnexus mcp reconnect {self.name}` or "
                "`await server.reconnect()`.",
                server=self.name,
            )
        await self._open()
        assert self._session is not None
        return self._session

    # --- its tools ---

    async def _refresh(self) -> None:
        session = await self._ready()
        self._take_list(await list_tools(session))

    def _take_list(self, listed: Iterable[Any]) -> None:
        """Make the toolkit's tools of this server be what the server lists, in its order; what is unchanged stays.

        A server that was added again takes over the tools of the one before it: they have the same source.
        """
        before, self._listed = self._listed, {tool.name: tool for tool in listed}
        toolkit = self._toolkit()
        if toolkit is None or toolkit.servers.get(self.name, self) is not self:
            return
        source = source_of(self.name)
        replaceable = {tool.name for tool in toolkit if tool.source == source}
        taken = {*toolkit.names} - replaceable
        tools: dict[str, Tool] = {}
        for name, tool in self._listed.items():
            if not offered(self.spec, name):
                continue
            known = self._tools.get(name)
            if known is None or before.get(name) != tool:
                own_name = known.name if known is not None else tool_name(self.name, name, taken)
                known = make_tool(self, tool, own_name)
                toolkit.register(known)
            tools[name] = known
            taken.add(known.name)
        for old in [tool for tool in toolkit if tool.source == source and tool not in tools.values()]:
            toolkit.remove(old.name)
        self._tools = tools
        for name in unknown_names(self.spec, self._listed) if self._listed else ():
            self.note_fault(f"MCP server {self.name!r} has no tool {name!r} that its filter names")

    def _note_change(self, before: set[str], after: set[str]) -> None:
        changes = [f"+{name}" for name in sorted(after - before)] + [f"-{name}" for name in sorted(before - after)]
        if changes:
            self.note(f"{time.strftime('%H:%M:%S')}: the server changed its tools: {', '.join(changes)}")

    def note(self, text: str) -> None:
        """Keep a remark for the person, once, and not without bound."""
        text = self._redacted(text)
        if text not in self.notes and len(self.notes) < _MOST_NOTES:
            self.notes.append(text)

    def note_fault(self, text: str) -> None:
        """Keep a remark about something wrong, also among the toolkit's findings."""
        known = len(self.notes)
        self.note(text)
        toolkit = self._toolkit()
        if toolkit is not None and len(self.notes) > known:
            toolkit.findings.append(self.notes[-1])

    # --- what the server says by itself (called by the session) ---

    def on_log(self, level: str, logger: str | None, data: Any) -> None:
        self.logs.append(LogEntry(time.time(), level, logger, data))

    def on_change(self, what: str) -> None:
        if what != "tools":
            return
        self._list_changed = True
        if self._listing is None or self._listing.done():
            self._listing = asyncio.get_running_loop().create_task(_refresh_soon(weakref.ref(self)))

    async def on_elicitation(self, params: Any) -> Any:
        from mcp.types import ElicitResult

        question = Elicitation(
            server=self.name,
            message=params.message,
            schema=getattr(params, "requested_schema", None) or {},
            url=getattr(params, "url", None),
        )
        try:
            given, remark = await answer(self.spec.elicitation, question)
            accepted = given is not None and given is not False
            content = given if isinstance(given, dict) else None
            result = ElicitResult(action="accept", content=content) if accepted else ElicitResult(action="decline")
        except Exception as error:
            result = ElicitResult(action="decline")
            remark = f"{self.name} asked: {params.message!r}; declined, since the answering failed: {describe(error)}"
        self.note(remark)
        return result

    # --- calls ---

    async def call(
        self, tool: str, arguments: Mapping[str, Any] | None = None, *, context: ToolContext | None = None
    ) -> ToolResult:
        """Call a tool by the server's own name for it. Failures are error results; only a cancellation is raised."""
        return await hop(lambda: self._call(tool, json_ready(dict(arguments or {})), context))

    async def _call(self, tool: str, arguments: dict[str, Any], context: ToolContext | None) -> ToolResult:
        started = time.monotonic()
        metadata = {"server": self.name, "tool": tool}
        try:
            result = await self._try_call(tool, arguments, context, metadata)
        except McpServerError as error:
            result = ToolResult.error(str(error), metadata=metadata)
        finally:
            self._calls += 1
            self._seconds += time.monotonic() - started
        if result.is_error:
            self._failed += 1
            self.last_error = result.output
        if MISMATCH in result.metadata:
            self.note_fault(f"MCP server {self.name!r}, tool {tool!r}: {result.metadata[MISMATCH]}")
        return result

    async def _try_call(
        self, tool: str, arguments: dict[str, Any], context: ToolContext | None, metadata: dict[str, Any]
    ) -> ToolResult:
        limit = self.spec.call_timeout
        if context is not None and context.deadline is not None:
            limit = min(limit, max(0.0, context.deadline - time.monotonic()))
        running_call = True

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            if context is not None and running_call:  # it may arrive after the result
                context.report(progress, total, message)

        try:
            answered = await self._request(
                lambda client: client.call_tool(tool, arguments, progress_callback=on_progress),
                limit=limit,
                doing=f"the call of {tool!r}",
            )
        except TimeoutError:
            return ToolResult.error(
                f"MCP server {self.name!r} did not answer the call of {tool!r} within {limit:.3g} s, so the call was "
                "cancelled; the session stays open. A longer time is given with timeout=.",
                metadata=metadata,
            )
        except Refused as refusal:
            return ToolResult.error(
                refused_call(self.spec, tool, refusal, None if tool in self._listed else self.tools), metadata=metadata
            )
        finally:
            running_call = False
        listed = self._listed.get(tool)
        return await checked(result_of_call(answered, metadata), listed.output_schema if listed is not None else None)

    async def _request(self, make: Callable[[Any], Awaitable[T]], *, limit: float, doing: str) -> T:
        """`Session.request` on the open session; once more on a new one if the server had forgotten the session."""
        session = await self._ready()
        try:
            return await session.request(make, limit=limit, doing=doing)
        except SessionExpired:
            session = await self._ready()
            return await session.request(make, limit=limit, doing=doing)

    # --- resources and prompts ---

    async def resources(self) -> list[McpResource]:
        """What the server lets read: its resources, then its resource templates. Raises McpServerError."""
        return await hop(lambda: self._ask(list_resources))

    async def read(self, uri: str) -> ToolResult:
        """Read a resource: its text as output, its contents as parts. Raises McpServerError."""
        return await hop(lambda: self._ask(lambda session: read_resource(session, uri)))

    async def prompts(self) -> list[McpPrompt]:
        """The prompts the server offers. Raises McpServerError."""
        return await hop(lambda: self._ask(list_prompts))

    async def prompt(self, name: str, arguments: Mapping[str, str] | None = None) -> list[Message]:
        """A prompt filled in: messages that can be put into a chat. Raises McpServerError."""
        return await hop(
            lambda: self._ask(
                lambda session: get_prompt(
                    session, name, {str(key): str(value) for key, value in (arguments or {}).items()}
                )
            )
        )

    async def _ask(self, make: Callable[[Session], Awaitable[T]]) -> T:
        try:
            return await make(await self._ready())
        except Refused as refusal:
            said = self._redacted(describe(refusal.error)).rstrip(".")
            raise McpServerError(f"MCP server {self.name!r} refused: {said}.", server=self.name) from refusal.error
        except TimeoutError as error:
            limit = self.spec.call_timeout
            raise McpServerError(
                f"MCP server {self.name!r} did not answer within {limit:g} s.", server=self.name
            ) from error

    open_sync = sync_twin(open)
    close_sync = sync_twin(close)
    remove_sync = sync_twin(remove)
    reconnect_sync = sync_twin(reconnect)
    refresh_sync = sync_twin(refresh)
    call_sync = sync_twin(call)
    resources_sync = sync_twin(resources)
    read_sync = sync_twin(read)
    prompts_sync = sync_twin(prompts)
    prompt_sync = sync_twin(prompt)


def _leave_soon(session: Session) -> None:
    """End the session of a server nobody holds any more; called by the garbage collector, in whatever thread."""
    if HAS_THREADS:
        background_loop().call_soon_threadsafe(session.leave_soon)
    else:
        session.leave_soon()


async def _refresh_soon(find: weakref.ref[McpServer]) -> None:
    """List the tools again, and once more if the server says meanwhile that they changed.

    More and more slowly, since some say it each time they are asked.
    """
    pause = _SETTLE
    while True:
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_SETTLE)
        server = find()
        if server is None or not server.is_open or not server._list_changed:
            return
        server._list_changed = False
        before = set(server.tools)
        try:
            await server._refresh()
        except (McpServerError, Refused, TimeoutError) as error:
            server.note_fault(
                f"MCP server {server.name!r} said that its tools changed and then did not list them: {describe(error)}"
            )
        else:
            server._note_change(before, set(server.tools))
        del server

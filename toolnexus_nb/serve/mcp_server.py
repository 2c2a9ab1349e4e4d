"""The toolkit as one MCP server: its functions, its HTTP tools, and the tools of the MCP servers it is connected to.

The server's handlers run wherever the transport lives (uvicorn's loop, stdio's, a test's); the tools run on the
background loop like everywhere else. A client that cancels a call, or closes the stream of its answer, stops the tool.
A toolkit that changes, because a cell was run again, tells the clients that listen.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from ..openai.json_text import clean_text
from ..tools.background import GRACE
from ..tools.context import ToolContext
from ..tools.names import nearest
from ..tools.results import ToolResult
from .activity import ServedCall, log_output
from .approval import ServedApproval, may_run
from .crossing import crossing
from .mcp_content import to_call_result, to_mcp_tool

if TYPE_CHECKING:
    from ..tools.changes import ToolChange
    from ..tools.definition import Tool
    from ..tools.toolkit import Toolkit

_YES: types.ElicitRequestedSchema = {"type": "object", "properties": {}}
_SESSIONS_KEPT = 1000


def create_mcp_server(
    toolkit: Toolkit,
    *,
    name: str = "toolnexus_nb",
    version: str | None = None,
    instructions: str | None = None,
    keep: Callable[[str], bool] | None = None,
    approve: ServedApproval = "ask",
    seconds: float | None = None,
    on_call: Callable[[ServedCall], None] | None = None,
) -> Server[Any]:
    """An MCP server (the SDK's low-level `Server`) that offers the toolkit's tools, as they are at each request.

    `keep` is a filter by name (`tools_by_name("add")`); `seconds` the most a call may take; `on_call` hears of all.
    Serve it with `run_stdio`, mount it with `create_app`, or hand it to `mcp.Client(server)` in the same process.
    """
    from .. import __version__

    face = _Face(toolkit, keep or (lambda _: True), approve, seconds, on_call)
    return _ToolkitServer(
        name,
        version=version or __version__,
        instructions=instructions,
        lifespan=face.lifespan,
        get_tool_input_schema=face.input_schema,
        on_list_tools=face.list_tools,
        on_call_tool=face.call_tool,
        on_subscriptions_listen=face.listen,
    )


class _ToolkitServer(Server[Any]):
    """Says in the older handshake too that its list of tools may change."""

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *args: Any, **kwargs: Any
    ) -> InitializationOptions:
        options = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(options, *args, **kwargs)


class _Face:
    """The handlers of one server."""

    def __init__(
        self,
        toolkit: Toolkit,
        keep: Callable[[str], bool],
        approve: ServedApproval,
        seconds: float | None,
        on_call: Callable[[ServedCall], None] | None,
    ) -> None:
        self._toolkit = toolkit
        self._keep = keep
        self._approve = approve
        self._seconds = seconds
        self._on_call = on_call
        self._bus = InMemorySubscriptionBus()
        self._sessions: OrderedDict[str, ServerSession] = OrderedDict()
        self.listen = ListenHandler(self._bus)

    # --- the list of tools -------------------------------------------------------------------------------------------

    def _offered(self) -> dict[str, Tool]:
        return {self._toolkit.wire_name(tool): tool for tool in self._toolkit if self._keep(tool.name)}

    def input_schema(self, name: str) -> dict[str, Any] | None:
        tool = self._offered().get(name)
        return None if tool is None else dict(tool.input_schema)

    async def list_tools(
        self, ctx: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            self._remember(ctx)
        return types.ListToolsResult(tools=[to_mcp_tool(tool, name) for name, tool in self._offered().items()])

    def _remember(self, ctx: ServerRequestContext[Any]) -> None:
        """Older clients hear of changes on their session; one whose stream is gone hears nothing, and does no harm."""
        headers = getattr(ctx.request, "headers", {})
        self._sessions[headers.get("mcp-session-id", "")] = ctx.session
        while len(self._sessions) > _SESSIONS_KEPT:
            self._sessions.popitem(last=False)

    @asynccontextmanager
    async def lifespan(self, server: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        loop = asyncio.get_running_loop()
        telling: set[asyncio.Task[None]] = set()

        def tell() -> None:
            task = loop.create_task(self._tell_of_change())
            telling.add(task)
            task.add_done_callback(telling.discard)

        def changed(_: ToolChange) -> None:
            with contextlib.suppress(RuntimeError):  # the loop ended without leaving this: nobody listens any more
                loop.call_soon_threadsafe(tell)

        undo = self._toolkit.on_change(changed)
        try:
            yield {}
        finally:
            undo()
            self.listen.close()

    async def _tell_of_change(self) -> None:
        await self._bus.publish(ToolsListChanged())
        for session in list(self._sessions.values()):
            await session.send_tool_list_changed()

    # --- a call ------------------------------------------------------------------------------------------------------

    async def call_tool(
        self, ctx: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        arguments = dict(params.arguments or {})
        offered = self._offered()
        tool = offered.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, _unknown(params.name, list(offered)))
        began = time.perf_counter()
        state = "cancelled"
        try:
            refusal = await self._refusal(ctx, params, tool, arguments)
            if isinstance(refusal, types.InputRequiredResult):
                state = ""
                return refusal
            if refusal is not None:
                state = "denied"
                return types.CallToolResult(content=[types.TextContent(text=refusal)], is_error=True)
            result = await self._run(ctx, tool, arguments)
            log_output(tool.name, result)
            answer = to_call_result(tool, result)
            state = "failed" if answer.is_error else "done"
            return answer
        finally:
            if self._on_call is not None and state:
                self._on_call(ServedCall(tool.name, time.perf_counter() - began, state, "mcp"))

    async def _run(self, ctx: ServerRequestContext[Any], tool: Tool, arguments: dict[str, Any]) -> ToolResult:
        counter = _Counter()
        result: ToolResult | None = None
        try:
            async with (
                asyncio.timeout(self._seconds),
                crossing(lambda: _reports_then_result(tool, arguments, str(ctx.request_id))) as across,
            ):
                async for batch in across.batches():
                    for item in batch:
                        if isinstance(item, ToolResult):
                            result = item
                        else:
                            await ctx.session.report_progress(*counter.next(item))
        except TimeoutError:
            return ToolResult.error(f"{tool.name} was stopped after {self._seconds:g} s, the most a call may take here")
        return result if result is not None else ToolResult.error(f"{tool.name} ended without a result")

    async def _refusal(
        self,
        ctx: ServerRequestContext[Any],
        params: types.CallToolRequestParams,
        tool: Tool,
        arguments: dict[str, Any],
    ) -> str | types.InputRequiredResult | None:
        """None when the call may run; else why not, or the question that the client must put to its person first."""
        reason = tool.approval_needed(arguments)
        if reason is None:
            return None
        allowed = await may_run(self._approve, tool.name, arguments)
        if allowed is not None:
            return None if allowed else f"{tool.name} needs approval, and this server does not give it."
        return await _ask_person(ctx, params, f"Run {tool.name}({_shown(arguments)})? {reason}".strip(), tool.name)


@dataclass(frozen=True, slots=True)
class _Report:
    progress: float | None
    total: float | None
    message: str | None


class _Counter:
    """MCP wants a progress number that grows; a tool that only says a word gets the next one."""

    def __init__(self) -> None:
        self._last = 0.0

    def next(self, report: _Report) -> tuple[float, float | None, str | None]:
        progress, total = _number(report.progress), _number(report.total)
        self._last = progress if progress is not None else self._last + (total is None)
        return self._last, total, None if report.message is None else clean_text(report.message)


def _number(value: float | None) -> float | None:
    """None for what has no form in JSON."""
    return value if value is not None and math.isfinite(value) else None


async def _reports_then_result(
    tool: Tool, arguments: dict[str, Any], call_id: str
) -> AsyncIterator[_Report | ToolResult]:
    """Run the tool (on the background loop); everything it reports, then its result."""
    loop = asyncio.get_running_loop()
    reports: asyncio.Queue[_Report | None] = asyncio.Queue()

    def report(progress: float | None, total: float | None, message: str | None) -> None:
        loop.call_soon_threadsafe(reports.put_nowait, _Report(progress, total, message))

    context = ToolContext(call_id=call_id, on_progress=report)
    task = asyncio.ensure_future(tool.execute(arguments, context))
    # scheduled like a report, so that it comes after the last one
    task.add_done_callback(lambda _: loop.call_soon_threadsafe(reports.put_nowait, None))
    try:
        while (item := await reports.get()) is not None:
            yield item
        yield task.result()
    finally:
        if not task.done():
            context.cancel()
            task.cancel()
            await asyncio.wait([task], timeout=GRACE)


async def _ask_person(
    ctx: ServerRequestContext[Any], params: types.CallToolRequestParams, question: str, tool: str
) -> str | types.InputRequiredResult | None:
    """Put the question to the person at the client; since 2026-07-28 the client calls again with the answer.

    The client is trusted to have asked: it is the one that acts for the person.
    """
    capabilities = ctx.session.client_capabilities
    nobody = f"{tool} needs a person's approval, and this client has no way to ask for it."
    if capabilities is None or capabilities.elicitation is None:
        return nobody
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        answer: Any = (params.input_responses or {}).get("approve")
        if answer is None:
            form = types.ElicitRequestFormParams(message=question, requested_schema=_YES)
            return types.InputRequiredResult(input_requests={"approve": types.ElicitRequest(params=form)})
    else:
        try:
            answer = await ctx.session.elicit_form(question, _YES, related_request_id=ctx.request_id)
        except NoBackChannelError:
            return nobody
    action = answer.get("action") if isinstance(answer, dict) else getattr(answer, "action", None)
    return None if action == "accept" else f"The person at the client did not allow {tool} to run."


def _shown(arguments: dict[str, Any]) -> str:
    shown = (f"{name}={json.dumps(value, ensure_ascii=False, default=str)}" for name, value in arguments.items())
    text = clean_text(", ".join(shown))
    return text if len(text) <= 400 else f"{text[:400]}…"


def _unknown(name: str, names: list[str]) -> str:
    near = nearest(name, names)
    return f"Unknown tool: {name}" + (f"; did you mean {' or '.join(near)}?" if near else "")

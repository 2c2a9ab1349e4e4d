"""The tools of one conversation: ordered, re-registrable, callable by the names a model uses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .adapters import Keep, Report, each, to_anthropic, to_gemini, to_openai
from .background import hop, sync_twin
from .changes import ToolChange
from .context import ToolContext
from .definition import Tool, as_tool
from .names import nearest, unique_wire_name, without_model_habits
from .results import ToolResult

if TYPE_CHECKING:
    from ..openai.types import Message
    from .mcp import McpServer

OnChange = Callable[[ToolChange], None]


class Toolkit:
    """Tools in the order they came. Registering a name again replaces the tool in its place and records the change.

    changes    every registration, replacement and removal, oldest first
    servers    MCP servers by name
    findings   what went wrong while sources were read, as text a person can act on
    """

    def __init__(self, tools: Iterable[Any] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        self._wires: dict[str, str] = {}
        self._listeners: list[OnChange] = []
        self.changes: list[ToolChange] = []
        self.servers: dict[str, McpServer] = {}
        self.findings: list[Any] = []
        self.register(*each(tools))

    # --- what is in it ------------------------------------------------------------------------------------------------

    def register(self, *tools: Any) -> Toolkit:
        """Add tools or plain functions, or replace those of the same name; all or, if one is refused, none of them."""
        for tool in [as_tool(one) for one in tools]:
            before = self._tools.get(tool.name)
            self._tools[tool.name] = tool
            if before is None:
                self._wires[tool.name] = unique_wire_name(tool.name, self._wires.values())
            if before is not tool:
                self._changed(ToolChange(tool.name, before, tool))
        return self

    def remove(self, name: str) -> Tool:
        """Take a tool out and give it back. Raises KeyError with the nearest names."""
        tool = self.resolve(name)
        if tool is None:
            raise KeyError(self._unknown(name))
        del self._tools[tool.name], self._wires[tool.name]
        self._changed(ToolChange(tool.name, tool, None))
        return tool

    def get(self, name: str) -> Tool | None:
        """The tool of that name (its own, else its wire name), or None."""
        return self._tools.get(name) or self._by_wire(name)

    def resolve(self, name: str) -> Tool | None:
        """The tool a model means, or None.

        A wire name comes first, since it is all a model has seen; then a tool's own name; then both without the habits
        of some models (quirk G09).
        """
        for tried in dict.fromkeys((name or "", without_model_habits(name or ""))):
            if (tool := self._by_wire(tried) or self._tools.get(tried)) is not None:
                return tool
        return None

    def _by_wire(self, name: str) -> Tool | None:
        return next((self._tools[own] for own, wire in self._wires.items() if wire == name), None)

    def wire_name(self, tool: Tool | str) -> str:
        """The name a provider sees: valid, at most 64 characters, unique in this toolkit."""
        name = tool if isinstance(tool, str) else tool.name
        return self._wires[name]

    @property
    def names(self) -> list[str]:
        """The tools' names in order."""
        return list(self._tools)

    def tools(self) -> list[Tool]:
        """The tools in order."""
        return list(self._tools.values())

    def filter(self, keep: Callable[[str], bool]) -> Toolkit:
        """A new toolkit of the tools whose name `keep` accepts; wire names stay as they are here."""
        chosen = Toolkit()
        for name, tool in self._tools.items():
            if keep(name):
                chosen._tools[name], chosen._wires[name] = tool, self._wires[name]
        return chosen

    def history(self, name: str) -> list[ToolChange]:
        """What happened to the tool of that name, oldest first."""
        return [change for change in self.changes if change.name == name]

    def on_change(self, callback: OnChange) -> Callable[[], None]:
        """Call `callback` with every ToolChange from now on; the returned function ends that."""
        self._listeners.append(callback)
        return lambda: self._listeners.remove(callback) if callback in self._listeners else None

    def _changed(self, change: ToolChange) -> None:
        self.changes.append(change)
        for listener in list(self._listeners):
            listener(change)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.tools())

    def __len__(self) -> int:
        return len(self._tools)

    def __bool__(self) -> bool:
        return True  # an empty toolkit is a toolkit; tools are added to it later

    def __contains__(self, tool: object) -> bool:
        if isinstance(tool, str):
            return self.get(tool) is not None
        if isinstance(tool, Tool):
            return self._tools.get(tool.name) is tool
        return any(one.function is tool for one in self._tools.values())

    def __getitem__(self, name: str) -> Tool:
        tool = self.get(name)
        if tool is None:
            raise KeyError(self._unknown(name))
        return tool

    def __repr__(self) -> str:
        return f"Toolkit({', '.join(self._tools)})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text("\n".join(str(tool) for tool in self) or "Toolkit()")

    # --- calling ------------------------------------------------------------------------------------------------------

    async def execute(
        self, name: str, arguments: Mapping[str, Any] | str | None = None, context: ToolContext | None = None
    ) -> ToolResult:
        """Run one tool by the name a model used; an unknown name is an error result with the nearest names."""
        tool = self.resolve(name)
        if tool is None:
            return ToolResult.error(self._unknown(name), metadata={"reason": "unknown tool"})
        return await tool.execute(arguments, context)

    execute_sync = sync_twin(execute)

    async def run_calls(self, tool_calls: Iterable[Any] | None) -> list[Message]:
        """Run a model's calls side by side and give one tool message for each, in their order.

        Takes dicts, our ToolCall, the openai package's objects, or a whole message that holds `tool_calls`.
        """
        from ..openai.types import Message, ToolCall

        calls = [ToolCall.from_any(call) for call in _calls_of(tool_calls)]
        results = await hop(lambda: asyncio.gather(*(self._run_call(call) for call in calls)))
        return [Message.tool(call.id, result.output) for call, result in zip(calls, results, strict=True)]

    run_calls_sync = sync_twin(run_calls)

    async def _run_call(self, call: Any) -> ToolResult:
        return await self.execute(call.name or "", call.arguments_text, ToolContext(call_id=call.id or ""))

    def _unknown(self, name: str) -> str:
        close = nearest(without_model_habits(name or ""), self._tools)
        hint = f", did you mean {' or '.join(close)}?" if close else ""
        there = f" Available: {', '.join(self._tools)}." if self._tools else " There are no tools."
        return f"Unknown tool: {name}{hint or '.'}{there}"

    # --- on the wire --------------------------------------------------------------------------------------------------

    def to_openai(
        self, filter: Keep = None, strict: bool | None = None, *, report: Report = None
    ) -> list[dict[str, Any]]:
        """The `tools` of an OpenAI request, see `tn.to_openai`."""
        return to_openai(self, filter, strict, report=report)

    def to_anthropic(self, filter: Keep = None, *, report: Report = None) -> list[dict[str, Any]]:
        """The `tools` of an Anthropic request, see `tn.to_anthropic`."""
        return to_anthropic(self, filter, report=report)

    def to_gemini(self, filter: Keep = None, *, report: Report = None) -> list[dict[str, Any]]:
        """The `tools` of a Gemini request, see `tn.to_gemini`."""
        return to_gemini(self, filter, report=report)

    # --- MCP servers --------------------------------------------------------------------------------------------------

    async def add_mcp(
        self,
        name: str,
        *,
        command: str | Sequence[str] | None = None,
        url: str | None = None,
        server: Any = None,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        headers: Mapping[str, str] | None = None,
        include: Collection[str] | str = (),
        exclude: Collection[str] | str = (),
        timeout: float | None = None,
        needs_approval: Any = None,
        elicitation: Any = None,
        **more: Any,
    ) -> McpServer:
        """Open an MCP server and register its tools as `name_tool`. Running the cell again opens it anew.

        command, env, cwd   a program of this machine, as a list or as in a shell; it gets PATH, HOME, LANG and `env`
        url, headers        a server at an address: Streamable HTTP, or the older one with events
        server              an MCPServer object of this process
        include, exclude    the server's own names of the tools to offer, or to leave out
        timeout             seconds for opening it (30) and for each call (120)
        needs_approval      None: what the server calls destructive. True, False, names, a function of the arguments
        elicitation         how its questions are answered: "form", "defaults", "decline", a function; None: it may not
                            ask
        more                auth= (an httpx2 Auth), transport="sse", log_level=, args=

        Raises McpServerError that says why and what to do; nothing is left running then.
        """
        from .mcp import add_server

        given = {
            "command": command,
            "url": url,
            "server": server,
            "env": env,
            "cwd": cwd,
            "headers": headers,
            "include": include,
            "exclude": exclude,
            "timeout": timeout,
            "needs_approval": needs_approval,
            "elicitation": elicitation,
        }
        return await add_server(self, name, **given, **more)

    add_mcp_sync = sync_twin(add_mcp)

    async def add_mcp_config(self, config: str | Path | Mapping[str, Any]) -> list[McpServer]:
        """Open every server of an `mcp.json` as host applications write it (a path or its content), side by side.

        Gives all of them; one that failed has `state` "failed", and its reason is in `findings`.
        """
        from .mcp import add_config

        return await add_config(self, config)

    add_mcp_config_sync = sync_twin(add_mcp_config)

    def mcp_servers(self) -> list[McpServer]:
        """The connected MCP servers."""
        return list(self.servers.values())

    async def close(self) -> None:
        """Close every MCP server; the tools stay listed."""
        servers, self.servers = list(self.servers.values()), {}
        await asyncio.gather(*(server.close() for server in servers))

    close_sync = sync_twin(close)

    async def __aenter__(self) -> Toolkit:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


def _calls_of(given: Any) -> Sequence[Any]:
    """The calls in a list, in a message (dict or object), or none."""
    if given is None:
        return []
    if isinstance(given, Mapping):
        given = given.get("tool_calls") if "tool_calls" in given else [given]
    elif hasattr(given, "tool_calls"):
        given = given.tool_calls
    return list(given or ())

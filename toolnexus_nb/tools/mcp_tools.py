"""The tools of an MCP server as tools of ours: which are offered, how they run, when a person must agree first."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from .mcp_config import ServerSpec, allowed_without_asking

if TYPE_CHECKING:
    from .context import ToolContext
    from .definition import Tool
    from .mcp import McpServer

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")


def offered(spec: ServerSpec, name: str) -> bool:
    """Whether the filter lets a tool through; `name` is the server's own."""
    return name not in spec.exclude and (not spec.include or name in spec.include)


def tool_name(server: str, tool: str, taken: Collection[str]) -> str:
    """`server_tool` in letters every provider takes, made different from the `taken` ones by a number."""
    name = f"{_NOT_IN_A_NAME.sub('_', server)}_{_NOT_IN_A_NAME.sub('_', tool)}"
    if name not in taken:
        return name
    number = 2
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"


def source_of(server: str) -> str:
    """`Tool.source` of the tools of a server."""
    return f"mcp:{server}"


class ServerDecides:
    """Arguments go to the server unchecked: it knows what it takes (some read "1" as 1), and says what does not fit."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.input_schema = schema

    async def bind(self, arguments: dict[str, Any], context: ToolContext) -> tuple[list[Any], dict[str, Any]]:
        return [arguments], {}


def make_tool(server: McpServer, listed: Any, name: str) -> Tool:
    """Our tool for one `mcp.types.Tool`. It holds the server, which stays open while any toolkit has it."""
    from .definition import Tool

    own_name = listed.name
    annotations = listed.annotations.model_dump(by_alias=True, exclude_none=True) if listed.annotations else {}

    async def invoke(arguments: dict[str, Any], context: ToolContext) -> Any:
        return await server.call(own_name, arguments, context=context)

    return Tool(
        name=name,
        description=listed.description or "",
        binder=ServerDecides(input_schema(listed.input_schema)),
        invoke=invoke,
        source=source_of(server.name),
        needs_approval=approval_rule(server.spec, own_name, annotations),
        output_schema=listed.output_schema,
        annotations=annotations,
        title=listed.title or annotations.get("title"),
    )


def input_schema(schema: dict[str, Any] | None) -> dict[str, Any]:
    """The server's schema as it is, completed to an object with properties, which providers ask for."""
    schema = dict(schema or {})
    schema.setdefault("type", "object")
    schema.setdefault("properties", {})
    return schema


def approval_rule(
    spec: ServerSpec, name: str, annotations: dict[str, Any]
) -> bool | Callable[[dict[str, Any]], bool | str]:
    """When a person must agree before `name` runs.

    Without a word from the user: when the server itself says the tool may destroy. A missing hint is no such word,
    though the specification's default for it is true: every unannotated tool would ask.
    """
    wish = spec.needs_approval
    if wish is None or allowed_without_asking(wish):
        destructive = annotations.get("destructiveHint") is True and annotations.get("readOnlyHint") is not True
        if not destructive or name in allowed_without_asking(wish):
            return False
        return lambda arguments: f"MCP server {spec.name!r} marks {name!r} as destructive"
    if isinstance(wish, bool) or callable(wish):
        return wish
    return name in wish

"""What a session is asked besides calls: its tools, resources and prompts, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .mcp_errors import Refused
from .mcp_results import describe_part, read_blocks, result_of_resource
from .mcp_session import Session
from .mcp_status import McpPrompt, McpResource
from .results import ToolResult

if TYPE_CHECKING:
    from ..openai.types import Message


async def list_tools(session: Session) -> list[Any]:
    """`mcp.types.Tool`s; none for a server that has no such list."""
    return await _list(session, "list_tools", "tools")


async def list_resources(session: Session) -> list[McpResource]:
    """Resources, then templates."""
    plain = await _list(session, "list_resources", "resources")
    templates = await _list(session, "list_resource_templates", "resource_templates")
    found = [
        McpResource(
            uri=item.uri,
            name=item.title or item.name,
            description=item.description or "",
            mime_type=item.mime_type or "",
            size=item.size,
        )
        for item in plain
    ]
    return found + [
        McpResource(
            uri=item.uri_template,
            name=item.title or item.name,
            description=item.description or "",
            mime_type=item.mime_type or "",
            template=True,
        )
        for item in templates
    ]


async def read_resource(session: Session, uri: str) -> ToolResult:
    """The contents behind an address of the server's."""
    result = await session.request(
        lambda client: client.read_resource(uri, cache_mode="refresh"),
        limit=session.spec.call_timeout,
        doing=f"reading {uri}",
    )
    return result_of_resource(result, {"server": session.spec.name, "uri": uri})


async def list_prompts(session: Session) -> list[McpPrompt]:
    """Prompts with what they take."""
    return [
        McpPrompt(
            name=item.name,
            description=item.description or item.title or "",
            arguments={a.name: (a.description or "", bool(a.required)) for a in item.arguments or ()},
        )
        for item in await _list(session, "list_prompts", "prompts")
    ]


async def get_prompt(session: Session, name: str, arguments: dict[str, str]) -> list[Message]:
    """A prompt as messages of user and assistant; what is no text is described in words."""
    from ..openai.types import Message

    result = await session.request(
        lambda client: client.get_prompt(name, arguments), limit=session.spec.call_timeout, doing=f"the prompt {name!r}"
    )
    messages = []
    for item in result.messages:
        texts, lines, parts = read_blocks([item.content])
        text = "\n".join([*texts, *lines]) or "\n".join(describe_part(part) for part in parts)
        messages.append(Message.assistant(text) if item.role == "assistant" else Message.user(text))
    return messages


async def _list(session: Session, method: str, items: str) -> list[Any]:
    from mcp.types import METHOD_NOT_FOUND

    try:
        return await session.every_page(method, items)
    except Refused as refusal:
        if getattr(refusal.error, "code", None) == METHOD_NOT_FOUND:
            return []
        raise

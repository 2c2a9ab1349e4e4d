"""What there is to say about a tool: its forms for the providers, findings, tokens, changes, origins. No HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from .lens_markup import Lens

if TYPE_CHECKING:
    from ..tools.changes import ToolChange
    from ..tools.definition import Tool
    from ..tools.linting import Finding
    from ..tools.portable import Change

#: With more tools than this, one JSON form is kept for each instead of one for every provider; with more than
#: `VERY_MANY_TOOLS` none, and no lens.
MANY_TOOLS = 12
VERY_MANY_TOOLS = 60


@dataclass(frozen=True)
class Form:
    """A tool as one provider takes it: the definition and what had to be changed for it, or why there is none."""

    definition: Any = None
    changes: Sequence[str] = ()
    reason: str = ""


@dataclass(frozen=True)
class ToolFacts:
    """What the schema view shows of one tool, gathered before anything becomes HTML.

    forms: by the provider's name. findings: what the linter says. changes: the registrations, oldest first.
    tags: what is particular about the tool, in words.
    """

    tool: Tool
    forms: Mapping[str, Form]
    token_count: int
    findings: Sequence[Finding] = ()
    changes: Sequence[ToolChange] = ()
    lens: Lens | None = None
    tags: Sequence[str] = ()


def tools_of(tools: Any) -> list[Tool]:
    """The tools of a Toolkit, of one tool or function, or of several."""
    from ..tools.definition import Tool
    from ..tools.toolkit import Toolkit

    if isinstance(tools, Toolkit):
        return list(tools.tools())
    if isinstance(tools, Tool) or callable(tools):
        tools = [tools]
    return list(Toolkit(tools).tools())


def definitions(tools: Iterable[Tool], form: str, report: list[Change] | None = None) -> list[Any]:
    """The tools for one provider: openai, strict, anthropic, gemini or mcp. `report` takes what had to be changed."""
    from ..tools.adapters import to_anthropic, to_gemini, to_openai

    makers: dict[str, Callable[[Iterable[Tool]], list[Any]]] = {
        "openai": lambda some: to_openai(some, report=report),
        "strict": lambda some: to_openai(some, strict=True, report=report),
        "anthropic": lambda some: to_anthropic(some, report=report),
        "gemini": lambda some: to_gemini(some, report=report),
        "mcp": lambda some: [mcp_form(tool) for tool in some],
    }
    return makers[form](tools)


_PROVIDERS = {"OpenAI": "openai", "strict": "strict", "Anthropic": "anthropic", "Gemini": "gemini", "MCP": "mcp"}


def gather(
    tools: Sequence[Tool], changes: Mapping[str, Sequence[ToolChange]] = MappingProxyType({})
) -> list[ToolFacts]:
    """Everything the view shows of these tools. `changes` are registrations by the tools' names."""
    from ..tools.linting import lint

    findings = lint(tools)  # of all at once: some findings are about two of them
    shown = _PROVIDERS if len(tools) <= MANY_TOOLS else {"OpenAI": "openai"} if len(tools) <= VERY_MANY_TOOLS else {}
    return [
        ToolFacts(
            tool,
            forms={name: form_of(tool, provider) for name, provider in shown.items()},
            token_count=tokens_of([tool]),
            findings=[finding for finding in findings if finding.tool == tool.name],
            changes=changes.get(tool.name, ()),
            lens=lens_of(tool) if shown else None,
            tags=tags_of(tool),
        )
        for tool in tools
    ]


def form_of(tool: Tool, provider: str) -> Form:
    """One tool for one provider; where it has no such form (strict, say), the reason."""
    report: list[Change] = []
    try:
        (definition,) = definitions([tool], provider, report)
    except (ValueError, TypeError) as error:
        return Form(reason=f"This tool has no such form: {error}")
    return Form(definition, [f"{change.where}: {change.what}" for change in report])


def tokens_of(tools: Iterable[Tool]) -> int:
    """About how many tokens the definitions of these tools cost each request."""
    from ..openai.tokens import estimate_tool_tokens

    return sum(estimate_tool_tokens(definition) for definition in definitions(tools, "openai"))


def mcp_form(tool: Tool) -> dict[str, Any]:
    """The tool as an MCP server lists it."""
    listed: dict[str, Any] = {"name": tool.name}
    if tool.title:
        listed["title"] = tool.title
    listed |= {"description": tool.description, "inputSchema": tool.input_schema}
    if tool.output_schema:
        listed["outputSchema"] = tool.output_schema
    if tool.annotations:
        listed["annotations"] = tool.annotations
    return listed


def tags_of(tool: Tool) -> list[str]:
    """What is particular about a tool, in words."""
    said = []
    if tool.source not in ("function", ""):
        said.append(f"MCP server {tool.source[4:]}" if tool.source.startswith("mcp:") else tool.source)
    if tool.needs_approval:
        said.append("asks first" if tool.needs_approval is True else "may ask first")
    if tool.strict:
        said.append("strict")
    if tool.main_thread:
        said.append("main thread")
    if tool.timeout:
        said.append(f"at most {tool.timeout:g} s")
    if tool.annotations.get("destructiveHint"):
        said.append("may destroy")
    elif tool.annotations.get("readOnlyHint"):
        said.append("only reads")
    return said


def lens_of(tool: Tool) -> Lens:
    """Where each part of the tool's schema was read."""
    return Lens(tool.source_text, tool.provenance)

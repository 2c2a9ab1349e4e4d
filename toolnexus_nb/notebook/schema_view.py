"""The schema view: what a model reads of your tools, live under a cell, static when the next cell runs.

SchemaView(toolkit).show()            every tool of a toolkit
SchemaView([get_weather])             as the last line of a cell
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from .lens_markup import Lens
from .live_view import LiveView, pane
from .markup import tag
from .schema_markup import MANY_TOOLS, VERY_MANY_TOOLS, Form, ToolFacts, schema_html, schema_text

if TYPE_CHECKING:
    from ..tools.changes import ToolChange
    from ..tools.definition import Tool
    from ..tools.portable import Change
    from ..tools.toolkit import Toolkit
    from .tool_form import ToolForm


class SchemaView(LiveView):
    """Tables, JSON for every provider, findings, changes and the lens of some tools.

    tools: a Toolkit, or tools and functions. toolkit: where a form of the view runs a tool, and whose history is shown;
    the tools' own Toolkit if they came as one. changes: `ToolChange`s to show instead of the toolkit's history.
    """

    def __init__(self, tools: Any = (), toolkit: Toolkit | None = None, changes: Iterable[ToolChange] = ()) -> None:
        super().__init__()
        self.tools: list[Tool] = _tools_of(tools)
        self.toolkit = toolkit if toolkit is not None else (tools if hasattr(tools, "history") else None)
        self._changes = list(changes)
        self._facts: list[ToolFacts] | None = None
        self._form: ToolForm | None = None
        self._slot: Any = None

    def facts(self) -> list[ToolFacts]:
        """What is shown, gathered once for each view."""
        if self._facts is None:
            self._facts = gather(self.tools, {tool.name: self._history(tool) for tool in self.tools})
        return self._facts

    def html(self) -> str:
        tried = self._form is not None and self._form.last is not None
        return schema_html(self.facts()) + (self._form.html() if self._form is not None and tried else "")

    def text(self) -> str:
        tried = self._form is not None and self._form.last is not None
        return schema_text(self.facts()) + (f"\n\n{self._form.text()}" if self._form is not None and tried else "")

    def freeze(self) -> None:
        if self._form is not None:
            self._form.stop()
        super().freeze()
        self._slot = None

    def _history(self, tool: Tool) -> list[ToolChange]:
        if self._changes:
            return [change for change in self._changes if change.name == tool.name]
        if self.toolkit is not None and tool.name in self.toolkit:
            return list(self.toolkit.history(tool.name))
        return []

    def _build(self) -> Any:
        import ipywidgets as widgets

        top = pane(schema_html(self.facts(), actions=_try_button))
        top.on_msg(lambda _widget, content, _buffers: self._clicked(content))
        self._slot = widgets.VBox([])
        return widgets.VBox([top, self._slot])

    def _clicked(self, content: dict[str, Any]) -> None:
        self._heard(content)
        if content.get("type") == "try":
            self.try_it(str(content.get("name")))

    def try_it(self, name: str) -> ToolForm | None:
        """Open a form for one of the tools below the tables of the live view; None where there is none to open."""
        from .live_view import close_all
        from .tool_form import ToolForm

        tool = next((one for one in self.tools if one.name == name), None)
        if tool is None or self._slot is None:
            return None
        old, self._slot.children = self._slot.children, ()
        for widget in old:
            close_all(widget)
        self._form = ToolForm(tool, self.toolkit)
        self._slot.children = (self._form.widget(),)
        return self._form


def _try_button(name: str) -> str:
    return tag(
        "button", "try it", type="button", cls="tnx-go", data_act="try", data_name=name, aria_label=f"try it: {name}"
    )


def _tools_of(tools: Any) -> list[Tool]:
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

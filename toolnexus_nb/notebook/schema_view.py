"""The schema view: what a model reads of your tools, live under a cell, static when the next cell runs.

SchemaView(toolkit).show()            every tool of a toolkit
SchemaView([get_weather])             as the last line of a cell
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .live_view import LiveView, pane
from .markup import tag
from .schema_facts import ToolFacts, gather, tools_of
from .schema_markup import schema_html, schema_text

if TYPE_CHECKING:
    from ..tools.changes import ToolChange
    from ..tools.definition import Tool
    from ..tools.toolkit import Toolkit
    from .tool_form import ToolForm


class SchemaView(LiveView):
    """Tables, JSON for every provider, findings, changes and the lens of some tools.

    tools: a Toolkit, or tools and functions. toolkit: where a form of the view runs a tool, and whose history is shown;
    the tools' own Toolkit if they came as one. changes: `ToolChange`s to show instead of the toolkit's history.
    """

    def __init__(self, tools: Any = (), toolkit: Toolkit | None = None, changes: Iterable[ToolChange] = ()) -> None:
        super().__init__()
        self.tools: list[Tool] = tools_of(tools)
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
        return schema_html(self.facts()) + "".join(form.html() for form in self._tried())

    def text(self) -> str:
        return "\n\n".join([schema_text(self.facts()), *(form.text() for form in self._tried())])

    def _tried(self) -> list[ToolForm]:
        """The form of the view, once it has run a tool."""
        return [self._form] if self._form is not None and self._form.last is not None else []

    def freeze(self) -> None:
        if self._form is not None:
            self._form.stop()
        super().freeze()
        if self._form is not None:
            self._form.close()
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
        from .tool_form import ToolForm

        tool = next((one for one in self.tools if one.name == name), None)
        if tool is None or self._slot is None:
            return None
        if self._form is not None:
            self._form.stop()
            self._slot.children = ()
            self._form.close()
        self._form = ToolForm(tool, self.toolkit)
        self._slot.children = (self._form.page.box,)
        return self._form


def _try_button(name: str) -> str:
    return tag(
        "button", "try it", type="button", cls="tnx-go", data_act="try", data_name=name, aria_label=f"try it: {name}"
    )

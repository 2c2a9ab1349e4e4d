"""The form: fill a tool's arguments by hand, run it without a model, see what the model and what a person would.

    ToolForm(get_weather).show()                      or `%toolnexus form get_weather`
    form.fill(city="Oslo"); await form.run()          the same from Python

A click runs the tool as a task of the loop that serves the click, which only waits: async tools run on the background
loop, plain functions in threads, `main_thread` tools on the kernel's thread. So the form's Stop is served meanwhile.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..tools.background import block, hop
from .form_markup import Trial, form_head, form_html, form_text, trial_html
from .live_view import LiveView, pane
from .markup import duration, esc, join, tag
from .schema_facts import tools_of
from .schema_markup import tool_table

if TYPE_CHECKING:
    from ..tools.definition import Tool
    from ..tools.results import ToolResult
    from ..tools.toolkit import Toolkit
    from .form_fields import ObjectField


class ToolForm(LiveView):
    """A form for one tool. tool: a Tool, a function, or a name in `toolkit`. values: what is filled in at first."""

    def __init__(self, tool: Any, toolkit: Toolkit | None = None, values: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self.tool: Tool = _tool_of(tool, toolkit)
        self.toolkit = toolkit
        self.last: Trial | None = None
        self._fields: ObjectField | None = None
        self._values = dict(values or {})
        self._task: asyncio.Task[Any] | None = None
        self._said: Any = None

    # --- values ---------------------------------------------------------------------------------------------------

    @property
    def fields(self) -> ObjectField:
        """The input fields by name (`form.fields.fields["city"].input`)."""
        if self._fields is None:
            from .form_fields import ObjectField

            schema = self.tool.input_schema
            self._fields = ObjectField("", "", schema, schema)
            if self._values:
                self._fields.put(self._values)
        return self._fields

    def fill(self, **values: Any) -> ToolForm:
        """Put values into the fields; the others are left out."""
        self._values = values
        self.fields.put(values)
        return self

    def values(self) -> dict[str, Any]:
        """The arguments as filled in. Raises FieldErrors (a ValueError) that names each field at fault."""
        as_json: Any = self._as_json
        if as_json is not None and as_json.value:
            return self._typed()
        return dict(self.fields.take())

    # --- running --------------------------------------------------------------------------------------------------

    async def run(self) -> ToolResult | None:
        """Run the tool with the values of the fields. None if a field is at fault; each then says why."""
        from .form_fields import FieldErrors

        try:
            arguments = self.values()
        except FieldErrors as error:
            self._tell(error.errors)
            return None
        self._tell({})
        return await self._execute(arguments)

    def run_sync(self) -> ToolResult | None:
        """Blocking form of `run`."""
        return block(self.run)

    def stop(self) -> None:
        """Stop the run that is going on, if there is one."""
        task = self._task
        if task is not None and not task.done():
            # the click may have been served by another thread's loop (ipykernel 7.0 to 7.3)
            _on(task.get_loop(), task.cancel)

    async def _execute(self, arguments: dict[str, Any]) -> ToolResult | None:
        from ..tools.context import ToolContext

        started = time.perf_counter()
        loop = asyncio.get_running_loop()
        context = ToolContext(on_progress=lambda *told: _on(loop, lambda: self._progress(*told)))
        result, state = None, "stopped"
        self._running(True)
        try:
            result = await hop(lambda: self.tool.execute(arguments, context))
            state = "failed" if result.is_error else "done"
        except asyncio.CancelledError:
            context.cancel()
            raise
        finally:
            self.last = Trial(arguments, result, time.perf_counter() - started, state)
            self._running(False)
            self._show_result()
        if result.is_error:
            self._tell(errors_by_field(result, self.tool.input_schema))
        return result

    def _clicked_run(self) -> None:
        if self._task is not None and not self._task.done():
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # a click without a loop: a test, or a script
            self.run_sync()
            return
        self._task = loop.create_task(self.run())

    # --- what is shown --------------------------------------------------------------------------------------------

    def html(self) -> str:
        tool = self.tool
        return form_html(tool.name, tool.description or "", self.last, tool.input_schema, tool_table(tool.input_schema))

    def text(self) -> str:
        return form_text(self.tool.name, self.tool.description or "", self.last)

    def freeze(self) -> None:
        if self.live:
            self.stop()
        super().freeze()
        self._drop_widgets()

    def widget(self) -> Any:
        """The live form as a widget, to be placed in another one."""
        return self._build()

    _as_json: Any = None

    def _build(self) -> Any:
        import ipywidgets as widgets

        tool = self.tool
        top = pane(
            tag("section", form_head(tool.name, tool.description or ""), cls="tnx tnx-part", aria_label=tool.name)
        )
        top.on_msg(lambda _widget, content, _buffers: self._heard(content))
        self._go = widgets.Button(description="Run", button_style="primary", tooltip=f"run {tool.name}")
        self._halt = widgets.Button(description="Stop", disabled=True, tooltip=f"stop {tool.name}")
        self._go.on_click(lambda _button: self._clicked_run())
        self._halt.on_click(lambda _button: self.stop())
        self._as_json = widgets.Checkbox(value=False, description="arguments as JSON", indent=False)
        self._json = widgets.Textarea(description="arguments", rows=6)
        self._json.layout.width = "auto"
        self._json.layout.display = "none"
        self._json_error = widgets.HTML("")
        self._json_error.layout.display = "none"
        self._as_json.layout.width = self._go.layout.width = self._halt.layout.width = "max-content"
        self._as_json.observe(lambda _change: self._switch(), "value")
        self._said = widgets.HTML("")
        self._result = pane("")
        self._show_result()
        buttons = widgets.HBox([self._go, self._halt, self._as_json, self._said])
        buttons.add_class("tnx-formbuttons")
        inputs = widgets.VBox([self.fields.widget, self._json, self._json_error])
        inputs.add_class("tnx-inputs")
        box = widgets.VBox([top, inputs, buttons, self._result])
        box.add_class("tnx-formbox")
        return box

    def _drop_widgets(self) -> None:
        if self._fields is not None:
            self._values = _what_can_be_taken(self._fields)
        self._fields = self._said = self._as_json = None

    def _switch(self) -> None:
        """Between fields and JSON; what was filled in goes along where it can."""
        from .form_fields import FieldErrors

        to_json = bool(self._as_json.value)
        if to_json:
            self._json.value = json.dumps(_what_can_be_taken(self.fields), ensure_ascii=False, indent=2)
        else:
            with suppress(FieldErrors):  # half-typed JSON: the fields keep what they had
                self.fields.put(self._typed())
        self._json.layout.display = "" if to_json else "none"
        self.fields.widget.layout.display = "none" if to_json else ""
        self._tell({})

    def _typed(self) -> dict[str, Any]:
        from .form_fields import FieldErrors

        try:
            typed = json.loads(self._json.value or "{}")
        except ValueError as error:
            raise FieldErrors({"": f"this is not JSON: {error}"}) from None
        if not isinstance(typed, dict):
            raise FieldErrors({"": 'an object is needed: {"name": value}'})
        return typed

    def _tell(self, errors: Mapping[str, str]) -> None:
        if self._fields is not None:
            self._fields.tell(errors)
        if self._said is not None:
            general = errors.get("", "")
            self._json_error.value = tag("span", esc(general), cls="tnx-fielderror", role="alert") if general else ""
            self._json_error.layout.display = "" if general else "none"
            self._say("see the marked fields" if set(errors) - {""} else "")

    def _say(self, words: str) -> None:
        if self._said is not None:
            self._said.value = tag("span", esc(words), cls="tnx-formstate", role="status") if words else ""

    def _progress(self, done: float | None, total: float | None, message: str | None) -> None:
        share = f"{done:g} of {total:g}" if done is not None and total else f"{done:g}" if done is not None else ""
        self._say(join(["running", share, message or ""]))

    def _running(self, yes: bool) -> None:
        if self._said is None:
            return
        self._go.disabled, self._halt.disabled = yes, not yes
        self._say("running" if yes else "")

    def _show_result(self) -> None:
        if self._said is None:
            return
        shown = trial_html(self.tool.name, self.last, self.tool.input_schema)
        self._result.html = tag("section", shown, cls="tnx tnx-part", aria_label="result") if shown else ""
        if self.last is not None:
            self._say(f"{self.last.state} in {duration(self.last.seconds)}")


def _tool_of(tool: Any, toolkit: Toolkit | None) -> Tool:
    if isinstance(tool, str):
        found = toolkit.get(tool) if toolkit is not None else None
        if found is None:
            raise KeyError(f"there is no tool named {tool!r}")
        return found
    return tools_of(tool)[0]


def _on(loop: asyncio.AbstractEventLoop, callback: Callable[[], object]) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(callback)


def _what_can_be_taken(fields: ObjectField) -> dict[str, Any]:
    """The values of the fields that are filled in rightly; the others are left out."""
    from .form_fields import LEFT_OUT, FieldErrors

    taken: dict[str, Any] = {}
    for name, field in fields.fields.items():
        try:
            value = field.take()
        except FieldErrors:
            continue
        if value is not LEFT_OUT:
            taken[name] = value
    return taken


def errors_by_field(result: ToolResult, schema: Mapping[str, Any]) -> dict[str, str]:
    """Which fields a call that was refused for its arguments is about: the parameters that its sentences name."""
    if result.metadata.get("reason") != "arguments":
        return {}  # the tool itself failed: no field is to blame
    found = {}
    for name in schema.get("properties") or {}:
        if re.search(rf"(?<![\w.]){re.escape(str(name))}(?!\w)", result.output):
            line = next((line for line in result.output.splitlines() if str(name) in line), result.output)
            found[str(name)] = line.strip(" -*•")
    return found

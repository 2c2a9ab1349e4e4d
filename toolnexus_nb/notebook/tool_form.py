"""The form: fill a tool's arguments by hand, run it without a model, see what the model and what a person would.

    ToolForm(get_weather).show()                      or `%toolnexus form get_weather`
    form.fill(city="Oslo"); await form.run()          the same from Python

A click runs the tool as a task of the loop that serves the click, which only waits: async tools run on the background
loop, plain functions in threads, `main_thread` tools on the kernel's thread. So the form's Stop is served meanwhile.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..tools.background import block, hop
from .form_markup import Trial, form_head, form_html, form_text, state_words, trial_html
from .live_view import LiveView, close_all
from .markup import join
from .schema_facts import tools_of
from .schema_markup import tool_table

if TYPE_CHECKING:
    from ..tools.definition import Tool
    from ..tools.results import ToolResult
    from ..tools.toolkit import Toolkit
    from .form_groups import ObjectField
    from .form_page import FormPage


class ToolForm(LiveView):
    """A form for one tool. tool: a Tool, a function, or a name in `toolkit`. values: what is filled in at first."""

    def __init__(self, tool: Any, toolkit: Toolkit | None = None, values: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self.tool: Tool = _tool_of(tool, toolkit)
        self.toolkit = toolkit
        self.last: Trial | None = None
        self._page: FormPage | None = None
        self._values = dict(values or {})
        self._task: asyncio.Task[Any] | None = None

    # --- values ---------------------------------------------------------------------------------------------------

    @property
    def page(self) -> FormPage:
        """The widgets, made when they are first needed; they work without a page, too."""
        if self._page is None:
            from .form_page import FormPage

            head = form_head(self.tool.name, self.tool.description or "")
            self._page = FormPage(head, self.tool.input_schema, self._clicked_run, self.stop, self._heard)
            if self._values:
                self._page.fields.put(self._values)
            self._show_last()
        return self._page

    @property
    def fields(self) -> ObjectField:
        """The input fields by name (`form.fields.fields["city"].input`)."""
        return self.page.fields

    def fill(self, **values: Any) -> ToolForm:
        """Put values into the fields; the others are left out."""
        self.page.as_json.value = False
        self.page.fields.put(values)
        return self

    def values(self) -> dict[str, Any]:
        """The arguments as filled in. Raises FieldErrors (a ValueError) that names each field at fault."""
        return self.page.arguments()

    # --- running --------------------------------------------------------------------------------------------------

    async def run(self) -> ToolResult | None:
        """Run the tool with the values of the fields. None if a field is at fault; each then says why."""
        from .form_fields import FieldErrors

        try:
            arguments = self.values()
        except FieldErrors as error:
            self.page.tell(error.errors)
            return None
        self.page.tell({})
        return await self._execute(arguments)

    def run_sync(self) -> ToolResult | None:
        """Blocking form of `run`."""
        return block(self.run)

    def stop(self) -> None:
        """Stop the run that a click began, if it is going on."""
        task = self._task
        if task is not None and not task.done():
            # the click may have been served by another thread's loop (ipykernel 7.0 to 7.3)
            _on(task.get_loop(), task.cancel)

    async def _execute(self, arguments: dict[str, Any]) -> ToolResult:
        from ..tools.context import ToolContext

        started = time.perf_counter()
        loop = asyncio.get_running_loop()
        context = ToolContext(on_progress=lambda *told: _on(loop, lambda: self._progress(*told)))
        result, state = None, "stopped"
        self.page.running(True)
        try:
            result = await hop(lambda: self.tool.execute(arguments, context))
            state = "failed" if result.is_error else "done"
            return result
        except BaseException:  # Stop, in any of its forms: a plain function in a thread can only be told
            context.cancel()
            raise
        finally:
            self.last = Trial(arguments, result, time.perf_counter() - started, state)
            self._ended()

    def _ended(self) -> None:
        if self._page is not None:
            self._page.running(False)
            if self.last is not None and self.last.result is not None:
                self._page.tell(errors_by_field(self.last.result, self.tool.input_schema))
            self._show_last()
        self._show_static()  # a run that ends after its cell was followed by another one

    def _clicked_run(self) -> None:
        if self._task is not None and not self._task.done():
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # a click without a loop: a test, or a script
            self.run_sync()
            return
        self._task = loop.create_task(self.run())

    def _progress(self, done: float | None, total: float | None, message: str | None) -> None:
        share = "" if done is None else f"{done:g} of {total:g}" if total else f"{done:g}"
        self.page.say(join(["running", share, message or ""]))

    # --- what is shown --------------------------------------------------------------------------------------------

    def html(self) -> str:
        tool = self.tool
        return form_html(tool.name, tool.description or "", self.last, tool.input_schema, tool_table(tool.input_schema))

    def text(self) -> str:
        return form_text(self.tool.name, self.tool.description or "", self.last)

    def _build(self) -> Any:
        return self.page.box

    def freeze(self) -> None:
        if self.live:
            self.stop()
        super().freeze()
        self.close()

    def close(self) -> None:
        """Close the widgets; what was filled in is kept for the next time the form is opened."""
        page, self._page = self._page, None
        if page is not None:
            self._values = page.filled()
            close_all(page.box)

    def _show_last(self) -> None:
        if self._page is not None and self.last is not None:
            self._page.show(trial_html(self.tool.name, self.last, self.tool.input_schema))
            self._page.say(state_words(self.last))


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

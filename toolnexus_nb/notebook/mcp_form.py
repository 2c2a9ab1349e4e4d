"""The question of an MCP server as a form: who asks, what it asks, fields, Accept and Decline.

It is shown where a click reaches a running cell: a page that renders widgets, and a cell that awaits. Anywhere else the
answer is no, at once, since nobody could give another. What was asked and how it ended stays on the page.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from ..tools.background import on_main_thread
from .display import has_front_end
from .live_view import LiveView, pane
from .markup import code, esc, head, json_block, pre, printable, section, tag

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..tools.mcp_elicitation import Answer, Elicitation


async def ask_by_form(question: Elicitation) -> Answer:
    """The person's answer; None (declined) where nobody can be asked."""
    try:
        return await on_main_thread(cast("Callable[..., Answer]", _ask), question)  # awaited there
    except RuntimeError:  # no cell waits on the main thread, so there is nobody to click
        return None


async def _ask(question: Elicitation) -> Answer:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return None
    if not has_front_end():
        return None
    return await ElicitationForm(question).ask()


class ElicitationForm(LiveView):
    """One question. `ask()` shows it and waits for the click."""

    def __init__(self, question: Elicitation) -> None:
        super().__init__()
        self.question = question
        self.answer: Answer = None
        self.ended = ""
        self._fields: Any = None
        self._future: asyncio.Future[Answer] | None = None

    async def ask(self) -> Answer:
        """What the person accepts; None if they decline, or if the page never draws the form."""
        self._future = asyncio.get_running_loop().create_future()
        try:
            self.show()
            if not self.live:
                return None
            self.answer = await self._future
            return self.answer
        finally:
            self.freeze()

    def freeze(self) -> None:
        if not self.ended and self.live:
            self._settle(None, "not answered")
        super().freeze()
        self._fields = None

    def _settle(self, answer: Answer, words: str) -> None:
        self.ended = words
        if self._future is not None and not self._future.done():
            self._future.set_result(answer)

    # --- what is shown ---

    def html(self) -> str:
        return section(f"question of {self.question.server}", self._head(), self._body(), cls="tnx-mcp")

    def text(self) -> str:
        return printable(f"{self.question.server} asks: {self.question.message} [{self.ended or 'waiting'}]")

    def _head(self) -> str:
        return head(esc("Question of the MCP server"), code(self.question.server), status=esc(self.ended or "waiting"))

    def _body(self) -> str:
        parts = [pre(self.question.message)]
        if self.question.url is not None:
            host = urlsplit(self.question.url).hostname or "no host"
            parts.append(tag("p", esc(f"It wants you to visit an address at {host}: "), code(self.question.url)))
        if isinstance(self.answer, dict):
            parts.append(json_block(self.answer))
        return tag("div", *parts, style="padding:6px 12px")

    def _build(self) -> Any:
        import ipywidgets as widgets

        from .form_groups import ObjectField

        top = pane(
            tag("section", self._head(), self._body(), cls="tnx tnx-part", aria_label="question of an MCP server")
        )
        top.on_msg(lambda _widget, content, _buffers: self._heard(content))
        visit = self.question.url is not None
        accept = widgets.Button(description="I have visited it" if visit else "Accept", button_style="primary")
        decline = widgets.Button(description="Decline", tooltip="answer no")
        accept.on_click(lambda _button: self._accept())
        decline.on_click(lambda _button: self._settle(None, "declined"))
        self._fields = ObjectField("", "", self.question.schema, self.question.schema)
        buttons = widgets.HBox([accept, decline])
        buttons.add_class("tnx-formbuttons")
        box = widgets.VBox([top, buttons] if visit else [top, self._fields.widget, buttons])
        box.add_class("tnx-formbox")
        return box

    def _accept(self) -> None:
        from .form_fields import FieldErrors

        if self.question.url is not None:
            self._settle(True, "accepted")
            return
        try:
            values = self._fields.take()
        except FieldErrors as error:
            self._fields.tell(error.errors)
            return
        self.answer = values
        self._settle(values, "accepted")

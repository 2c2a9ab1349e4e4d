"""The widgets of a form: fields, the same as JSON, Run and Stop, how it goes, the result. No tool is run here."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import ipywidgets as widgets

from .form_fields import LEFT_OUT, FieldErrors
from .form_groups import ObjectField
from .live_view import pane
from .markup import esc, tag


class FormPage:
    """One form on a page; `box` is its widget.

    head: HTML of its title. schema: of the arguments. run, stop: called on a click. heard: called with each message of
    the page.
    """

    def __init__(
        self,
        head: str,
        schema: Mapping[str, Any],
        run: Callable[[], None],
        stop: Callable[[], None],
        heard: Callable[[Any], None],
    ) -> None:
        self.fields = ObjectField("", "", schema, schema)
        self.run = _button("Run", lambda: run(), button_style="primary")
        self.stop = _button("Stop", lambda: stop(), disabled=True)
        self.as_json = widgets.Checkbox(value=False, description="arguments as JSON", indent=False)
        self.as_json.layout.width = "max-content"
        self.as_json.observe(lambda _change: self._switch(), "value")
        self.json = widgets.Textarea(description="arguments", rows=6)
        self.json.layout.width, self.json.layout.display = "auto", "none"
        self._json_error = widgets.HTML("")
        self._said = widgets.HTML("")
        self._result = pane("")
        top = pane(tag("section", head, cls="tnx tnx-part", aria_label="form"))
        top.on_msg(lambda _widget, content, _buffers: heard(content))
        self.box = widgets.VBox(
            [
                top,
                _classed(widgets.VBox([self.fields.widget, self.json, self._json_error]), "tnx-inputs"),
                _classed(widgets.HBox([self.run, self.stop, self.as_json, self._said]), "tnx-formbuttons"),
                self._result,
            ]
        )
        self.box.add_class("tnx-formbox")

    # --- what was filled in ---------------------------------------------------------------------------------------

    def arguments(self) -> dict[str, Any]:
        """The arguments as filled in. Raises FieldErrors."""
        return self._typed() if self.as_json.value else self.fields.take()

    def filled(self) -> dict[str, Any]:
        """The fields that are filled in rightly; the others are left out."""
        taken: dict[str, Any] = {}
        for name, field in self.fields.fields.items():
            with suppress(FieldErrors):
                if (value := field.take()) is not LEFT_OUT:
                    taken[name] = value
        return taken

    def _switch(self) -> None:
        """Between fields and JSON; what was filled in goes along where it can."""
        to_json = bool(self.as_json.value)
        if to_json:
            self.json.value = json.dumps(self.filled(), ensure_ascii=False, indent=2)
        else:
            with suppress(FieldErrors):  # half-typed JSON: the fields keep what they had
                self.fields.put(self._typed())
        self.json.layout.display = "" if to_json else "none"
        self.fields.widget.layout.display = "none" if to_json else ""
        self.tell({})

    def _typed(self) -> dict[str, Any]:
        try:
            typed = json.loads(self.json.value or "{}")
        except ValueError as error:
            raise FieldErrors({"": f"this is not JSON: {error}"}) from None
        if not isinstance(typed, dict):
            raise FieldErrors({"": 'an object is needed: {"name": value}'})
        return typed

    # --- what is said ---------------------------------------------------------------------------------------------

    def tell(self, errors: Mapping[str, str]) -> None:
        """Show what is wrong at its field; "" is the whole. An empty mapping clears it."""
        self.fields.tell(errors)
        general = "; ".join(errors.values()) if self.as_json.value else errors.get("", "")
        self._json_error.value = tag("span", esc(general), cls="tnx-fielderror", role="alert") if general else ""
        self.say("see the marked fields" if errors and not general else "")

    def say(self, words: str) -> None:
        """The one line beside the buttons."""
        self._said.value = tag("span", esc(words), cls="tnx-formstate", role="status") if words else ""

    def running(self, yes: bool) -> None:
        self.run.disabled, self.stop.disabled = yes, not yes
        self.say("running" if yes else "")

    def show(self, result: str) -> None:
        """The last run, as HTML."""
        self._result.html = tag("section", result, cls="tnx tnx-part", aria_label="result") if result else ""


def _button(words: str, pressed: Callable[[], None], **traits: Any) -> Any:
    made = widgets.Button(description=words, **traits)
    made.layout.width = "max-content"
    made.on_click(lambda _button: pressed())
    return made


def _classed(box: Any, name: str) -> Any:
    box.add_class(name)
    return box

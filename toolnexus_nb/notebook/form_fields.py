"""Single inputs of a form: numbers, choices, yes or no, dates, texts, and JSON for the rest.

A field owns its widgets and knows its value: `take()` gives the value, `LEFT_OUT`, or raises `FieldErrors` with one
sentence for each field at fault. `put(value)` fills it. Widgets are ipywidgets, so each input has its label.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets as widgets

from .markup import esc, json_text, tag
from .type_words import Schema

_LONG_TEXT = ("text", "body", "content", "message", "code", "query", "prompt", "document")


class _LeftOut:
    def __repr__(self) -> str:
        return "LEFT_OUT"


LEFT_OUT: Any = _LeftOut()
"""The value of an optional field that is not sent."""


class FieldErrors(ValueError):
    """What is wrong, by field: `errors` maps `address.city` to a sentence."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        self.errors = dict(errors)
        super().__init__("; ".join(f"{path or 'value'}: {words}" for path, words in self.errors.items()))


class Part:
    """One part of a form: a widget, its value, and a line for its error."""

    path: str
    schema: Schema
    widget: Any
    input: Any = None
    _error: Any

    def take(self) -> Any:
        """The value as the tool gets it, or LEFT_OUT. Raises FieldErrors."""
        raise NotImplementedError

    def put(self, value: Any) -> None:
        """Fill it."""
        raise NotImplementedError

    def changed(self, callback: Callable[[], None]) -> None:
        """Call back when the person edits it."""
        raise NotImplementedError

    def tell(self, errors: Mapping[str, str]) -> None:
        """Show the errors of this part and of those inside it; an empty mapping clears them."""
        words = errors.get(self.path, "")
        self._error.value = tag("span", esc(words), cls="tnx-fielderror", role="alert") if words else ""
        self._error.layout.display = "" if words else "none"

    def fail(self, words: str) -> FieldErrors:
        return FieldErrors({self.path: words})


class Field(Part):
    """One input with its label and a line of help."""

    def __init__(self, path: str, label: str, schema: Schema, words: str = "") -> None:
        self.path = path
        self.schema = schema
        self.input = self._input(label)
        self._error = error_line()
        help_line = [widgets.HTML(tag("span", words, cls="tnx-fieldhelp"))] if words else []
        self.widget = widgets.VBox([self.input, *help_line, self._error])
        self.widget.add_class("tnx-field")

    def _input(self, label: str) -> Any:
        raise NotImplementedError

    def take(self) -> Any:
        return self.input.value

    def put(self, value: Any) -> None:
        self.input.value = value

    def changed(self, callback: Callable[[], None]) -> None:
        self.input.observe(lambda _change: callback(), "value")


def error_line() -> Any:
    line = widgets.HTML("")
    line.layout.display = "none"
    return line


def _labelled(make: Any, label: str, **traits: Any) -> Any:
    width = "110px" if len(label) <= 16 else "initial"  # short labels line up, long ones are read whole
    made = make(description=label, style={"description_width": width}, **traits)
    made.layout.width = "auto"
    return made


class TextField(Field):
    def _input(self, label: str) -> Any:
        name = label.lower()
        long = any(word in name for word in _LONG_TEXT) or len(str(self.schema.get("default") or "")) > 60
        made = _labelled(widgets.Textarea if long else widgets.Text, label, continuous_update=True)
        if long:
            made.rows = 3
        return made

    def put(self, value: Any) -> None:
        self.input.value = value if isinstance(value, str) else json_text(value, None)


class NumberField(Field):
    """A whole or a real number, written as text: an empty field is told from 0, and 3.0 from 3."""

    def _input(self, label: str) -> Any:
        return _labelled(widgets.Text, label, placeholder="a number", continuous_update=True)

    def take(self) -> Any:
        text = self.input.value.strip().replace("\u2212", "-")
        if not text:
            raise self.fail("a number is needed")
        whole = self.schema.get("type") == "integer"
        try:
            return int(text) if whole else _number(text)
        except ValueError:
            kind = "whole number" if whole else "number"
            raise self.fail(f"{text} is not a {kind}") from None

    def put(self, value: Any) -> None:
        self.input.value = "" if value is None else json_text(value, None)


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        number = float(text)
        if number != number or number in (float("inf"), float("-inf")):
            raise ValueError(text) from None
        return number


class ChoiceField(Field):
    def _input(self, label: str) -> Any:
        choices = [self.schema["const"]] if "const" in self.schema else list(self.schema["enum"])
        self._choices = choices
        shown = [choice if isinstance(choice, str) else json_text(choice, None) for choice in choices]
        return _labelled(widgets.Dropdown, label, options=[(text, at) for at, text in enumerate(shown)])

    def take(self) -> Any:
        if self.input.value is None:
            raise self.fail("choose one")
        return self._choices[self.input.value]

    def put(self, value: Any) -> None:
        self.input.value = next((at for at, choice in enumerate(self._choices) if choice == value), None)


class YesNoField(Field):
    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self.widget.add_class("tnx-yesno")

    def _input(self, label: str) -> Any:
        return _labelled(widgets.Checkbox, label, indent=False)

    def put(self, value: Any) -> None:
        self.input.value = bool(value)


class DateField(Field):
    def _input(self, label: str) -> Any:
        return _labelled(widgets.DatePicker, label)

    def take(self) -> str:
        if self.input.value is None:
            raise self.fail("a date is needed")
        return str(self.input.value.isoformat())

    def put(self, value: Any) -> None:
        try:
            self.input.value = dt.date.fromisoformat(str(value)) if value else None
        except ValueError:
            self.input.value = None


class TimestampField(Field):
    """Date and time or time of day as ISO text, checked when it is taken."""

    def _input(self, label: str) -> Any:
        example = "2026-05-17T08:30:00" if self.schema.get("format") == "date-time" else "08:30"
        return _labelled(widgets.Text, label, placeholder=example)

    def take(self) -> str:
        text = str(self.input.value).strip()
        reader: Any = dt.datetime if self.schema.get("format") == "date-time" else dt.time
        try:
            reader.fromisoformat(text)
        except ValueError:
            raise self.fail(f"write it like {self.input.placeholder}") from None
        return text

    def put(self, value: Any) -> None:
        self.input.value = "" if value is None else str(value)


class JsonField(Field):
    """Whatever has no field of its own: free JSON."""

    def _input(self, label: str) -> Any:
        return _labelled(widgets.Textarea, label, placeholder='JSON, such as {"key": 1} or "text"', rows=3)

    def take(self) -> Any:
        text = str(self.input.value).strip()
        if not text:
            raise self.fail("JSON is needed: null, a number, a text in quotation marks, a list, an object")
        try:
            return json.loads(text)
        except ValueError as error:
            raise self.fail(f"this is not JSON: {error}") from None

    def put(self, value: Any) -> None:
        self.input.value = "" if value is None else json_text(value)

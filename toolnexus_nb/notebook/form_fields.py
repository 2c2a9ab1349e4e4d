"""From a JSON Schema to input fields: numbers, choices, yes or no, dates, texts, objects, lists, and JSON for the rest.

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
from .type_words import Schema, resolved, type_words, without_null

_DEEPEST = 4
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


class Field:
    """One input with its label, a line of help and a line for its error."""

    def __init__(self, path: str, label: str, schema: Schema, words: str = "") -> None:
        self.path = path
        self.schema = schema
        self.input = self._input(label)
        self._help = widgets.HTML(tag("span", words, cls="tnx-fieldhelp")) if words else None
        self._error = _hidden_error()
        self.widget = widgets.VBox([self.input, *([self._help] if self._help else []), self._error])
        self.widget.add_class("tnx-field")

    def _input(self, label: str) -> Any:
        raise NotImplementedError

    def take(self) -> Any:
        """The value as the tool gets it. Raises FieldErrors."""
        return self.input.value

    def put(self, value: Any) -> None:
        self.input.value = value

    def changed(self, callback: Callable[[], None]) -> None:
        """Call back when the person edits the field."""
        self.input.observe(lambda _change: callback(), "value")

    def tell(self, errors: Mapping[str, str]) -> None:
        """Show the errors of this field and of those inside it; an empty mapping clears them."""
        words = errors.get(self.path, "")
        self._error.value = tag("span", esc(words), cls="tnx-fielderror", role="alert") if words else ""
        self._error.layout.display = "" if words else "none"

    def disable(self, off: bool) -> None:
        self.input.disabled = off

    def fail(self, words: str) -> FieldErrors:
        return FieldErrors({self.path: words})


def _hidden_error() -> Any:
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


class OptionalField(Field):
    """A field with a box to tick: unticked it is left out, or null where a value must be given and may be null.

    Editing the field ticks the box.
    """

    def __init__(self, inner: Field, name: str, unticked: Any = LEFT_OUT) -> None:
        self.inner, self.path, self.schema = inner, inner.path, inner.schema
        self.input = getattr(inner, "input", None)  # an object and a list have no single one
        self._unticked = unticked
        words = f"send {name}" if unticked is LEFT_OUT else f"give {name} (else null)"
        self.sent = widgets.Checkbox(value=False, description=words, indent=False)
        self.sent.layout.width = "auto"
        self.sent.add_class("tnx-send")
        default = inner.schema.get("default")
        if default is not None:
            inner.put(default)
        inner.changed(self._edited)
        self.widget = widgets.HBox([inner.widget, self.sent])
        self.widget.add_class("tnx-optional")

    def _edited(self) -> None:
        self.sent.value = True

    def take(self) -> Any:
        return self.inner.take() if self.sent.value else self._unticked

    def put(self, value: Any) -> None:
        given = value is not LEFT_OUT and value is not None
        if given:
            self.inner.put(value)
        self.sent.value = given

    def changed(self, callback: Callable[[], None]) -> None:
        self.inner.changed(callback)
        self.sent.observe(lambda _change: callback(), "value")

    def tell(self, errors: Mapping[str, str]) -> None:
        self.inner.tell(errors)

    def disable(self, off: bool) -> None:
        self.inner.disable(off)
        self.sent.disabled = off


class ObjectField(Field):
    """An object with named properties, each with its own field."""

    def __init__(self, path: str, label: str, schema: Schema, root: Schema, depth: int = 0) -> None:
        self.path, self.schema = path, schema
        listed = schema.get("required")
        required = {one for one in listed if isinstance(one, str)} if isinstance(listed, list) else set()
        self.fields: dict[str, Field] = {}
        properties = schema.get("properties")
        for name, raw in (properties if isinstance(properties, Mapping) else {}).items():
            field = make_field(f"{path}.{name}" if path else name, name, raw, root, depth + 1)
            if name not in required:
                field = OptionalField(field, name)
            elif without_null(raw, root)[1] and not isinstance(field, JsonField):
                field = OptionalField(field, name, unticked=None)
            self.fields[name] = field
        self._more = self._more_names(schema)
        title = widgets.HTML(tag("span", esc(label), cls="tnx-legend")) if label else None
        self._error = _hidden_error()
        inside = [field.widget for field in self._all()]
        self.widget = widgets.VBox([*([title] if title else []), *inside, self._error])
        self.widget.add_class("tnx-object" if label else "tnx-fields")

    def _more_names(self, schema: Schema) -> OptionalField | None:
        """Where other names are welcome (`**kwargs`), a field that takes them as one JSON object."""
        more = schema.get("additionalProperties")
        if more is not True and not (isinstance(more, Mapping) and more):
            return None
        words = f"other names, each with {type_words(more)}" if isinstance(more, Mapping) else "other names"
        path = f"{self.path}.*" if self.path else "*"
        return OptionalField(JsonField(path, "more", {"type": "object"}, esc(words)), "more")

    def _all(self) -> list[Field]:
        return [*self.fields.values(), *([self._more] if self._more is not None else [])]

    def take(self) -> dict[str, Any]:
        values: dict[str, Any] = {}
        errors: dict[str, str] = {}
        for name, field in self.fields.items():
            try:
                value = field.take()
            except FieldErrors as error:
                errors |= error.errors
            else:
                if value is not LEFT_OUT:
                    values[name] = value
        try:
            values |= self._take_more()
        except FieldErrors as error:
            errors |= error.errors
        if errors:
            raise FieldErrors(errors)
        return values

    def _take_more(self) -> dict[str, Any]:
        if self._more is None or (more := self._more.take()) is LEFT_OUT:
            return {}
        if not isinstance(more, dict):
            raise self._more.fail("an object of names and values is needed")
        return more

    def put(self, value: Any) -> None:
        given = value if isinstance(value, Mapping) else {}
        for name, field in self.fields.items():
            if name in given:
                field.put(given[name])
            elif isinstance(field, OptionalField):
                field.put(LEFT_OUT)
        if self._more is not None:
            self._more.put({name: one for name, one in given.items() if name not in self.fields} or LEFT_OUT)

    def changed(self, callback: Callable[[], None]) -> None:
        for field in self._all():
            field.changed(callback)

    def tell(self, errors: Mapping[str, str]) -> None:
        super().tell(errors)
        for field in self._all():
            field.tell(errors)

    def disable(self, off: bool) -> None:
        for field in self._all():
            field.disable(off)


class ListField(Field):
    """A list with a field for each item, a button that adds one and buttons that remove one."""

    def __init__(self, path: str, label: str, schema: Schema, root: Schema, depth: int = 0) -> None:
        self.path, self.schema = path, schema
        self._label, self._root, self._depth = label, root, depth
        self._callbacks: list[Callable[[], None]] = []
        self.items: list[Field] = []
        self._error = _hidden_error()
        self._rows = widgets.VBox([])
        self.add = widgets.Button(description=f"add to {label}", icon="plus")
        self.add.layout.width = "max-content"
        self.add.on_click(lambda _button: self._edited(self.append))
        title = widgets.HTML(tag("span", esc(label), cls="tnx-legend"))
        self.widget = widgets.VBox([title, self._rows, self.add, self._error])
        self.widget.add_class("tnx-object")
        least = schema.get("minItems")
        for _ in range(min(least, 10) if isinstance(least, int) else 0):
            self.append()

    def append(self, value: Any = LEFT_OUT) -> Field:
        """One more item, filled with `value`."""
        number = len(self.items)
        path, label = f"{self.path}[{number}]", f"{self._label} {number + 1}"
        field = make_field(path, label, self.schema.get("items", {}), self._root, self._depth + 1)
        if value is not LEFT_OUT:
            field.put(value)
        field.changed(lambda: self._edited(None))
        self.items.append(field)
        self._lay_out()
        return field

    def remove(self, field: Field) -> None:
        """Take an item away; the ones after it move up."""
        self._refill([item for item in self.items if item is not field])

    def _refill(self, kept: list[Field]) -> None:
        """Make the fields anew, since their labels and paths hold their places."""
        values: list[Any] = []
        for item in kept:
            try:
                values.append(item.take())
            except FieldErrors:
                values.append(LEFT_OUT)  # half filled: it starts anew
        self.put(values)

    def _edited(self, change: Callable[[], Any] | None) -> None:
        if change is not None:
            change()
        for callback in self._callbacks:
            callback()

    def _lay_out(self) -> None:
        from .live_view import close_all

        for row in self._rows.children:
            close_all(row.children[1])
        rows = []
        for field in self.items:
            button = widgets.Button(description="remove", tooltip=f"remove {field.path}")
            button.layout.width = "max-content"
            button.on_click(lambda _button, field=field: self._edited(lambda: self.remove(field)))
            rows.append(widgets.HBox([field.widget, button]))
            rows[-1].add_class("tnx-item")
        old, self._rows.children = self._rows.children, tuple(rows)
        for row in old:
            row.children = ()
            close_all(row)

    def take(self) -> list[Any]:
        values: list[Any] = []
        errors: dict[str, str] = {}
        for item in self.items:
            try:
                values.append(item.take())
            except FieldErrors as error:
                errors |= error.errors
        if errors:
            raise FieldErrors(errors)
        return values

    def put(self, value: Any) -> None:
        from .live_view import close_all

        gone, self.items = self.items, []
        self._lay_out()
        for field in gone:
            close_all(field.widget)
        for item in value if isinstance(value, (list, tuple)) else ():
            self.append(item)

    def changed(self, callback: Callable[[], None]) -> None:
        self._callbacks.append(callback)

    def tell(self, errors: Mapping[str, str]) -> None:
        super().tell(errors)
        for item in self.items:
            item.tell(errors)

    def disable(self, off: bool) -> None:
        self.add.disabled = off
        for item in self.items:
            item.disable(off)


def make_field(path: str, label: str, raw: Any, root: Schema, depth: int = 0) -> Field:
    """The field for one schema. `root` is where its `$ref`s are looked up; what fits nothing is free JSON."""
    described = resolved(raw, root)
    schema, _ = without_null(described, root)
    help_words = _help(described, schema, type_words(raw, root))
    kind = schema.get("type")
    if (isinstance(schema.get("enum"), list) and schema["enum"]) or "const" in schema:
        return ChoiceField(path, label, schema, help_words)
    if kind == "boolean":
        return YesNoField(path, label, schema, help_words)
    if kind in ("integer", "number"):
        return NumberField(path, label, schema, help_words)
    if kind == "string":
        return _text_field(schema)(path, label, schema, help_words)
    if depth < _DEEPEST:
        if kind == "object" and isinstance(schema.get("properties"), Mapping) and schema["properties"]:
            return ObjectField(path, label, schema, root, depth)
        if kind == "array" and isinstance(schema.get("items"), Mapping) and "prefixItems" not in schema:
            return ListField(path, label, schema, root, depth)
    return JsonField(path, label, schema, help_words)


def _text_field(schema: Schema) -> type[Field]:
    kind = schema.get("format")
    if kind == "date":
        return DateField
    return TimestampField if kind in ("date-time", "time") else TextField


def _help(described: Schema, inner: Schema, words: str) -> str:
    said = described.get("description") or inner.get("description")
    return esc(f"{words}. {said}" if said else words)

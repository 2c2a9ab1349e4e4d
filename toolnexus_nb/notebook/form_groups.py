"""Parts of a form that hold others: what may be left out, objects, lists; and the choice of a part for a schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets as widgets

from .form_fields import (
    LEFT_OUT,
    ChoiceField,
    DateField,
    Field,
    FieldErrors,
    JsonField,
    NumberField,
    Part,
    TextField,
    TimestampField,
    YesNoField,
    error_line,
)
from .live_view import close_all
from .markup import esc, tag
from .type_words import Schema, resolved, type_words, without_null

#: Objects and lists inside each other that get fields of their own; what is deeper is JSON.
_DEEPEST = 4


class OptionalField(Part):
    """A field with a box to tick: unticked it is left out, or null where a value must be given and may be null.

    Editing the field ticks the box.
    """

    def __init__(self, inner: Part, name: str, unticked: Any = LEFT_OUT) -> None:
        self.inner, self.path, self.schema = inner, inner.path, inner.schema
        self.input = inner.input  # None for an object and a list, which have no single one
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


class ObjectField(Part):
    """An object with named properties, each with its own field."""

    def __init__(self, path: str, label: str, schema: Schema, root: Schema, depth: int = 0, words: str = "") -> None:
        self.path, self.schema = path, schema
        listed = schema.get("required")
        required = {one for one in listed if isinstance(one, str)} if isinstance(listed, list) else set()
        self.fields: dict[str, Part] = {}
        properties = schema.get("properties")
        for name, raw in (properties if isinstance(properties, Mapping) else {}).items():
            field = make_field(f"{path}.{name}" if path else name, name, raw, root, depth + 1)
            if name not in required:
                field = OptionalField(field, name)
            elif without_null(raw, root)[1] and not isinstance(field, JsonField):
                field = OptionalField(field, name, unticked=None)
            self.fields[name] = field
        self._more = self._more_names(schema)
        self._error = error_line()
        inside = [field.widget for field in self._all()]
        self.widget = widgets.VBox([*([_legend(label, words)] if label else []), *inside, self._error])
        self.widget.add_class("tnx-object" if label else "tnx-fields")

    def _more_names(self, schema: Schema) -> OptionalField | None:
        """Where other names are welcome (`**kwargs`), a field that takes them as one JSON object."""
        more = schema.get("additionalProperties")
        if more is not True and not (isinstance(more, Mapping) and more):
            return None
        words = f"other names, each with {type_words(more)}" if isinstance(more, Mapping) else "other names"
        path = f"{self.path}.*" if self.path else "*"
        return OptionalField(JsonField(path, "more", {"type": "object"}, esc(words)), "more")

    def _all(self) -> list[Part]:
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


def _legend(label: str, words: str) -> Any:
    """The name of a group of fields, and what it takes."""
    return widgets.HTML(
        tag("span", esc(label), cls="tnx-legend") + (" " + tag("span", words, cls="tnx-legendhelp") if words else "")
    )


class ListField(Part):
    """A list with a field for each item, a button that adds one and buttons that remove one."""

    def __init__(self, path: str, label: str, schema: Schema, root: Schema, depth: int = 0, words: str = "") -> None:
        self.path, self.schema = path, schema
        self._label, self._root, self._depth = label, root, depth
        self._callbacks: list[Callable[[], None]] = []
        self.items: list[Part] = []
        self._error = error_line()
        self._rows = widgets.VBox([])
        self.add = widgets.Button(description=f"add to {label}", icon="plus")
        self.add.layout.width = "max-content"
        self.add.on_click(lambda _button: self._edited(self.append))
        self.widget = widgets.VBox([_legend(label, words), self._rows, self.add, self._error])
        self.widget.add_class("tnx-object")
        least = schema.get("minItems")
        for _ in range(min(least, 10) if isinstance(least, int) else 0):
            self.append()

    def append(self, value: Any = LEFT_OUT) -> Part:
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

    def remove(self, field: Part) -> None:
        """Take an item away; the ones after it move up."""
        self._refill([item for item in self.items if item is not field])

    def _refill(self, kept: list[Part]) -> None:
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


def make_field(path: str, label: str, raw: Any, root: Schema, depth: int = 0) -> Part:
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
            return ObjectField(path, label, schema, root, depth, help_words)
        if kind == "array" and isinstance(schema.get("items"), Mapping) and "prefixItems" not in schema:
            return ListField(path, label, schema, root, depth, help_words)
    return JsonField(path, label, schema, help_words)


def _text_field(schema: Schema) -> type[Field]:
    kind = schema.get("format")
    if kind == "date":
        return DateField
    return TimestampField if kind in ("date-time", "time") else TextField


def _help(described: Schema, inner: Schema, words: str) -> str:
    said = described.get("description") or inner.get("description")
    return esc(f"{words}. {said}" if said else words)

"""From a JSON Schema to input fields, and from fields to the arguments of a call."""

from __future__ import annotations

import datetime as dt
from typing import Any

import ipywidgets as widgets
import pytest
from ipywidgets.widgets.widget import _instances as _open_widgets

from toolnexus_nb.notebook.form_fields import FieldErrors, JsonField
from toolnexus_nb.notebook.form_groups import ListField, ObjectField, OptionalField, make_field
from toolnexus_nb.notebook.live_view import close_all


def form(properties: dict[str, Any], required: list[str] | None = None, **more: Any) -> ObjectField:
    schema = {"type": "object", "properties": properties, "required": required or [], **more}
    return ObjectField("", "", schema, schema)


def required(schema: dict[str, Any]) -> Any:
    return make_field("x", "x", schema, schema)


@pytest.mark.parametrize(
    ("schema", "typed", "value"),
    [
        ({"type": "string"}, "Oslo", "Oslo"),
        ({"type": "integer"}, "3", 3),
        ({"type": "integer"}, " -7 ", -7),
        ({"type": "number"}, "2.5", 2.5),
        ({"type": "number"}, "2", 2),
        ({"type": "string", "format": "date"}, dt.date(2026, 5, 17), "2026-05-17"),
        ({"type": "string", "format": "date-time"}, "2026-05-17T08:30:00", "2026-05-17T08:30:00"),
        ({"type": "string", "format": "time"}, "08:30", "08:30"),
        ({"type": "boolean"}, True, True),
        ({"enum": ["C", "F"]}, 1, "F"),
        ({"enum": [1, 2, None]}, 2, None),
        ({"const": "only"}, 0, "only"),
        ({}, '{"free": [1]}', {"free": [1]}),
        ({"type": "object"}, "{}", {}),
        ({"type": "array", "prefixItems": [{}, {}]}, "[1, 2]", [1, 2]),
    ],
)
def test_what_is_typed_becomes_the_value(schema: dict[str, Any], typed: Any, value: Any) -> None:
    field = required(schema)
    field.input.value = typed
    assert field.take() == value
    assert type(field.take()) is type(value)


@pytest.mark.parametrize(
    ("schema", "typed", "words"),
    [
        ({"type": "integer"}, "", "a number is needed"),
        ({"type": "integer"}, "2.5", "2.5 is not a whole number"),
        ({"type": "number"}, "many", "many is not a number"),
        ({"type": "number"}, "nan", "nan is not a number"),
        ({"type": "string", "format": "date"}, None, "a date is needed"),
        ({"type": "string", "format": "time"}, "half past", "write it like"),
        ({}, "{free", "this is not JSON"),
        ({}, "", "JSON is needed"),
    ],
)
def test_what_can_not_be_read_is_told_at_its_field(schema: dict[str, Any], typed: Any, words: str) -> None:
    field = required(schema)
    field.input.value = typed
    with pytest.raises(FieldErrors) as failed:
        field.take()
    assert words in failed.value.errors["x"]


def test_optional_fields_are_left_out_until_somebody_edits_them() -> None:
    fields = form({"city": {"type": "string"}, "unit": {"enum": ["C", "F"], "default": "C"}}, ["city"])
    fields.fields["city"].input.value = "Oslo"
    assert fields.take() == {"city": "Oslo"}
    fields.fields["unit"].input.value = 1
    assert fields.take() == {"city": "Oslo", "unit": "F"}


def test_a_default_is_filled_in_but_not_sent() -> None:
    fields = form({"days": {"type": "integer", "default": 3}})
    assert fields.fields["days"].input.value == "3"
    assert fields.take() == {}


def test_an_optional_field_that_is_not_sent_may_hold_anything() -> None:
    fields = form({"days": {"type": "integer"}})
    fields.fields["days"].input.value = "many"
    with pytest.raises(FieldErrors):
        fields.take()
    fields.fields["days"].sent.value = False  # type: ignore[attr-defined]
    assert fields.take() == {}


def test_a_required_value_that_may_be_null_is_null_until_it_is_given() -> None:
    fields = form({"who": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, ["who"])
    assert fields.take() == {"who": None}
    fields.fields["who"].input.value = "Ada"
    assert fields.take() == {"who": "Ada"}


def test_objects_inside_objects_name_their_errors_by_path() -> None:
    place = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    fields = form({"place": place}, ["place"])
    with pytest.raises(FieldErrors) as failed:
        fields.take()
    assert failed.value.errors == {"place.x": "a number is needed"}
    fields.tell(failed.value.errors)
    inner = fields.fields["place"].fields["x"]  # type: ignore[attr-defined]
    assert "a number is needed" in inner._error.value
    fields.tell({})
    assert inner._error.value == ""


def test_all_errors_are_told_at_once() -> None:
    fields = form({"a": {"type": "integer"}, "b": {"type": "number"}}, ["a", "b"])
    with pytest.raises(FieldErrors) as failed:
        fields.take()
    assert set(failed.value.errors) == {"a", "b"}


def test_lists_grow_and_shrink() -> None:
    field = required({"type": "array", "items": {"type": "string"}, "minItems": 1})
    assert isinstance(field, ListField) and len(field.items) == 1
    field.items[0].input.value = "a"
    field.append("b")
    field.append("c")
    assert field.take() == ["a", "b", "c"]
    field.remove(field.items[1])
    assert field.take() == ["a", "c"]
    assert [item.path for item in field.items] == ["x[0]", "x[1]"]


def test_the_buttons_of_a_list_add_and_remove() -> None:
    field = required({"type": "array", "items": {"type": "integer"}})
    field.add.click()
    field.items[0].input.value = "5"
    field.add.click()
    assert len(field.items) == 2
    field._rows.children[1].children[1].click()
    assert field.take() == [5]


def test_a_list_that_was_edited_is_sent() -> None:
    fields = form({"tags": {"type": "array", "items": {"type": "string"}}})
    assert fields.take() == {}
    inner = fields.fields["tags"]
    assert isinstance(inner, OptionalField) and isinstance(inner.inner, ListField)
    inner.inner.add.click()
    inner.inner.items[0].input.value = "x"
    assert fields.take() == {"tags": ["x"]}


def test_a_list_of_objects_has_their_fields() -> None:
    stop = {"type": "object", "properties": {"name": {"type": "string"}, "day": {"type": "string", "format": "date"}}}
    field = required({"type": "array", "items": {"$ref": "#/$defs/Stop"}, "$defs": {"Stop": stop}})
    field.append({"name": "Oslo", "day": "2026-01-02"})
    assert field.take() == [{"name": "Oslo", "day": "2026-01-02"}]


def test_other_names_are_taken_as_one_object() -> None:
    fields = form({"a": {"type": "integer"}}, ["a"], additionalProperties={"type": "number"})
    fields.put({"a": 1, "b": 2.5})
    assert fields.take() == {"a": 1, "b": 2.5}


def test_filling_and_taking_agree() -> None:
    fields = form(
        {
            "n": {"type": "number"},
            "yes": {"type": "boolean"},
            "pick": {"enum": ["a", "b"]},
            "day": {"type": "string", "format": "date"},
            "deep": {"type": "object", "properties": {"list": {"type": "array", "items": {"type": "integer"}}}},
            "free": {},
        }
    )
    values = {"n": 1.5, "yes": False, "pick": "b", "day": "2026-05-17", "deep": {"list": [1, 2]}, "free": {"k": [None]}}
    fields.put(values)
    assert fields.take() == values


def test_a_schema_that_holds_itself_becomes_json_in_the_end() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"next": {"$ref": "#"}}}
    field: Any = ObjectField("", "", schema, schema)
    depth = 0
    while not isinstance(field, JsonField):
        field = field.fields["next"].inner
        depth += 1
    assert depth < 8


def test_every_input_has_a_label_and_hostile_names_stay_text() -> None:
    name = "<img src=x onerror=window.HIT=1>"
    fields = form({name: {"type": "string", "description": name, "enum": [name]}})
    shown = [one for one in _all(fields.widget) if isinstance(one, widgets.HTML)]
    assert all("<img" not in one.value for one in shown)
    inputs = [one for one in _all(fields.widget) if hasattr(one, "description") and not isinstance(one, widgets.HTML)]
    assert inputs and all(one.description for one in inputs)
    assert not any(getattr(one, "description_allow_html", False) for one in inputs)


def _all(widget: Any) -> list[Any]:
    return [widget, *(inner for child in getattr(widget, "children", ()) for inner in _all(child))]


def test_closing_leaves_no_comm_behind() -> None:
    before = set(_open_widgets)
    fields = form(
        {
            "a": {"type": "string"},
            "b": {"enum": [1]},
            "c": {"type": "array", "items": {"type": "object", "properties": {"d": {"type": "number"}}}},
        }
    )
    inner = fields.fields["c"].inner  # type: ignore[attr-defined]
    inner.append()
    inner.append()
    inner.remove(inner.items[0])
    close_all(fields.widget)
    assert set(_open_widgets) - before == set()

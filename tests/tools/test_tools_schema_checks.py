"""Hand-written schemas: the everyday part is checked at once, the rest by jsonschema, with one verdict."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toolnexus_nb as tn
from toolnexus_nb.tools.plain_checks import NotPlain, plain_misfits

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([1.0, 2.5]) | st.text("ab", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=5,
)
LEAVES: dict[str, Any] = {
    "type": st.sampled_from(["string", "integer", "number", "boolean", "array", "object", "null", ["string", "null"]]),
    "enum": st.lists(st.integers(0, 2) | st.booleans() | st.text("ab", max_size=2), min_size=1, max_size=3),
    "const": st.integers(0, 2) | st.booleans(),
    "minimum": st.integers(-2, 2),
    "exclusiveMaximum": st.integers(-2, 2),
    "minLength": st.integers(0, 2),
    "maxItems": st.integers(0, 2),
    "pattern": st.sampled_from(["a", "^b"]),
    "uniqueItems": st.booleans(),
    "required": st.lists(st.sampled_from("xyz"), max_size=2),
}


def with_inner(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    below = {
        "items": inner,
        "properties": st.dictionaries(st.sampled_from("xyz"), inner, max_size=2),
        "additionalProperties": st.booleans() | inner,
        "anyOf": st.lists(inner, min_size=1, max_size=2),
        "allOf": st.lists(inner, min_size=1, max_size=2),
    }
    return st.fixed_dictionaries({}, optional={**LEAVES, **below})


PLAIN = st.recursive(st.fixed_dictionaries({}, optional=LEAVES), with_inner, max_leaves=6)


@settings(max_examples=150, deadline=None)
@given(schema=PLAIN, value=VALUES)
def test_the_plain_checks_and_jsonschema_agree(schema, value):
    root = {"type": "object", "properties": {"v": schema}}
    try:
        found = plain_misfits(root, {"v": value})
    except NotPlain:
        return
    assert (not found) == jsonschema.Draft202012Validator(root).is_valid({"v": value}), found


def refused(schema: dict[str, Any], **arguments: Any) -> str:
    result = tn.native_tool("f", "", schema, lambda args: args).execute_sync(arguments)
    assert result.is_error
    return result.output.removeprefix("f was not run: ")


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("schema", "arguments", "sentence"),
    [
        (of(a={"type": "integer", "minimum": 1}), {"a": 0}, "a must be an integer of at least 1, but got 0"),
        (of(a={"type": "number"}), {"a": "x"}, 'a must be a number, but got "x"'),
        (of(a={"enum": ["x", "y"]}), {"a": "z"}, 'a must be one of "x", "y", but got "z"'),
        (of(a={"type": ["string", "null"]}), {"a": 1}, "a must be a string or null, but got 1"),
        (of(a={"type": "array", "items": {"type": "string"}}), {"a": ["x", 1]}, "a[1] must be a string, but got 1"),
        (of(a=of(b={"type": "boolean"})), {"a": {"b": 0}}, "a.b must be true or false, but got 0"),
        (
            of(a={"anyOf": [{"type": "string"}, {"type": "integer"}]}),
            {"a": []},
            "a must be a string or an integer, but got []",
        ),
        (
            {**of(a={"$ref": "#/$defs/A"}), "$defs": {"A": {"type": "string"}}},
            {"a": 1},
            "a must be a string, but got 1",
        ),
        (
            of(a={"oneOf": [{"type": "string"}, {"type": "integer"}]}),
            {"a": None},
            "a must be a string or an integer, but got null",
        ),
        (
            of(a={"type": "integer", "multipleOf": 5}),
            {"a": 3},
            "a must be an integer that is a multiple of 5, but got 3",
        ),
        ({**of(a={}), "minProperties": 1}, {}, "the arguments: {} should be non-empty"),
    ],
)
def test_each_misfit_is_a_sentence(schema, arguments, sentence):
    assert refused(schema, **arguments) == sentence


def test_everyday_schemas_need_no_jsonschema():
    program = (
        "import sys, toolnexus_nb as tn\n"
        "schema = {'type': 'object', 'properties': {'city': {'type': 'string'}}, 'required': ['city']}\n"
        "tool = tn.native_tool('f', '', schema, lambda args: 1)\n"
        "assert tool.execute_sync({'city': 'x'}).output == '1'\n"
        "assert tool.execute_sync({'city': 1}).is_error\n"
        "raise SystemExit('jsonschema' in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=30)

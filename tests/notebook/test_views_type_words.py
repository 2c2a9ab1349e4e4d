"""A JSON Schema in words."""

from __future__ import annotations

from typing import Any

import pytest

from toolnexus_nb.notebook.type_words import parameters, type_words

NAMED: dict[str, Any] = {"$defs": {"Stop": {"type": "object", "properties": {"name": {"type": "string"}}}}}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string"}, "text"),
        ({"type": "string", "format": "date"}, "date"),
        ({"type": "string", "minLength": 1}, "text, not empty"),
        ({"type": "string", "pattern": "^a"}, "text, matching ^a"),
        ({"type": "integer"}, "whole number"),
        ({"type": "integer", "minimum": 1, "maximum": 10}, "whole number, 1 to 10"),
        ({"type": "number", "exclusiveMinimum": 0}, "number, more than 0"),
        ({"type": "boolean"}, "yes or no"),
        ({"enum": ["C", "F"]}, '"C" or "F"'),
        ({"enum": list(range(9))}, "one of 9: 0, 1, 2, 3, 4, 5, …"),
        ({"const": 3}, "3"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "text or nothing"),
        ({"type": ["integer", "null"]}, "whole number or nothing"),
        ({"anyOf": [{"type": "string"}, {"type": "number"}]}, "text or number"),
        ({"type": "array", "items": {"type": "number"}}, "list of number"),
        ({"type": "array", "items": {"type": "string"}, "uniqueItems": True}, "list of text, no two the same"),
        ({"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}]}, "list of 2: number, text"),
        ({"type": "array"}, "list of anything"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "names, each with number"),
        ({"$ref": "#/$defs/Stop"}, "object with name"),
        ({"allOf": [{"$ref": "#/$defs/Stop"}], "default": {}}, "object with name"),
        ({}, "anything"),
        (True, "anything"),
        (False, "nothing at all"),
    ],
)
def test_words(schema: Any, words: str) -> None:
    assert type_words(schema, NAMED) == words


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/nowhere"},
        {"$ref": "https://elsewhere.example/schema"},
        {"$ref": "#/$defs/Loop"},
        {"type": {"odd": 1}, "enum": "no list", "anyOf": {}},
        {"type": "array", "items": [{"type": "string"}], "minItems": "two"},
        {"properties": [1, 2], "required": [{}]},
        None,
        "text",
    ],
)
def test_a_strange_schema_of_a_server_breaks_nothing(schema: Any) -> None:
    root = {"$defs": {"Loop": {"$ref": "#/$defs/Loop"}}}
    assert isinstance(type_words(schema, root), str)
    assert isinstance(list(parameters(schema if isinstance(schema, dict) else {})), list)


def test_a_schema_that_holds_itself_ends() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#"}, "all": {"type": "array", "items": {"$ref": "#"}}}}
    assert len(list(parameters(node))) < 100
    assert type_words(node)


def test_rows_of_objects_and_lists_come_after_their_own() -> None:
    schema = {
        "properties": {
            "who": {
                "type": "object",
                "properties": {"name": {"type": "string", "description": "N"}},
                "required": ["name"],
            },
            "stops": {"type": "array", "items": {"$ref": "#/$defs/Stop"}, "description": "S"},
        },
        "required": ["stops"],
        **NAMED,
    }
    rows = [(row.path, row.required, row.description) for row in parameters(schema)]
    assert rows == [("who", False, ""), ("who.name", True, "N"), ("stops", True, "S"), ("stops[].name", False, "")]

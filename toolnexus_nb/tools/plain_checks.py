"""The everyday part of JSON Schema, checked at once and in our sentences.

`jsonschema` knows all of it, but importing it takes seconds where Jupyter has installed its format checkers (measured:
2 to 5 s, for the grammar of one of them). What a hand-written schema usually says is therefore checked here; where one
says more, NotPlain is raised and jsonschema decides. `format` is an annotation, as in JSON Schema itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from .misfits import JSONSchema, dotted, missing_value, shown, unknown_key, wrong_value

Path = tuple[str | int, ...]


class NotPlain(Exception):
    """The schema holds something that is not checked here."""


def plain_misfits(schema: JSONSchema, arguments: dict[str, Any]) -> list[str]:
    """A sentence for each thing in `arguments` that does not fit. Raises NotPlain."""
    definitions = {**schema.get("definitions", {}), **schema.get("$defs", {})}
    return list(_Check(definitions).node((), schema, arguments, 0))


_TYPES: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: _is_number(value) and value == int(value),
    "number": lambda value: _is_number(value),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}
_SAY_NOTHING = frozenset(
    {"title", "description", "default", "examples", "deprecated", "format", "readOnly", "writeOnly", "nullable",
     "$schema", "$id", "$defs", "definitions", "$comment"}
)  # fmt: skip
_HANDLED = frozenset(
    {"type", "enum", "const", "anyOf", "allOf", "$ref", "properties", "required", "additionalProperties", "items",
     "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "pattern", "minItems",
     "maxItems", "uniqueItems"}
)  # fmt: skip
_DEEPEST = 60


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value - value == 0  # no NaN, no infinity


class _Check:
    def __init__(self, definitions: JSONSchema) -> None:
        self._definitions = definitions

    def node(self, path: Path, schema: Any, value: Any, depth: int) -> Iterator[str]:
        if isinstance(schema, bool):
            if not schema:
                yield f"{dotted(path)} is not accepted, whatever its value"
            return
        if depth > _DEEPEST or not set(schema) <= _HANDLED | _SAY_NOTHING:
            raise NotPlain
        if "$ref" in schema:
            yield from self.node(path, self._pointed_at(schema["$ref"]), value, depth + 1)
        for branch in schema.get("allOf", ()):
            yield from self.node(path, branch, value, depth + 1)
        if not self._holds(schema, value) or not self._any_holds(path, schema, value, depth):
            yield wrong_value(path, schema, value, self._definitions)
        elif isinstance(value, dict):
            yield from self._object(path, schema, value, depth)
        elif isinstance(value, list):
            yield from self._array(path, schema, value, depth)

    def _pointed_at(self, reference: str) -> Any:
        kind, _, name = reference.removeprefix("#/").partition("/")
        if kind not in ("$defs", "definitions") or name not in self._definitions:
            raise NotPlain
        return self._definitions[name]

    def _any_holds(self, path: Path, schema: JSONSchema, value: Any, depth: int) -> bool:
        branches = schema.get("anyOf")
        return branches is None or any(not list(self.node(path, one, value, depth + 1)) for one in branches)

    def _object(self, path: Path, schema: JSONSchema, value: dict[str, Any], depth: int) -> Iterator[str]:
        properties = schema.get("properties", {})
        others = schema.get("additionalProperties", True)
        for key in schema.get("required", ()):
            if key not in value:
                yield missing_value((*path, key), properties.get(key), self._definitions)
        for key, one in value.items():
            if key in properties:
                yield from self.node((*path, key), properties[key], one, depth + 1)
            elif others is False:
                yield unknown_key((*path, key), properties)
            elif others is not True:
                yield from self.node((*path, key), others, one, depth + 1)

    def _array(self, path: Path, schema: JSONSchema, value: list[Any], depth: int) -> Iterator[str]:
        items = schema.get("items", True)
        if not isinstance(items, dict | bool):
            raise NotPlain
        for index, one in enumerate(value):
            yield from self.node((*path, index), items, one, depth + 1)
        if schema.get("uniqueItems") and len({shown(one) for one in value}) < len(value):
            raise NotPlain  # equal on the first glance; jsonschema compares exactly

    def _holds(self, schema: JSONSchema, value: Any) -> bool:
        """Whether type, choices and limits hold; what `describe` tells in one phrase."""
        kinds = schema.get("type", ())
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if any(kind not in _TYPES for kind in kinds):
            raise NotPlain
        if kinds and not any(_TYPES[kind](value) for kind in kinds):
            return False
        if "enum" in schema and not any(_same(value, one) for one in schema["enum"]):
            return False
        if "const" in schema and not _same(value, schema["const"]):
            return False
        if _is_number(value):
            return _within(schema, value)
        if isinstance(value, str):
            return _sized(schema, len(value), "minLength", "maxLength") and _matches(schema.get("pattern"), value)
        return not isinstance(value, list) or _sized(schema, len(value), "minItems", "maxItems")


def _same(value: Any, other: Any) -> bool:
    """Equal as JSON: true is not 1, 1 is 1.0."""
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    if isinstance(value, list | dict) and value == other:
        raise NotPlain  # their insides may hold true and 1
    return bool(value == other)


def _within(schema: JSONSchema, value: float) -> bool:
    low, high = _limit(schema, "minimum"), _limit(schema, "maximum")
    over, under = _limit(schema, "exclusiveMinimum"), _limit(schema, "exclusiveMaximum")
    return (
        (low is None or value >= low)
        and (high is None or value <= high)
        and (over is None or value > over)
        and (under is None or value < under)
    )


def _sized(schema: JSONSchema, size: int, least: str, most: str) -> bool:
    low, high = _limit(schema, least), _limit(schema, most)
    return (low is None or size >= low) and (high is None or size <= high)


def _limit(schema: JSONSchema, key: str) -> Any:
    limit = schema.get(key)
    if limit is not None and not _is_number(limit):
        raise NotPlain
    return limit


def _matches(pattern: Any, text: str) -> bool:
    if pattern is None:
        return True
    try:
        return re.search(pattern, text) is not None
    except (re.error, TypeError) as error:
        raise NotPlain from error

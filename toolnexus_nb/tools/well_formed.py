"""Hand-written and foreign schemas at the door: what has not even the shape of JSON Schema is left out, and named."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .misfits import shown

JSONSchema = dict[str, Any]


@dataclass(frozen=True)
class Malformed:
    """A keyword that was left out because its value has the wrong shape; `path` is "" for the schema as a whole."""

    path: str
    keyword: str
    value: str
    wanted: str


def well_formed(schema: Mapping[str, Any]) -> tuple[JSONSchema, list[Malformed]]:
    """(a deep copy in which every keyword has the shape JSON Schema gives it, what was left out)."""
    found: list[Malformed] = []
    return _node(schema, "", found), found


def _node(node: Mapping[str, Any], path: str, found: list[Malformed]) -> JSONSchema:
    result: JSONSchema = {}
    for key, value in node.items():
        kept = _KEYWORDS.get(key, _anything)(value, path, found)
        if kept is _WRONG:
            found.append(Malformed(path, str(key), shown(value), _WANTED[key]))
        else:
            result[key] = kept
    return result


_WRONG = object()
_Reader = Callable[[Any, str, list[Malformed]], Any]


def _anything(value: Any, path: str, found: list[Malformed]) -> Any:
    return copy.deepcopy(value)


def _text(value: Any, path: str, found: list[Malformed]) -> Any:
    return value if isinstance(value, str) else _WRONG


def _kinds(value: Any, path: str, found: list[Malformed]) -> Any:
    texts = isinstance(value, list) and value and all(isinstance(one, str) for one in value)
    return copy.copy(value) if isinstance(value, str) or texts else _WRONG


def _names(value: Any, path: str, found: list[Malformed]) -> Any:
    return list(value) if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value) else _WRONG


def _choices(value: Any, path: str, found: list[Malformed]) -> Any:
    return copy.deepcopy(list(value)) if isinstance(value, list | tuple) else _WRONG


def _schema(value: Any, path: str, found: list[Malformed]) -> Any:
    if isinstance(value, bool):
        return value
    return _node(value, path, found) if isinstance(value, Mapping) else _WRONG


def _items(value: Any, path: str, found: list[Malformed]) -> Any:
    inner = f"{path}[]"
    if isinstance(value, list):  # drafts before 2020 wrote a tuple's items this way
        return _schemas(value, inner, found)
    return _schema(value, inner, found)


def _schemas(value: Any, path: str, found: list[Malformed]) -> Any:
    if not isinstance(value, list) or not all(isinstance(one, Mapping | bool) for one in value):
        return _WRONG
    return [_schema(one, path, found) for one in value]


def _properties(value: Any, path: str, found: list[Malformed]) -> Any:
    if not isinstance(value, Mapping):
        return _WRONG
    result = {}
    for key, one in value.items():
        inner = f"{path}.{key}" if path else str(key)
        kept = _schema(one, inner, found)
        if kept is _WRONG:
            found.append(Malformed(inner, "", shown(one), 'a schema such as {"type": "string"}'))
            kept = {}
        result[str(key)] = kept
    return result


_KEYWORDS: dict[str, _Reader] = {
    "type": _kinds, "description": _text, "$ref": _text, "enum": _choices, "required": _names,
    "properties": _properties, "patternProperties": _properties, "$defs": _properties, "definitions": _properties,
    "items": _items, "additionalProperties": _schema, "not": _schema, "contains": _schema, "propertyNames": _schema,
    "anyOf": _schemas, "oneOf": _schemas, "allOf": _schemas, "prefixItems": _schemas,
}  # fmt: skip
_WANTED = {
    "type": 'a type name such as "string"', "description": "text", "$ref": 'text such as "#/$defs/Name"',
    "enum": "a list of values", "required": 'a list of names beside "properties"', "properties": "an object of schemas",
    "patternProperties": "an object of schemas", "$defs": "an object of schemas", "definitions": "an object of schemas",
    "items": "a schema", "additionalProperties": "a schema, true or false", "not": "a schema", "contains": "a schema",
    "propertyNames": "a schema", "anyOf": "a list of schemas", "oneOf": "a list of schemas",
    "allOf": "a list of schemas", "prefixItems": "a list of schemas",
}  # fmt: skip

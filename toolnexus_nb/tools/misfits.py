"""Sentences about what does not fit, in the words of JSON Schema, so that a model can mend its call."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Sequence
from typing import Any

JSONSchema = dict[str, Any]

_LONGEST_VALUE = 80
_FORMATS = {
    "date": 'a date like "2026-05-31"',
    "date-time": 'a date and time like "2026-05-31T14:30:00"',
    "time": 'a time like "14:30:00"',
    "duration": 'a duration like "PT1H30M"',
    "uuid": 'a UUID like "123e4567-e89b-12d3-a456-426614174000"',
    "uri": 'a URL like "https://example.org"',
    "email": "an e-mail address",
    "path": "a file path (a string)",
    "decimal": 'digits in a string like "12.50"',
    "fraction": 'a fraction in a string like "1/3"',
    "ipv4": 'an IP address like "192.0.2.1"',
    "ipv6": 'an IP address like "2001:db8::1"',
    "regex": "a regular expression (a string)",
}
_TYPES = {
    "string": "a string", "integer": "an integer", "number": "a number", "boolean": "true or false",
    "array": "an array", "object": "an object", "null": "null",
}  # fmt: skip
_PLURALS = {
    "string": "strings", "integer": "integers", "number": "numbers", "boolean": "booleans", "array": "arrays",
    "object": "objects",
}  # fmt: skip


def describe(schema: Any, definitions: JSONSchema | None = None, depth: int = 0) -> str:
    """What a schema asks for, as a noun phrase: `an integer from 1 to 14`, `one of "C", "F"`."""
    if not isinstance(schema, dict) or not schema:
        return "any value"
    if ref := schema.get("$ref"):
        target = (definitions or {}).get(str(ref).rpartition("/")[2], {})
        return describe(target, definitions, depth + 1) if depth < 2 else _TYPES.get(target.get("type"), "such a value")
    if "const" in schema:
        return shown(schema["const"])
    if isinstance(choices := schema.get("enum"), list):
        return shown(choices[0]) if len(choices) == 1 else "one of " + ", ".join(shown(one) for one in choices[:30])
    if branches := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(describe(one, definitions, depth + 1) for one in branches))
    if isinstance(kinds := schema.get("type"), list):
        return " or ".join(describe({**schema, "type": kind}, definitions, depth) for kind in kinds)
    match schema.get("type"):
        case "integer" | "number" as kind:
            return _TYPES[kind] + _range(schema)
        case "string":
            return _string(schema)
        case "array":
            return _array(schema, definitions, depth)
        case "object":
            return _object(schema, depth)
        case str() as kind:
            return _TYPES.get(kind, kind)
    return "any value"


def _range(schema: JSONSchema) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    over, under = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    said = []
    if low is not None and high is not None:
        said.append(f"from {low} to {high}")
    elif low is not None:
        said.append(f"of at least {low}")
    elif high is not None:
        said.append(f"of at most {high}")
    if over is not None and over is not True:
        said.append(f"greater than {over}")
    if under is not None and under is not True:
        said.append(f"less than {under}")
    if (step := schema.get("multipleOf")) is not None:
        said.append(f"that is a multiple of {step}")
    return f" {' and '.join(said)}" if said else ""


def _string(schema: JSONSchema) -> str:
    text = _FORMATS.get(schema.get("format", ""), "a string")
    text += _counted(schema, "minLength", "maxLength", "characters")
    return f"{text} that matches {schema['pattern']}" if "pattern" in schema else text


def _array(schema: JSONSchema, definitions: JSONSchema | None, depth: int) -> str:
    items = schema.get("items")
    text = "an array"
    if prefix := schema.get("prefixItems"):
        return f"an array [{', '.join(describe(one, definitions, depth + 1) for one in prefix)}]"
    if isinstance(items, dict) and items:
        kind = items.get("type")
        plain = isinstance(kind, str) and kind in _PLURALS and set(items) <= {"type", "description"}
        text += f" of {_PLURALS[str(kind)]}" if plain else f" whose items are {describe(items, definitions, depth + 1)}"
    return text + _counted(schema, "minItems", "maxItems", "items")


def _object(schema: JSONSchema, depth: int) -> str:
    properties = schema.get("properties")
    if not properties or depth > 2:
        return "an object"
    required = schema.get("required", ())
    return "an object with " + ", ".join(
        f"{key}" if key in required else f"{key} (optional)" for key in list(properties)[:12]
    )


def _counted(schema: JSONSchema, least: str, most: str, what: str) -> str:
    low, high = schema.get(least), schema.get(most)
    if low is not None and high is not None:
        return f" of {low} {what}" if low == high else f" of {low} to {high} {what}"
    if low:
        return f" of at least {low} {what}"
    return f" of at most {high} {what}" if high is not None else ""


def shown(value: Any) -> str:
    """A value as JSON, cut to a readable length."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=True)
    except (TypeError, ValueError, RecursionError):
        text = f"{type(value).__name__} object"
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"


def wrong_value(path: Sequence[str | int], schema: Any, value: Any, definitions: JSONSchema | None = None) -> str:
    """`days must be an integer from 1 to 14, but got "soon"`."""
    return f"{dotted(path)} must be {describe(schema, definitions)}, but got {shown(value)}"


def missing_value(path: Sequence[str | int], schema: Any, definitions: JSONSchema | None = None) -> str:
    """`city is missing: a string is required (City to look up)`."""
    text = schema.get("description", "") if isinstance(schema, dict) else ""
    hint = f" ({text.splitlines()[0]})" if text else ""
    return f"{dotted(path)} is missing: {describe(schema, definitions)} is required{hint}"


def unknown_key(path: Sequence[str | int], known: Iterable[str]) -> str:
    """`there is no parameter "cty", did you mean city?`, or the list of those there are."""
    names = list(known)
    wrong = str(path[-1])
    close = difflib.get_close_matches(wrong, names, 1, 0.5)
    inside = f" in {dotted(path[:-1])}" if len(path) > 1 else ""
    what = "key" if inside else "parameter"
    hint = f", did you mean {close[0]}?" if close else ""
    there = f" (there is: {', '.join(names)})" if names else f" (no {what} is taken)"
    return f"there is no {what} {shown(wrong)}{inside}{hint}{there}"


def dotted(path: Sequence[str | int]) -> str:
    """`stops[2].city`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text or "the arguments"


def one_message(name: str, misfits: Sequence[str]) -> str:
    """All misfits of one call in one text."""
    if len(misfits) == 1:
        return f"{name} was not run: {misfits[0]}"
    return f"{name} was not run, {len(misfits)} things do not fit:\n" + "\n".join(f"- {misfit}" for misfit in misfits)

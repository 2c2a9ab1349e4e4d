"""A JSON Schema in words, for people: `text`, `whole number, 1 to 10`, `"C" or "F"`, `list of text`, `date`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from .markup import json_text, printable

Schema = Mapping[str, Any]

_DEEPEST = 4
_MOST_CHOICES = 6
_PLAIN = {"integer": "whole number", "number": "number", "boolean": "yes or no", "null": "nothing", "object": "object"}
_FORMATS = {
    "date": "date",
    "date-time": "date and time",
    "time": "time of day",
    "duration": "length of time",
    "uri": "web address",
    "email": "e-mail address",
    "uuid": "UUID",
    "binary": "bytes",
    "byte": "bytes, base64",
}


def resolved(schema: Any, root: Schema) -> Schema:
    """`schema` with a local `$ref` replaced by what it points to; keys beside it win. A broken reference is `{}`."""
    for _ in range(8):
        if not isinstance(schema, Mapping):
            return {}
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        target: Any = root
        for step in reference.removeprefix("#").strip("/").split("/") if reference.startswith("#") else ["?"]:
            name = step.replace("~1", "/").replace("~0", "~")
            target = (target.get(name) if isinstance(target, Mapping) else None) if name else target
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**target, **beside} if isinstance(target, Mapping) else beside
    return {}


def without_null(schema: Schema, root: Schema) -> tuple[Schema, bool]:
    """The schema without its `null` branch, and whether there was one. A union of one other branch is that branch."""
    schema = resolved(schema, root)
    kinds = schema.get("type")
    if isinstance(kinds, list) and "null" in kinds:
        others = [kind for kind in kinds if kind != "null"]
        return {**schema, "type": others[0] if len(others) == 1 else others}, True
    branches = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(branches, list):
        others = [one for one in branches if resolved(one, root).get("type") != "null"]
        nullable = len(others) < len(branches)
        if len(others) == 1:
            beside = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf")}
            return {**resolved(others[0], root), **beside}, nullable
        return ({**schema, "anyOf": others} if nullable else schema), nullable
    parts = schema.get("allOf")
    if isinstance(parts, list) and len(parts) == 1:
        beside = {key: value for key, value in schema.items() if key != "allOf"}
        return {**resolved(parts[0], root), **beside}, False
    return schema, False


def type_words(schema: Any, root: Schema | None = None, depth: int = 0) -> str:
    """What may be given for `schema`. `root` is where its `$ref`s are looked up."""
    if schema is False:
        return "nothing at all"
    root = root if root is not None else (schema if isinstance(schema, Mapping) else {})
    inner, nullable = without_null(schema if isinstance(schema, Mapping) else {}, root)
    words = printable(_words(inner, root, depth))
    return f"{words} or nothing" if nullable else words


def _words(schema: Schema, root: Schema, depth: int) -> str:
    if "const" in schema:
        return json_text(schema["const"], None)
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        return _one_of(choices)
    branches = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(branches, list) and branches:
        if depth >= _DEEPEST:
            return "one of several"
        return " or ".join(dict.fromkeys(type_words(one, root, depth + 1) for one in branches))
    kind = schema.get("type")
    if isinstance(kind, list):
        return " or ".join(dict.fromkeys(_words({**schema, "type": one}, root, depth) for one in kind))
    if kind == "array":
        return _list_words(schema, root, depth)
    if kind == "object" or (kind is None and "properties" in schema):
        return _object_words(schema, root, depth)
    if kind == "string":
        return _text_words(schema)
    if kind in ("integer", "number"):
        return ", ".join(part for part in (_PLAIN[kind], _range_words(schema)) if part)
    return _PLAIN.get(str(kind), "anything" if kind is None else str(kind))


def _one_of(choices: list[Any]) -> str:
    shown = [json_text(choice, None) for choice in choices[:_MOST_CHOICES]]
    if len(choices) > _MOST_CHOICES:
        return f"one of {len(choices)}: {', '.join(shown)}, …"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


def _text_words(schema: Schema) -> str:
    words = _FORMATS.get(str(schema.get("format")), "text")
    least, most = schema.get("minLength"), schema.get("maxLength")
    if least and most is not None:
        words += f", {least} to {most} characters" if least != most else f", {least} characters"
    elif most is not None:
        words += f", at most {most} characters"
    elif least:
        words += ", not empty" if least == 1 else f", at least {least} characters"
    return words + (f", matching {schema['pattern']}" if "pattern" in schema else "")


def _range_words(schema: Schema) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    if low is not None and high is not None:
        words = [f"{low} to {high}"]
    else:
        words = [f"at least {low}" if low is not None else "", f"at most {high}" if high is not None else ""]
    words += [f"more than {above}" if above is not None else "", f"less than {below}" if below is not None else ""]
    words.append(f"a multiple of {schema['multipleOf']}" if schema.get("multipleOf") not in (None, 1) else "")
    return ", ".join(part for part in words if part)


def _list_words(schema: Schema, root: Schema, depth: int) -> str:
    first = schema.get("prefixItems")
    if depth >= _DEEPEST:
        return "list"
    if isinstance(first, list) and first:
        return f"list of {len(first)}: {', '.join(type_words(one, root, depth + 1) for one in first)}"
    items = schema.get("items")
    words = f"list of {type_words(items, root, depth + 1)}" if items else "list of anything"
    least, most = schema.get("minItems"), schema.get("maxItems")
    if least and most is not None:
        words += f", {least} to {most} items"
    elif least:
        words += f", at least {least}"
    elif most is not None:
        words += f", at most {most}"
    return words + (", no two the same" if schema.get("uniqueItems") else "")


def _object_words(schema: Schema, root: Schema, depth: int) -> str:
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and properties:
        return f"object with {', '.join(map(str, properties))}"
    more = schema.get("additionalProperties")
    if isinstance(more, Mapping) and more and depth < _DEEPEST:
        return f"names, each with {type_words(more, root, depth + 1)}"
    return "object"


class Parameter(NamedTuple):
    """One row of a schema table. `path` is `address.city` inside an object, `stops[].name` inside a list."""

    path: str
    schema: Schema
    words: str
    required: bool
    description: str


def parameters(schema: Schema) -> Iterator[Parameter]:
    """Every parameter of an input schema in order, with those inside objects and lists of objects after their own."""
    yield from _rows(schema, schema, "", 0)


def _rows(schema: Schema, root: Schema, prefix: str, depth: int) -> Iterator[Parameter]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or depth >= _DEEPEST:
        return
    listed = schema.get("required")
    required = {one for one in listed if isinstance(one, str)} if isinstance(listed, list) else set()
    for name, raw in properties.items():
        described = resolved(raw, root)
        inner, _ = without_null(described, root)
        path = f"{prefix}{name}"
        own = raw.get("description") if isinstance(raw, Mapping) else None
        description = own or described.get("description") or inner.get("description") or ""
        yield Parameter(path, described, type_words(raw, root), name in required, str(description))
        items = inner.get("items")
        if inner.get("type") == "array" and isinstance(items, Mapping):
            yield from _rows(without_null(items, root)[0], root, f"{path}[].", depth + 1)
        else:
            yield from _rows(inner, root, f"{path}.", depth + 1)

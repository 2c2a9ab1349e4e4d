"""What can be wrong with a JSON Schema itself, wherever it came from."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from .misfits import describe, shown
from .schema import JSONSchema
from .well_formed import Malformed

_KEYWORDS = frozenset(
    {"type", "description", "title", "enum", "const", "default", "examples", "properties", "required",
     "additionalProperties", "patternProperties", "propertyNames", "items", "prefixItems", "contains", "minItems",
     "maxItems", "uniqueItems", "minContains", "maxContains", "unevaluatedItems", "unevaluatedProperties", "minimum",
     "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "format",
     "anyOf", "oneOf", "allOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "minProperties",
     "maxProperties", "nullable", "discriminator", "deprecated", "readOnly", "writeOnly", "contentEncoding",
     "contentMediaType", "contentSchema", "dependencies", "definitions", "additionalItems"}
)  # fmt: skip
_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
_OTHER_WORDS = {
    "str": "string", "text": "string", "int": "integer", "long": "integer", "float": "number", "double": "number",
    "decimal": "number", "bool": "boolean", "list": "array", "tuple": "array", "set": "array", "dict": "object",
    "map": "object", "none": "null", "nil": "null", "any": "",
}  # fmt: skip
_SECRETS = re.compile(
    r"(^|_)(api_?key|password|passwd|secret|access_?token|private_?key|auth_?token)($|_)", re.IGNORECASE
)
_LIMITS = (
    ("minimum", "maximum"),
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
)
_DEEPEST = 5
_MANY_CHOICES = 100


@dataclass(frozen=True)
class Remark:
    """A finding that does not know its tool yet; `path` is "" for the schema as a whole."""

    code: str
    severity: Literal["error", "warning", "hint"]
    path: str
    message: str
    mend: str


def malformed_remarks(malformed: Iterable[Malformed]) -> Iterator[Remark]:
    """What was left out at the door because it is no JSON Schema at all."""
    for one in malformed:
        subject = f"{one.keyword} is {one.value}" if one.keyword else f"{one.value} stands where a schema should"
        yield Remark("malformed", "error", one.path, f"{subject} and was left out", f"Write {one.wanted}.")


def schema_remarks(schema: JSONSchema, *, generated: bool) -> Iterator[Remark]:
    """Everything to say about the schema of a tool's arguments. `generated`: it was read from a signature."""
    if schema.get("type") != "object":
        yield Remark(
            "no-object",
            "error",
            "",
            f"the schema's type is {shown(schema.get('type'))}, and arguments are always an object",
            'Write "type": "object".',
        )
    reader = _Reader(schema, generated)
    yield from reader.node(schema, "", 0)
    for name, definition in schema.get("$defs", {}).items():
        yield from reader.node(definition, f"${name}", 1)


class _Reader:
    def __init__(self, root: JSONSchema, generated: bool) -> None:
        self._definitions = {**root.get("definitions", {}), **root.get("$defs", {})}
        self._generated = generated

    def node(self, node: Any, path: str, depth: int) -> Iterator[Remark]:
        """Remarks on one schema and all below it."""
        if not isinstance(node, dict):
            return
        if not self._generated:
            yield from _keywords(node, path)
            yield from self._references(node, path)
        yield from _type(node, path)
        yield from _choices(node, path)
        yield from _limits(node, path)
        yield from self._default(node, path)
        if node.get("type") == "array":
            yield from _items(node, path)
        if node.get("type") == "object" or "properties" in node:
            yield from self._object(node, path, depth)
        if depth == _DEEPEST + 1:
            yield Remark(
                "deep",
                "hint",
                path,
                f"lies {depth} levels deep; models fill deep objects badly",
                "Flatten it, or take an id instead of the whole object.",
            )
        for key in ("items", "additionalProperties"):
            if isinstance(node.get(key), dict) and node[key]:
                yield from self.node(node[key], f"{path}[]" if key == "items" else f"{path}.*".lstrip("."), depth + 1)
        for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            for branch in node.get(key, ()):
                yield from self.node(branch, path, depth)

    def _object(self, node: JSONSchema, path: str, depth: int) -> Iterator[Remark]:
        properties = node.get("properties", {})
        yield from _required(node, properties, path)
        others = node.get("additionalProperties")
        if path and not properties and not isinstance(others, dict):
            yield Remark(
                "open-object",
                "warning",
                path,
                "is an object with any keys, so a model invents them",
                "Name its keys: a dataclass, TypedDict or dict[str, int].",
            )
        elif others is True:
            yield Remark(
                "open-object",
                "hint",
                path,
                "takes any further keys, so a model may invent them",
                "Name them, or type them: **options: int.",
            )
        for key, value in properties.items():
            inner = f"{path}.{key}" if path else str(key)
            yield from self._parameter(key, value, inner)
            yield from self.node(value, inner, depth + 1)

    def _parameter(self, key: str, value: Any, path: str) -> Iterator[Remark]:
        if not isinstance(value, dict):
            return
        target = self._definitions.get(str(value.get("$ref", "")).rpartition("/")[2], {})
        if not str(value.get("description") or target.get("description") or "").strip():
            yield Remark(
                "no-parameter-description",
                "hint",
                path,
                "has no description",
                'Describe it in the docstring, or Annotated[..., "text"].'
                if self._generated
                else 'Add a "description".',
            )
        if not {"type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref", "not"} & set(value) and not (
            set(value) & {"types", "typ"}
        ):
            yield Remark("no-type", "warning", path, "has no type, so a model may send anything", "Annotate it.")
        if _SECRETS.search(key) and value.get("type") == "string":
            yield Remark(
                "secret",
                "warning",
                path,
                "looks like a secret, and a model would have to know it",
                "Read it inside the function, from the environment.",
            )
        if not key.isidentifier() and not re.fullmatch(r"[a-zA-Z0-9_.\-@$]{1,64}", key):
            yield Remark(
                "odd-key",
                "hint",
                path,
                f"the key {key!r} is unusual; some providers take letters, digits, _ and - only",
                "Rename it.",
            )

    def _references(self, node: JSONSchema, path: str) -> Iterator[Remark]:
        ref = node.get("$ref")
        if isinstance(ref, str) and ref != "#" and ref.rpartition("/")[2] not in self._definitions:
            yield Remark("dead-ref", "error", path, f"$ref {ref} leads nowhere", "Put the definition under $defs.")

    def _default(self, node: JSONSchema, path: str) -> Iterator[Remark]:
        if "default" not in node or self._generated:
            return
        if not _is(node["default"], node):
            yield Remark(
                "default-misfits",
                "warning",
                path,
                f"its default {shown(node['default'])} is not {describe(node)}",
                "Correct one of the two.",
            )


def _keywords(node: JSONSchema, path: str) -> Iterator[Remark]:
    for key in node:
        if key in _KEYWORDS or key.startswith(("$", "x-")):
            continue
        close = difflib.get_close_matches(key, _KEYWORDS, 1, 0.7)
        mend = f'Write "{close[0]}".' if close else "Remove it; models and providers ignore or refuse it."
        yield Remark("unknown-keyword", "error" if close else "hint", path, f'"{key}" is no JSON Schema keyword', mend)


def _type(node: JSONSchema, path: str) -> Iterator[Remark]:
    kinds = node.get("type")
    for kind in kinds if isinstance(kinds, list) else [kinds] if "type" in node else []:
        if kind not in _TYPES:
            right = _OTHER_WORDS.get(str(kind).lower()) or next(
                iter(difflib.get_close_matches(str(kind), _TYPES, 1)), ""
            )
            mend = f'Write "{right}".' if right else f"Use one of {', '.join(_TYPES)}."
            yield Remark("unknown-type", "error", path, f"{shown(kind)} is no JSON Schema type", mend)


def _choices(node: JSONSchema, path: str) -> Iterator[Remark]:
    if "enum" not in node:
        return
    choices = node["enum"]
    if not choices:
        yield Remark(
            "empty-enum", "error", path, "its enum lists nothing, so no value fits", "List the values, or remove enum."
        )
        return
    if "type" not in node:
        yield Remark(
            "enum-without-type",
            "warning",
            path,
            "has an enum without a type; Gemini answers MALFORMED_FUNCTION_CALL to that",
            'Add "type".',
        )
    elif wrong := [one for one in choices if not _is(one, {"type": node["type"]})]:
        yield Remark(
            "enum-misfits",
            "error",
            path,
            f"{shown(wrong[0])} in its enum is no {node['type']}, so it can never be valid",
            "Correct the type or the value.",
        )
    if len({shown(one) for one in choices}) < len(choices):
        yield Remark("enum-repeats", "hint", path, "its enum lists a value twice", "Remove one.")
    if len(choices) > _MANY_CHOICES:
        yield Remark(
            "many-choices",
            "hint",
            path,
            f"its enum lists {len(choices)} values, which every request pays for",
            "Take a string and answer a wrong one with the right ones.",
        )


def _limits(node: JSONSchema, path: str) -> Iterator[Remark]:
    for low, high in _LIMITS:
        if (
            isinstance(node.get(low), int | float)
            and isinstance(node.get(high), int | float)
            and node[low] > node[high]
        ):
            yield Remark(
                "limits",
                "error",
                path,
                f"{low} {node[low]} is greater than {high} {node[high]}, so no value fits",
                "Correct one of the two.",
            )
    if isinstance(pattern := node.get("pattern"), str):
        try:
            re.compile(pattern)
        except re.error as error:
            yield Remark(
                "pattern", "error", path, f"its pattern is no regular expression ({error})", "Correct the pattern."
            )


def _items(node: JSONSchema, path: str) -> Iterator[Remark]:
    if "items" not in node and "prefixItems" not in node:
        yield Remark(
            "no-items",
            "error",
            path,
            "is an array without items, which OpenAI refuses",
            'Add "items", for instance {"type": "string"}.',
        )
    elif isinstance(node.get("items"), list):
        yield Remark(
            "listed-items", "warning", path, "lists its items one by one, which is the old way", 'Write "prefixItems".'
        )
    elif node.get("items") in ({}, True):
        yield Remark("any-items", "warning", path, "is an array of anything", "Say what its items are: list[str].")


def _required(node: JSONSchema, properties: JSONSchema, path: str) -> Iterator[Remark]:
    required = node.get("required", [])
    for key in required:
        inner = f"{path}.{key}" if path else str(key)
        if key not in properties:
            yield Remark(
                "required-ghost",
                "error",
                inner,
                "is required, but there is no such property",
                "Add it, or take it out of required.",
            )
        elif isinstance(properties[key], dict) and "default" in properties[key]:
            yield Remark(
                "required-default",
                "hint",
                inner,
                "is required and has a default, which then never counts",
                "Take it out of required.",
            )


_PYTHON: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "array": (list,),
    "object": (dict,), "null": (type(None),),
}  # fmt: skip


def _is(value: Any, schema: JSONSchema) -> bool:
    """Whether a value has the schema's type and is among its choices; no type fits all."""
    if "enum" in schema and value not in schema["enum"]:
        return False
    kinds = schema.get("type")
    if kinds is None or value is None:
        return True
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        accepted = _PYTHON.get(kind, (object,))
        if isinstance(value, accepted) and not (
            isinstance(value, bool) and bool not in accepted and object not in accepted
        ):
            return True
        if kind == "integer" and isinstance(value, float) and value.is_integer():
            return True
    return False

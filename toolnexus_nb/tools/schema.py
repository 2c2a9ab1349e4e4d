"""From an annotation to its Shape: the JSON Schema a model reads, and the validator that keeps the annotation's
promise.

The schema stays in the subset every provider takes (quirks H05, H06, H09): no titles, `enum` instead of `const`,
arrays with `items`, every `enum` with a `type`, no `anyOf` with null where leaving the key out means the same,
definitions written in place unless they are recursive or large.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import json
import typing
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter
from pydantic.errors import (
    PydanticInvalidForJsonSchema,
    PydanticSchemaGenerationError,
    PydanticUndefinedAnnotation,
    PydanticUserError,
)
from pydantic.json_schema import GenerateJsonSchema

from .annotations import NoJsonForm, adapter_of, expressible, readable
from .class_texts import field_texts

JSONSchema = dict[str, Any]
"""A JSON Schema as plain data."""

_SMALL = 400
"""Characters of JSON up to which a definition used more than once is still written in place."""
_CACHED = 1024


@dataclass(frozen=True, slots=True)
class Shape:
    """What values of one annotation look like: `schema` (with `$ref` only into `definitions`) and how they are read."""

    schema: JSONSchema
    definitions: dict[str, JSONSchema]
    adapter: TypeAdapter[Any]
    read: Callable[[Any], Any]


_cache: dict[str, Shape] = {}


def shape_of(annotation: Any) -> Shape:
    """The Shape of an annotation. Raises NoJsonForm (a TypeError) with the reason when it has none."""
    key = _key(annotation)
    if key is None:
        return _build(annotation)
    shape = _cache.get(key)
    if shape is None:
        if len(_cache) >= _CACHED:
            _cache.clear()
        shape = _cache[key] = _build(annotation)
    return shape


_BUILTIN = frozenset({str, int, float, bool, bytes, type(None), list, dict, set, tuple, frozenset})


def _key(annotation: Any) -> str | None:
    """A cache key for annotations made of builtins only: a notebook may define any other class anew."""
    if annotation in _BUILTIN if isinstance(annotation, type) else annotation is Any:
        return repr(annotation)
    origin = typing.get_origin(annotation)
    if origin is None or hasattr(annotation, "__metadata__"):
        return None
    if origin is typing.Literal:
        plain = all(type(value) in _BUILTIN for value in typing.get_args(annotation))
        return repr(annotation) if plain else None
    arguments = typing.get_args(annotation)
    return repr(annotation) if all(one is Ellipsis or _key(one) is not None for one in arguments) else None


_REFUSED = (PydanticSchemaGenerationError, PydanticInvalidForJsonSchema, PydanticUserError)


def _build(annotation: Any) -> Shape:
    annotation = readable(annotation)
    try:
        try:
            return _pydantic_shape(annotation)
        except (*_REFUSED, TypeError):
            return _pydantic_shape(expressible(annotation))
    except PydanticUndefinedAnnotation as error:
        raise NoJsonForm(f"one of its fields names {error.name}, which is not defined") from error
    except RecursionError as error:
        way_out = 'Json = typing_extensions.TypeAliasType("Json", "list[Json] | str")'
        raise NoJsonForm(f"a type that refers to itself needs a name: write it as {way_out}, or as a class") from error
    except _REFUSED as error:
        raise NoJsonForm(str(error).strip().splitlines()[0]) from error


def _pydantic_shape(annotation: Any) -> Shape:
    adapter = adapter_of(annotation)
    schema = adapter.json_schema(schema_generator=_Generator)
    definitions = {name: without_titles(one) for name, one in schema.pop("$defs", {}).items()}
    schema = without_titles(schema)
    schema, definitions = written_in_place(schema, definitions)
    return Shape(schema, definitions, adapter, adapter.validate_python)


class _Generator(GenerateJsonSchema):
    """Pydantic's schema in the portable subset, with the texts people write next to their fields."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def sort(self, value: JSONSchema, parent_key: str | None = None) -> JSONSchema:
        return value

    def model_schema(self, schema: Any) -> JSONSchema:
        return _with_texts(super().model_schema(schema), schema["cls"])

    def dataclass_schema(self, schema: Any) -> JSONSchema:
        result = super().dataclass_schema(schema)
        for field in dataclasses.fields(schema["cls"]):
            if not field.init:  # the class fills it in itself
                result.get("properties", {}).pop(field.name, None)
                result["required"] = [name for name in result.get("required", ()) if name != field.name]
        return _with_texts({key: value for key, value in result.items() if value or key != "required"}, schema["cls"])

    def typed_dict_schema(self, schema: Any) -> JSONSchema:
        return _with_texts(super().typed_dict_schema(schema), schema.get("cls"))

    def named_tuple_schema(self, schema: Any) -> JSONSchema:
        """An object with the fields' names: a model does not guess what stands third (pydantic reads both)."""
        properties = {field["name"]: self.generate_inner(field["schema"]) for field in schema["fields"]}
        required = [field["name"] for field in schema["fields"] if field["schema"]["type"] != "default"]
        return _with_texts(_object(properties, required), schema.get("cls"))

    def call_schema(self, schema: Any) -> JSONSchema:
        """How pydantic before 2.14 describes a NamedTuple."""
        arguments = schema["arguments_schema"]["arguments_schema"]
        properties = {one["name"]: self.generate_inner(one["schema"]) for one in arguments}
        required = [one["name"] for one in arguments if one["schema"]["type"] != "default"]
        return _with_texts(_object(properties, required), schema.get("function"))

    def literal_schema(self, schema: Any) -> JSONSchema:
        return typed_enum([value.value if isinstance(value, enum.Enum) else value for value in schema["expected"]])

    def enum_schema(self, schema: Any) -> JSONSchema:
        cls = schema["cls"]
        members = {member.name: member.value for member in schema["members"]}
        if issubclass(cls, enum.Flag):
            result: JSONSchema = {"type": "integer", "minimum": 0, "maximum": sum(members.values())}
        else:
            result = typed_enum(json_values(members.values()))
        text = inspect.cleandoc(cls.__doc__) if cls.__doc__ and cls.__doc__ != "An enumeration." else ""
        names = ", ".join(f"{value!r} = {name}" for name, value in members.items())
        telling = any(str(value).lower() != name.lower() for name, value in members.items())
        if issubclass(cls, enum.Flag):
            names = f"the sum of any of: {names}"
        described = [part for part in (text, names if telling and not _says_itself(members) else "") if part]
        return {**result, "description": "\n".join(described)} if described else result

    def tagged_union_schema(self, schema: Any) -> JSONSchema:
        """Without `discriminator`, which points at definitions: each branch says its tag itself."""
        branches = _distinct(super().tagged_union_schema(schema)["oneOf"])
        return branches[0] if len(branches) == 1 else {"anyOf": branches}

    def is_subclass_schema(self, schema: Any) -> JSONSchema:
        return self.handle_invalid_for_json_schema(schema, "a class")

    def tuple_schema(self, schema: Any) -> JSONSchema:
        """A fixed tuple says its items twice: `prefixItems` for who knows it, `items` for who demands it (H09)."""
        result = super().tuple_schema(schema)
        if "prefixItems" in result and "items" not in result:
            items = _distinct(result["prefixItems"])
            result["items"] = items[0] if len(items) == 1 else {"anyOf": items}
        return result

    def decimal_schema(self, schema: Any) -> JSONSchema:
        """Without the long pattern: a number, or a string where digits count."""
        result = super().decimal_schema(schema)
        for one in result.get("anyOf", ()):
            if one.get("type") == "string":
                one.pop("pattern", None)
                one["format"] = "decimal"
        return result

    def default_schema(self, schema: Any) -> JSONSchema:
        return without_null_default(super().default_schema(schema))


def _says_itself(members: dict[str, Any]) -> bool:
    """String values are words already; numbers and the rest need their names beside them."""
    return all(isinstance(value, str) for value in members.values())


def _object(properties: JSONSchema, required: list[str]) -> JSONSchema:
    result: JSONSchema = {"type": "object", "properties": properties}
    if required:
        result["required"] = required
    return result


def _with_texts(schema: JSONSchema, cls: Any) -> JSONSchema:
    if schema.get("type") == "object":
        schema.setdefault("additionalProperties", False)  # an open object lets a model invent keys
    if cls is None:
        return schema
    description, texts = field_texts(cls)
    if description:
        schema["description"] = description
    else:
        schema.pop("description", None)
    for name, text in texts.items():
        field = schema.get("properties", {}).get(name)
        if isinstance(field, dict):
            field.setdefault("description", text)
    return schema


JSON_TYPES: dict[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
    list: "array",
    dict: "object",
}


def typed_enum(values: Iterable[Any]) -> JSONSchema:
    """An enum whose type is said, too; values of several types become an `anyOf`, one branch for each type."""
    groups: dict[str, list[Any]] = {}
    for value in values:
        groups.setdefault(JSON_TYPES.get(type(value), "string"), []).append(value)
    branches = [{"type": kind} if kind == "null" else {"type": kind, "enum": group} for kind, group in groups.items()]
    return branches[0] if len(branches) == 1 else {"anyOf": branches}


def json_values(values: Iterable[Any]) -> list[Any]:
    """Values as JSON would carry them."""
    from pydantic_core import to_jsonable_python

    return [to_jsonable_python(value, fallback=str) for value in values]


def without_null_default(schema: JSONSchema) -> JSONSchema:
    """Where the default is null, leaving the key out says it: no null branch, no `default` (quirk H06)."""
    if "default" not in schema or schema["default"] is not None:
        return schema
    rest = {key: value for key, value in schema.items() if key != "default"}
    branches = [one for one in rest.get("anyOf", ()) if one != {"type": "null"}]
    if len(branches) == 1:
        del rest["anyOf"]
        return {**branches[0], **rest}
    if branches:
        rest["anyOf"] = branches
    return rest


def _distinct(schemas: Iterable[JSONSchema]) -> list[JSONSchema]:
    found: list[JSONSchema] = []
    for schema in schemas:
        if schema not in found:
            found.append(schema)
    return found


def without_titles(node: JSONSchema) -> JSONSchema:
    """A schema without `title`: the property's name says it already."""
    return {key: _inner(key, value) for key, value in node.items() if key != "title"}


def _inner(key: str, value: Any) -> Any:
    if key in ("properties", "$defs", "patternProperties") and isinstance(value, dict):
        return {name: without_titles(one) if isinstance(one, dict) else one for name, one in value.items()}
    if key in ("default", "enum", "examples", "const"):
        return value
    if isinstance(value, dict):
        return without_titles(value)
    return (
        [without_titles(one) if isinstance(one, dict) else one for one in value] if isinstance(value, list) else value
    )


# --- definitions ------------------------------------------------------------------------------------------------------

_REF = "#/$defs/"


def written_in_place(
    schema: JSONSchema, definitions: dict[str, JSONSchema]
) -> tuple[JSONSchema, dict[str, JSONSchema]]:
    """Replace `$ref`s by what they mean, except recursive definitions and large ones used more than once."""
    if not definitions:
        return schema, {}
    reach = {name: _reached(name, definitions) for name in definitions}
    uses = [ref for part in (schema, *definitions.values()) for ref in references(part)]
    kept: dict[str, JSONSchema] = {}

    def place(node: Any) -> Any:
        if isinstance(node, list):
            return [place(one) for one in node]
        if not isinstance(node, dict):
            return node
        name = _ref_name(node)
        if name is None or name not in definitions:
            return {key: place(value) for key, value in node.items()}
        beside = {key: place(value) for key, value in node.items() if key != "$ref"}
        if name in reach[name] or (uses.count(name) > 1 and len(json.dumps(definitions[name], default=str)) > _SMALL):
            if name not in kept:
                kept[name] = {}
                kept[name] = place(definitions[name])
            return {"$ref": node["$ref"], **beside}
        return {**place(definitions[name]), **beside}

    return place(schema), kept


def _ref_name(node: JSONSchema) -> str | None:
    ref = node.get("$ref")
    return ref[len(_REF) :] if isinstance(ref, str) and ref.startswith(_REF) else None


def references(node: Any) -> Iterator[str]:
    """Names of the definitions a schema points at, each as often as it does."""
    if isinstance(node, dict):
        name = _ref_name(node)
        if name is not None:
            yield name
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for one in node:
            yield from references(one)


def _reached(start: str, definitions: dict[str, JSONSchema]) -> set[str]:
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        for name in references(definitions.get(waiting.pop(), {})):
            if name not in reached:
                reached.add(name)
                waiting.append(name)
    return reached

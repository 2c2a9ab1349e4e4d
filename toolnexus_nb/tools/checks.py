"""What pydantic and jsonschema found, and what they are too lenient about, as sentences with their paths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from .misfits import JSONSchema, describe, dotted, missing_value, shown, unknown_key, wrong_value

Path = tuple[str | int, ...]
Said = tuple[Path, str]

_DATES = frozenset({"date", "date-time", "time", "duration"})


def objections(path: Path, schema: Any, value: Any, definitions: JSONSchema) -> list[Said]:
    """What pydantic would take by a guess that can hurt: true for 1, "yes" for true, 0 for a date, unread keys."""
    if not isinstance(schema, dict):
        return []
    if ref := schema.get("$ref"):
        return objections(path, definitions.get(str(ref).rpartition("/")[2]), value, definitions)
    if branches := schema.get("anyOf") or schema.get("oneOf"):
        tried = [
            objections(path, branch, value, definitions) for branch in branches if _could_be(branch, value, definitions)
        ]
        if not tried:
            return [(path, wrong_value(path, schema, value, definitions))]
        tried.sort(key=len)
        if len(tried) > 1 and tried[0] and len(tried[0]) == len(tried[1]):  # nobody knows which was meant
            return [(path, wrong_value(path, schema, value, definitions))]
        return tried[0]
    kind = schema.get("type")
    if kind in ("integer", "number"):
        wrong = isinstance(value, bool)
    elif kind == "boolean":
        wrong = not isinstance(value, bool) and not (
            isinstance(value, str) and value.strip().lower() in ("true", "false")
        )
    elif kind == "string":
        wrong = schema.get("format") in _DATES and isinstance(value, int | float)
    elif kind == "array" and isinstance(value, list):
        return _array_objections(path, schema, value, definitions)
    elif kind == "object" and isinstance(value, dict):
        return _object_objections(path, schema, value, definitions)
    else:
        wrong = False
    return [(path, wrong_value(path, schema, value, definitions))] if wrong else []


def _array_objections(path: Path, schema: JSONSchema, value: list[Any], definitions: JSONSchema) -> list[Said]:
    prefix = schema.get("prefixItems", ())
    items = schema.get("items")
    found: list[Said] = []
    for index, one in enumerate(value):
        found += objections((*path, index), prefix[index] if index < len(prefix) else items, one, definitions)
    return found


def _object_objections(path: Path, schema: JSONSchema, value: dict[Any, Any], definitions: JSONSchema) -> list[Said]:
    properties = schema.get("properties", {})
    others = schema.get("additionalProperties", True)
    found: list[Said] = []
    for key, one in value.items():
        if key in properties:
            if one is not None:  # a refused null is pydantic's to report: it may mean "left out"
                found += objections((*path, key), properties[key], one, definitions)
        elif others is False:
            found.append(((*path, str(key)), unknown_key((*path, str(key)), properties)))
        elif isinstance(others, dict):
            found += objections((*path, str(key)), others, one, definitions)
    return found


def _could_be(schema: Any, value: Any, definitions: JSONSchema) -> bool:
    """Whether a branch of a union is one this value could have been meant for."""
    if not isinstance(schema, dict):
        return True
    if ref := schema.get("$ref"):
        return _could_be(definitions.get(str(ref).rpartition("/")[2]), value, definitions)
    if branches := schema.get("anyOf") or schema.get("oneOf"):
        return any(_could_be(branch, value, definitions) for branch in branches)
    match schema.get("type"):
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool) or (isinstance(value, str) and value.strip().lower() in ("true", "false"))
        case "integer" | "number":
            return isinstance(value, int | float | str) and not isinstance(value, bool)
        case "string":
            return not isinstance(value, bool | int | float | list | dict | type(None))
        case "array":
            return isinstance(value, list | tuple | set)
        case "object":
            return not isinstance(value, bool | int | float | str | list | type(None))
    return True


def sentences(
    path: Path, schema: JSONSchema, value: Any, error: ValidationError, definitions: JSONSchema
) -> list[Said]:
    """One sentence for each place in `value` (which stands at `path`) that pydantic refused.

    Of a union's branches only the one that was meant is told, or the union as a whole where that is not clear.
    """
    return list(_Refusals(path, value, error, definitions).sentences(schema).items())


class _Refusals:
    """The errors of one value, followed through its schema."""

    def __init__(self, path: Path, value: Any, error: ValidationError, definitions: JSONSchema) -> None:
        self._path = path
        self._value = value
        self._errors = error.errors(include_url=False)
        self._definitions = definitions

    def sentences(self, schema: JSONSchema) -> dict[Path, str]:
        found: dict[Path, str] = {}
        for one in self._errors:
            met = self._follow(schema, one["loc"])
            if met is None or met[0] in found:
                continue
            path, node, whole = met
            if whole:
                found[path] = _sentence(path, node, one, self._definitions)
            else:
                found[path] = wrong_value(path, node, self._at(path), self._definitions)
        return found

    def _follow(self, schema: Any, location: tuple[int | str, ...]) -> tuple[Path, Any, bool] | None:
        """(path, schema there, whether the location was followed to its end), or None for a branch nobody meant."""
        path = self._path
        for place, step in enumerate(location):
            schema = _resolved(schema, self._definitions)
            if "anyOf" in schema or "oneOf" in schema:
                branches = [one for one in schema.get("anyOf", schema.get("oneOf")) if one != {"type": "null"}]
                if len(branches) > 1:
                    meant = self._meant(branches, location[:place], self._at(path))
                    if meant is None:
                        return path, schema, False
                    if meant[0] != step:
                        return None
                    schema = meant[1]
                    continue
                schema = _resolved(branches[0], self._definitions)
            if isinstance(step, int):
                prefix = schema.get("prefixItems", ())
                schema = prefix[step] if step < len(prefix) else schema.get("items")
                path = (*path, step)
            elif step in schema.get("properties", {}):
                schema = schema["properties"][step]
                path = (*path, step)
            elif isinstance(schema.get("additionalProperties"), dict):
                if step == "[key]":
                    return path, schema, False
                schema = schema["additionalProperties"]
                path = (*path, step)
        return path, _resolved(schema, self._definitions), True

    def _meant(
        self, branches: list[Any], before: tuple[int | str, ...], value: Any
    ) -> tuple[int | str, JSONSchema] | None:
        """(pydantic's tag, schema) of the branch an object was meant for: the one with the fewest errors, then the
        fewest strange keys."""
        if not isinstance(value, dict):
            return None
        depth = len(before)
        costs: dict[int | str, int] = {}
        for one in self._errors:
            if one["loc"][:depth] == before and len(one["loc"]) > depth:
                tag = one["loc"][depth]
                costs[tag] = costs.get(tag, 0) + (_OTHER_KIND if one["type"] == "literal_error" else 1)
        tags = list(costs)
        known = [_resolved(one, self._definitions) for one in branches]
        if len(tags) == len(known):
            candidates = dict(zip(tags, known, strict=True))
        else:  # a discriminated union has chosen by itself
            candidates = {tag: one for tag in tags for one in known if _has_choice(one, tag)}
        objects = {tag: one for tag, one in candidates.items() if one.get("type") == "object"}
        strange = {tag: len(set(value) - set(one.get("properties", ()))) for tag, one in objects.items()}
        ranked = sorted(objects, key=lambda tag: (costs[tag], strange[tag]))
        if not ranked or (value and min(strange.values()) == len(value)):
            return None
        if len(ranked) > 1 and all(of[ranked[0]] == of[ranked[1]] for of in (costs, strange)):
            return None
        return ranked[0], objects[ranked[0]]

    def _at(self, path: Path) -> Any:
        value = self._value
        for step in path[len(self._path) :]:
            try:
                value = value[step]
            except (KeyError, IndexError, TypeError):  # a NamedTuple sent as a list is followed by its fields' names
                return value
        return value


_OTHER_KIND = 100
"""What a wrong discriminator counts: the value was meant for another branch."""


def _has_choice(schema: JSONSchema, tag: Any) -> bool:
    return any(tag in one.get("enum", ()) for one in schema.get("properties", {}).values() if isinstance(one, dict))


def _resolved(schema: Any, definitions: JSONSchema) -> JSONSchema:
    while isinstance(schema, dict) and "$ref" in schema:
        schema = {
            **definitions.get(str(schema["$ref"]).rpartition("/")[2], {}),
            **{k: v for k, v in schema.items() if k != "$ref"},
        }
    return schema if isinstance(schema, dict) else {}


_SAID_BY_SCHEMA = ("_type", "_parsing", "_from_float", "_size")
_LIMITS = frozenset(
    {"greater_than", "greater_than_equal", "less_than", "less_than_equal", "multiple_of", "too_short", "too_long",
     "string_too_short", "string_too_long", "string_pattern_mismatch", "literal_error", "enum", "union_tag_invalid",
     "is_instance_of", "finite_number", "date_from_datetime_inexact", "int_from_float", "model_attributes_type"}
)  # fmt: skip


def _sentence(path: Path, schema: JSONSchema, error: Any, definitions: JSONSchema) -> str:
    kind, value = error["type"], error["input"]
    if kind in ("missing", "missing_argument", "missing_keyword_only_argument", "missing_positional_only_argument"):
        return missing_value(path, schema, definitions)
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        return unknown_key(path, ())
    if kind in ("union_tag_invalid", "union_tag_not_found") and (said := _wrong_tag(path, schema, error, definitions)):
        return said
    if kind == "notebook_variable":
        return f"{dotted(path)}: {error['msg']}"
    if kind in ("value_error", "assertion_error"):
        reason = (error.get("ctx") or {}).get("error")
        return f"{dotted(path)} is not accepted: {str(reason) or error['msg']}, but got {shown(value)}"
    if kind in _LIMITS or kind.endswith(_SAID_BY_SCHEMA):
        said = describe(schema, definitions)
        if said != "any value":
            return wrong_value(path, schema, value, definitions)
    return f"{dotted(path)} is not accepted: {error['msg'][:1].lower()}{error['msg'][1:]}, but got {shown(value)}"


def _wrong_tag(path: Path, schema: JSONSchema, error: Any, definitions: JSONSchema) -> str:
    """What the key that tells the branches of a union apart should have been; "" if it is not one key."""
    key = error["ctx"]["discriminator"].strip("'")
    branches = [_resolved(one, definitions).get("properties", {}) for one in schema.get("anyOf", ())]
    tags = [tag for one in branches for tag in one.get(key, {}).get("enum", ())]
    if not tags or not isinstance(error["input"], dict):
        return ""
    if key in error["input"]:
        return wrong_value((*path, key), {"enum": tags}, error["input"][key])
    return missing_value((*path, key), {"enum": tags})


def schema_sentences(validator: Any, schema: JSONSchema, arguments: dict[str, Any]) -> Iterator[str]:
    """One sentence for each misfit jsonschema finds. A schema that is itself broken, or a `$ref` that leads nowhere,
    is a sentence as well."""
    try:
        errors = sorted(validator.iter_errors(arguments), key=lambda one: [str(step) for step in one.absolute_path])
    except RecursionError:
        yield "the arguments are nested too deeply"
        return
    except Exception as error:  # jsonschema raises many types for a schema nobody checked before
        yield f"the tool's own schema cannot be used ({type(error).__name__}: {error}); its author has to mend it"
        return
    for found in errors:
        yield from _schema_sentence(found, schema)


def _schema_sentence(error: Any, root: JSONSchema) -> Iterator[str]:
    definitions = root.get("$defs", root.get("definitions", {}))
    path: Path = tuple(error.absolute_path)
    here = error.schema if isinstance(error.schema, dict) else {}
    if error.validator == "required":
        properties = here.get("properties", {})
        for key in error.validator_value:
            if key not in error.instance and repr(key) in error.message:
                yield missing_value((*path, key), properties.get(key), definitions)
        return
    if error.validator in ("additionalProperties", "unevaluatedProperties"):
        known = here.get("properties", {})
        extra = [key for key in error.instance if key not in known]
        yield from (unknown_key((*path, key), known) for key in extra)
        return
    said = describe(here, definitions)
    if said == "any value" or error.validator in (
        "not",
        "if",
        "dependentRequired",
        "minProperties",
        "maxProperties",
        "uniqueItems",
    ):
        yield f"{dotted(path)}: {error.message[:300]}"
        return
    yield wrong_value(path, here, error.instance, definitions)

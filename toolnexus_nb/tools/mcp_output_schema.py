"""Whether structured content is what the tool's output schema promised; a difference is reported, the result is given.

`jsonschema` decides, in words a person can use. But importing it takes one to three seconds where Jupyter has installed
its format checkers, so what plainly fits is recognised here first: `certainly_fits` says True only when it is sure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .background import in_thread
from .results import ToolResult

MISMATCH = "output_schema_mismatch"
"""Key of `ToolResult.metadata` that says how a structured result differs from its schema."""


async def checked(result: ToolResult, schema: Mapping[str, Any] | None) -> ToolResult:
    """The result, with `MISMATCH` in its metadata if it is no error and its value does not fit."""
    if schema is None or result.is_error or certainly_fits(result.value, schema, schema):
        return result
    difference = await in_thread(difference_to_schema, result.value, schema, label="checking an output schema")
    return replace(result, metadata={**result.metadata, MISMATCH: difference}) if difference else result


def difference_to_schema(structured: Any, schema: Mapping[str, Any]) -> str:
    """How a structured content differs from its schema, in a sentence; "" when it fits or the schema cannot be used.

    Nothing is fetched: a reference to another document makes the schema unusable here.
    """
    import jsonschema
    import referencing.exceptions
    from referencing import Registry

    if structured is None:
        return "the tool has an output schema and gave no structured content"
    try:
        kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
        kind.check_schema(dict(schema))
        error = jsonschema.exceptions.best_match(kind(dict(schema), registry=Registry()).iter_errors(structured))
    except (
        jsonschema.exceptions.SchemaError,
        referencing.exceptions.Unresolvable,
        RecursionError,
        ValueError,
        TypeError,
    ):
        return ""
    if error is None:
        return ""
    where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path).lstrip(".")
    return f"structured content{f' at {where}' if where else ''}: {error.message[:300]}"


# --- what plainly fits ------------------------------------------------------------------------------------------------

_SAY_NOTHING = frozenset(
    (
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "format",
        "$schema",
        "$id",
        "$defs",
        "definitions",
        "$comment",
    )
)
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}
_DEEPEST = 50


def certainly_fits(value: Any, schema: Any, root: Mapping[str, Any], depth: int = 0) -> bool:
    """True if `value` fits `schema` by rules that are known here; False means "does not fit, or not known"."""
    if schema is True:
        return True
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return False
    return all(_rule_holds(rule, limit, value, schema, root, depth + 1) for rule, limit in schema.items())


def _rule_holds(
    rule: str, limit: Any, value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], depth: int
) -> bool:
    match rule:
        case "type":
            return any(_is_a(value, name) for name in ([limit] if isinstance(limit, str) else limit))
        case "enum":
            return any(type(value) is type(one) and value == one for one in limit)
        case "const":
            return type(value) is type(limit) and bool(value == limit)
        case "$ref":
            return certainly_fits(value, _pointed_at(limit, root), root, depth)
        case "anyOf":
            return any(certainly_fits(value, one, root, depth) for one in limit)
        case "allOf":
            return all(certainly_fits(value, one, root, depth) for one in limit)
        case "properties":
            given = [(value[key], one) for key, one in limit.items() if key in value] if isinstance(value, dict) else ()
            return all(certainly_fits(item, one, root, depth) for item, one in given)
        case "required":
            return not isinstance(value, dict) or all(key in value for key in limit)
        case "additionalProperties":
            others = (
                [value[key] for key in value if key not in schema.get("properties", ())]
                if isinstance(value, dict)
                else ()
            )
            return all(certainly_fits(item, limit, root, depth) for item in others)
        case "items":
            return not isinstance(value, list) or all(certainly_fits(item, limit, root, depth) for item in value)
        case "minimum":
            return not _is_a(value, "number") or value >= limit
        case "maximum":
            return not _is_a(value, "number") or value <= limit
        case _:
            return rule in _SAY_NOTHING


def _is_a(value: Any, name: str) -> bool:
    return isinstance(value, _TYPES.get(name, ())) and (name == "boolean" or not isinstance(value, bool))


def _pointed_at(reference: str, root: Mapping[str, Any]) -> Any:
    """The definition of this document that a reference names; None for any other reference."""
    kind, _, name = reference.removeprefix("#/").partition("/")
    return root.get(kind, {}).get(name) if kind in ("$defs", "definitions") else None

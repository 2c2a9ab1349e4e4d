"""OpenAI's strict mode: a schema it accepts, or exactly why there is none (quirk H07)."""

from __future__ import annotations

from typing import Any

from .schema import JSONSchema

_KEPT = frozenset(
    {"type", "description", "enum", "const", "$ref", "pattern", "minimum", "maximum", "exclusiveMinimum",
     "exclusiveMaximum", "multipleOf", "minItems", "maxItems"}
)  # fmt: skip
"""What strict mode knows and takes as it is; the rest is checked here when the call comes."""
_KEPT_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
_REFUSED = (
    "allOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "patternProperties",
    "propertyNames",
)


class StrictError(ValueError):
    """A schema cannot be strict; `.reasons` says where and why, one sentence each."""

    def __init__(self, name: str, reasons: list[str]) -> None:
        super().__init__(f"{name} cannot be strict: " + "; ".join(reasons))
        self.reasons = reasons


def strict_schema(schema: JSONSchema, name: str) -> JSONSchema:
    """A copy in which every object is closed and requires all its keys, optional ones being nullable, without defaults.

    Raises StrictError with every reason at once.
    """
    result, reasons = strict_form(schema)
    if reasons:
        raise StrictError(name, reasons)
    return result


def strict_form(schema: JSONSchema) -> tuple[JSONSchema, list[str]]:
    """(the strict schema, why it is not acceptable): the reasons are empty when it is."""
    reasons: list[str] = []
    return _node(schema, "the arguments", reasons), reasons


def _node(node: Any, where: str, reasons: list[str]) -> Any:
    if not isinstance(node, dict):
        reasons.append(f"{where} takes any value")
        return node
    if not set(node) - {"description", "title", "default"}:
        reasons.append(f"{where} has no type, and strict mode needs one: annotate it")
        return node
    for key in _REFUSED:
        if key in node:
            reasons.append(f"{where} uses {key}, which strict mode does not know")
    result: JSONSchema = {}
    for key, value in node.items():
        if key == "format" and value in _KEPT_FORMATS:
            result[key] = value
        elif key == "$defs":
            result[key] = {name: _node(one, f"the type {name}", reasons) for name, one in value.items()}
        elif key == "anyOf":
            result[key] = [_node(one, where, reasons) for one in value]
        elif key == "items":
            result[key] = _node(value, f"each item of {where}", reasons)
        elif key in _KEPT:
            result[key] = value
    if "$ref" in result and len(result) > 1:  # a reference stands alone
        result["anyOf"] = [{"$ref": result.pop("$ref")}]
    if node.get("type") == "object" or "properties" in node:
        result.update(_object(node, where, reasons))
    return result


def _object(node: JSONSchema, where: str, reasons: list[str]) -> JSONSchema:
    others = node.get("additionalProperties", False)
    properties = node.get("properties", {})
    if others not in (False, None):
        keys = "any keys" if others is True or not properties else "further keys"
        reasons.append(
            f"{where} is an object with {keys} (a dict or **kwargs); strict mode needs named keys: "
            "use a dataclass or TypedDict"
        )
    required = set(node.get("required", ()))
    written = {}
    for key, value in properties.items():
        path = key if where == "the arguments" else f"{where}.{key}"
        one = _node(value, path, reasons)
        written[key] = one if key in required else nullable(one)
    return {"properties": written, "required": list(written), "additionalProperties": False}


def nullable(schema: Any) -> Any:
    """The schema with null allowed too; its description stays outside."""
    if not isinstance(schema, dict) or schema.get("type") == "null":
        return schema
    if branches := schema.get("anyOf"):
        if {"type": "null"} in branches:
            return schema
        return {**schema, "anyOf": [*branches, {"type": "null"}]}
    if (
        isinstance(kind := schema.get("type"), str)
        and not {"enum", "$ref", "const"} & set(schema)
        and kind not in ("object", "array")
    ):
        return {**schema, "type": [kind, "null"]}
    inner = {key: value for key, value in schema.items() if key != "description"}
    outer = {"description": schema["description"]} if "description" in schema else {}
    return {**outer, "anyOf": [inner, {"type": "null"}]}

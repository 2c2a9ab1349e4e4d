"""Schemas without what a provider refuses, and a Change for every thing taken out."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

from .schema import JSON_TYPES, JSONSchema, references


@dataclass(frozen=True)
class Change:
    """One thing an adapter changed: in which tool, where, and what. `lossy` if the model is told less than before."""

    tool: str
    where: str
    what: str
    lossy: bool = True

    def __str__(self) -> str:
        return f"{self.tool}: {self.where}: {self.what}"


def for_openai(schema: JSONSchema, tool: str, changes: list[Change]) -> JSONSchema:
    """OpenAI refuses choices at the top of an input schema and arrays without `items` anywhere (quirk H09)."""
    refused = ("anyOf", "oneOf", "allOf", "not", "enum")
    plain = _without_at_top(_object_at_top(schema), refused, "OpenAI", tool, changes)
    result: JSONSchema = _with_items(plain, "the arguments", tool, changes)
    return result


def for_anthropic(schema: JSONSchema, tool: str, changes: list[Change]) -> JSONSchema:
    """Anthropic refuses anyOf, oneOf and allOf at the top of an input schema, nothing below it."""
    return _without_at_top(_object_at_top(schema), ("anyOf", "oneOf", "allOf"), "Anthropic", tool, changes)


def _without_at_top(
    schema: JSONSchema, refused: tuple[str, ...], provider: str, tool: str, changes: list[Change]
) -> JSONSchema:
    for key in refused:
        if key in schema:
            changes.append(Change(tool, "the arguments", f"{key} removed: {provider} takes none at the top"))
    return {key: value for key, value in schema.items() if key not in refused}


_BY_NAME = frozenset({"properties", "$defs", "definitions", "patternProperties"})
_BELOW = frozenset({"items", "prefixItems", "anyOf", "oneOf", "allOf", "not", "additionalProperties"})


def _with_items(node: Any, where: str, tool: str, changes: list[Change]) -> Any:
    """A schema (or a list of them) in which every array says its items; those it lists one by one are prefixItems."""
    if isinstance(node, list):
        return [_with_items(one, where, tool, changes) for one in node]
    if not isinstance(node, dict):
        return node
    if isinstance(node.get("items"), list):
        node = {**node, "prefixItems": node["items"], "items": {}}
        changes.append(Change(tool, where, "items listed one by one sent as prefixItems", lossy=False))
    elif node.get("type") == "array" and "items" not in node:
        node = {**node, "items": {}}
        changes.append(Change(tool, where, "array without items sent as one of anything", lossy=False))
    result: JSONSchema = {}
    for key, value in node.items():
        if key in _BY_NAME and isinstance(value, dict):
            value = {
                name: _with_items(one, name if where == "the arguments" else f"{where}.{name}", tool, changes)
                for name, one in value.items()
            }
        elif key in _BELOW:
            value = _with_items(value, f"{where}[]" if key in ("items", "prefixItems") else where, tool, changes)
        result[key] = value
    return result


_GEMINI = frozenset(
    {"type", "format", "description", "nullable", "enum", "items", "maxItems", "minItems", "properties", "required",
     "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "anyOf", "minimum", "maximum"}
)  # fmt: skip
_SILENT = frozenset(
    {"additionalProperties", "$schema", "title", "default", "$defs", "definitions", "prefixItems", "$id", "$comment"}
)
_GEMINI_STRING_FORMATS = frozenset({"enum", "date-time"})


def for_gemini(schema: JSONSchema, tool: str, changes: list[Change]) -> JSONSchema:
    """The subset of OpenAPI 3.0 that Gemini's function declarations know (quirks H05, H06)."""
    definitions: JSONSchema = {**schema.get("definitions", {}), **schema.get("$defs", {})}
    return _Gemini(tool, definitions, changes).node(_object_at_top(schema), "the arguments", ())


class _Gemini:
    def __init__(self, tool: str, definitions: JSONSchema, changes: list[Change]) -> None:
        self._tool = tool
        self._definitions = definitions
        self._changes = changes

    def node(self, node: Any, where: str, inside: tuple[str, ...]) -> JSONSchema:
        if not isinstance(node, dict):
            return {"type": "string"}
        node = self._merged(node, where)
        if "$ref" in node:
            return self._reference(node, where, inside)
        node = self._rewritten(node, where)
        result: JSONSchema = {}
        for key, value in node.items():
            if key == "properties":
                result[key] = {
                    name: self.node(one, name if where == "the arguments" else f"{where}.{name}", inside)
                    for name, one in value.items()
                }
            elif key == "items":
                result[key] = self.node(value, f"{where}[]", inside)
            elif key == "anyOf":
                result[key] = [self.node(one, where, inside) for one in value]
            elif key == "format" and not self._format_is_known(node):
                self._say(where, f"format {value} removed", lossy=False)
            elif key in _GEMINI:
                result[key] = value
            elif key not in _SILENT or (key == "additionalProperties" and value is not False):
                self._say(where, f"{key} removed")
            else:
                self._say(where, f"{key} removed", lossy=False)
        return self._complete(result, where)

    def _reference(self, node: JSONSchema, where: str, inside: tuple[str, ...]) -> JSONSchema:
        name = next(references({"$ref": node["$ref"]}), str(node["$ref"]).rpartition("/")[2])
        beside = {"description": node["description"]} if "description" in node else {}
        if name in inside or name not in self._definitions:
            self._say(where, f"{name} is recursive and ends here as an open object")
            return {"type": "object", **beside}
        return {**self.node(self._definitions[name], where, (*inside, name)), **beside}

    def _merged(self, node: JSONSchema, where: str) -> JSONSchema:
        """`allOf` as one schema, where its parts say different things (pydantic 1 and zod write it around a $ref)."""
        parts = node.get("allOf", ())
        rest = {key: value for key, value in node.items() if key != "allOf"}
        keys = [key for part in (*parts, rest) for key in part if key not in ("description", "title")]
        if not parts or len(keys) > len(set(keys)) or (len(parts) > 1 and "$ref" in keys):
            return node
        self._say(where, "allOf merged", lossy=False)
        return {key: value for part in (*parts, rest) for key, value in part.items()}

    def _rewritten(self, node: JSONSchema, where: str) -> JSONSchema:
        """const, oneOf, allOf, exclusive limits and lists of types in Gemini's words."""
        node = dict(node)
        if "const" in node:
            node["enum"] = [node.pop("const")]
        said = {JSON_TYPES.get(type(one)) for one in node.get("enum", ())}
        if "type" not in node and len(said) == 1 and (kind := said.pop()) not in (None, "null"):
            node["type"] = kind
        if node.get("type") == "integer":
            for exclusive, plain, step in (("exclusiveMinimum", "minimum", 1), ("exclusiveMaximum", "maximum", -1)):
                if type(node.get(exclusive)) is int:
                    node.setdefault(plain, node.pop(exclusive) + step)
        if "oneOf" in node:
            node["anyOf"] = node.pop("oneOf")
            self._say(where, "oneOf sent as anyOf", lossy=False)
        if isinstance(kinds := node.get("type"), list):
            named = [kind for kind in kinds if kind != "null"]
            node["type"] = named[0] if named else "string"
            if len(named) > 1:
                rest = {key: value for key, value in node.items() if key not in ("type", "description")}
                node = {
                    **{k: v for k, v in node.items() if k == "description"},
                    "anyOf": [{**rest, "type": kind} for kind in named],
                }
            if "null" in kinds:
                node["nullable"] = True
        if "anyOf" in node:
            branches = [one for one in node["anyOf"] if one != {"type": "null"}]
            if len(branches) < len(node["anyOf"]):
                node["nullable"] = True
                node["anyOf"] = branches
            if len(branches) == 1 and isinstance(branches[0], dict) and "$ref" not in branches[0]:
                del node["anyOf"]
                node = {**branches[0], **node}
        if any(not isinstance(one, str) for one in node.get("enum", ())):
            listed = ", ".join(str(one) for one in node.pop("enum"))
            node["description"] = f"{node.get('description', '')} One of: {listed}.".strip()
            self._say(where, "enum of non-strings moved into the description", lossy=False)
        return node

    def _format_is_known(self, node: JSONSchema) -> bool:
        return node.get("type") != "string" or node.get("format") in _GEMINI_STRING_FORMATS

    def _complete(self, node: JSONSchema, where: str) -> JSONSchema:
        if "type" not in node and "anyOf" not in node:
            node = {"type": "string", **node}
            self._say(where, "no type: sent as a string")
        if node.get("type") == "array" and "items" not in node:
            node["items"] = {"type": "string"}
            self._say(where, "array without items: sent as an array of strings")
        return node

    def _say(self, where: str, what: str, lossy: bool = True) -> None:
        self._changes.append(Change(self._tool, where, what, lossy))


def _object_at_top(schema: JSONSchema) -> JSONSchema:
    """Every provider wants `type: object` and `properties` there (quirk H08)."""
    result = copy.copy(schema)
    if result.get("type") != "object":
        result = {"type": "object", **{key: value for key, value in result.items() if key != "type"}}
    if not isinstance(result.get("properties"), dict):
        result["properties"] = {}
    return result

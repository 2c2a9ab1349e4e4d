"""Between a model's arguments and a call: every value checked, all misfits found at once, promised objects made.

`SignatureBinder` reads a function's signature (pydantic), `SchemaBinder` keeps a hand-written schema (jsonschema).
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from .annotations import NoJsonForm
from .checks import objections, sentences
from .misfits import missing_value, unknown_key
from .schema import JSONSchema, Shape, references, shape_of, without_null_default
from .signature import (
    EMPTY,
    KEYWORD_ONLY,
    POSITIONAL_ONLY,
    POSITIONAL_OR_KEYWORD,
    UNSET,
    VAR_KEYWORD,
    VAR_POSITIONAL,
    Parameter,
    Reading,
    SignatureError,
)


class Misfits(ValueError):
    """Arguments that do not fit; `.sentences` has one for each."""

    def __init__(self, found: Sequence[str]) -> None:
        super().__init__("; ".join(found))
        self.sentences = list(found)


class Binder(Protocol):
    """Checks arguments and arranges them for the call."""

    input_schema: JSONSchema

    def bind(self, arguments: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """(positional, keyword) arguments of the call. Raises Misfits."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A parameter as a property: `key` is its name in JSON, `given` the default that must be passed on when it is left out."""

    parameter: Parameter
    key: str
    shape: Shape
    schema: JSONSchema
    required: bool
    given: Callable[[], Any] | None = None

    @property
    def name(self) -> str:
        return self.parameter.name

    @property
    def default_is_lost(self) -> bool:
        """Whether the function has a default that JSON can't write."""
        has_one = self.parameter.default not in (EMPTY, UNSET, None) and not isinstance(
            self.parameter.default, FieldInfo
        )
        return has_one and "default" not in self.schema


class SignatureBinder:
    """Arguments for a function, as its signature promises them."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        definitions: dict[str, JSONSchema] = {}
        slots = [_slot(reading.name, one, definitions) for one in reading.parameters]
        self.slots = [slot for slot in slots if slot.parameter.kind is not VAR_KEYWORD]
        self._by_key = {slot.key: slot for slot in self.slots}
        self._rest = next((slot for slot in slots if slot.parameter.kind is VAR_KEYWORD), None)
        self._has_var_positional = any(slot.parameter.kind is VAR_POSITIONAL for slot in slots)
        self._all_by_keyword = all(slot.parameter.kind in (POSITIONAL_OR_KEYWORD, KEYWORD_ONLY) for slot in self.slots)
        self.definitions = definitions
        self.input_schema = self._schema(definitions)

    def documented_ghosts(self) -> list[str]:
        """Names the docstring describes that the function does not have."""
        if self._rest is not None:
            return []
        reading = self.reading
        known = {slot.name for slot in self.slots} | reading.fixed
        return [name for name in reading.documentation.parameters if name not in known]

    def _schema(self, definitions: dict[str, JSONSchema]) -> JSONSchema:
        schema: JSONSchema = {"type": "object", "properties": {slot.key: slot.schema for slot in self.slots}}
        if required := [slot.key for slot in self.slots if slot.required]:
            schema["required"] = required
        schema["additionalProperties"] = False
        if self._rest is not None:
            schema["additionalProperties"] = self._rest.schema or True
        used = set(references(schema))
        if used:
            schema["$defs"] = definitions
        return schema

    def bind(self, arguments: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        misfits: list[str] = []
        values: dict[str, Any] = {}
        rest: dict[str, Any] = {}
        for key, value in arguments.items():
            slot = self._by_key.get(key)
            if slot is not None:
                if value is None and not slot.required and not self._takes_null(slot):
                    continue  # strict mode's way of leaving a parameter out
                values[slot.name] = self._read(slot, (key,), value, misfits)
            elif self._rest is not None:
                rest[key] = self._read(self._rest, (key,), value, misfits)
            else:
                misfits.append(unknown_key((key,), self._by_key))
        for slot in self.slots:
            if slot.name not in values:
                if slot.required and slot.key not in arguments:
                    misfits.append(missing_value((slot.key,), slot.schema, self.definitions))
                elif slot.given is not None:
                    values[slot.name] = slot.given()
        if misfits:
            raise Misfits(misfits)
        if self._all_by_keyword:
            values.update(rest)
            return [], values
        return self._arranged(values, rest)

    def _takes_null(self, slot: Slot) -> bool:
        try:
            slot.shape.read(None)
        except ValidationError:
            return False
        return True

    def _read(self, slot: Slot, path: tuple[str], value: Any, misfits: list[str]) -> Any:
        schema = slot.shape.schema
        value = _parsed_if_text(schema, value)
        found = objections(path, schema, value, slot.shape.definitions)
        try:
            result = slot.shape.read(value)
        except ValidationError as error:
            pruned = _without_refused_nulls(value, error)
            if pruned is not None and not found:
                try:
                    return slot.shape.read(pruned)
                except ValidationError:
                    pass  # leaving the nulls out does not make it fit: report what was sent
            said = sentences(path, schema, error, slot.shape.definitions)
            misfits.extend({**dict(found), **dict(said)}.values())
            return None
        except RecursionError:
            misfits.append(f"{path[0]} is nested too deeply")
            return None
        misfits.extend(sentence for _, sentence in found)
        return result

    def _arranged(self, values: dict[str, Any], rest: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Positional where Python demands it: positional-only parameters, and all before a filled `*args`."""
        positional: list[Any] = []
        keywords: dict[str, Any] = dict(rest)
        star = next((slot for slot in self.slots if slot.parameter.kind is VAR_POSITIONAL), None)
        star_filled = star is not None and bool(values.get(star.name))
        last_only = max(
            (i for i, slot in enumerate(self.slots) if slot.parameter.kind is POSITIONAL_ONLY and slot.name in values),
            default=-1,
        )
        for index, slot in enumerate(self.slots):
            kind, name = slot.parameter.kind, slot.name
            if kind is VAR_POSITIONAL:
                positional.extend(values.get(name, ()))
            elif (kind is POSITIONAL_ONLY and index <= last_only) or (kind is POSITIONAL_OR_KEYWORD and star_filled):
                positional.append(values[name] if name in values else slot.parameter.default)
            elif name in values:
                keywords[name] = values[name]
        return positional, keywords


def _slot(function: str, parameter: Parameter, definitions: dict[str, JSONSchema]) -> Slot:
    annotation, default, field = parameter.annotation, parameter.default, _field(parameter)
    if isinstance(default, FieldInfo):
        annotation = _annotated(annotation, default)
    try:
        shape = shape_of(Any if annotation is EMPTY else annotation)
    except NoJsonForm as error:
        raise SignatureError(
            f"{function}: the parameter {parameter.name} ({parameter.type_text or annotation}) has no JSON form: {error}. Annotate it "
            f"with a type JSON can carry (str, int, a dataclass, Literal[...]), or fix its value: "
            f"tn.tool(functools.partial({function}, {parameter.name}=...))"
        ) from error
    schema = _merged(shape, definitions)
    kind = parameter.kind
    given: Callable[[], Any] | None = None
    if isinstance(default, FieldInfo):
        required = default.is_required()
        given = None if required else lambda: default.get_default(call_default_factory=True)
        default = EMPTY if required else given()  # type: ignore[misc]
    elif field is not None and not field.is_required() and default is EMPTY:
        given = lambda: field.get_default(call_default_factory=True)  # noqa: E731
        default, required = given(), False
    else:
        required = default is EMPTY and kind not in (VAR_POSITIONAL, VAR_KEYWORD)
    if kind is VAR_POSITIONAL:
        shape = shape_of(list[Any] if annotation is EMPTY else list[annotation])  # type: ignore[valid-type]
        schema = {"type": "array", "items": schema}
    if (
        (parameter.description
        and "description" not in schema)
        or (parameter.description_source == "annotation"
        and parameter.description)
    ):
        schema = {**schema, "description": parameter.description}
    elif parameter.description and _is_variable(shape):
        schema = {**schema, "description": f"{parameter.description.rstrip('.')}. {schema['description']}"}
    elif parameter.description and schema.get("description") != parameter.description:
        schema = {**schema, "description": f"{parameter.description}\n{schema['description']}"}
    if not required and default is not EMPTY and default is not UNSET:
        schema = _with_default(schema, shape, default)
    alias = getattr(field, "alias", None) or getattr(field, "validation_alias", None)
    key = alias if isinstance(alias, str) else parameter.name
    return Slot(parameter, key, shape, _ordered(schema), required, given)


def _field(parameter: Parameter) -> FieldInfo | None:
    """The pydantic Field of a parameter, written as its default or in Annotated."""
    if isinstance(parameter.default, FieldInfo):
        return parameter.default
    for extra in getattr(parameter.annotation, "__metadata__", ()):
        if isinstance(extra, FieldInfo):
            return extra
    return None


def _annotated(annotation: Any, field: FieldInfo) -> Any:
    from typing import Annotated

    bare = copy.copy(field)
    return Annotated[Any if annotation is EMPTY else annotation, bare]


def _is_variable(shape: Shape) -> bool:
    return str(shape.schema.get("description", "")).startswith("Name of a notebook variable")


def _with_default(schema: JSONSchema, shape: Shape, default: Any) -> JSONSchema:
    try:
        plain = shape.adapter.dump_python(default, mode="json", warnings=False)
        json.dumps(plain, allow_nan=False)
    except (
        Exception
    ):  # whatever a foreign type raises while it is written: this default has no JSON form (lint says so)
        plain = _json_or_nothing(default)
        if plain is UNSET:
            return {key: value for key, value in schema.items() if key != "default"}
    return without_null_default({**schema, "default": plain})


def _json_or_nothing(default: Any) -> Any:
    try:
        plain = to_jsonable_python(default)
        json.dumps(plain, allow_nan=False)
    except Exception:  # as above
        return UNSET
    return plain


def _merged(shape: Shape, definitions: dict[str, JSONSchema]) -> JSONSchema:
    """The shape's schema with its definitions added to the function's; two different types of one name get two names."""
    schema = copy.deepcopy(shape.schema)
    renamed: dict[str, str] = {}
    for name, definition in shape.definitions.items():
        new = name
        while new in definitions and definitions[new] != definition:
            new = f"{new}_2"
        definitions[new] = copy.deepcopy(definition)
        if new != name:
            renamed[name] = new
    return _repointed(schema, renamed) if renamed else schema


def _repointed(node: Any, renamed: Mapping[str, str]) -> Any:
    if isinstance(node, list):
        return [_repointed(one, renamed) for one in node]
    if not isinstance(node, dict):
        return node
    result = {key: _repointed(value, renamed) for key, value in node.items()}
    name = str(node.get("$ref", "")).rpartition("/")[2]
    if name in renamed:
        result["$ref"] = f"#/$defs/{renamed[name]}"
    return result


_FIRST = ("type", "description")


def _ordered(schema: JSONSchema) -> JSONSchema:
    return {**{key: schema[key] for key in _FIRST if key in schema}, **schema}


def _parsed_if_text(schema: JSONSchema, value: Any) -> Any:
    """A list or object that a model sent as JSON text (quirk G06) where no text is taken."""
    if (
        not isinstance(value, str)
        or schema.get("type") not in ("array", "object")
        or value.lstrip()[:1] not in ("[", "{")
    ):
        return value
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return parsed if isinstance(parsed, list | dict) else value


def _without_refused_nulls(value: Any, error: ValidationError) -> Any:
    """A copy of the value without the keys whose null was refused, or None if there are none."""
    paths = [
        one["loc"]
        for one in error.errors(include_url=False, include_context=False)
        if one["input"] is None and one["loc"]
    ]
    if not paths:
        return None
    pruned = copy.deepcopy(value)
    for path in paths:
        holder = pruned
        for step in path[:-1]:
            if (isinstance(holder, dict) and step in holder) or (isinstance(holder, list) and isinstance(step, int)):
                holder = holder[step]  # type: ignore[index]
        if not isinstance(holder, dict) or holder.get(str(path[-1]), EMPTY) is not None:
            return None
        del holder[str(path[-1])]
    return pruned


class SchemaBinder:
    """Arguments for a tool that brings its own JSON Schema; they are passed on as one dict."""

    def __init__(self, input_schema: Mapping[str, Any] | None) -> None:
        self.input_schema = (
            copy.deepcopy(dict(input_schema))
            if input_schema
            else {
                "type": "object",
                "properties": {},
                "additionalProperties": False,
            }
        )
        self._validator: Any = None

    def bind(self, arguments: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        found = list(self._misfits(arguments))
        if found:
            raise Misfits(found)
        return [arguments], {}

    def _misfits(self, arguments: dict[str, Any]) -> Iterator[str]:
        from .checks import schema_sentences

        if self._validator is None:
            from jsonschema.validators import validator_for

            cls = validator_for(self.input_schema, default=_draft())
            self._validator = cls(self.input_schema, format_checker=cls.FORMAT_CHECKER)
        yield from schema_sentences(self._validator, self.input_schema, arguments)


def _draft() -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator

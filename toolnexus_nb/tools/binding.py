"""Between a model's arguments and a call: every value checked, all misfits found at once, promised objects made.

`SignatureBinder` reads a function's signature (pydantic); `SchemaBinder` keeps a hand-written schema (plain_checks.py,
and jsonschema for what is rare).
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from pydantic import ValidationError

from .annotations import names_known
from .background import in_thread
from .checks import objections, schema_sentences, sentences
from .context import ToolContext
from .misfits import missing_value, unknown_key
from .plain_checks import NotPlain, plain_misfits
from .schema import JSONSchema, references
from .signature import EMPTY, POSITIONAL_ONLY, POSITIONAL_OR_KEYWORD, VAR_KEYWORD, VAR_POSITIONAL, Reading
from .slots import Slot, slot_of
from .well_formed import well_formed


class Misfits(ValueError):
    """Arguments that do not fit; `.sentences` has one for each."""

    def __init__(self, found: Sequence[str]) -> None:
        super().__init__("; ".join(found))
        self.sentences = list(found)


class Binder(Protocol):
    """Checks arguments and arranges them for the call."""

    input_schema: JSONSchema

    async def bind(self, arguments: dict[str, Any], context: ToolContext) -> tuple[list[Any], dict[str, Any]]:
        """(positional, keyword) arguments of the call. Raises Misfits."""


class SignatureBinder:
    """Arguments for a function, as its signature promises them."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        definitions: dict[str, JSONSchema] = {}
        with names_known(reading.names):
            slots = [slot_of(reading.name, one, definitions) for one in reading.parameters]
        self.slots = [slot for slot in slots if slot.parameter.kind is not VAR_KEYWORD]
        self._by_key = {slot.key: slot for slot in self.slots}
        self._rest = next((slot for slot in slots if slot.parameter.kind is VAR_KEYWORD), None)
        self._defaults = {slot.name: slot.parameter.default for slot in self.slots}
        self._all_by_keyword = not any(kind in (POSITIONAL_ONLY, VAR_POSITIONAL) for _, kind in reading.order)
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
        if definitions and any(references(schema)):
            schema["$defs"] = definitions
        return schema

    async def bind(self, arguments: dict[str, Any], context: ToolContext) -> tuple[list[Any], dict[str, Any]]:
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
            elif key not in self.reading.context_parameters:  # a model that fills one in is not heard, and not scolded
                misfits.append(unknown_key((key,), self._by_key))
        for slot in self.slots:
            if slot.name not in values:
                if slot.required and slot.key not in arguments:
                    misfits.append(missing_value((slot.key,), slot.schema, self.definitions))
                elif slot.given is not None:
                    values[slot.name] = slot.given()
        if misfits:
            raise Misfits(misfits)
        values.update(dict.fromkeys(self.reading.context_parameters, context))
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
            said = sentences(path, schema, value, error, slot.shape.definitions)
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
        known = {name for name, _ in self.reading.order}
        keywords = {**rest, **{name: value for name, value in values.items() if name not in known}}  # **kw: Unpack[...]
        star_filled = any(kind is VAR_POSITIONAL and values.get(name) for name, kind in self.reading.order)
        demanded = [
            kind is POSITIONAL_ONLY or (kind is POSITIONAL_OR_KEYWORD and star_filled) for _, kind in self.reading.order
        ]
        last_given = max(
            (i for i, (name, _) in enumerate(self.reading.order) if demanded[i] and name in values), default=-1
        )
        for index, (name, kind) in enumerate(self.reading.order):
            if kind is VAR_POSITIONAL:
                positional.extend(values.get(name, ()))
            elif demanded[index]:
                if index <= last_given or star_filled:
                    positional.append(values[name] if name in values else self._defaults[name])
            elif name in values:
                keywords[name] = values[name]
        return positional, keywords


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
    """Arguments for a tool that brings its own JSON Schema; they are passed on as one dict.

    `context_place` says how the context goes with it: as the second argument (1), by a keyword's name, or not at all.
    """

    def __init__(self, input_schema: Mapping[str, Any] | None, context_place: str | int | None = None) -> None:
        given = input_schema or {"type": "object", "properties": {}, "additionalProperties": False}
        self.input_schema = copy.deepcopy(dict(given))
        self._checked, _ = well_formed(given)
        self._context_place = context_place
        self._validator: Any = None

    async def bind(self, arguments: dict[str, Any], context: ToolContext) -> tuple[list[Any], dict[str, Any]]:
        try:
            found = plain_misfits(self._checked, arguments)
        except (NotPlain, RecursionError):
            found = await in_thread(self._by_jsonschema, arguments, label="checking arguments")
        if found:
            raise Misfits(found)
        if isinstance(self._context_place, str):
            return [arguments], {self._context_place: context}
        return [arguments, context][: 1 if self._context_place is None else 2], {}

    def _by_jsonschema(self, arguments: dict[str, Any]) -> list[str]:
        """In a thread, since the first import takes seconds (see plain_checks.py)."""
        from jsonschema import Draft202012Validator
        from jsonschema.validators import validator_for

        if self._validator is None:
            self._validator = validator_for(self._checked, default=Draft202012Validator)(self._checked)
        return list(schema_sentences(self._validator, self._checked, arguments))

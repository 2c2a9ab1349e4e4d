"""Answers in the form a caller asks for (response_format): JSON, filled from prompt and results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .conversation import Call, as_json
from .filling import fill
from .offers import Offer, Parameter, read_parameter
from .reading import Reading
from .resolving import value_from


def formatted(response_format: Any, text: str, reading: Reading, calls: Sequence[Call]) -> str | None:
    """The answer as JSON text when the request wants JSON, else None."""
    if not isinstance(response_format, Mapping):
        return None
    kind = response_format.get("type")
    if kind == "json_object":
        return json.dumps({"answer": text, **({"results": _results(calls)} if calls else {})}, ensure_ascii=False)
    if kind != "json_schema":
        return None
    wrapper = response_format.get("json_schema")
    schema = wrapper.get("schema") if isinstance(wrapper, Mapping) else None
    if not isinstance(schema, Mapping):
        return json.dumps({"answer": text}, ensure_ascii=False)
    root = read_parameter("answer", schema, required=True, root=schema)
    return json.dumps(_shaped(root, text, reading, calls), ensure_ascii=False)


def _results(calls: Sequence[Call]) -> list[dict[str, Any]]:
    return [
        {
            "tool": call.name,
            "result": as_json(call.result or "") if as_json(call.result or "") is not None else call.result,
        }
        for call in calls
    ]


def _shaped(parameter: Parameter, text: str, reading: Reading, calls: Sequence[Call]) -> Any:
    """A value for one schema; an object property by property, from the results first, then from the prompt."""
    if parameter.kind != "object":
        return _one(parameter, text, calls)
    said = fill(Offer(parameter.name, parameter.description, parameter.properties), reading).arguments
    value: dict[str, Any] = {}
    for inner in parameter.properties:
        if inner.kind == "object" and inner.properties:
            value[inner.name] = _shaped(inner, text, reading, calls)
        elif _from_results(inner, calls) is not None:
            value[inner.name] = _from_results(inner, calls)
        elif inner.name in said:
            value[inner.name] = said[inner.name]
        elif inner.required:
            value[inner.name] = _one(inner, text, calls)
    return value


def _from_results(parameter: Parameter, calls: Sequence[Call]) -> Any:
    """The field of a result that bears the parameter's name."""
    for call in calls:
        value = as_json(call.result or "")
        if isinstance(value, Mapping) and parameter.name in value:
            return value[parameter.name]
    if (
        parameter.words
        and parameter.words[-1] in ("result", "answer", "value", "sum", "total", "output")
        and calls
        and not calls[-1].failed
    ):
        return value_from(calls[-1], parameter)
    return None


def _one(parameter: Parameter, text: str, calls: Sequence[Call]) -> Any:
    if parameter.choices:
        return parameter.choices[0]
    good = [call for call in calls if not call.failed]
    if parameter.kind in ("number", "integer") and good:
        found = value_from(good[-1], parameter)
        return found if found is not None else stand_in(parameter)
    if parameter.kind == "string":
        return text
    return stand_in(parameter)


def stand_in(parameter: Parameter) -> Any:
    """The plainest value a schema allows, for what must be there and was not said."""
    if "default" in parameter.schema:
        return parameter.schema["default"]
    if parameter.choices:
        return parameter.choices[0]
    if parameter.kind in ("number", "integer"):
        low = parameter.minimum if parameter.minimum is not None else 0
        value = max(low, 0) if parameter.maximum is None or parameter.maximum >= 0 else parameter.maximum
        return int(value) if float(value).is_integer() else value
    if parameter.kind == "boolean":
        return False
    if parameter.kind == "array":
        return []
    if parameter.kind == "object":
        return {inner.name: stand_in(inner) for inner in parameter.properties if inner.required}
    return {"date": "2000-01-01", "email": "someone@example.org"}.get(parameter.role, "")

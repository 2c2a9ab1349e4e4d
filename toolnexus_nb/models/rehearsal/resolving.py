"""An earlier result as an argument: the number in it, the field that bears the parameter's name, or the whole text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .conversation import Call, as_json
from .offers import Parameter
from .words import split_name, stem

_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:[eE][+-]?\d+)?")


def value_from(call: Call, parameter: Parameter) -> Any:
    """What a parameter takes from a call's result; None when there is nothing of its kind in it."""
    text = (call.result or "").strip()
    value = as_json(text)
    if isinstance(value, Mapping):
        value = _field(value, parameter)
    elif isinstance(value, list) and parameter.kind != "array" and value:
        value = _field(value[0], parameter) if isinstance(value[0], Mapping) else value[0]
    if parameter.kind in ("number", "integer"):
        return _as_number(value if value is not None else text, parameter.kind)
    if parameter.kind == "array":
        return value if isinstance(value, list) else [value if value is not None else text]
    if parameter.kind == "boolean":
        return value if isinstance(value, bool) else None
    if isinstance(value, str):
        return value
    return text if value is None or isinstance(value, dict | list) else str(value)


def _field(value: Mapping[str, Any], parameter: Parameter) -> Any:
    """The field whose name shares a word with the parameter; the only fitting field otherwise."""
    for key, inner in value.items():
        if {stem(word) for word in split_name(str(key))} & parameter.name_stems:
            return inner
    kinds = {"number": (int, float), "integer": (int,), "string": (str,), "array": (list,), "boolean": (bool,)}
    wanted = kinds.get(parameter.kind, (object,))
    fitting = [
        inner
        for inner in value.values()
        if isinstance(inner, wanted) and not (isinstance(inner, bool) and bool not in wanted)
    ]
    preferred = value.get("result", value.get("value", value.get("id")))
    if preferred is not None and isinstance(preferred, wanted):
        return preferred
    return fitting[0] if fitting else None


def _as_number(value: Any, kind: str) -> int | float | None:
    if isinstance(value, bool):
        return None
    if not isinstance(value, int | float):
        found = _NUMBER.findall(str(value))
        if not found:
            return None
        # "17 + 25 = 42" ends with its result.
        value = float((found[-1] if "=" in str(value) else found[0]).replace(",", ""))
    if float(value).is_integer():
        return int(value)
    return None if kind == "integer" else float(value)

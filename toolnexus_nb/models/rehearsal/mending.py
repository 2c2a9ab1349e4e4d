"""After an error: one better try, when the error itself says what was wrong. Otherwise None, and the error is told."""

from __future__ import annotations

import difflib
import re
from typing import Any

from .candidates import candidates
from .conversation import Call
from .offers import Offer, Parameter
from .reading import Reading

_LISTED = re.compile(
    r"(?:(?:must|should) be one of|one of|must be|should be|expected|available(?: \w+)?|allowed(?: values)?|"
    r"valid(?: \w+)?|known(?: \w+)?|choose from|options(?: are)?|supported(?: \w+)?|"
    r"not in)\W*[:(\[{]?\s*(?P<list>[^.;\n]+)",
    re.IGNORECASE,
)
_INSTEAD = re.compile(r"(?:did you mean|try|use)\s+[\"'“`]?(?P<word>[\w./@+-]+)", re.IGNORECASE)


def mend(offer: Offer, call: Call, reading: Reading) -> dict[str, Any] | None:
    """Better arguments for a call that failed, or None. Only what the error points at is changed."""
    error = call.result or ""
    arguments = dict(call.arguments)
    for key in list(arguments):
        unexpected = re.search(
            rf"(?:unexpected|unknown|additional|extra)[^.\n]*\b{re.escape(key)}\b", error, re.IGNORECASE
        )
        if unexpected and key not in {parameter.name for parameter in offer.parameters}:
            del arguments[key]
    for parameter in _named(offer, error, arguments):
        better = _better(parameter, arguments.get(parameter.name), error, reading, offer)
        if better is not None:
            arguments[parameter.name] = better
            break
    return arguments if arguments != call.arguments else None


def _named(offer: Offer, error: str, arguments: dict[str, Any]) -> list[Parameter]:
    """The parameters an error speaks of: by name, or by their value; all of them when it names none."""
    spoken = [p for p in offer.parameters if re.search(rf"\b{re.escape(p.name)}\b", error)]
    quoted = [
        p
        for p in offer.parameters
        if p.name in arguments and len(str(arguments[p.name])) > 1 and str(arguments[p.name]) in error
    ]
    return spoken or quoted or [p for p in offer.parameters if p.name in arguments]


def _better(parameter: Parameter, value: Any, error: str, reading: Reading, offer: Offer) -> Any:
    if value is None:
        if not re.search(r"missing|required", error, re.IGNORECASE):
            return None
        found = sorted(candidates(parameter, reading, offer), key=lambda one: -one.score)
        return found[0].value if found else None
    listed = _offered(error)
    if listed:
        near = difflib.get_close_matches(str(value).lower(), [one.lower() for one in listed], n=1, cutoff=0.55)
        if near:
            chosen = next(one for one in listed if one.lower() == near[0])
            if chosen != str(value):
                return chosen
    instead = _INSTEAD.search(error)
    if (
        instead
        and instead["word"] != str(value)
        and difflib.SequenceMatcher(None, instead["word"].lower(), str(value).lower()).ratio() > 0.5
    ):
        return instead["word"]
    return _other_type(value, error)


def _offered(error: str) -> list[str]:
    """The values an error lists: "must be one of: celsius, fahrenheit"."""
    found = _LISTED.search(error)
    if found is None:
        return []
    quoted = re.findall(r"[\"'“`]([^\"'”`]+)[\"'”`]", found["list"])
    plain = [part.strip(" \"'[](){}`") for part in re.split(r",|\bor\b|\band\b", found["list"])]
    return [part for part in (quoted if len(quoted) > 1 else plain) if part]


def _other_type(value: Any, error: str) -> Any:
    """The same value in the type the error asks for."""
    said = error.lower()
    wants = re.search(
        r"(?:expected|must be|should be|input should be|is not of type|needs?)\D{0,20}\b(integer|number|float|"
        r"string|array|list|boolean)\b",
        said,
    )
    if wants is None:
        return None
    kind = wants[1]
    if kind in ("array", "list") and not isinstance(value, list):
        return [value]
    if kind == "string" and not isinstance(value, str):
        return str(value)
    if kind in ("integer", "number", "float") and isinstance(value, str):
        found = re.search(r"-?\d+(?:\.\d+)?", value)
        return None if found is None else float(found[0]) if "." in found[0] else int(found[0])
    if kind == "integer" and isinstance(value, float):
        return round(value)
    return None

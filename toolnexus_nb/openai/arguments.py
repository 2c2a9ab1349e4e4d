"""The arguments of a tool call: a JSON text on the wire, a dict in Python, and never both wrong without saying so.

Text that does not parse to an object is kept with the reason; such a call is never run (rule 6 of the quirks).
Nothing is repaired: a cut-off text must not become a runnable call (G02).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from .json_text import clean_text, clean_value, dump_json, load_json, load_json_prefix


class ParsedArguments(NamedTuple):
    """`value`: the object, `{}` on error. `text`: as received. `error`: why it can't be used, or None."""

    value: dict[str, Any]
    text: str
    error: str | None


def parse_arguments(received: Any) -> ParsedArguments:
    """Read arguments as text, object or null.

    Blank and null give `{}` (A18, A20, G05); an object is taken whole (A19); an object encoded twice is decoded twice
    (G05); a leading `{}` before another object is a placeholder (A10).
    """
    if isinstance(received, Mapping):
        return ParsedArguments(dict(received), dump_json(received), None)
    if received is None:
        return ParsedArguments({}, "", None)
    if not isinstance(received, str):
        return ParsedArguments({}, dump_json(received), _not_an_object(received))
    if not received.strip():
        return ParsedArguments({}, received, None)
    text = clean_text(without_placeholder(received))
    try:
        value = load_json(text)
        if isinstance(value, str):
            value = load_json(value)
    except ValueError as error:
        return ParsedArguments({}, text, f"the arguments are not valid JSON: {error}")
    if value is None:
        return ParsedArguments({}, text, None)
    if not isinstance(value, dict):
        return ParsedArguments({}, text, _not_an_object(value))
    return ParsedArguments(clean_value(value) if "\\u" in text else value, text, None)


def write_arguments(text: str, arguments: Mapping[str, Any]) -> str:
    """The text to send: `text` if it is strict JSON for just this object, else the object, compact (G03, I06, I07)."""
    try:
        if _STRICT.decode(text) == arguments and clean_text(text) == text:
            return text
    except (ValueError, RecursionError):
        pass  # NaN, a raw control character, no object: what is sent must be valid
    return dump_json(arguments)


def without_placeholder(text: str) -> str:
    """`text` without a leading `{}` that only opened the call (A10)."""
    if text.startswith("{}") and len(text) > 2 and not is_complete(text) and is_complete(text[2:]):
        return text[2:]
    return text


def split_packed(text: str) -> list[str]:
    """The objects of a text that packs several into one call, `{"u":1}{"u":2}` (A11); `[]` for any other text."""
    pieces: list[str] = []
    position = 0
    while position < len(text):
        start = position
        try:
            value, position = load_json_prefix(text, start)
        except ValueError:
            return []
        if not isinstance(value, dict):
            return []
        pieces.append(text[start:position])
        while position < len(text) and text[position].isspace():
            position += 1
    return pieces if len(pieces) > 1 else []


def is_complete(text: str) -> bool:
    """Whether `text` is one complete JSON value."""
    try:
        load_json(text)
    except ValueError:
        return False
    return True


def _not_an_object(value: Any) -> str:
    kinds = {list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}
    return f"the arguments must be a JSON object, not {kinds.get(type(value), type(value).__name__)}"


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


_STRICT = json.JSONDecoder(parse_constant=_refuse)

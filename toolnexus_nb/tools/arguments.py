"""The arguments of a call as a model sends them: JSON text, an object, or nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any


class ArgumentsError(ValueError):
    """The arguments are no JSON object; the message says where and how to mend it."""


def read_arguments(arguments: Mapping[str, Any] | str | bytes | None) -> dict[str, Any]:
    """A dict from what a model sent (quirks G01 to G06). Raises ArgumentsError.

    None, blank text and `null` mean no arguments. An object encoded twice is decoded twice. Control characters inside
    strings are taken; any other broken JSON is an error that says where, never a guess.
    """
    if arguments is None:
        return {}
    if isinstance(arguments, Mapping):
        return {str(key): value for key, value in arguments.items()}
    if isinstance(arguments, bytes | bytearray):
        arguments = bytes(arguments).decode("utf-8", "replace")
    if not isinstance(arguments, str):
        raise ArgumentsError(f"the arguments must be a JSON object, but got {_kind(arguments)}")
    if not arguments.strip():
        return {}
    value = _decode(arguments)
    if isinstance(value, str):
        if not value.strip():
            return {}
        if value.lstrip().startswith("{"):
            value = _decode(value)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ArgumentsError(f"the arguments must be a JSON object, but got {_kind(value)}")
    return value


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "an array"}
    return names.get(type(value), f"a {type(value).__name__}")


def _decode(text: str) -> Any:
    try:
        return json.loads(text, strict=False, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise ArgumentsError(_where(text, error)) from error
    except RecursionError as error:
        raise ArgumentsError("the arguments are nested too deeply to be read as JSON") from error
    except ValueError as error:  # an integer with thousands of digits, or NaN
        raise ArgumentsError(f"the arguments are not valid JSON: {error}") from error


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number; use null or leave the key out")


def _where(text: str, error: json.JSONDecodeError) -> str:
    comma = _trailing_comma(text, error.pos)
    at = error.pos if comma is None else comma
    reason = _reason(text, error) if comma is None else "a comma stands before the closing bracket; remove it"
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    place = f"line {line}, column {column}" if "\n" in text else f"character {column}"
    around = text[max(0, at - 25) : at] + "⟨here⟩" + text[at : at + 15]
    return f"the arguments are not valid JSON at {place}: {reason}; near {around!r}"


def _trailing_comma(text: str, position: int) -> int | None:
    """Where the comma before a closing bracket stands; from Python 3.13 on the error is on its other side."""
    before, after = text[:position].rstrip(), text[position:].lstrip()
    if before.endswith(",") and after[:1] in ("}", "]"):
        return len(before) - 1
    if after.startswith(",") and after[1:].lstrip()[:1] in ("}", "]"):
        return position
    return None


def _reason(text: str, error: json.JSONDecodeError) -> str:
    here = text[error.pos :].lstrip()
    if not here:
        return "the text ends before the object is closed"
    if here[0] == "'":
        return 'a single quote stands here; JSON strings and keys take double quotes (")'
    if word := re.match(r"(True|False|None|undefined)\b", here):
        right = {"True": "true", "False": "false"}.get(word[0], "null")
        return f"{word[0]} stands here; JSON writes {right}"
    if here.startswith("```"):
        return "remove the ``` code fence"
    if error.msg == "Extra data":
        return "there is text after the end of the object; send the object alone"
    if error.msg.startswith("Unterminated string"):
        return "a string that starts here is never closed"
    return error.msg[:1].lower() + error.msg[1:]

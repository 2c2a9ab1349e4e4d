"""JSON as endpoints really send it, read leniently; JSON as they must get it, written strictly.

Reading accepts what Python's own parser accepts: NaN, control characters inside strings (quirk G03), lone surrogates
(D21), duplicate keys (the last one wins). Writing never passes those on: NaN and the infinities become null, half a
surrogate pair becomes U+FFFD, characters are written as themselves.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

_DEEPEST = 200  # levels; the same limit as pydantic's parser has
_TOO_DEEP = "the JSON is nested too deeply"
_LENIENT = json.JSONDecoder(strict=False)


def clean_text(text: str) -> str:
    """Make `text` encodable as UTF-8: two halves of a surrogate pair that meet are joined, a lone half is U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def clean_value(value: Any) -> Any:
    """`clean_text` for every text inside a JSON value."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(key): clean_value(item) for key, item in value.items()}
    return [clean_value(item) for item in value] if isinstance(value, list) else value


def load_json(text: str | bytes) -> Any:
    """Parse one JSON text. Raises ValueError for everything that is none, also when nested too deeply to read."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    try:
        value = _LENIENT.decode(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if text.count("{") + text.count("[") > _DEEPEST and _is_too_deep(value):
        raise ValueError(_TOO_DEEP)
    return value


def _is_too_deep(value: Any) -> bool:
    """Whether a value is nested deeper than can be walked, compared and written again without trouble."""
    level = [value]
    for _ in range(_DEEPEST):
        inside = [item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list)]
        level = [item for items in inside for item in items]
        if not level:
            return False
    return True


def load_json_prefix(text: str, start: int = 0) -> tuple[Any, int]:
    """Parse the JSON value that begins at `start` and give it with the position after it. Raises ValueError."""
    try:
        return _LENIENT.raw_decode(text, start)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def json_ready(value: Any) -> Any:
    """Give `value` made of plain dicts, lists and scalars that any JSON writer and any UTF-8 encoder takes.

    Objects with `model_dump` give what that gives; other objects their `str`.
    """
    match value:
        case None | bool() | int():
            return value
        case str():
            return clean_text(value)
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {clean_text(str(key)): json_ready(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [json_ready(item) for item in value]
    if hasattr(value, "model_dump"):
        return json_ready(value.model_dump())
    return clean_text(str(value))


def dump_json(value: Any, *, sort_keys: bool = False, indent: int | None = None) -> str:
    """Write `value` as JSON with real characters, compact unless `indent` is given. Always valid, always encodable."""
    separators = (",", ":") if indent is None else None
    return json.dumps(
        json_ready(value),
        ensure_ascii=False,
        allow_nan=False,
        separators=separators,
        sort_keys=sort_keys,
        indent=indent,
    )


def dump_json_bytes(value: Any) -> bytes:
    """`dump_json` as UTF-8, for a request or reply body."""
    return dump_json(value).encode()

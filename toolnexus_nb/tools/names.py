"""Names on the wire: every provider takes `^[a-zA-Z0-9_-]{1,64}$` and no two alike (quirk H01)."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Collection, Iterable

LONGEST = 64
_VALID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NOT_ALLOWED = re.compile(r"[^a-zA-Z0-9_-]")
_PREFIXES = ("functions.", "default_api.", "tools.")


def is_wire_name(name: str) -> bool:
    """Whether providers take the name as it is."""
    return _VALID.fullmatch(name) is not None


def wire_name(name: str) -> str:
    """The name with every forbidden character as one `_`, cut to 64 with a hash of the whole; valid names are
    unchanged.

    A name of which nothing is left ("日本") becomes `tool_` and a hash, so that it stays a name of its own.
    """
    if is_wire_name(name):
        return name
    clean = _NOT_ALLOWED.sub("_", name)
    if not clean.strip("_"):
        return f"tool_{_mark(name)}"
    return shortened(clean, name) if len(clean) > LONGEST else clean


def shortened(clean: str, name: str) -> str:
    """The name cut so that it and a hash of the original fit."""
    return f"{clean[: LONGEST - 9]}_{_mark(name)}"


def _mark(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def unique_wire_name(name: str, taken: Collection[str]) -> str:
    """The wire name, with a hash of the original where another tool has that wire name already."""
    wire = wire_name(name)
    return wire if wire not in taken else shortened(wire, name)


def without_model_habits(name: str) -> str:
    """The name a model meant by `functions.add`, `add<|channel|>commentary` or ` add ` (quirk G09)."""
    name = name.partition("<|")[0].strip()
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    return name.strip()


def nearest(name: str, names: Iterable[str], count: int = 3) -> list[str]:
    """The names most like this one."""
    candidates = list(names)
    by_case = {one.lower(): one for one in candidates}
    close = difflib.get_close_matches(name.lower(), by_case, count, 0.5)
    return [by_case[one] for one in close]

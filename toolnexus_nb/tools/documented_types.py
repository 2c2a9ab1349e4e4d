"""Types that stand only in a docstring: `days (int, optional)`, NumPy's `unit : {"C", "F"}`, `list of str`."""

from __future__ import annotations

import ast
import functools
import inspect
import operator
import re
from typing import Any, Literal

EMPTY = inspect.Parameter.empty

_NAMES: dict[str, Any] = {
    "str": str, "string": str, "text": str,
    "int": int, "integer": int,
    "float": float, "number": float, "double": float,
    "bool": bool, "boolean": bool,
    "list": list, "array": list, "sequence": list,
    "dict": dict, "dictionary": dict, "mapping": dict,
    "set": set, "tuple": tuple,
    "None": None, "none": None, "any": Any, "Any": Any,
}  # fmt: skip
_GENERIC: dict[str, Any] = {
    "list": list,
    "List": list,
    "set": set,
    "Set": set,
    "tuple": tuple,
    "Tuple": tuple,
    "dict": dict,
    "Dict": dict,
}


@functools.lru_cache(maxsize=512)
def documented_type(text: str) -> Any:
    """The type a docstring means, or EMPTY if its words are not plainly one."""
    text = re.sub(r",?\s*\b(optional|required)\b\.?", "", text.strip().strip("`"))
    text = re.sub(r",?\s*(default(s to)?|by default)\b.*$", "", text, flags=re.IGNORECASE).strip().strip(",").strip()
    if of := re.fullmatch(r"(list|array|sequence|set)s? of (\w+?)s?", text, flags=re.IGNORECASE):
        item = _NAMES.get(of[2].lower(), EMPTY)
        return EMPTY if item is EMPTY else (set if of[1].lower() == "set" else list)[item]
    text = re.sub(r"\s+or\s+", " | ", text)
    try:
        return _read(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, TypeError, _Unknown):
        return EMPTY


class _Unknown(Exception):
    """A word that names no type we take from a docstring."""


def _read(node: ast.expr) -> Any:
    match node:
        case ast.Name(id=name) if name in _NAMES:
            return _NAMES[name]
        case ast.Constant(value=None):
            return None
        case ast.Set(elts=choices) | ast.Tuple(elts=choices) if choices and all(
            isinstance(one, ast.Constant) for one in choices
        ):
            return Literal[tuple(one.value for one in choices if isinstance(one, ast.Constant))]
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _read(left) | _read(right)
        case ast.Subscript(value=ast.Name(id="Optional"), slice=inner):
            return _read(inner) | None
        case ast.Subscript(value=ast.Name(id="Union"), slice=ast.Tuple(elts=inners)):
            return functools.reduce(operator.or_, map(_read, inners))
        case ast.Subscript(value=ast.Name(id="Literal"), slice=inner):
            return Literal[ast.literal_eval(inner)]
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Tuple(elts=inners)) if name in _GENERIC:
            return _GENERIC[name][tuple(_read(inner) for inner in inners)]
        case ast.Subscript(value=ast.Name(id=name), slice=inner) if name in _GENERIC:
            return _GENERIC[name][_read(inner)]
    raise _Unknown

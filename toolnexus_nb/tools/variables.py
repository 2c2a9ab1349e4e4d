"""Notebook objects by name: what a model may point at when a parameter's type has no JSON form."""

from __future__ import annotations

import difflib
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

_HIDDEN = frozenset({"In", "Out", "get_ipython", "exit", "quit"})
_LISTED = 20


def look_up(name: str, namespace: Mapping[str, Any], kind: Any = None) -> Any:
    """The variable `name`, if a user could see it and it is a `kind` (None: anything).

    Raises NameError that lists the names that would do, TypeError if the variable is something else.
    """
    described = f" that holds {a_type(kind)}" if kind is not None else ""
    fitting = [seen for seen, value in visible_variables(namespace) if fits(value, kind)]
    if name in fitting:
        return namespace[name]
    seen = dict(visible_variables(namespace))
    if name in seen:
        raise TypeError(f"{name} is {a_type(type(seen[name]))}, not {a_type(kind)}{_these(fitting)}")
    close = difflib.get_close_matches(name, fitting, 1)
    hint = f", did you mean {close[0]}?" if close else ""
    raise NameError(f"there is no variable {name!r}{described}{hint}{_these(fitting)}", name=name)


def _these(names: list[str]) -> str:
    if not names:
        return " (none is defined)"
    listed = ", ".join(names[:_LISTED])
    return f" (there is: {listed}{', …' if len(names) > _LISTED else ''})"


def visible_variables(namespace: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """(name, value) of what a user would call a variable: no underscore names, no modules, nothing of IPython's own."""
    ours = _ipython_names(namespace)
    for name, value in list(namespace.items()):
        if not isinstance(name, str) or name.startswith("_") or name in _HIDDEN or isinstance(value, types.ModuleType):
            continue
        if name in ours and ours[name] is value:
            continue
        yield name, value


def _ipython_names(namespace: Mapping[str, Any]) -> Mapping[str, Any]:
    """What IPython itself put into the user's namespace, as `%who` leaves it out."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    hidden = getattr(shell, "user_ns_hidden", None)
    return hidden if isinstance(hidden, Mapping) and getattr(shell, "user_ns", None) is namespace else {}


def fits(value: Any, kind: Any) -> bool:
    """Whether a value is a `kind`; what cannot be tested (a protocol that is no runtime one) fits."""
    if kind is None:
        written = isinstance(value, type | types.FunctionType | types.BuiltinFunctionType)
        return not written and getattr(value, "__module__", None) not in ("typing", "typing_extensions", "__future__")
    try:
        return isinstance(value, kind)
    except TypeError:
        return True


def a_type(kind: Any) -> str:
    """`a DataFrame`, `an ndarray`."""
    name = type_name(kind)
    return f"an {name}" if name[:1].lower() in "aeiou" or name[:2].lower() == "nd" else f"a {name}"


def type_name(kind: Any) -> str:
    """`DataFrame`, `ndarray`: the short name of a type in a sentence."""
    return getattr(kind, "__name__", None) or str(kind)

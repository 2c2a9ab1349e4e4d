"""From the names of a cell to registered tools: all of them or none."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .commands import UsageError
from .transformers import ASSIGNED

if TYPE_CHECKING:
    from ..tools.definition import Tool
    from .session import Session


def register_cell(session: Session, names: Sequence[str]) -> None:
    """The footer of a `%%toolnexus` cell: register the functions and tools that it defined, and show their schemas.

    `names` are those of `transformers.defined_names`: an assigned one counts if it holds a Tool. Raises UsageError when
    none is there, or when one cannot be a tool; the registry is then as it was.
    """
    from ..tools.definition import Tool

    found, lambdas = [], []
    for word in names:
        name = word.removesuffix(ASSIGNED)
        value = session.namespace.get(name)  # a def in a branch that was not taken is not there
        if isinstance(value, Tool) or (name == word and callable(value) and not inspect.isclass(value)):
            found.append((name, value))
        elif inspect.isfunction(value) and value.__name__ == "<lambda>":
            lambdas.append(name)
    if not found and lambdas:
        raise UsageError(
            f"{lambdas[0]} is a lambda, which has no types and no docstring, so nothing was registered: write it as "
            f"`def {lambdas[0]}(…)` with type hints"
        )
    if not found:
        raise UsageError(
            "this cell defines no function, so nothing was registered. A tool is a `def` with type hints; names with a "
            "leading _, classes and imports are left out. For one defined elsewhere: %toolnexus add NAME"
        )
    register_and_show(session, found, of_cell=True)


def register_and_show(session: Session, values: Iterable[tuple[str, Any]], *, of_cell: bool = False) -> None:
    """Register these (name in the notebook, function or tool or list of them) and show what a model will read.

    Nothing is registered if one of them cannot be. Raises UsageError that names it.
    """
    tools = [tool for name, value in values for tool in _tools(name, value)]
    known = {tool.name: session.toolkit.get(tool.name) for tool in tools if tool.name in session.toolkit}
    before = len(_changes(session))
    session.toolkit.register(*tools)
    gone = session.replace_tools_of_cell({tool.name for tool in tools}) if of_cell else []
    for name in gone:
        session.toolkit.remove(name)
    _show(session, tools, _changes(session)[before:], _line(tools, known, gone, of_cell and session.once("underscore")))


def _changes(session: Session) -> list[Any]:
    return list(session.toolkit.changes)


def _tools(name: str, value: Any) -> list[Tool]:
    from ..openai.errors import ToolnexusError
    from ..tools.definition import Tool, tool

    if isinstance(value, Tool):
        return [value]
    if isinstance(value, list | tuple):
        return [made for each in value for made in _tools(getattr(each, "__name__", name), each)]
    if not callable(value) or inspect.isclass(value):
        kind = "class" if inspect.isclass(value) else type(value).__name__
        article = "an" if kind[0] in "aeiou" else "a"
        raise UsageError(f"{name} is {article} {kind}; a tool is a function (or tn.http_tool, tn.native_tool)")
    try:
        # a decorator that hides the function's name does not hide it from the model
        return [tool(value) if getattr(value, "__name__", name) == name else tool(name=name)(value)]
    except (ToolnexusError, TypeError, ValueError) as error:
        raise UsageError(f"{name} cannot be a tool, so nothing was registered: {error}") from None


def _line(tools: Sequence[Tool], known: dict[str, Any], gone: Sequence[str], explain: bool) -> str:
    names = ", ".join(tool.name + (" (replaced)" if tool.name in known else "") for tool in tools)
    line = f"registered: {names}"
    if gone:
        line += f"; removed: {', '.join(gone)}"
    return line + (" (a leading _ keeps one out)" if explain else "")


def _show(session: Session, tools: Sequence[Tool], changes: Sequence[Any], line: str) -> None:
    print(line)
    from .schema_view import SchemaView

    SchemaView(tools, toolkit=session.toolkit, changes=changes).show()

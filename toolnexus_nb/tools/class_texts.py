"""What people write about the fields of a class (dataclass, TypedDict, model): next to them or in the docstring."""

from __future__ import annotations

import ast
import inspect
import itertools
import linecache
import re
import sys
import textwrap
import typing
from collections.abc import Iterator
from typing import Any

from .annotations import field_types
from .comments import FOR_PROGRAMS
from .docstrings import read_docstring
from .signature import annotated_text, raw_docstring

_WRITTEN_BY_PYTHON = ("dict() -> new empty dictionary", "tuple() -> ")


def field_texts(cls: Any) -> tuple[str, dict[str, str]]:
    """(description of the class, texts by field name): Annotated texts first, then the docstring, then comments."""
    own = cls.__dict__.get("__doc__") if isinstance(cls, type) else None
    text = raw_docstring(cls) if own else None
    if text and (text.startswith(_WRITTEN_BY_PYTHON) or text.startswith(f"{cls.__name__}(")):
        text = None
    documentation = read_docstring(text)
    texts = dict(_beside(cls))
    texts.update({name: said.description for name, said in documentation.parameters.items() if said.description})
    texts.update(_annotated(cls))
    return documentation.description, texts


def _annotated(cls: Any) -> Iterator[tuple[str, str]]:
    for name, hint in field_types(cls).items():
        if text := annotated_text(hint):
            yield name, text


def _beside(cls: Any) -> Iterator[tuple[str, str]]:
    """Attribute docstrings, and comments on a field's line. Nothing when the source is not to be had."""
    lines = _source_lines(cls)
    try:
        body = typing.cast(ast.ClassDef, ast.parse("\n".join(lines)).body[0]).body
    except (SyntaxError, IndexError, AttributeError):
        return
    for statement, following in zip(body, [*body[1:], None], strict=True):
        if not (isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)):
            continue
        behind = lines[(statement.end_lineno or 1) - 1][statement.end_col_offset or 0 :].strip()
        if behind.startswith("#") and not FOR_PROGRAMS.match(behind):
            yield statement.target.id, behind.lstrip("#: ").strip()
        match following:
            case ast.Expr(value=ast.Constant(value=str() as text)):
                yield statement.target.id, inspect.cleandoc(text)


def _source_lines(cls: Any) -> list[str]:
    """The lines of a class's definition, or []: from its module's file, or the latest notebook cell that defines it.

    inspect.getsource does not find classes of cells before Python 3.13, and parses whole files.
    """
    header = re.compile(rf"^([ \t]*)class {re.escape(getattr(cls, '__name__', ''))}\b")
    for lines in _files_of(cls):
        start = next((number for number, line in enumerate(lines) if header.match(line)), None)
        if start is None:
            continue
        return _block(lines, start)
    return []


def _block(lines: list[str], start: int) -> list[str]:
    """The line at `start` and all that is indented below it, dedented."""
    indent = len(lines[start]) - len(lines[start].lstrip())
    below = itertools.takewhile(lambda line: not line.strip() or line[: indent + 1].isspace(), lines[start + 1 :])
    return textwrap.dedent("\n".join(line.rstrip("\n") for line in [lines[start], *below])).splitlines()


def _files_of(cls: Any) -> Iterator[list[str]]:
    module = sys.modules.get(getattr(cls, "__module__", ""))
    if file := getattr(module, "__file__", None):
        yield linecache.getlines(file)
    elif getattr(module, "__name__", "") == "__main__":
        cells = [name for name in linecache.cache if "ipykernel_" in name or name.startswith("<ipython-input")]
        yield from (linecache.getlines(name) for name in reversed(cells))

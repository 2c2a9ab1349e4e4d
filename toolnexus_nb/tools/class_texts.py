"""What people write about the fields of a class (dataclass, TypedDict, model): next to them or in the docstring."""

from __future__ import annotations

import ast
import inspect
import textwrap
import typing
from collections.abc import Iterator
from typing import Any

from .annotations import field_types
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
    try:
        source = textwrap.dedent(inspect.getsource(cls))
        body = typing.cast(ast.ClassDef, ast.parse(source).body[0]).body
    except (OSError, TypeError, SyntaxError, IndexError, AttributeError):
        return
    lines = source.splitlines()
    for statement, following in zip(body, [*body[1:], None], strict=True):
        if not (isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)):
            continue
        behind = lines[(statement.end_lineno or 1) - 1][statement.end_col_offset or 0 :].strip()
        if behind.startswith("#") and not behind.startswith(("# noqa", "# type:")):
            yield statement.target.id, behind.lstrip("#: ").strip()
        match following:
            case ast.Expr(value=ast.Constant(value=str() as text)):
                yield statement.target.id, inspect.cleandoc(text)

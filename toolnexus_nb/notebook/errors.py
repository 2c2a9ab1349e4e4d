"""How errors of this package look in a notebook: the sentence and the line of the cell, not forty lines of frames."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from traceback import extract_tb

from ..openai.errors import ToolnexusError
from .markup import printable

_RED, _PLAIN = "\x1b[31m", "\x1b[0m"


def short_lines(error: BaseException) -> list[str]:
    """The error's name and sentence, and the line of the person's own code that led to it."""
    lines = [f"{_RED}{type(error).__name__}{_PLAIN}: {printable(error)}"]
    own = [frame for frame in extract_tb(error.__traceback__) if _is_cell(frame.filename)]
    if own and own[-1].line and "run_cell_magic(" not in own[-1].line and "run_line_magic(" not in own[-1].line:
        lines.append(f"    in this cell, line {own[-1].lineno}: {own[-1].line.strip()}")
    return lines


def _is_cell(filename: str) -> bool:
    """IPython keeps the source of its cells in linecache: without a time stamp, under names that are no paths."""
    entry = linecache.cache.get(filename)
    named = "ipykernel_" in filename or "<ipython-input" in filename or filename.startswith("<stdin")
    return named and entry is not None


def short_errors() -> Callable[[], None]:
    """Let IPython show every ToolnexusError in a few lines; gives the undo."""
    ToolnexusError._render_traceback_ = short_lines  # type: ignore[attr-defined]

    def undo() -> None:
        if "_render_traceback_" in vars(ToolnexusError):
            del ToolnexusError._render_traceback_  # type: ignore[attr-defined]

    return undo

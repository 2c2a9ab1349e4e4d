"""Parameter texts written as comments: behind a parameter, or on lines of their own above it.

def search(
    query: str,      # What to look for.
    # How many hits to give back.
    limit: int = 5,
): ...
"""

from __future__ import annotations

import inspect
import linecache
import re
import tokenize
from collections.abc import Iterator, Mapping
from typing import Any

FOR_PROGRAMS = re.compile(
    r"#\s*(noqa|type:|pylint|pyright|mypy|ruff|fmt:|pragma|nosec|isort|todo|fixme)", re.IGNORECASE
)
"""Comments that are meant for a program, not for a reader."""
_LONGEST_HEADER = 300


def header_lines(function: Any) -> tuple[int, list[str]]:
    """(number of the first line, lines) of a function's source from its first line on, without reading where it ends.

    Works for notebook cells too, whose text IPython gives to linecache. No source: (0, []).
    """
    code = getattr(function, "__code__", None)
    if code is None:
        return 0, []
    lines = linecache.getlines(code.co_filename, getattr(function, "__globals__", None))
    first = code.co_firstlineno
    return first, lines[first - 1 : first - 1 + _LONGEST_HEADER]


def parameter_comments(function: Any) -> Mapping[str, str]:
    """Texts by parameter name, from the comments in a function's header."""
    first, lines = header_lines(function)
    if not lines:
        return {}
    body = _first_body_line(function)
    if body is not None:
        lines = lines[: max(body - first, 1)]
    if not any("#" in line for line in lines):
        return {}
    try:
        return dict(_read(lines))
    except (tokenize.TokenError, IndentationError, SyntaxError):  # cut short, or not Python any more
        return {}


def _first_body_line(function: Any) -> int | None:
    """The line of the first statement of the body, as far as the bytecode tells (a docstring has no bytecode)."""
    code = function.__code__
    lines = [line for _, _, line in code.co_lines() if line is not None and line > code.co_firstlineno]
    return min(lines, default=None)


def _read(lines: list[str]) -> Iterator[tuple[str, str]]:
    depth = 0
    opened = False  # inside the parentheses of the parameters
    started = False  # `def` was seen
    expects_name = False
    above: list[str] = []  # comments on lines of their own since the last parameter
    on_line: list[str] = []  # parameters that began on this line
    last: str | None = None
    source = iter([*lines, ""])
    for token in tokenize.generate_tokens(lambda: next(source)):
        kind, text = token.type, token.string
        if not started:
            started = kind == tokenize.NAME and text == "def"
        elif not opened:
            if text == "(":
                opened, depth, expects_name = True, 1, True
        elif kind == tokenize.COMMENT:
            if on_line or (last and token.line[: token.start[1]].strip()):
                yield from _behind(text, on_line, last)
            elif not FOR_PROGRAMS.match(text):
                above.append(_clean(text))
        elif kind in (tokenize.NL, tokenize.NEWLINE):
            on_line = []
        elif kind == tokenize.NAME and depth == 1 and expects_name:
            expects_name, last = False, text
            on_line.append(text)
            if above:
                yield text, " ".join(above)
                above = []
        elif text in "([{" and kind == tokenize.OP:
            depth += 1
        elif text in ")]}" and kind == tokenize.OP:
            depth -= 1
            if depth == 0:
                yield from _after_the_end(source, token, on_line)
                return
        elif text == "," and depth == 1:
            expects_name = True


def _behind(comment: str, on_line: list[str], last: str | None) -> Iterator[tuple[str, str]]:
    """A comment behind code belongs to the one parameter of its line; behind several it belongs to none."""
    if FOR_PROGRAMS.match(comment) or len(on_line) > 1:
        return
    name = on_line[0] if on_line else last
    if name:
        yield name, _clean(comment)


def _after_the_end(source: Iterator[str], token: tokenize.TokenInfo, on_line: list[str]) -> Iterator[tuple[str, str]]:
    """`def f(a: int,   # first` / `      b: int):  # second`: the last line's comment, if the header began above it."""
    rest = token.line[token.end[1] :]
    comment = re.match(r"\s*:\s*(#.*)$", rest.rstrip("\n"))
    if comment and len(on_line) == 1 and "def " not in token.line:
        yield from _behind(comment.group(1), on_line, None)


def _clean(comment: str) -> str:
    return inspect.cleandoc(comment.lstrip("#:").strip())

"""The lens: a tool's source with marks, and a table that says which line each part of the schema came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .markup import code, esc, hint, raw_pre, table, tag

#: Lines of source that are shown at most.
MOST_LINES = 120


@dataclass(frozen=True)
class Origin:
    """One part of a schema and where it was read.

    parameter: "" for the tool itself. part: name, description, type, default, required …
    source: signature, docstring … text: what was read. line: its line in the file or cell, or None.
    """

    parameter: str
    part: str
    source: str
    text: str
    line: int | None = None


@dataclass(frozen=True)
class Lens:
    """What the lens shows: the function's source, the number of its first line, the origins of the schema's parts."""

    source: str
    first_line: int
    origins: Sequence[Origin]


def lens_html(lens: Lens) -> str:
    if not lens.origins:
        return tag(
            "p", hint("This schema was written by hand, or came from a server: nothing was read from a function.")
        )
    return _marked_source(lens) + _origin_table(lens)


def _origin_table(lens: Lens) -> str:
    rows = [
        (
            (code(origin.parameter) + " " if origin.parameter else "") + esc(origin.part),
            esc(origin.text) if origin.text else hint("empty"),
            esc(origin.source) + (hint(f" line {origin.line}") if origin.line else ""),
        )
        for origin in lens.origins
    ]
    return table(("part of the schema", "what was read", "from"), rows, cls="tnx-origins") if rows else ""


def _marked_source(lens: Lens) -> str:
    """The source with a number before each line; what a part was read from is marked, the parts are named at the end."""
    lines = lens.source.splitlines()[:MOST_LINES]
    if not lines:
        return ""
    by_line: dict[int, list[Origin]] = {}
    for origin in lens.origins:
        if origin.line is not None:
            by_line.setdefault(origin.line, []).append(origin)
    shown = [_source_line(number, line, by_line.get(number, [])) for number, line in enumerate(lines, lens.first_line)]
    missing = len(lens.source.splitlines()) - len(lines)
    if missing > 0:
        shown.append(hint(f"… {missing} more lines"))
    return raw_pre("\n".join(shown), "tnx-source")


def _source_line(number: int, line: str, origins: Sequence[Origin]) -> str:
    before = tag("span", f"{number:>3} ", cls="tnx-lineno")
    if not origins:
        return before + esc(line)
    named = ", ".join(dict.fromkeys(f"{one.parameter} {one.part}".strip() for one in origins))
    return before + _marked(line, origins) + tag("span", esc(f"  ← {named}"), cls="tnx-hint")


def _marked(line: str, origins: Sequence[Origin]) -> str:
    """The line with each origin's words in a `mark`; the whole line where the words aren't in it as they are."""
    spans = sorted(
        {(at, at + len(text)) for one in origins if (text := one.text.strip()) and (at := line.find(text)) >= 0}
    )
    if not spans:
        bare = line.lstrip()
        return esc(line[: len(line) - len(bare)]) + tag("mark", esc(bare))
    out, at = [], 0
    for start, end in spans:
        if start >= at:
            out += [esc(line[at:start]), tag("mark", esc(line[start:end]))]
            at = end
    return "".join([*out, esc(line[at:])])

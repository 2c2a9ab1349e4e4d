"""The lens: a tool's source with marks, and a table that says which line each part of the schema came from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .markup import code, esc, hint, raw_pre, table, tag

if TYPE_CHECKING:
    from ..tools.provenance import Provenance

#: Lines of source that are shown at most.
MOST_LINES = 120


@dataclass(frozen=True)
class Lens:
    """A function's source, and the origins of its schema's parts; their lines count from its first."""

    source: str
    origins: Sequence[Provenance]


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
    """The source with line numbers; what a part was read from is marked, the parts are named at the line's end."""
    lines = lens.source.splitlines()[:MOST_LINES]
    if not lines:
        return ""
    by_line: dict[int, list[Provenance]] = {}
    for origin in lens.origins:
        if origin.line is not None:
            by_line.setdefault(origin.line, []).append(origin)
    shown = [_source_line(number, line, by_line.get(number, [])) for number, line in enumerate(lines, 1)]
    missing = len(lens.source.splitlines()) - len(lines)
    if missing > 0:
        shown.append(hint(f"… {missing} more lines"))
    return raw_pre("\n".join(shown), "tnx-source", tabindex=0)  # it scrolls, so the keyboard must reach it


def _source_line(number: int, line: str, origins: Sequence[Provenance]) -> str:
    before = tag("span", f"{number:>3} ", cls="tnx-lineno")
    if not origins:
        return before + esc(line)
    named = ", ".join(dict.fromkeys(f"{one.parameter} {one.part}".strip() for one in origins))
    return before + _marked(line, origins) + tag("span", esc(f"  ← {named}"), cls="tnx-hint")


def _marked(line: str, origins: Sequence[Provenance]) -> str:
    """The line with each origin's words in a `mark`; the whole line where the words aren't in it as they are."""
    spans = sorted({span for one in origins if (span := _span(line, one)) is not None})
    if not spans:
        bare = line.lstrip()
        return esc(line[: len(line) - len(bare)]) + tag("mark", esc(bare))
    out, at = [], 0
    for start, end in spans:
        if start >= at:
            out += [esc(line[at:start]), tag("mark", esc(line[start:end]))]
            at = end
    return "".join([*out, esc(line[at:])])


def _span(line: str, origin: Provenance) -> tuple[int, int] | None:
    """Where an origin's words stand in the line: behind the parameter's name where it is there, in either quotes."""
    name = re.search(rf"\b{re.escape(origin.parameter)}\b", line) if origin.parameter else None
    start = name.end() if name else 0
    words = origin.text.strip().splitlines()[0] if origin.text.strip() else ""
    for text in (words, words.replace("'", '"')):
        if text and (at := line.find(text, start)) >= 0:
            return at, at + len(text)
    return name.span() if name else None

"""Small named parts of a page: pure functions from values to HTML, with a text twin where a page may lack HTML.

Everything that a model, a tool or a server said passes `esc` here. No part sets a colour: classes (`tnx-…`) are for the
stylesheet, and the few plain inline styles keep a page readable where the stylesheet is dropped.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from ..rounds.summary import duration as duration

#: Grey that shows on white and on black, for borders of pages without the stylesheet.
LINE = "1px solid rgba(128,128,128,.4)"

#: What is shown of one long text before the rest is folded, in characters and lines; the most that is shown at all.
LONG_TEXT = 1_200
LONG_LINES = 24
MOST_TEXT = 20_000

_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]")


def printable(text: object) -> str:
    """`text` with what can't be shown made visible: control characters, text-direction overrides, lone surrogates.

    A lone surrogate would make the whole notebook unsavable; an override lets a name read other than it is.
    """
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", str(text))


def esc(text: object) -> str:
    """`text` as HTML that shows it, in an element or in a quoted attribute."""
    return escape(printable(text), quote=True)


def tag(element: str, /, *body: str, cls: str = "", **attributes: object) -> str:
    """`<element …>body</element>`. The body is HTML already; attribute values are escaped here; `for_` is `for`.

    An attribute that is None or False is left out; True gives the bare attribute.
    """
    if cls:
        attributes = {"class": cls, **attributes}
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{esc(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return f"<{element}{written}>{''.join(body)}</{element}>"


def short_hash(text: str) -> str:
    """A name for some content: the same content is saved under the same name."""
    return hashlib.sha1(text.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()[:8]


def code(text: object) -> str:
    return tag("code", esc(text))


def hint(text: object) -> str:
    """A quiet remark beside a value."""
    return tag("span", esc(text), cls="tnx-hint")


def explained(words: str, meaning: str) -> str:
    """Short words that say more to whoever points at them, and to a screen reader."""
    return tag("span", esc(words), title=meaning, aria_label=f"{words} ({meaning})", role="note")


def part_name(name: str) -> str:
    """What a part of a card is, for pages without the stylesheet: with it, place and shape say so."""
    return tag("div", tag("small", esc(name)), cls="tnx-sep")


def join(parts: Iterable[str], separator: str = " · ") -> str:
    """The parts that are not empty, with a separator that reads without CSS."""
    return separator.join(part for part in parts if part)


#: Between parts that the stylesheet sets apart by space: seen only where there is no stylesheet.
SEPARATOR = tag("span", " · ", cls="tnx-sep")


def section(label: str, *body: str, cls: str = "") -> str:
    """The frame of a view. `label` names it for screen readers; its visible name is in `head`."""
    return tag(
        "section",
        *body,
        cls=f"tnx {cls}".strip(),
        aria_label=label,
        style=f"border:{LINE};border-radius:6px;padding:0 12px",
    )


def head(title: str, *facts: str, status: str = "") -> str:
    """The header line: `title` and `facts` are HTML; `status` sits at the far end."""
    inner = [tag("b", title, cls="tnx-title"), *(tag("span", fact) for fact in facts if fact)]
    if status:
        inner.append(tag("span", status, cls="tnx-end"))
    return tag("header", SEPARATOR.join(inner), cls="tnx-head", style="padding:6px 0")


def foot(*facts: str, end: str = "") -> str:
    """The footer line, of HTML parts."""
    inner = [tag("span", fact) for fact in facts if fact]
    if end:
        inner.append(tag("span", end, cls="tnx-end"))
    return tag("footer", SEPARATOR.join(inner), cls="tnx-foot", style="padding:6px 0") if inner else ""


def heading(text: str, cls: str = "tnx-h") -> str:
    """A small heading inside a view; `text` is HTML."""
    return tag("h4", text, cls=cls)


def fold(summary: str, body: str, open: bool = False, cls: str = "") -> str:
    """Something that opens on a click, without a script. `summary` and `body` are HTML."""
    return tag("details", tag("summary", summary), body, cls=f"tnx-fold {cls}".strip(), open=open)


def table(columns: Iterable[str], rows: Iterable[Iterable[str]], cls: str = "") -> str:
    """A table of HTML cells. The first cell of a row is its heading; each cell carries its column for narrow pages."""
    names = list(columns)
    left = "text-align:left"
    top = tag("thead", tag("tr", *(tag("th", esc(name), scope="col", style=left) for name in names)))
    body = []
    for row in rows:
        first, *others = row
        cells = [tag("th", first, scope="row", style=left)]
        cells += [tag("td", cell, data_col=name, style=left) for name, cell in zip(names[1:], others, strict=True)]
        body.append(tag("tr", *cells))
    # an attribute of old, which any stylesheet outdoes, keeps columns apart where there is none
    return tag("table", top, tag("tbody", *body), cls=f"tnx-table {cls}".strip(), cellpadding="4")


_WRAP = "white-space:pre-wrap;overflow-wrap:anywhere;word-break:normal;margin:0"


def raw_pre(body: str, cls: str = "", copy: str | None = None, **attributes: object) -> str:
    """A `pre` that wraps, around HTML. `copy` names what a live pane's copy button takes from it."""
    kind = f"tnx-pre {'tnx-copyable ' if copy else ''}{cls}".strip()
    return tag("pre", body, cls=kind, style=_WRAP, data_copy=copy, **attributes)


def pre(text: object, cls: str = "", most: int = MOST_TEXT, copy: str | None = None) -> str:
    """Preformatted text; a very long one is cut, and says how much is left out."""
    return raw_pre(esc(shortened(str(text), most)), cls, copy)


def long_text(text: str, cls: str = "", limit: int = LONG_TEXT) -> str:
    """Text as it is if it is short; else its beginning, with the rest folded."""
    cut = _first_part(text, limit)
    if cut >= len(text):
        return pre(text, cls)
    rest = fold(esc(f"{counted(len(text) - cut, 'more character')}"), pre(text[cut:], cls))
    return pre(text[:cut].rstrip("\n"), cls) + rest


def _first_part(text: str, limit: int) -> int:
    """Where to cut a long text: after `LONG_LINES` lines or `limit` characters, at the end of a line if one is near."""
    at = -1
    for _ in range(LONG_LINES):
        at = text.find("\n", at + 1)
        if at < 0 or at >= limit:
            break
    else:
        return at + 1
    if len(text) <= limit:
        return len(text)
    line = text.rfind("\n", limit // 2, limit)
    return limit if line < 0 else line + 1


def shortened(text: str, most: int) -> str:
    """At most about `most` characters: the beginning and the end, and between them how many are missing."""
    if len(text) <= most:
        return text
    end = most // 4
    return f"{text[: most - end]}\n… {len(text) - most:,} characters left out …\n{text[-end:] if end else ''}"


def json_text(value: Any, indent: int | None = 2) -> str:
    """`value` as JSON with real characters; what has no JSON form is shown by its `str`."""
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent, default=str)
    except (TypeError, ValueError):  # a key that is no string, a circular value
        return str(value)


_SHORT_LIST = re.compile(r"\[\n\s+((?:[^\[\]{}\n]+,\n\s+)*[^\[\]{}\n]+)\n\s*\]")


def readable_json(value: Any) -> str:
    """JSON with a line for each key, but short lists of plain values on one line."""

    def joined(found: re.Match[str]) -> str:
        line = "[" + re.sub(r",\n\s+", ", ", found[1]) + "]"
        return line if len(line) <= 80 else found[0]

    return _SHORT_LIST.sub(joined, json_text(value))  # a line break in JSON is never inside a text


_KEY = re.compile(r'("(?:[^"\\]|\\.)*")(?=\s*:)|"(?:[^"\\]|\\.)*"')


def _coloured_json(text: str) -> str:
    """Escaped JSON text with its keys marked. Works on the text, so it can't change what is copied."""
    out, at = [], 0
    for found in _KEY.finditer(text):
        if found[1] is not None:
            out += [esc(text[at : found.start()]), tag("span", esc(found[1]), cls="tnx-key")]
            at = found.end()
    return "".join([*out, esc(text[at:])])


def json_block(value: Any, most: int = MOST_TEXT, copy: str | None = None) -> str:
    """JSON to read and to copy: plain text in a `pre`, marked up only by spans."""
    text = readable_json(value)
    if len(text) > most:
        return pre(text, "tnx-json", most, copy)
    return raw_pre(_coloured_json(text), "tnx-json", copy)


def definition_list(arguments: Mapping[str, Any] | None, schema: Mapping[str, Any] | None = None) -> str:
    """Arguments of a call, one per line; with the schema also the defaults that apply to what was left out."""
    given = dict(arguments or {})
    items = [tag("dt", esc(name)) + tag("dd", _argument(value)) for name, value in given.items()]
    items += [
        tag("dt", esc(name)) + tag("dd", esc(json_text(value, None)) + " " + hint("default"))
        for name, value in _defaults(schema).items()
        if name not in given
    ]
    return tag("dl", *items, cls="tnx-args") if items else tag("p", hint("no arguments"), cls="tnx-args")


def _argument(value: Any) -> str:
    text = json_text(value, None)
    if len(text) <= LONG_TEXT // 2:
        return esc(text)
    if isinstance(value, str):
        return fold(esc(json_text(value[:80] + "…", None)) + " " + hint(f"{len(value):,} characters"), pre(value))
    return fold(esc(text[:80] + "…"), json_block(value))


def definition_text(arguments: Mapping[str, Any] | None, schema: Mapping[str, Any] | None = None) -> str:
    """`city="Oslo", unit="C" (default)`: the text twin of `definition_list`."""
    given = dict(arguments or {})
    parts = [f"{name}={shortened(json_text(value, None), 200)}" for name, value in given.items()]
    parts += [
        f"{name}={json_text(value, None)} (default)" for name, value in _defaults(schema).items() if name not in given
    ]
    return printable(", ".join(parts))


def _defaults(schema: Mapping[str, Any] | None) -> dict[str, Any]:
    properties = (schema or {}).get("properties")
    if not isinstance(properties, Mapping):
        return {}
    return {
        str(n): p["default"] for n, p in properties.items() if isinstance(p, Mapping) and p.get("default") is not None
    }


def tokens(count: float | None, estimated: bool = False) -> str:
    """`412 tokens`, `about 1,024 tokens` where it is an estimate; nothing for None."""
    if count is None:
        return ""
    return f"{'about ' if estimated else ''}{counted(count, 'token')}"


def counted(count: float, noun: str, plural: str = "") -> str:
    """`1 call`, `1,200 calls`."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def size(count: int) -> str:
    """A number of bytes: `312 B`, `4.2 kB`, `1.3 MB`."""
    if count < 1000:
        return f"{count} B"
    return f"{count / 1000:.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"

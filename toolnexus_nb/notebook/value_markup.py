"""What a person sees of a Python value: pictures, frames and mappings by their own display, made harmless.

A tool's value may hold a web page somebody else wrote. So an object's own HTML passes an allow list (`safe_html`), an
SVG becomes an `img` (where scripts don't run), Markdown is rendered with HTML off, and pictures are data, never
addresses: nothing is fetched because a model or a tool named it.
"""

from __future__ import annotations

import base64
import html
import re
import sys
from functools import cache
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlsplit

from .markup import LONG_TEXT, MOST_TEXT, esc, json_block, json_text, long_text, printable, shortened, tag

_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml")
_MOST_HTML = 200_000  # characters of an object's own HTML
_MOST_PICTURE = 3_000_000  # bytes

_KEPT_TAGS = frozenset(
    re.findall(
        r"\w+",
        """a abbr b blockquote br caption code col colgroup dd del details div dl dt em figcaption figure h1 h2 h3 h4 h5
        h6 hr i img ins kbd li mark ol p pre q s samp small span strong sub summary sup table tbody td tfoot th thead
        tr u ul var""",
    )
)
_VOID_TAGS = frozenset(("br", "hr", "img", "col"))
_SILENT_TAGS = frozenset(
    ("script", "style", "title", "template", "noscript", "iframe", "object", "svg", "math", "textarea")
)
_KEPT_ATTRIBUTES = frozenset(
    ("alt", "colspan", "rowspan", "scope", "title", "lang", "dir", "open", "width", "height", "start")
)


def _link(address: str) -> str | None:
    """The address if it is one a person may follow: http, https or mailto."""
    try:
        scheme = urlsplit(address.strip()).scheme.lower()
    except ValueError:
        return None
    return address.strip() if scheme in ("http", "https", "mailto") else None


def _picture_source(address: str) -> str | None:
    kind = address.strip()[:40].partition(";")[0].lower()
    return address.strip() if kind.startswith("data:") and kind[5:] in _PICTURES else None


class _AllowList(HTMLParser):
    """Writes anew what is on the list and closes what was left open; of other tags the text stays, but for scripts."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.out: list[str] = []
        self._open: list[str] = []
        self._silent: list[str] = []

    def handle_starttag(self, name: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._silent or name in _SILENT_TAGS:
            if name in _SILENT_TAGS:
                self._silent.append(name)
        elif name in _KEPT_TAGS:
            kept = self._attributes(name, attrs)
            if name == "img" and "src" not in kept:
                self.handle_data(kept.get("alt") or "[picture]")
                return
            written = "".join(f' {key}="{esc(value)}"' for key, value in kept.items())
            self.out.append(f"<{name}{written}>")
            if name not in _VOID_TAGS:
                self._open.append(name)

    def handle_startendtag(self, name: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(name, attrs)
        self.handle_endtag(name)

    def handle_endtag(self, name: str) -> None:
        if self._silent:
            if name == self._silent[-1]:
                self._silent.pop()
        elif name in self._open:
            while (last := self._open.pop()) != name:
                self.out.append(f"</{last}>")
            self.out.append(f"</{name}>")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.out.append(esc(data))

    def done(self) -> str:
        self.close()
        return "".join(self.out) + "".join(f"</{name}>" for name in reversed(self._open))

    @staticmethod
    def _attributes(name: str, attrs: list[tuple[str, str | None]]) -> dict[str, str]:
        kept = {key: value or "" for key, value in attrs if key in _KEPT_ATTRIBUTES}
        given = {key: value or "" for key, value in attrs}
        if name == "a" and (address := _link(given.get("href", ""))):
            kept |= {"href": address, "rel": "noopener noreferrer nofollow", "target": "_blank"}
        if name == "img" and (source := _picture_source(given.get("src", ""))):
            kept["src"] = source
        return kept


def safe_html(source: str) -> str:
    """An object's own HTML with only harmless tags and attributes: no script, no style, no address that is fetched."""
    reader = _AllowList()
    reader.feed(source)
    return reader.done()


def picture_html(mime_type: str, data: bytes | str, alt: str = "picture") -> str:
    """A picture as an `img` that holds its data; `data` is bytes, base64 text, or SVG source."""
    if mime_type not in _PICTURES:
        return tag("p", esc(f"[{mime_type}, not a picture that can be shown]"), cls="tnx-hint")
    if isinstance(data, str):
        raw = data.encode("utf-8", "replace") if mime_type == "image/svg+xml" and "<" in data[:2000] else None
        encoded = base64.b64encode(raw).decode() if raw is not None else "".join(data.split())
    else:
        encoded = base64.b64encode(data).decode()
    if len(encoded) > _MOST_PICTURE * 4 // 3:
        return tag(
            "p",
            esc(f"[a picture of {len(encoded) * 3 // 4:,} bytes, too large to keep in the notebook]"),
            cls="tnx-hint",
        )
    source = html.escape(f"data:{mime_type};base64,{encoded}", quote=True)
    return f'<img class="tnx-picture" style="max-width:100%" alt="{esc(alt)}" src="{source}">'


def _picture_as_link(_renderer: Any, parts: Any, index: int, _options: Any, _env: Any) -> str:
    address = _link(str(parts[index].attrGet("src") or ""))
    words = esc(parts[index].content or "picture")
    return f"[picture: {_anchor(address, words) if address else words}]"


def _careful_link(renderer: Any, parts: Any, index: int, options: Any, env: Any) -> str:
    parts[index].attrSet("rel", "noopener noreferrer nofollow")
    parts[index].attrSet("target", "_blank")
    return str(renderer.renderToken(parts, index, options, env))


@cache
def _markdown() -> Any:
    from markdown_it import MarkdownIt

    reader: Any = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])
    reader.add_render_rule("image", _picture_as_link)
    reader.add_render_rule("link_open", _careful_link)
    reader.validateLink = lambda address: _link(address) is not None
    return reader


def _anchor(address: str, words: str) -> str:
    return f'<a href="{esc(address)}" rel="noopener noreferrer nofollow" target="_blank">{words}</a>'


def markdown_html(text: str) -> str:
    """A model's Markdown as HTML. HTML in it is text, a picture becomes a link, a link is http(s) or mailto."""
    return tag("div", _markdown().render(printable(text)), cls="tnx-md")


def _own_bundle(value: Any) -> dict[str, Any]:
    """What IPython's formatters make of the value; outside IPython, what its `_repr_…_` methods say."""
    ipython = sys.modules.get("IPython")
    running = ipython.get_ipython() if ipython is not None else None
    wanted = (*_PICTURES, "text/html", "text/markdown")
    if running is not None:
        data, _ = running.display_formatter.format(value, include=wanted)
        return dict(data)
    bundle: dict[str, Any] = {}
    methods = {
        "image/png": "_repr_png_",
        "image/svg+xml": "_repr_svg_",
        "text/html": "_repr_html_",
        "text/markdown": "_repr_markdown_",
    }
    for kind, method in methods.items():
        made = getattr(value, method, None)
        if callable(made) and not isinstance(value, type):
            shown = made()
            bundle |= {kind: shown[0] if isinstance(shown, tuple) else shown} if shown is not None else {}
    return bundle


def value_html(value: Any) -> str:
    """A Python value for a person: text, JSON for what is like JSON, the rest by its own display made harmless."""
    if isinstance(value, str):
        return long_text(value, "tnx-value")
    if isinstance(value, (dict, list, tuple)):
        compact = json_text(value, None)
        return tag("div", esc(compact), cls="tnx-value") if len(compact) <= 80 else json_block(value)
    if value is None or isinstance(value, (bool, int, float, bytes)):
        return long_text(repr(value), "tnx-value")
    try:
        bundle = _own_bundle(value)
    except Exception as error:  # the object's own display is at fault: say so and show its repr
        return value_text_html(value) + tag(
            "p", esc(f"its own display failed: {type(error).__name__}: {error}"), cls="tnx-hint"
        )
    for kind in _PICTURES:
        if bundle.get(kind):
            return picture_html(kind, bundle[kind], alt=f"picture of a {type(value).__name__}")
    if (own := bundle.get("text/html")) and len(own) <= _MOST_HTML:
        return tag("div", safe_html(own), cls="tnx-rich", tabindex=0)  # it may scroll: for the keyboard
    if own := bundle.get("text/markdown"):
        return markdown_html(shortened(own, MOST_TEXT))
    return value_text_html(value)


def value_text_html(value: Any) -> str:
    return long_text(value_text(value), "tnx-value")


def value_text(value: Any, most: int = LONG_TEXT * 4) -> str:
    """The text twin of `value_html`."""
    if isinstance(value, str):
        return printable(shortened(value, most))
    if isinstance(value, (dict, list, tuple)):
        compact = json_text(value, None)
        return printable(shortened(compact if len(compact) <= 80 else json_text(value), most))
    try:
        return printable(shortened(repr(value), most))
    except Exception as error:  # a repr that raises must not lose the result
        return f"<{type(value).__name__} whose repr raises {type(error).__name__}>"

"""The one stylesheet, `panel.css`, and the part of it that a piece of static HTML uses.

Colours and fonts of the page (`--jp-*`, `--vscode-*`) are read in `panel.css` only. Static outputs carry their own
rules, so that they look the same in a reopened notebook, in nbconvert's page and beside a live widget.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from .markup import short_hash

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_CLASS = re.compile(r"\.(tnx[\w-]*)")
_RULE = re.compile(r"([^{}]+)\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}")


@cache
def stylesheet() -> str:
    """`panel.css` as it is written: what a live widget takes as its `_css`."""
    return (Path(__file__).parent / "panel.css").read_text(encoding="utf-8")


@cache
def _rules() -> tuple[tuple[str, str], ...]:
    """(selector or at-rule, body) of every top-level rule, without comments and needless space."""
    plain = re.sub(r"\s+", " ", _COMMENT.sub("", stylesheet()))
    return tuple((head.strip(), body.strip()) for head, body in _RULE.findall(plain))


def _used(selector: str, classes: frozenset[str]) -> bool:
    return all(name in classes for name in _CLASS.findall(selector))


def _kept(head: str, body: str, classes: frozenset[str]) -> str:
    if head.startswith(("@media", "@supports", "@container")):
        inner = "".join(_kept(h.strip(), b.strip(), classes) for h, b in _RULE.findall(body))
        return f"{head}{{{inner}}}" if inner else ""
    if head.startswith("@keyframes"):
        return ""  # nothing moves in a static output
    selectors = [one.strip() for one in head.split(",")]
    kept = ",".join(one for one in selectors if _used(one, classes))
    return f"{kept}{{{body}}}" if kept else ""


def style_for(html: str) -> str:
    """The rules of the stylesheet whose classes all occur in `html`."""
    classes = frozenset(name for value in re.findall(r'class="([^"]*)"', html) for name in value.split())
    return "".join(_kept(head, body, classes) for head, body in _rules())


def styled(html: str) -> str:
    """`html` with the rules it uses, in a box that keeps these rules to itself.

    Rules that are left out here may stand in another output of the same page, before or after these. So the rules of
    each output are nested in a class of its own (named by its content: the same output is saved as the same text).
    """
    rules = style_for(html)
    if not rules:
        return html
    own = "tnx-" + short_hash(html)
    return f'<style>.{own}{{{rules}}}</style><div class="{own}">{html}</div>'

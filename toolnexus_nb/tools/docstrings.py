"""The docstring story behind one function: the text for the tool, the text (and type) for each parameter.

Google, NumPy and reST (also Epytext's `@param`) are told apart by their marks and read by griffe, which is imported
only when a docstring has sections.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any


@dataclass(frozen=True)
class ParameterText:
    """What a docstring says about one parameter; `type_text` is its type in words ("int, optional") or ""."""

    description: str
    type_text: str = ""


@dataclass(frozen=True)
class Documentation:
    """What a docstring says: the description of the whole and of each parameter, by name without stars."""

    description: str = ""
    parameters: dict[str, ParameterText] = field(default_factory=dict)


_NOTHING = Documentation()
_NUMPY = re.compile(r"^[ \t]*[A-Z][A-Za-z ]+\n[ \t]*-{3,}[ \t]*$", re.MULTILINE)
_REST = re.compile(
    r"^[ \t]*[:@](?:param|parameter|arg|argument|key|keyword|type|returns?|rtype|raises?|var|yields?)\b[^:\n]*:",
    re.MULTILINE,
)
_EPYTEXT = re.compile(r"^([ \t]*)@(?=(?:param|type|returns?|rtype|raises?|keyword)\b)", re.MULTILINE)
_GOOGLE = re.compile(r"^[ \t]*[A-Z][A-Za-z ]+:[ \t]*\n[ \t]+\S", re.MULTILINE)


_HEADED = re.compile(r"[A-Z][A-Za-z ]+:[ \t]*\n[ \t]+\S")
_LISTED = re.compile(
    r"^((?:Args|Arguments|Param(?:eter)?s):[ \t]*\n)([-*•][ \t].*(?:\n(?:[-*•][ \t]|[ \t]+\S).*)*)", re.MULTILINE
)
_ROLE = re.compile(r":(?:py:)?(?:obj|class|func|meth|attr|data|exc|mod):`~?([^`\n]+)`")


def read_docstring(docstring: str | None) -> Documentation:
    """Read a raw `__doc__` in any of the known styles; None and blank text give an empty Documentation."""
    if not docstring or not docstring.strip():
        return _NOTHING
    return _read(docstring)


@lru_cache(maxsize=512)
def _read(docstring: str) -> Documentation:
    docstring = _ROLE.sub(r"`\1`", docstring.replace("\r\n", "\n"))
    # a heading on the first line is the margin that cleandoc would take from the lines below it
    text = inspect.cleandoc(f"\n{docstring}" if _HEADED.match(docstring) else docstring)
    text = _LISTED.sub(lambda found: found[1] + textwrap.indent(found[2], "    "), text)  # Markdown's list
    if _REST.search(text):
        return _sections(_EPYTEXT.sub(r"\1:", text), "sphinx")
    if _NUMPY.search(text):
        return _sections(text, "numpy")
    if _GOOGLE.search(text):
        return _sections(text, "google")
    return Documentation(description=text)


def _sections(text: str, style: str) -> Documentation:
    from griffe import (
        Docstring,
        DocstringSectionAdmonition,
        DocstringSectionAttributes,
        DocstringSectionParameters,
        DocstringSectionText,
    )

    parameters: dict[str, ParameterText] = {}
    paragraphs: list[str] = []
    if style == "google" and _GOOGLE.match(text):
        text = f"\n\n{text}"  # griffe takes the first line for the summary
    for section in _parser(style)(Docstring(text, lineno=1)):
        # Keyword arguments and NumPy's Other Parameters are parameters too; Attributes stand in a class's docstring.
        if isinstance(section, DocstringSectionParameters | DocstringSectionAttributes):
            for item in section.value:
                said = ParameterText(_one_paragraph(item.description), str(item.annotation or ""))
                for name in item.name.split(","):  # NumPy: "x, y : float"
                    parameters.setdefault(name.strip(" *\\-•`"), said)
        elif isinstance(section, DocstringSectionText):
            paragraphs.append(section.value.strip())
        elif isinstance(section, DocstringSectionAdmonition) and section.value.kind not in ("example", "examples"):
            paragraphs.append(
                f"{section.title or str(section.value.kind).capitalize()}: {section.value.contents}".strip()
            )
    return Documentation("\n\n".join(part for part in paragraphs if part), parameters)


def _parser(style: str) -> Callable[[Any], list[Any]]:
    from griffe import parse_google, parse_numpy, parse_sphinx

    if style == "google":
        return lambda docstring: parse_google(docstring, warnings=False)
    if style == "numpy":
        return lambda docstring: parse_numpy(docstring, warnings=False)
    return lambda docstring: parse_sphinx(docstring, warnings=False)


def _one_paragraph(text: str) -> str:
    """A description's wrapped lines joined; blank lines and list items keep their breaks."""
    lines: list[str] = []
    for line in inspect.cleandoc(text).splitlines():
        joins = lines and lines[-1] and line.strip() and not re.match(r"\s*([-*•]|\d+[.)])\s", line)
        if joins:
            lines[-1] = f"{lines[-1]} {line.strip()}"
        else:
            lines.append(line.rstrip())
    return "\n".join(lines).strip()

"""Finding the lines a schema was read from; done when somebody looks, never when a tool is made."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .binding import SignatureBinder
from .provenance import Part, Provenance, Source
from .signature import EMPTY, underlying
from .slots import Slot

if TYPE_CHECKING:
    from .definition import Tool

_LIMITS = (
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern",
    "minItems", "maxItems", "format",
)  # fmt: skip


def source_text(function: Any) -> str:
    """The source of what stands behind a callable, "" if it is not to be had."""
    try:
        return inspect.getsource(underlying(function))
    except (OSError, TypeError):
        return ""


def trace(tool: Tool, binder: SignatureBinder) -> list[Provenance]:
    """One entry for every piece of the tool's schema, in the order of the schema."""
    lines = _Lines(source_text(tool.function))
    found = list(_of_tool(tool, lines))
    properties = tool.input_schema["properties"]
    for slot in binder.slots:
        found += _of_parameter(slot, properties.get(slot.key, {}), lines)
    return found


def _of_tool(tool: Tool, lines: _Lines) -> Iterator[Provenance]:
    given = tool.given_options
    name_source: Source = "argument" if "name" in given else "signature"
    yield Provenance("", "name", name_source, lines.header, tool.name)
    if not tool.description:
        return
    if "description" in given:
        yield Provenance("", "description", "argument", lines.header, tool.description)
    else:
        yield Provenance("", "description", "docstring", lines.docstring, tool.description)


def _of_parameter(slot: Slot, schema: dict[str, Any], lines: _Lines) -> Iterator[Provenance]:
    parameter = slot.parameter

    def entry(part: Part, source: Source, line: int | None, text: str) -> Provenance:
        return Provenance(slot.key, part, source, line, text)

    written = lines.argument(parameter.name)
    if parameter.type_text:
        in_docstring = parameter.type_source == "docstring"
        line = lines.documented(parameter.name) if in_docstring else written
        yield entry("type", parameter.type_source, line, parameter.type_text)
    if text := schema.get("description"):
        at = {"docstring": lines.documented, "comment": lines.comment}.get(parameter.description_source, lines.argument)
        own = parameter.description_source if parameter.description else "annotation"
        yield entry("description", own, at(parameter.name) if parameter.description else written, text)
    if "default" in schema or (not slot.required and parameter.default is not EMPTY):
        yield entry(
            "default", "signature", lines.default(parameter.name), lines.default_text(parameter.name, parameter.default)
        )
    if slot.required:
        yield entry("required", "signature", written, f"{parameter.name} has no default")
    if limits := [f"{key} {schema[key]}" for key in _LIMITS if key in schema]:
        yield entry("limits", "annotation", written, ", ".join(limits))


class _Lines:
    """Line numbers in a function's source, counted from 1."""

    def __init__(self, source: str) -> None:
        self._lines = source.splitlines()
        self._node = _definition(source)
        arguments = self._node.args if self._node else None
        listed = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs] if arguments else []
        self._arguments = {one.arg: one for one in listed}
        if arguments:
            self._arguments.update({one.arg: one for one in (arguments.vararg, arguments.kwarg) if one})
        self._defaults = dict(_defaults(arguments)) if arguments else {}

    @property
    def header(self) -> int | None:
        """The line of `def`."""
        return self._node.lineno if self._node else None

    @property
    def docstring(self) -> int | None:
        """The docstring's first line with text."""
        span = self._docstring_span()
        return next((number for number in span if re.search(r"\w", self._line(number))), None)

    def argument(self, name: str) -> int | None:
        """The line a parameter stands on."""
        return self._arguments[name].lineno if name in self._arguments else None

    def default(self, name: str) -> int | None:
        """The line its default stands on."""
        return self._defaults[name].lineno if name in self._defaults else self.argument(name)

    def default_text(self, name: str, value: Any) -> str:
        """The default as written, or its repr."""
        return ast.unparse(self._defaults[name]) if name in self._defaults else repr(value)

    def documented(self, name: str) -> int | None:
        """The line of the docstring that begins a parameter's text."""
        marks = re.compile(rf"^\W*(param\w*|arg\w*|key\w*)?\s*(\S+\s+)?\*{{0,2}}{re.escape(name)}\b\s*([:(,]|$)")
        return next((number for number in self._docstring_span() if marks.match(self._line(number))), None)

    def comment(self, name: str) -> int | None:
        """The line of a parameter's comment: its own, or the one above."""
        line = self.argument(name)
        if line is None or "#" in self._line(line):
            return line
        return line - 1 if line > 1 and self._line(line - 1).lstrip().startswith("#") else line

    def _docstring_span(self) -> Sequence[int]:
        body = self._node.body if self._node else []
        match body[:1]:
            case [ast.Expr(value=ast.Constant(value=str()) as text)]:
                return range(text.lineno, (text.end_lineno or text.lineno) + 1)
        return ()

    def _line(self, number: int) -> str:
        return self._lines[number - 1] if 0 < number <= len(self._lines) else ""


def _definition(source: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    try:
        tree = ast.parse(textwrap.dedent(source))
    except SyntaxError:  # a lambda inside an expression, for instance
        return None
    return next((node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)), None)


def _defaults(arguments: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    positional = [*arguments.posonlyargs, *arguments.args]
    yield from zip(
        (one.arg for one in positional[len(positional) - len(arguments.defaults) :]), arguments.defaults, strict=True
    )
    for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is not None:
            yield one.arg, default

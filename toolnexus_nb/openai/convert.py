"""From MCP to chat completions: tool definitions, filters, and results as the text a model gets.

Takes objects of the mcp package, their wire dicts and our own tools by their attributes, and imports none of them.
"""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .json_text import clean_text, load_json

NO_OUTPUT = "(no output)"


def mcp_tools_to_openai(
    tools: Iterable[Any] | None, filter: Callable[[str], bool] | None = None
) -> list[dict[str, Any]]:
    """Make the `tools` of a request, in order, duplicates too; None is no tools.

    `filter` takes a name and says whether the tool is offered. A missing or unreadable schema becomes an empty object
    schema (H08); an empty description is left out, since some providers refuse it. Dicts are fresh copies. A name
    given to `tools_by_name` or `exclude_tools` that no tool has is told by a warning.
    """
    tools = list(tools or ())
    if isinstance(filter, NameFilter):
        unknown = filter.unknown(_name(tool) for tool in tools)
        if unknown:
            warnings.warn(f"no tool is called {', '.join(unknown)}", UserWarning, stacklevel=2)
    return [_definition(tool) for tool in tools if filter is None or filter(_name(tool))]


class NameFilter:
    """A filter by exact names, in the order given; `keeps` says whether the names are those to keep or to leave out."""

    def __init__(self, names: Iterable[str], *, keeps: bool) -> None:
        self.names = tuple(dict.fromkeys(names))
        self.keeps = keeps

    def __call__(self, name: str) -> bool:
        return (name in self.names) == self.keeps

    def unknown(self, names: Iterable[str]) -> list[str]:
        """The names of this filter that are not among `names`."""
        there = set(names)
        return [name for name in self.names if name not in there]

    def __repr__(self) -> str:
        return f"{'tools_by_name' if self.keeps else 'exclude_tools'}({', '.join(map(repr, self.names))})"


def all_tools() -> NameFilter:
    """A filter that keeps every tool."""
    return NameFilter((), keeps=False)


def tools_by_name(*names: str) -> NameFilter:
    """A filter that keeps the named tools; no names keep none."""
    return NameFilter(names, keeps=True)


def exclude_tools(*names: str) -> NameFilter:
    """A filter that leaves the named tools out; no names leave all in."""
    return NameFilter(names, keeps=False)


def _get(value: Any, *keys: str) -> Any:
    """The first of several spellings of a field that is there and not None."""
    for key in keys:
        found = value.get(key) if isinstance(value, Mapping) else getattr(value, key, None)
        if found is not None:
            return found
    return None


def _name(tool: Any) -> str:
    return str(_get(_get(tool, "function") if isinstance(tool, Mapping) and "function" in tool else tool, "name") or "")


def _definition(tool: Any) -> dict[str, Any]:
    if isinstance(tool, Mapping) and isinstance(tool.get("function"), Mapping):
        return copy.deepcopy(dict(tool))  # a definition already
    function = {"name": _name(tool)}
    description = _get(tool, "description")
    if description:
        function["description"] = clean_text(str(description))
    schema = _object_schema(_get(tool, "input_schema", "inputSchema", "parameters"))
    return {"type": "function", "function": {**function, "parameters": schema}}


def _object_schema(schema: Any) -> dict[str, Any]:
    """A JSON schema of type object with properties, whatever form it was given in."""
    if isinstance(schema, str | bytes):
        try:
            schema = load_json(schema)
        except ValueError:
            schema = None
    if hasattr(schema, "model_dump"):
        schema = schema.model_dump(exclude_none=True, by_alias=True)
    if not isinstance(schema, Mapping):
        schema = {}
    whole = {"type": "object", **copy.deepcopy(dict(schema))}
    if whole["type"] == "object":
        whole.setdefault("properties", {})
    return whole


def extract_tool_result(result: Any) -> str:
    """The text a model gets of a `CallToolResult`, its wire dict, or None.

    Structured content is compact JSON with sorted keys, else the blocks joined by line ends: texts as they are, texts
    of resources too, images and the like named in brackets. A failed call begins with `Error: `; one without output
    says so. Raises ValueError if structured content can't be written as JSON.
    """
    structured = _get(result, "structuredContent", "structured_content")
    if structured is not None:
        text = _structured_text(structured)
    else:
        text = _joined(map(_block_text, _blocks(result))) or NO_OUTPUT
    failed = _get(result, "isError", "is_error") is True
    return f"Error: {text}" if failed and not text.lower().startswith("error") else text


def extract_all_text_content(result: Any) -> str:
    """The text blocks of a result, joined by line ends; "" if there are none."""
    return _joined(str(_get(block, "text") or "") for block in _blocks(result) if _get(block, "type") == "text")


def _blocks(result: Any) -> list[Any]:
    """The content blocks of a result; a text in their place, or instead of the result, is one text block."""
    content = result if isinstance(result, str) else _get(result, "content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(content) if isinstance(content, list | tuple) else []


def _structured_text(structured: Any) -> str:
    if hasattr(structured, "model_dump"):
        structured = structured.model_dump(mode="json")
    try:
        text = json.dumps(structured, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"the structured content of the result can't be written as JSON: {error}") from error
    return clean_text(text)


def _joined(texts: Iterable[str]) -> str:
    """Join by line ends, but let nothing begin with one because its first texts are empty."""
    text = ""
    for piece in texts:
        text = f"{text}\n{piece}" if text else piece
    return clean_text(text)


def _block_text(block: Any) -> str:
    """One content block as text."""
    kind = _get(block, "type")
    mime = _get(block, "mimeType", "mime_type")
    if kind == "text":
        return str(_get(block, "text") or "")
    if kind == "resource":
        resource = _get(block, "resource") or {}
        text = _get(resource, "text")
        return (
            text
            if isinstance(text, str)
            else _bracketed("resource", _get(resource, "uri"), _get(resource, "mimeType", "mime_type"))
        )
    if kind == "resource_link":
        return _bracketed("link", _get(block, "title", "name"), _get(block, "uri"))
    return _bracketed(kind or "content", mime)


def _bracketed(kind: Any, *facts: Any) -> str:
    said = " ".join(str(fact) for fact in facts if fact)
    return f"[{kind}: {said}]" if said else f"[{kind}]"

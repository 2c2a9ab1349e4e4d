"""What an MCP server gives back, made into a `ToolResult`: nothing is dropped, and the model gets text.

The rules, in the order of the reference (`seeds-upstream.md` 3.4, rows 69 to 77):

* Text blocks are joined by line breaks; in a failed result the non-blank ones by blank lines.
* Structured content is the value for programs and people. Its JSON is added to the text unless the text already says
  it: servers are asked to send it as text too, some send its one field, some send other words.
* An embedded text resource gives its text; a link always gives a line with its address and type.
* Images, sounds and binary resources are parts. Only a result with no text at all describes them in words.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from typing import Any

from .results import PartKind, ResultPart, ToolResult


def result_of_call(result: Any, metadata: dict[str, Any]) -> ToolResult:
    """An `mcp.types.CallToolResult` as a ToolResult; `metadata` is kept in it."""
    texts, lines, parts = read_blocks(result.content)
    structured = result.structured_content
    if result.is_error:
        said = [text for text in (*texts, *lines) if text.strip()]
        if not said and structured is not None:
            said = [_json(structured)]
        return ToolResult(
            output="\n\n".join(said) or "MCP tool returned an error",
            is_error=True,
            metadata=metadata,
            parts=parts,
            value=structured,
        )
    pieces = list(texts)
    if structured is not None and not _already_said(structured, texts):
        pieces.append(_json(structured))
    pieces += lines
    output = "\n".join(pieces)
    if not output.strip() and parts:
        output = "\n".join(describe_part(part) for part in parts)
    return ToolResult(output=output, metadata=metadata, parts=parts, value=structured)


def read_blocks(blocks: Sequence[Any]) -> tuple[list[str], list[str], list[ResultPart]]:
    """(texts, lines about links, parts) of content blocks: text, image, audio, resource_link, resource."""
    texts: list[str] = []
    lines: list[str] = []
    parts: list[ResultPart] = []
    for block in blocks:
        match block.type:
            case "text":
                texts.append(block.text)
            case "image" | "audio":
                parts.append(ResultPart(kind=block.type, mime_type=block.mime_type, data=_decoded(block.data)))
            case "resource_link":
                part = ResultPart(
                    kind="link", mime_type=block.mime_type or "", uri=block.uri, name=block.title or block.name
                )
                parts.append(part)
                lines.append(describe_part(part))
            case "resource":
                part = resource_part(block.resource)
                parts.append(part)
                if part.text is not None:
                    texts.append(part.text)
            case other:
                texts.append(f"[content of a kind that is not known here: {other}]")
    return texts, lines, parts


def resource_part(contents: Any) -> ResultPart:
    """Text or binary contents of a resource."""
    mime_type = contents.mime_type or ""
    text = getattr(contents, "text", None)
    if text is not None:
        return ResultPart(kind="resource", mime_type=mime_type or "text/plain", text=text, uri=contents.uri)
    data = _decoded(contents.blob)
    kinds: dict[str, PartKind] = {"image": "image", "audio": "audio"}
    kind = kinds.get(mime_type.split("/")[0], "resource")
    return ResultPart(kind=kind, mime_type=mime_type or "application/octet-stream", data=data, uri=contents.uri)


def describe_part(part: ResultPart) -> str:
    """One line about a part, for a model that cannot see it."""
    if part.kind == "link":
        name = f"{part.name}: " if part.name and part.name != part.uri else ""
        return f"{name}{part.uri}" + (f" ({part.mime_type})" if part.mime_type else "")
    size = f"{len(part.data)} bytes" if part.data is not None else f"{len(part.text or '')} characters"
    where = f" at {part.uri}" if part.uri else ""
    return f"{part.kind} ({part.mime_type}, {size}){where}"


def result_of_resource(result: Any, metadata: dict[str, Any]) -> ToolResult:
    """The contents of a resource that was read."""
    parts = [resource_part(contents) for contents in result.contents]
    pieces = [part.text if part.text is not None else describe_part(part) for part in parts]
    return ToolResult(output="\n".join(pieces), metadata=metadata, parts=parts)


def _decoded(data: str) -> bytes:
    """The bytes of a base64 text; a server that sends something else is taken at its word."""
    try:
        return base64.b64decode(data, validate=False)
    except (binascii.Error, ValueError):
        return data.encode()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _already_said(structured: Any, texts: Sequence[str]) -> bool:
    """Whether the text blocks say the same as the structured content.

    They do when the text is its JSON, or, for an object of one field, when they are the field: its text, its JSON, or
    one block for each of its items.
    """
    values = [structured]
    if isinstance(structured, dict) and len(structured) == 1:
        values += structured.values()
    whole = "\n".join(texts)
    for value in values:
        if value == whole or (isinstance(value, str) and value.strip() == whole.strip()):
            return True
        if _parses_to(whole, value):
            return True
        if texts and isinstance(value, list) and len(value) == len(texts):
            pairs = zip(texts, value, strict=True)
            if all(text == item or _parses_to(text, item) for text, item in pairs):
                return True
    return False


def _parses_to(text: str, value: Any) -> bool:
    try:
        return bool(json.loads(text) == value)
    except (ValueError, RecursionError):
        return False

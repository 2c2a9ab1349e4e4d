"""Our tools and results in MCP's words: `Tool`, content blocks, structured content."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import mcp_types as types
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from ..openai.json_text import clean_text, clean_value

if TYPE_CHECKING:
    from ..tools.definition import Tool
    from ..tools.results import ResultPart, ToolResult


def to_mcp_tool(tool: Tool, wire_name: str) -> types.Tool:
    """The definition a host application sees: schema as it is, title, hints, output schema."""
    hints = dict(tool.annotations or {})
    title = tool.title or hints.get("title")
    return types.Tool(
        name=wire_name,
        title=clean_text(title) if isinstance(title, str) else None,
        description=clean_text(tool.description) or None,
        input_schema=clean_value({**tool.input_schema, "type": "object"}),  # without the type clients drop the list
        output_schema=clean_value(output_schema(tool)),
        annotations=_hints(hints),
    )


def _hints(hints: dict[str, Any]) -> types.ToolAnnotations | None:
    """The hints that can be read; one that can't must not cost the whole list."""
    try:
        return types.ToolAnnotations.model_validate(clean_value(hints)) if hints else None
    except ValidationError as error:
        bad = {place["loc"][0] for place in error.errors(include_input=False)}
        return _hints({key: value for key, value in hints.items() if key not in bad})


def output_schema(tool: Tool) -> dict[str, Any] | None:
    """The schema of the structured content, always an object's, which is all that MCP up to 2025-11-25 takes.

    Anything else goes into an object under `result`.
    """
    schema = tool.output_schema
    if not schema:
        return None
    if _is_object(schema):
        return dict(schema)
    inner = {key: value for key, value in schema.items() if key not in ("$defs", "definitions", "$schema")}
    shared = {key: value for key, value in schema.items() if key in ("$defs", "definitions")}
    return {"type": "object", "properties": {"result": inner}, "required": ["result"], **shared}


def _is_object(schema: dict[str, Any]) -> bool:
    return schema.get("type") == "object"


def to_call_result(tool: Tool, result: ToolResult) -> types.CallToolResult:
    """A result with text, pictures, sounds, resources and links, and its structured form where there is one.

    A tool that declares an output schema promises structured content that fits it, and clients raise when it does not:
    a result that breaks the promise becomes an error which says so.
    """
    content = _blocks(result)
    if result.is_error:
        return types.CallToolResult(content=content, is_error=True)
    structured = _structured(tool, result)
    schema = output_schema(tool)
    if schema is not None and (problem := _misfit(structured, schema)):
        text = f"{tool.name} returned what its output schema does not allow: {problem}"
        return types.CallToolResult(content=[types.TextContent(text=clean_text(text)), *content], is_error=True)
    return types.CallToolResult(content=content, structured_content=structured)


def _structured(tool: Tool, result: ToolResult) -> dict[str, Any] | None:
    """The value as a JSON object, or None. Without an output schema only a dict is taken for structured."""
    value = result.value
    if tool.output_schema and not _is_object(tool.output_schema):
        value = {"result": value}
    elif not tool.output_schema and not isinstance(value, dict):
        return None
    try:
        plain = to_jsonable_python(value, inf_nan_mode="null")
    except (PydanticSerializationError, ValueError, RecursionError):
        return None
    return clean_value(plain) if isinstance(plain, dict) else None


def _misfit(structured: dict[str, Any] | None, schema: dict[str, Any]) -> str:
    """Why the structured content does not fit, in one line; "" when it does."""
    import jsonschema

    if structured is None:
        return "it has no JSON form"
    try:
        error = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema).iter_errors(structured))
    except Exception as broken:  # a schema that is none itself: the client will find out, and so should the author
        return f"the output schema cannot be used ({type(broken).__name__})"
    return "" if error is None else f"{error.json_path}: {error.message}"


def _blocks(result: ToolResult) -> list[types.ContentBlock]:
    blocks: list[types.ContentBlock] = [_block(part) for part in result.parts]
    if result.output or not blocks:
        blocks.insert(0, types.TextContent(text=clean_text(result.output)))
    return blocks


def _block(part: ResultPart) -> types.ContentBlock:
    data = base64.b64encode(part.data or b"").decode()
    match part.kind:
        case "image":
            return types.ImageContent(data=data, mime_type=part.mime_type or "image/png")
        case "audio":
            return types.AudioContent(data=data, mime_type=part.mime_type or "audio/wav")
        case "link":
            uri = clean_text(part.uri or "")
            return types.ResourceLink(name=clean_text(part.name or uri), uri=uri, mime_type=part.mime_type or None)
        case "resource":
            uri = clean_text(part.uri or f"resource:{part.name or 'result'}")
            resource: types.TextResourceContents | types.BlobResourceContents
            if part.data is not None:
                resource = types.BlobResourceContents(uri=uri, mime_type=part.mime_type or None, blob=data)
            else:
                text = clean_text(part.text or "")
                resource = types.TextResourceContents(uri=uri, mime_type=part.mime_type or None, text=text)
            return types.EmbeddedResource(resource=resource)
        case _:
            return types.TextContent(text=clean_text(part.text or ""))

"""What a server writes slightly wrong, mended before the SDK reads it.

The SDK checks each answer strictly: one tool whose schema lacks `"type": "object"`, one content block of a kind from
next year, and the whole list or result is refused. Here only the wrong piece suffers, and a remark says which: a schema
is completed, an optional field that cannot be read is left out, a tool without a name is dropped, an unknown block
becomes its JSON as text. On stdio, where we read the lines ourselves, that goes for JSON-RPC too (`read_message`).
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from typing import Any

from ..openai.json_text import clean_value

Remark = Callable[[str], None]


def read_message(line: bytes) -> Any | None:
    r"""A line of stdout as a JSON-RPC message; None if it is none.

    The SDK's reader refuses half a surrogate (`"\\ud800"`, which Python servers write for odd file names) and deep
    nesting; Python's takes both. An answer whose form is wrong becomes an error: its caller would wait in vain.
    """
    from mcp.types import jsonrpc_message_adapter

    if not may_begin_message(line):
        return None
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        pass
    try:
        data = json.loads(line.decode("utf-8", "replace"))
        if b"\\ud" in line.lower():
            data = clean_value(data)
    except (ValueError, RecursionError):
        return None
    for form in (data, _as_error(data)):
        try:
            return jsonrpc_message_adapter.validate_python(form, by_name=False)
        except ValueError:
            continue
    return None


def may_begin_message(line: bytes) -> bool:
    """Whether a line, or the part of it that has come, may be a message; told from its first letter."""
    return line[:100].lstrip()[:1] in (b"{", b"")


def _as_error(data: Any) -> dict[str, Any] | None:
    """The JSON-RPC error that stands for an answer in another form; None for what is no answer."""
    if not isinstance(data, dict) or not data.keys() & {"result", "error"}:
        return None
    said = data["error"] if "error" in data else data["result"]
    text = said if isinstance(said, str) else f"the answer is no JSON-RPC: {_short(said)}"
    return {"jsonrpc": "2.0", "id": data.get("id"), "error": {"code": -32603, "message": text}}


@asynccontextmanager
async def mending(
    transport: AbstractAsyncContextManager[tuple[Any, Any]], remark: Remark
) -> AsyncIterator[tuple[Any, Any]]:
    """The same transport, with what comes in mended. `remark` is told what was."""
    async with transport as (incoming, outgoing):
        yield _MendingStream(incoming, remark), outgoing


class _MendingStream:
    """A read stream of the SDK around another."""

    def __init__(self, inner: Any, remark: Remark) -> None:
        self._inner = inner
        self._remark = remark

    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Any:
        return mend(await self._inner.receive(), self._remark)

    async def aclose(self) -> None:
        await self._inner.aclose()

    def close(self) -> None:
        self._inner.close()

    def __aiter__(self) -> _MendingStream:
        return self

    async def __anext__(self) -> Any:
        return mend(await self._inner.__anext__(), self._remark)

    async def __aenter__(self) -> _MendingStream:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._inner.__aexit__(*error)


def mend(item: Any, remark: Remark) -> Any:
    """A session message, mended in place if it answers tools/list or tools/call."""
    result = getattr(getattr(item, "message", None), "result", None)
    if isinstance(result, dict):
        if "tools" in result:
            tools = result["tools"] if isinstance(result["tools"], list) else [result["tools"]]
            older = "resultType" not in result
            result["tools"] = [tool for given in tools if (tool := mended_tool(given, remark, older)) is not None]
        elif "content" in result or "structuredContent" in result or "isError" in result:
            _mend_result(result, remark)
    return item


def mended_tool(tool: Any, remark: Remark, older: bool = True) -> dict[str, Any] | None:
    """A tool definition the SDK takes, or None for one that has no name. `older`: by the rules up to 2025-11-25."""
    if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
        remark(f"a tool without a name was left out: {_short(tool)}")
        return None
    schema = tool.get("inputSchema")
    if not isinstance(schema, dict) or schema.get("type") != "object":
        remark(f"the input schema of {tool['name']!r} is no object schema; it was completed")
        tool["inputSchema"] = {**(schema if isinstance(schema, dict) else {}), "type": "object"}
    output = tool.get("outputSchema")
    if isinstance(output, dict) and "type" not in output:
        tool["outputSchema"] = {"type": "object", **output}
    for key in {*_unreadable("Tool", tool), *(_refused_by_older(tool) if older else ())}:
        if key in tool and key != "name":
            remark(f"the {key} of {tool['name']!r} could not be read and was left out")
            del tool[key]
    tool.setdefault("inputSchema", {"type": "object"})
    return tool


def _mend_result(result: dict[str, Any], remark: Remark) -> None:
    content = result.get("content", [])
    if not isinstance(content, list):
        content = [content]
    for index, block in enumerate(content):
        if _unreadable("ContentBlock", block):
            remark(f"a piece of a result could not be read and is given as JSON: {_short(block)}")
            content[index] = {"type": "text", "text": block if isinstance(block, str) else _json(block)}
    structured = result.get("structuredContent")
    older = "resultType" not in result  # newer connections allow any JSON here, older ones an object
    if structured is not None and not isinstance(structured, dict) and older:
        remark(f"structured content that is no object is given as text: {_short(structured)}")
        content.append({"type": "text", "text": _json(structured)})
        del result["structuredContent"]
    elif structured is None and older:
        result.pop("structuredContent", None)
    result["content"] = content
    if not isinstance(result.get("isError", False), bool):
        remark(f"isError is neither true nor false: {_short(result['isError'])}")
        result["isError"] = bool(result["isError"])
    for key in _unreadable("CallToolResult", result):
        if key in result and key != "content":
            remark(f"the {key} of a result could not be read and was left out")
            del result[key]


@cache
def _adapter(name: str) -> Any:
    import mcp.types
    from pydantic import TypeAdapter

    return TypeAdapter(getattr(mcp.types, name))


def _unreadable(name: str, value: Any) -> list[str]:
    """The top-level keys of `value` that the SDK's type of that name refuses; [""] if it is wrong as a whole."""
    from pydantic import ValidationError

    try:
        _adapter(name).validate_python(value, by_name=False)
    except ValidationError as error:
        return list({str(place["loc"][0]) if place["loc"] else "" for place in error.errors(include_input=False)})
    return []


def _refused_by_older(tool: dict[str, Any]) -> list[str]:
    """The keys of a tool that the SDK refuses on older connections: an output schema must be an object's there."""
    from mcp_types.methods import validate_server_result
    from pydantic import ValidationError

    try:
        validate_server_result("tools/list", "2025-11-25", {"tools": [tool]})
    except ValidationError as error:
        return [str(place["loc"][2]) for place in error.errors(include_input=False) if len(place["loc"]) > 2]
    except (ValueError, RecursionError):  # too deep for the SDK to write
        return ["inputSchema", "outputSchema"]
    return []


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _short(value: Any) -> str:
    text = _json(value)
    return text if len(text) <= 120 else text[:120] + "…"

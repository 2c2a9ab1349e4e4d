"""What a server writes slightly wrong, mended before the SDK reads it.

The SDK checks each answer strictly: one tool whose schema lacks `"type": "object"`, one content block of a kind from
next year, and the whole list or result is refused. Here only the wrong piece suffers, and a remark says which: a schema
is completed, an optional field that cannot be read is left out, a tool without a name is dropped, an unknown block
becomes its JSON as text.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from typing import Any

Remark = Callable[[str], None]


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
        if isinstance(result.get("tools"), list):
            result["tools"] = [tool for given in result["tools"] if (tool := mended_tool(given, remark)) is not None]
        elif "content" in result or "structuredContent" in result or "isError" in result:
            _mend_result(result, remark)
    return item


def mended_tool(tool: Any, remark: Remark) -> dict[str, Any] | None:
    """A tool definition the SDK takes, or None for one that has no name."""
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
    for key in _unreadable("Tool", tool):
        if key in tool and key not in ("name", "inputSchema"):
            remark(f"the {key} of {tool['name']!r} could not be read and was left out")
            del tool[key]
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


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _short(value: Any) -> str:
    text = _json(value)
    return text if len(text) <= 120 else text[:120] + "…"

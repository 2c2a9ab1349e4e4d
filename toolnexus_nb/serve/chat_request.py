"""Reading the body of `POST /v1/chat/completions`: what is asked for, or which field is wrong."""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from ..openai.request import ChatCompletionRequest
from ..openai.types import Message
from .problems import Problem

_ROLES = ("system", "developer", "user", "assistant", "tool")
_OURS = frozenset({"model", "messages", "tools", "stream", "stream_options", "functions", "function_call"})
"""What this server answers itself; every other parameter goes to the model as it is."""


@dataclass(frozen=True)
class ChatRequest:
    """One request, checked. `tools` are the caller's own definitions; `params` is what else the model gets."""

    model: str
    messages: list[Message]
    tools: list[dict[str, Any]] = field(default_factory=list)
    params: dict[str, Any] = field(default_factory=dict)
    stream: bool = False
    include_usage: bool = False


def read_chat_request(body: bytes, served: Collection[str]) -> ChatRequest:
    """Parse and check a body; `served` are the names of the tools that run here.

    Raises Problem (400) with `param` set to the field that is wrong.
    """
    request = _parse(body)
    if not request.messages:
        raise _wrong("messages", "messages must hold at least one message")
    for i, message in enumerate(request.messages):
        _check_message(f"messages[{i}]", message)
    if request.functions or request.function_call:
        raise _wrong("functions", "functions and function_call are the old form; send tools and tool_choice")
    tools = [tool.model_dump_wire() for tool in request.tools]
    _check_tools(tools, served)
    n = 1 if request.n is None else request.n
    if n < 1:
        raise _wrong("n", "n must be at least 1")
    if n > 1 and served:
        raise _wrong(
            "n", "n must be 1 here: this server runs tools, and several replies at once would run them several times"
        )
    _check_tool_choice(request, {*served, *(_name(tool) for tool in tools)})
    params = {name: value for name, value in request.model_dump_wire().items() if name not in _OURS}
    if n == 1:
        params.pop("n", None)
    return ChatRequest(
        model=request.model,
        messages=request.messages,
        tools=tools,
        params={name: value for name, value in params.items() if value is not None},
        stream=bool(request.stream),
        include_usage=bool(request.stream_options and request.stream_options.include_usage),
    )


def _parse(body: bytes) -> ChatCompletionRequest:
    try:
        data = json.loads(body, parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise Problem(400, f"the body is not valid JSON: {error}", code="invalid_json") from None
    if not isinstance(data, dict):
        raise Problem(400, "the body must be a JSON object", code="invalid_json")
    if not isinstance(data.get("extra_body", {}), dict):
        raise _wrong("extra_body", "extra_body must be an object")
    try:
        return ChatCompletionRequest.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        param = _path(first["loc"], data)
        raise _wrong(param, f"{param}: {first['msg']}") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise Problem(400, f"the body cannot be read: {error}") from None


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number in JSON")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


def _path(loc: tuple[str | int, ...], data: Any) -> str:
    """`("messages", 0, "role")` as `messages[0].role`. The names of pydantic's union branches, which are not in the
    data, are left out."""
    path = ""
    for part in loc:
        if isinstance(part, int) and isinstance(data, list) and part < len(data):
            path, data = f"{path}[{part}]", data[part]
        elif isinstance(data, dict) and part in data:
            path, data = (f"{path}.{part}" if path else str(part)), data[part]
    return path or "body"


def _check_message(path: str, message: Message) -> None:
    if message.role not in _ROLES:
        raise _wrong(f"{path}.role", f"{path}.role must be one of {', '.join(_ROLES)}, not {message.role!r}")
    if message.content is not None and not isinstance(message.content, str | list):
        raise _wrong(f"{path}.content", f"{path}.content must be a text or a list of content parts")
    if message.role == "tool" and not message.tool_call_id:
        raise _wrong(f"{path}.tool_call_id", f"{path} is a tool message and needs the tool_call_id it answers")


def _check_tools(tools: list[dict[str, Any]], served: Collection[str]) -> None:
    seen: set[str] = set()
    for i, tool in enumerate(tools):
        name = _name(tool)
        path = f"tools[{i}].function.name"
        if not name:
            raise _wrong(path, f"{path} is missing: a tool is {{'type': 'function', 'function': {{'name': ...}}}}")
        if name in served:
            raise _wrong(
                path,
                f"the tool {name!r} exists on this server already and is run here; rename yours or leave it out",
                code="tool_name_conflict",
            )
        if served and not tool.get("function"):
            raise _wrong(f"tools[{i}].type", f"{name!r} is a custom tool; beside this server's own only functions work")
        if name in seen:
            raise _wrong(path, f"the tool {name!r} is given twice")
        seen.add(name)


def _check_tool_choice(request: ChatCompletionRequest, known: Collection[str]) -> None:
    choice = request.tool_choice
    wanted = None if choice is None or isinstance(choice, str) else (choice.function or {}).get("name")
    if wanted is not None and wanted not in known:
        raise _wrong("tool_choice", f"tool_choice names {wanted!r}, which is no tool here")


def _name(tool: dict[str, Any]) -> str:
    inner = tool.get("function") or tool.get("custom") or {}
    return str(inner.get("name") or "")


def _wrong(param: str, message: str, code: str | None = None) -> Problem:
    return Problem(400, message, param=param, code=code)

"""Builders of messages and content parts, and the plain loop over tool calls, in the seed's names.

`Message.user(...)` and its like are the same with fewer words.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from typing import Any

from .errors import ToolnexusError
from .types import ContentPart, FunctionDefinition, FunctionTool, ImageURL, Message, ToolCall


def build_system_message(content: str) -> Message:
    """Instructions for the model."""
    return Message.system(content)


def build_user_message(content: str) -> Message:
    """What a person says."""
    return Message.user(content)


def build_assistant_message(content: str) -> Message:
    """What the model says."""
    return Message.assistant(content)


def build_assistant_tool_call_message(content: str | None, tool_calls: Iterable[Any]) -> Message:
    """What the model says when it calls tools; the calls may be ToolCalls, dicts or the openai package's objects."""
    return Message.assistant(content or None, tool_calls)


def build_tool_result_message(tool_call_id: str, content: Any) -> Message:
    """The result of one call; content that is no text becomes JSON text."""
    return Message.tool(tool_call_id, content)


def build_multimodal_message(*parts: ContentPart) -> Message:
    """A person's message of several parts."""
    return Message.user([part.model_dump() for part in parts])


def text_content_part(text: str) -> ContentPart:
    """A part of text."""
    return ContentPart(type="text", text=text)


def image_url_content_part(url: str, detail: str | None = None) -> ContentPart:
    """An image by address; `detail`: low, high or auto."""
    image = ImageURL(url=url) if detail is None else ImageURL(url=url, detail=detail)
    return ContentPart(type="image_url", image_url=image)


def image_base64_content_part(media_type: str, data: bytes | str, detail: str | None = None) -> ContentPart:
    """An image inside the message; `data`: its bytes, or their base64 text. `media_type`: such as image/png."""
    text = base64.b64encode(data).decode() if isinstance(data, bytes) else data
    return image_url_content_part(f"data:{media_type};base64,{text}", detail)


def new_tool(name: str, description: str | None = None, parameters: dict[str, Any] | None = None) -> FunctionTool:
    """The definition of a tool for a request; no parameters is an empty object schema (H08)."""
    function = FunctionDefinition(name=name, parameters=parameters or {"type": "object", "properties": {}})
    if description:
        function.description = description
    return FunctionTool(type="function", function=function)


class ToolExecutionError(ToolnexusError):
    """A tool failed and the rest was not run. `messages`: of the calls before it."""

    def __init__(self, tool_call: ToolCall, messages: list[Message], cause: BaseException | str) -> None:
        super().__init__(f'tool "{tool_call.name}" (id: {tool_call.id}) execution failed: {cause}')
        self.tool_call = tool_call
        self.messages = messages


def execute_tool_calls(
    tool_calls: Iterable[Any], executor: Callable[[str, dict[str, Any]], Any], *, stop_on_error: bool = False
) -> list[Message]:
    """Run calls one after the other with `executor(name, arguments)`; gives one tool message per call, in order.

    A failure becomes the message `Error: …`, or with `stop_on_error` a ToolExecutionError. A call whose arguments did
    not parse is a failure and is not run. `Toolkit.run_calls` does more: side by side, checked, with events.
    """
    messages: list[Message] = []
    for tool_call in map(ToolCall.from_any, tool_calls):
        failure: Exception | str | None = tool_call.arguments_error
        result: Any = None
        if failure is None:
            try:
                result = executor(tool_call.name, tool_call.arguments)
            except Exception as error:
                failure = error
        if failure is not None and stop_on_error:
            raise ToolExecutionError(tool_call, messages, failure) from (
                failure if isinstance(failure, Exception) else None
            )
        messages.append(Message.tool(tool_call.id, result if failure is None else f"Error: {failure}"))
    return messages

"""Keeping a conversation in the order every endpoint demands (I rows of the quirks)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..openai.types import Message, ToolCall


def open_calls(messages: Sequence[Message]) -> tuple[Message | None, list[ToolCall]]:
    """The last assistant message, None if there is none, and those of its calls that no tool message answers yet."""
    for at in range(len(messages) - 1, -1, -1):
        if messages[at].role == "assistant":
            answered = {message.tool_call_id for message in messages[at + 1 :]}
            return messages[at], [call for call in messages[at].tool_calls if call.id not in answered]
    return None, []


def put_answers(messages: list[Message], message: Message, answers: Mapping[int, Message]) -> None:
    """Put tool messages directly after `message`, in the order of its calls; one that is there already is replaced."""
    at = max(i for i, item in enumerate(messages) if item is message)
    end = at + 1
    while end < len(messages) and messages[end].role == "tool":
        end += 1
    old = list(messages[at + 1 : end])
    ordered: list[Message] = []
    for call in message.tool_calls:
        known = next((item for item in old if item.tool_call_id == call.id), None)
        if known is not None:
            old.remove(known)
        new = answers.get(id(call), known)
        if new is not None:
            ordered.append(new)
    messages[at + 1 : end] = ordered

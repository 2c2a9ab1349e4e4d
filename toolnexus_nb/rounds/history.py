"""Keeping a conversation in the order every endpoint demands (I rows of the quirks)."""

from __future__ import annotations

from collections.abc import Mapping

from ..openai.types import Message


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

"""A request's messages as turns: what was asked, what was called, what came back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

_ERROR = re.compile(
    r"^\s*(?:\[?(?:tool )?error\b|error executing|exception\b|traceback|failed\b|unknown tool|invalid\b|"
    r"denied\b|not executed|cannot\b|can't\b"
    r"|[A-Z]\w*(?:Error|Exception|Timeout|Warning)\b"
    r"|.{0,80}\b(?:was not run|could not be read|was stopped:|was cancelled|did not allow this call)\b)",
    re.IGNORECASE,
)
"""How the text of a failed call begins; the last line is how this package says it."""


@dataclass(frozen=True)
class Call:
    """A call that was made in this conversation, and its result once there is one."""

    name: str
    arguments: dict[str, Any]
    id: str = ""
    result: str | None = None

    @property
    def failed(self) -> bool:
        """Whether the result tells of an error. The wire has no flag for it, so the words decide."""
        if self.result is None:
            return False
        if _ERROR.match(self.result):
            return True
        value = as_json(self.result)
        return isinstance(value, dict) and bool(value.get("error") or value.get("is_error") or value.get("isError"))


@dataclass
class Turn:
    """One user message and everything that followed it."""

    prompt: str
    calls: list[Call] = field(default_factory=list)
    answer: str = ""


@dataclass
class Conversation:
    """The turns of a request, the last being the one to answer, and what the system message said."""

    turns: list[Turn]
    system: str = ""

    @property
    def turn(self) -> Turn:
        return self.turns[-1] if self.turns else Turn("")

    @property
    def earlier(self) -> list[Turn]:
        return self.turns[:-1]


def text_of(content: Any) -> str:
    """The text of a message's content: a string, or a list of parts whose text is joined."""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        return "\n".join(
            str(part.get("text", "")) for part in content if isinstance(part, Mapping) and part.get("text")
        )
    return ""


def as_json(text: str) -> Any:
    """The value of JSON text, or None."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def read_conversation(messages: Any) -> Conversation:
    """The messages of a request body as turns. Unknown roles are passed over."""
    turns: list[Turn] = []
    system: list[str] = []
    for message in messages or ():
        if not isinstance(message, Mapping):
            continue
        role = message.get("role")
        if role in ("system", "developer"):
            system.append(text_of(message.get("content")))
        elif role == "user":
            turns.append(Turn(text_of(message.get("content"))))
        elif role == "assistant":
            if not turns:
                turns.append(Turn(""))
            turns[-1].answer = text_of(message.get("content")) or turns[-1].answer
            turns[-1].calls.extend(_calls(message.get("tool_calls")))
        elif role == "tool" and turns:
            _note_result(turns[-1], str(message.get("tool_call_id") or ""), text_of(message.get("content")))
    return Conversation(turns, "\n".join(system))


def _calls(tool_calls: Any) -> list[Call]:
    calls = []
    for entry in tool_calls or ():
        function = entry.get("function") if isinstance(entry, Mapping) else None
        if not isinstance(function, Mapping):
            continue
        arguments = function.get("arguments")
        parsed = as_json(arguments) if isinstance(arguments, str) else arguments
        calls.append(
            Call(
                str(function.get("name") or ""), parsed if isinstance(parsed, dict) else {}, str(entry.get("id") or "")
            )
        )
    return calls


def _note_result(turn: Turn, call_id: str, text: str) -> None:
    for at, call in enumerate(turn.calls):
        if call.id == call_id and call.result is None:
            turn.calls[at] = Call(call.name, call.arguments, call.id, text)
            return


def today_of(system: str, default: date) -> date:
    """The day a system message gives ("Today is 2026-11-30"), else the default."""
    said = re.search(r"(?:today|date)\D{0,30}(\d{4}-\d{2}-\d{2})", system, re.IGNORECASE)
    try:
        return date.fromisoformat(said[1]) if said else default
    except ValueError:
        return default

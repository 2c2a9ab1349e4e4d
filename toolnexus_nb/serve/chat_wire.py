"""The bytes of a chat completion: chunks of one reply, the plain reply, tool status comments, usage."""

from __future__ import annotations

import json
import time
import uuid
from typing import Any

from ..openai.status_events import event_bytes
from ..openai.types import Usage

DONE = b"data: [DONE]\n\n"
PING = b": ping\n\n"

# No line ends for SSE, which knows CR and LF, but Python's `splitlines` (httpx.Response.iter_lines) cuts here too.
_SPLITTERS = {ord(mark): f"\\u{ord(mark):04x}" for mark in "\x85\u2028\u2029"}


def dump(value: Any) -> bytes:
    """Compact JSON with real characters, on one line whoever splits it. Half a surrogate becomes a question mark."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if not text.isascii():
        text = text.translate(_SPLITTERS)
    return text.encode("utf-8", "replace")


class Envelope:
    """What all chunks of one reply have in common: id, time and model."""

    def __init__(self, model: str, include_usage: bool) -> None:
        self.include_usage = include_usage
        self._about = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": model}
        # written once: only what follows the head differs from chunk to chunk
        self._head = b"data: " + dump({"object": "chat.completion.chunk", **self._about})[:-1] + b',"choices":'
        self._tail = b',"usage":null}\n\n' if include_usage else b"}\n\n"

    def chunk(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        """A chunk of a reply with one choice."""
        return self.choices([{"index": 0, "delta": delta, "finish_reason": finish}])

    def choices(self, choices: list[dict[str, Any]]) -> bytes:
        """A chunk with these choices."""
        return self._head + dump(choices) + self._tail

    def end(self, usage: Usage) -> bytes:
        """The usage, if it was asked for, and the end mark."""
        if not self.include_usage:
            return DONE
        return self._head + b'[],"usage":' + dump(usage_dict(usage)) + b"}\n\n" + DONE

    def whole(self, choices: list[dict[str, Any]], usage: Usage) -> dict[str, Any]:
        """The plain reply."""
        return {"object": "chat.completion", **self._about, "choices": choices, "usage": usage_dict(usage)}


def usage_dict(usage: Usage) -> dict[str, Any]:
    """Usage as it is written: the three counts always, `estimated` only where it is true."""
    written = usage.model_dump_wire()
    for name in ("prompt_tokens", "completion_tokens", "total_tokens"):
        written.setdefault(name, 0)
    if not written.get("estimated"):
        written.pop("estimated", None)
    return written


def tool_event(kind: str, call_id: str, name: str, status: str, **fields: Any) -> bytes:
    """One tool status comment, `:kind:{json}`; fields that are None are left out."""
    event = {"tool_call_id": call_id, "tool_name": name, "status": status}
    event.update({key: value for key, value in fields.items() if value is not None})
    return event_bytes(kind, event)

"""A run of rounds, told as one chat completion: one id, one role, one finish reason.

Text, reasoning and refusals go out as they come. Calls of tools that run here are held back and told as SSE comments
(`:tool_start:`, `:tool_progress:`, `:tool_end:`), which ordinary clients skip; calls of the caller's own tools come at the end,
whole, with ids of our making.
"""

from __future__ import annotations

import json
import time
import uuid
from typing import Any

from ..openai.types import ChatCompletionChunk, ChatCompletionResponse, ToolCall, Usage
from ..rounds.events import (
    Event,
    ReasoningDelta,
    RefusalDelta,
    RunFinished,
    TextDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from ..rounds.result import RunResult

DONE = b"data: [DONE]\n\n"
PING = b": ping\n\n"


def dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


class Envelope:
    """What all chunks of one reply have in common."""

    def __init__(self, model: str, include_usage: bool) -> None:
        self.id = f"chatcmpl-{uuid.uuid4().hex}"
        self.created = int(time.time())
        self.model = model
        self.include_usage = include_usage
        head = {"id": self.id, "object": "chat.completion.chunk", "created": self.created, "model": model}
        # written once: what follows the head differs from chunk to chunk
        self._head = b"data: " + dump(head)[:-1] + b',"choices":'
        self._tail = b',"usage":null}\n\n' if include_usage else b"}\n\n"

    def chunk(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        return self._head + dump([{"index": 0, "delta": delta, "finish_reason": finish}]) + self._tail

    def choices(self, choices: list[dict[str, Any]]) -> bytes:
        return self._head + dump(choices) + self._tail

    def end(self, usage: Usage) -> bytes:
        """The usage, if it was asked for, and the end mark."""
        return (self._head + b'[],"usage":' + dump(usage_dict(usage)) + b"}\n\n" if self.include_usage else b"") + DONE

    def whole(self, choices: list[dict[str, Any]], usage: Usage) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": "chat.completion",
            "created": self.created,
            "model": self.model,
            "choices": choices,
            "usage": usage_dict(usage),
        }


class RunReply:
    """Turns the events of a run into the bytes of the stream, and its result into the plain reply."""

    def __init__(self, envelope: Envelope) -> None:
        self.envelope = envelope
        self.result: RunResult | None = None
        self.handed_back: list[dict[str, Any]] = []
        self._said_role = False
        self._names: dict[str, str] = {}

    def feed(self, event: Event) -> bytes:
        """The bytes that an event becomes; `b""` for one that the caller does not hear of."""
        match event:
            case TextDelta(text=text):
                return self._delta({"content": text})
            case ReasoningDelta(text=text):
                return self._delta({"reasoning_content": text})
            case RefusalDelta(text=text):
                return self._delta({"refusal": text})
            case ToolStarted(call=call):
                self._names[call.id] = call.name
                return tool_event("tool_start", call.id, call.name, "running", arguments=call.arguments or None)
            case ToolProgress():
                return self._progress(event)
            case ToolFinished(call=call, result=result):
                said = {"error" if result.is_error else "result": result.output or None}
                return tool_event("tool_end", call.id, call.name, "error" if result.is_error else "complete", **said)
            case RunFinished(result=result):
                self.result = result
                self.handed_back = [_handed_back(call) for call in result.caller_calls]
                return b""
            case _:
                return b""

    def last(self) -> bytes:
        """What ends a stream whose run has a result: the calls handed back, the finish reason, usage, `[DONE]`."""
        assert self.result is not None
        calls = b""
        if self.handed_back:
            calls = self._delta({"tool_calls": [{"index": i, **call} for i, call in enumerate(self.handed_back)]})
        closing = {} if self._said_role else {"role": "assistant", "content": ""}
        return calls + self.envelope.chunk(closing, self._finish()) + self.envelope.end(self.result.usage)

    def whole(self) -> dict[str, Any]:
        """The plain reply."""
        assert self.result is not None
        result = self.result
        message: dict[str, Any] = {"role": "assistant", "content": result.text or (None if self.handed_back else "")}
        message["refusal"] = result.refusal or None
        if result.refusal and not result.text:
            message["content"] = None
        if result.reasoning:
            message["reasoning_content"] = result.reasoning
        if self.handed_back:
            message["tool_calls"] = self.handed_back
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self._finish()}
        return self.envelope.whole([choice], result.usage)

    def _delta(self, delta: dict[str, Any]) -> bytes:
        if not self._said_role:
            self._said_role = True
            delta = {"role": "assistant", **delta}
        return self.envelope.chunk(delta)

    def _progress(self, event: ToolProgress) -> bytes:
        said = {"progress": event.progress, "total": event.total, "message": event.message}
        return tool_event("tool_progress", event.call_id, self._names.get(event.call_id, ""), "running", **said)

    def _finish(self) -> str:
        """The reason of the last round; a run that was cut off by a limit of ours says `length`."""
        assert self.result is not None
        if self.handed_back:
            return "tool_calls"
        reason = self.result.finish_reason
        if self.result.status == "incomplete" and reason not in ("length", "content_filter"):
            return "length"
        return reason if reason and reason != "tool_calls" else "stop"


class ForwardReply:
    """Where no tools run, the model's chunks pass through: all choices, log probabilities, the caller's tool calls.

    Only id, model and usage are made one.
    """

    def __init__(self, envelope: Envelope) -> None:
        self.envelope = envelope
        self.usage: Usage | None = None
        self.response: ChatCompletionResponse | None = None

    def feed(self, item: ChatCompletionChunk | ChatCompletionResponse) -> bytes:
        if item.usage is not None:
            self.usage = item.usage
        if isinstance(item, ChatCompletionResponse):
            self.response = item
            return b""
        choices = item.model_dump_wire().get("choices") or []
        return self.envelope.choices(choices) if choices else b""

    def last(self) -> bytes:
        return self.envelope.end(self.usage or Usage(estimated=True))

    def whole(self) -> dict[str, Any]:
        assert self.response is not None
        choices = self.response.model_dump_wire().get("choices") or []
        return self.envelope.whole(choices, self.usage or Usage(estimated=True))


def tool_event(kind: str, call_id: str, name: str, status: str, **fields: Any) -> bytes:
    """One tool status comment; fields that are None are left out. JSON escapes line ends, so it is always one line."""
    event = {"tool_call_id": call_id, "tool_name": name, "status": status}
    event.update({key: value for key, value in fields.items() if value is not None})
    return b":" + kind.encode() + b":" + dump(event) + b"\n\n"


def usage_dict(usage: Usage) -> dict[str, Any]:
    """Usage as it is written: the three counts always, `estimated` only where it is true."""
    written = usage.model_dump_wire()
    for name in ("prompt_tokens", "completion_tokens", "total_tokens"):
        written.setdefault(name, 0)
    if not written.get("estimated"):
        written.pop("estimated", None)
    return written


def _handed_back(call: ToolCall) -> dict[str, Any]:
    """A call for the caller. The id is fresh and cannot be guessed: `Handbacks` finds the rest of the run by it."""
    from ..openai.tokens import generate_tool_call_id

    return {
        "id": generate_tool_call_id(),
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments_text or "{}"},
    }


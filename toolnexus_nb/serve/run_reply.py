"""A run of rounds, told as one chat completion: one id, one role, one finish reason.

Text, reasoning and refusals go out as they come. Calls of tools that run here are held back and told as SSE comments
(`:tool_start:`, `:tool_progress:`, `:tool_end:`), which ordinary clients skip; calls of the caller's own tools come at
the end, whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..openai.types import Message, ToolCall
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
from .chat_wire import Envelope, tool_event
from .estimate import usage_of_run


class RunReply:
    """Turns the events of a run into the bytes of the stream, and its result into the plain reply."""

    def __init__(self, envelope: Envelope, prompt: Sequence[Message]) -> None:
        self.envelope = envelope
        self._prompt = prompt
        self.result: RunResult | None = None
        self.handed_back: list[dict[str, Any]] = []
        self._said_role = False
        self._started: dict[str, str] = {}

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
                return self._start(call)
            case ToolProgress():
                said = {"progress": event.progress, "total": event.total, "message": event.message}
                name = self._started.get(event.call_id, "")
                return tool_event("tool_progress", event.call_id, name, "running", **said)
            case ToolFinished():
                return self._end(event)
            case RunFinished(result=result):
                self.result = result
                self.handed_back = [_handed_back(call) for call in result.caller_calls]
                return b""
            case _:
                return b""

    def last(self) -> bytes:
        """What ends a stream whose run has a result: calls handed back, the finish reason, usage, `[DONE]`."""
        assert self.result is not None
        calls = b""
        if self.handed_back:
            calls = self._delta({"tool_calls": [{"index": i, **call} for i, call in enumerate(self.handed_back)]})
        closing = {} if self._said_role else {"role": "assistant", "content": ""}
        return (
            calls
            + self.envelope.chunk(closing, self._finish())
            + self.envelope.end(usage_of_run(self.result, self._prompt))
        )

    def whole(self) -> dict[str, Any]:
        """The plain reply."""
        assert self.result is not None
        result = self.result
        silent = bool(self.handed_back or result.refusal)
        message: dict[str, Any] = {
            "role": "assistant",
            "content": result.text or (None if silent else ""),
            "refusal": result.refusal or None,
        }
        if result.reasoning:
            message["reasoning_content"] = result.reasoning
        if self.handed_back:
            message["tool_calls"] = self.handed_back
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self._finish()}
        return self.envelope.whole([choice], usage_of_run(result, self._prompt))

    def _delta(self, delta: dict[str, Any]) -> bytes:
        if not self._said_role:
            self._said_role = True
            delta = {"role": "assistant", **delta}
        return self.envelope.chunk(delta)

    def _start(self, call: ToolCall) -> bytes:
        self._started[call.id] = call.name
        return tool_event("tool_start", call.id, call.name, "running", arguments=call.arguments or None)

    def _end(self, event: ToolFinished) -> bytes:
        call, result = event.call, event.result
        # a call that was denied has never begun; its reader is still told what it was
        start = b"" if call.id in self._started else self._start(call)
        del self._started[call.id]  # some models use an id again in the next round
        said = {"error" if result.is_error else "result": result.output or None}
        return start + tool_event("tool_end", call.id, call.name, "error" if result.is_error else "complete", **said)

    def _finish(self) -> str:
        """The reason of the last round; a run that was cut off by a limit of ours says `length`."""
        assert self.result is not None
        if self.handed_back:
            return "tool_calls"
        reason = self.result.finish_reason
        if self.result.status == "incomplete" and reason not in ("length", "content_filter"):
            return "length"
        return reason if reason and reason != "tool_calls" else "stop"


def _handed_back(call: ToolCall) -> dict[str, Any]:
    """A call for the caller, as the model made it."""
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments_text or "{}"},
    }

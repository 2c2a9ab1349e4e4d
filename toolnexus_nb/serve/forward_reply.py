"""Where no tools run, the model's chunks pass through: all choices, log probabilities, tool calls as they come.

Only what a strict client needs is made whole: one id and model, one role, ids and indices of calls, a finish reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..openai.accumulate import CompletionAccumulator
from ..openai.tool_call_accumulator import StreamingToolCallAccumulator
from ..openai.types import ChatCompletionChunk, ChatCompletionResponse, ChunkChoice, Message, Usage
from .chat_wire import Envelope
from .estimate import estimate_usage


class ForwardReply:
    """Turns a model's chunks, or its whole response, into ours."""

    def __init__(self, envelope: Envelope, prompt: Sequence[Message]) -> None:
        self.envelope = envelope
        self._prompt = prompt
        self._all = CompletionAccumulator()
        self._calls: dict[int, StreamingToolCallAccumulator] = {}
        self._begun_calls: set[tuple[int, int]] = set()
        self._open: set[int] = set()
        self._said_role: set[int] = set()

    def feed(self, item: ChatCompletionChunk | ChatCompletionResponse) -> bytes:
        """The bytes of a chunk; `b""` for one without choices and for a whole response."""
        self._all.add_chunk(item)
        if isinstance(item, ChatCompletionResponse) or not item.choices:
            return b""
        return self.envelope.choices([self._choice(choice) for choice in item.choices])

    def last(self) -> bytes:
        """What ends the stream."""
        missing: list[dict[str, Any]] = [
            {"index": index, "delta": {}, "finish_reason": "tool_calls" if index in self._calls else "stop"}
            for index in sorted(self._open)
        ]
        return (self.envelope.choices(missing) if missing else b"") + self.envelope.end(self._usage())

    def whole(self) -> dict[str, Any]:
        """The plain reply."""
        return self.envelope.whole([choice.model_dump_wire() for choice in self._all.choices], self._usage())

    def _choice(self, choice: ChunkChoice) -> dict[str, Any]:
        written = choice.model_dump_wire()
        index = written["index"] = choice.index or 0
        delta = written.setdefault("delta", {})
        delta.pop("role", None)
        if index not in self._said_role:
            self._said_role.add(index)
            written["delta"] = delta = {"role": "assistant", **delta}
        if choice.delta is not None and choice.delta.tool_calls:
            delta["tool_calls"] = self._pieces(index, choice)
        written.setdefault("finish_reason", None)
        (self._open.discard if written["finish_reason"] else self._open.add)(index)
        return written

    def _pieces(self, index: int, choice: ChunkChoice) -> list[dict[str, Any]]:
        """The pieces of calls with the indices and ids that some providers leave out."""
        calls = self._calls.setdefault(index, StreamingToolCallAccumulator())
        calls.process_delta(choice.delta)
        pieces = []
        for piece in calls.pieces:
            function: dict[str, Any] = {"arguments": piece.arguments}
            written: dict[str, Any] = {"index": piece.position, "function": function}
            if (index, piece.position) not in self._begun_calls:
                self._begun_calls.add((index, piece.position))
                function["name"] = piece.name
                written.update(id=piece.id, type="function")
            pieces.append(written)
        return pieces

    def _usage(self) -> Usage:
        """As reported, else estimated."""
        if self._all.usage is not None:
            return self._all.usage
        return estimate_usage(self._prompt, [choice.message for choice in self._all.choices])

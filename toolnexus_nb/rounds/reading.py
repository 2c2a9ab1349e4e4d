"""Reading one answer: chunks become deltas for whoever watches, and one message at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..openai.json_text import dump_json
from ..openai.types import Delta, DeltaToolCall, Message, ToolCall, ToolCallFunction, Usage, content_text
from .events import Event, ReasoningDelta, RefusalDelta, TextDelta, ToolCallDelta

if TYPE_CHECKING:
    from .client import Client, OnRetry


@dataclass(frozen=True, slots=True)
class Answer:
    """One whole answer of a model. `usage` is None when the endpoint reported none."""

    message: Message
    finish_reason: str | None
    usage: Usage | None
    notes: tuple[str, ...] = ()


@dataclass
class Reader:
    """Reads one answer of round `round`; `text` and `reasoning` are what has come so far."""

    round: int
    write: Callable[[Event], None]
    _texts: list[str] = field(default_factory=list)
    _thoughts: list[str] = field(default_factory=list)
    _names: dict[int, tuple[str, str]] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "".join(self._texts)

    @property
    def reasoning(self) -> str:
        return "".join(self._thoughts)

    async def read(self, client: Client, body: dict[str, Any], on_retry: OnRetry) -> Answer:
        """Send `body` and read its answer to the end; the connection is given back whatever happens."""
        if not body.get("stream"):
            return await self._read_whole(client, body, on_retry)
        notes: list[str] = []
        stream = client.open_stream(body, on_retry=on_retry, on_notes=notes.extend, round=self.round)
        try:
            async for chunk in stream:
                for choice in chunk.choices:
                    if choice.index in (0, None):
                        self._delta(choice.delta)
        finally:
            await stream.aclose()
        return Answer(stream.message, stream.finish_reason, stream.usage, tuple(notes))

    async def _read_whole(self, client: Client, body: dict[str, Any], on_retry: OnRetry) -> Answer:
        notes: list[str] = []
        response = await client.answer(body, on_retry=on_retry, on_notes=notes.extend, round=self.round)
        choice = response.choices[0]
        self._delta(choice.message)
        return Answer(choice.message, choice.finish_reason, response.usage, tuple(notes))

    def _delta(self, delta: Delta | Message) -> None:
        if thought := delta.reasoning_text:
            self._thoughts.append(thought)
            self.write(ReasoningDelta(self.round, thought))
        if text := content_text(delta.content):
            self._texts.append(text)
            self.write(TextDelta(self.round, text))
        if delta.refusal:
            self.write(RefusalDelta(self.round, delta.refusal))
        calls: Sequence[DeltaToolCall | ToolCall] = delta.tool_calls
        for position, call in enumerate(calls):
            self._call_delta(position, call)

    def _call_delta(self, position: int, call: DeltaToolCall | ToolCall) -> None:
        index = call.index if call.index is not None else position
        call_id, name = self._names.get(index, ("", ""))
        function = call.function
        arguments: Any = ""
        if function is not None:
            name = function.name or name
            arguments = function.arguments_text if isinstance(function, ToolCallFunction) else function.arguments
        self._names[index] = (call.id or call_id, name)
        piece = arguments if isinstance(arguments, str) else dump_json(arguments) if arguments else ""
        self.write(ToolCallDelta(self.round, index, *self._names[index], piece))

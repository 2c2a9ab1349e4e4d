"""Reading one answer: chunks become deltas for whoever watches, and one message at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..openai.accumulate import CompletionAccumulator
from ..openai.json_text import clean_text
from ..openai.types import Delta, Message, Usage, content_text
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
    """Reads one answer of round `round`; `text` and `reasoning` are what has come so far. `write` is None where nobody
    listens."""

    round: int
    write: Callable[[Event], None] | None
    _so_far: CompletionAccumulator = field(default_factory=CompletionAccumulator)

    @property
    def text(self) -> str:
        return clean_text(self._so_far.content)

    @property
    def reasoning(self) -> str:
        return clean_text(self._so_far.reasoning)

    async def read(self, client: Client, body: dict[str, Any], on_retry: OnRetry) -> Answer:
        """Send `body` and read its answer to the end; the connection is given back whatever happens."""
        if not body.get("stream"):
            return await self._read_whole(client, body, on_retry)
        notes: list[str] = []
        stream = client.open_stream(body, on_retry=on_retry, on_notes=notes.extend, round=self.round)
        self._so_far = stream.accumulator
        try:
            async for chunk in stream:
                if self.write is None:
                    continue
                for choice in chunk.choices:
                    if choice.index <= 0:
                        self._delta(choice.delta, self.write)
                for piece in stream.accumulator.touched:
                    self.write(ToolCallDelta(self.round, *piece))
        finally:
            await stream.aclose()
        return Answer(stream.message, stream.finish_reason, stream.usage, tuple(notes))

    async def _read_whole(self, client: Client, body: dict[str, Any], on_retry: OnRetry) -> Answer:
        notes: list[str] = []
        response = await client.answer(body, on_retry=on_retry, on_notes=notes.extend, round=self.round)
        choice = response.choices[0]
        if self.write is not None:
            self._delta(choice.message, self.write)
            for position, call in enumerate(choice.message.tool_calls):
                self.write(ToolCallDelta(self.round, position, call.id, call.name, call.arguments_text))
        return Answer(choice.message, choice.finish_reason, response.usage, tuple(notes))

    def _delta(self, delta: Delta | Message, write: Callable[[Event], None]) -> None:
        if thought := delta.reasoning_text:
            write(ReasoningDelta(self.round, clean_text(thought)))
        content = delta.content
        if text := content if type(content) is str else content_text(content):
            write(TextDelta(self.round, clean_text(text)))
        if delta.refusal:
            write(RefusalDelta(self.round, delta.refusal))

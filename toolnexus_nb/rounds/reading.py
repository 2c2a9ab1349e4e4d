"""Reading one answer: chunks become deltas for whoever watches, and one message at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

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
    """Reads one answer of round `round`; `text` and `reasoning` are what has come so far."""

    round: int
    write: Callable[[Event], None]
    _texts: list[str] = field(default_factory=list)
    _thoughts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return clean_text("".join(self._texts))

    @property
    def reasoning(self) -> str:
        return clean_text("".join(self._thoughts))

    async def read(self, client: Client, body: dict[str, Any], on_retry: OnRetry) -> Answer:
        """Send `body` and read its answer to the end; the connection is given back whatever happens."""
        if not body.get("stream"):
            return await self._read_whole(client, body, on_retry)
        notes: list[str] = []
        stream = client.open_stream(body, on_retry=on_retry, on_notes=notes.extend, round=self.round)
        try:
            async for chunk in stream:
                for choice in chunk.choices:
                    if choice.index <= 0:
                        self._delta(choice.delta)
                for piece in stream.accumulator.touched:
                    self.write(ToolCallDelta(self.round, *piece))
        finally:
            await stream.aclose()
        return Answer(stream.message, stream.finish_reason, stream.usage, tuple(notes))

    async def _read_whole(self, client: Client, body: dict[str, Any], on_retry: OnRetry) -> Answer:
        notes: list[str] = []
        response = await client.answer(body, on_retry=on_retry, on_notes=notes.extend, round=self.round)
        choice = response.choices[0]
        self._delta(choice.message)
        for position, call in enumerate(choice.message.tool_calls):
            self.write(ToolCallDelta(self.round, position, call.id, call.name, call.arguments_text))
        return Answer(choice.message, choice.finish_reason, response.usage, tuple(notes))

    def _delta(self, delta: Delta | Message) -> None:
        if thought := delta.reasoning_text:
            self._thoughts.append(thought)
            self.write(ReasoningDelta(self.round, clean_text(thought)))
        content = delta.content
        if text := content if type(content) is str else content_text(content):
            self._texts.append(text)
            self.write(TextDelta(self.round, clean_text(text)))
        if delta.refusal:
            self.write(RefusalDelta(self.round, delta.refusal))

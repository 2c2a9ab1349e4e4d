"""From bytes in any cut to chunks, and to the error where an event holds one instead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from .accumulate import with_delta
from .errors import APIError, StreamError, api_error, body_says_error, error_class
from .half_letters import HalfLetters
from .json_text import clean_text, load_json
from .sse import SSEEvent, SSEReader
from .types import ChatCompletionChunk

Piece = bytes | bytearray | memoryview | str
_DONE = b"[DONE]"
_UNREADABLE = "unreadable_event"
_QUOTED = 300  # bytes of an unreadable event that its error shows


class ChunkDecoder:
    """Bytes in any cut to chunks; raises the error an event holds, after the chunks before it."""

    def __init__(self) -> None:
        self._reader = SSEReader()
        self._halves = HalfLetters()
        self.ended = False
        self.complete = False
        self.seen = False
        self._has_choices = False
        self._first = b""  # the first event, for saying what this is if it turns out to be no answer

    def feed(self, item: Piece) -> Iterator[ChatCompletionChunk]:
        """Take the next bytes. Raises APIError for an error event, StreamError for one that can't be read (D20)."""
        return self._chunks(self._reader.feed(item if type(item) is bytes else _as_bytes(item)))

    def finish(self) -> Iterator[ChatCompletionChunk]:
        """Take the end of the bytes; half an event there is an answer cut off, not an unreadable one (D14)."""
        try:
            yield from self._chunks(self._reader.finish())
        except StreamError as error:
            if error.code != _UNREADABLE:
                raise
        strange = self._first or self._reader.unrecognised.strip()
        if strange and not self._has_choices and not self.ended:
            raise no_answer(strange)

    def _chunks(self, events: list[SSEEvent]) -> Iterator[ChatCompletionChunk]:
        for event in events:
            if event.data == _DONE or event.data.strip() == _DONE:
                self.ended = self.complete = True
                return
            chunk = self.comment(event) if event.name == ":" else self._read(event)
            if chunk is None:
                continue
            if isinstance(chunk, ChatCompletionChunk):
                self.seen = True
                self._has_choices = self._has_choices or bool(chunk.choices)
                self._spread(chunk)
            yield chunk

    def comment(self, event: SSEEvent) -> Any:
        """What a comment means: nothing, to an ordinary client (D01)."""
        return None

    def _read(self, event: SSEEvent) -> ChatCompletionChunk | None:
        """The chunk an event holds, None if it holds nothing (D09)."""
        data = event.data
        try:
            chunk = self._parse(data)
        except ValueError:
            self._refuse(event)
            return None
        self._first = self._first or data
        if chunk.error or event.name == "error":
            raise self._error(data)
        if not chunk.choices and chunk.usage is None:
            fields = chunk.model_fields_set
            if chunk.object == "error" or (fields & {"message", "detail"} and api_error(200, {}, data).status != 200):
                raise self._error(data)
            if not fields or (event.name not in ("", "message") and "choices" not in fields):
                return None  # `{}` or a ping
        return chunk

    def _parse(self, data: bytes) -> ChatCompletionChunk:
        if not self._halves:
            try:
                return ChatCompletionChunk.model_validate_json(data)
            except ValidationError:
                pass  # rare, and read again with patience
        event = self._halves.mend(load_json(data))
        return ChatCompletionChunk.read(event)

    def _refuse(self, event: SSEEvent) -> None:
        """Raise what an event without a JSON object means: an error in a list (E06) or as text (E14), or junk (D20)."""
        data = event.data.strip()
        try:
            body = load_json(data)
        except ValueError:
            if event.name == "error" or data[:5].lower() == b"error":
                raise self._error(data) from None
        else:
            if body is None:
                return
            if event.name == "error" or body_says_error(body):
                raise self._error(data)
        text = data.decode("utf-8", "replace")
        message = f"an event could not be read: {_quoted(data)}"
        raise StreamError(message, code=_UNREADABLE, body=text, raw_body=text)

    def _error(self, data: bytes) -> APIError:
        """The error an event holds: a StreamError if it ends an answer and names no status of its own (E02)."""
        error = api_error(200, {}, data)
        if not self.seen or error_class(error.status) is not APIError:
            return error
        return StreamError(
            error.message, code=error.code, type=error.type, param=error.param, body=error.body, raw_body=error.raw_body
        )

    def _spread(self, chunk: ChatCompletionChunk) -> None:
        """Turn whole messages of a chunk into deltas (D15); a body that has them is complete by itself."""
        for position, choice in enumerate(chunk.choices):
            if choice.message is not None:
                self.complete = self.complete or "delta" not in choice.model_fields_set
                chunk.choices[position] = with_delta(choice)


def in_pieces(body: Any) -> Any:
    """The pieces of a body: itself if it comes in pieces already, else one piece."""
    return [body] if isinstance(body, bytes | bytearray | memoryview | str) else body


def _as_bytes(piece: Piece) -> bytes:
    return clean_text(piece).encode() if isinstance(piece, str) else bytes(memoryview(piece))


def no_answer(body: bytes) -> APIError:
    """The error for a 200 that holds no chat completion (B03), such as a page or the reply of another API."""
    text = body.decode("utf-8", "replace")
    said = f"the reply has no choices: {_quoted(body)}" if body.strip() else "the reply is empty"
    return APIError(said, status=200, body=text, raw_body=text)


def _quoted(data: bytes) -> str:
    text = data.decode("utf-8", "replace")
    return text if len(text) <= _QUOTED else text[:_QUOTED] + "…"

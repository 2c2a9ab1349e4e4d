"""Tool events inside a chat-completions stream: SSE comments `:tool_start:{json}` and `:tool_end:{json}`.

Ordinary clients skip comments; `parse_tool_events` and `serve/page/tool-events.js` read them.
"""

from __future__ import annotations

import io
import json
import re
import threading
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from inspect import isawaitable
from typing import Any, Protocol, overload, runtime_checkable

from .decode import ChunkDecoder, in_pieces
from .handler import NoOpToolHandler
from .json_text import dump_json
from .sse import SSEEvent
from .types import ChatCompletionChunk, ToolCall
from .wire_model import WireModel

EVENT_TOOL_START = "tool_start"
EVENT_TOOL_END = "tool_end"

_EVENT_TYPE = re.compile(r"[A-Za-z0-9_.-]+")
_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\x85\u2028\u2029"}


class ToolStatusEvent(WireModel):
    """What happened to one tool call. `status`: running, complete or error; keys are written in this order."""

    tool_call_id: str = ""
    tool_name: str = ""
    status: str = ""
    arguments: dict[str, Any] | None = None
    result: str | None = None
    error: str | None = None


@runtime_checkable
class SSEEventWriter(Protocol):
    """Where tool events go; `write_event` may be plain or async and raises if the event could not be written."""

    def write_event(self, event_type: str, data: Any) -> Any:
        """Write one event."""


def event_bytes(event_type: str, data: Any) -> bytes:
    r"""The bytes of one event: `:type:{json}\n\n`, on one line and safe inside HTML.

    Raises ValueError for a type that would break the framing and for data that has no JSON form.
    """
    if not _EVENT_TYPE.fullmatch(event_type):
        raise ValueError(f"an event type is made of letters, digits, '_', '.' and '-', not {event_type!r}")
    if isinstance(data, WireModel):
        data = data.model_dump()
    try:
        json.dumps(data)
    except (TypeError, RecursionError) as error:
        raise ValueError(f"the data of a {event_type} event has no JSON form: {error}") from error
    return f":{event_type}:{dump_json(data).translate(_ESCAPES)}\n\n".encode()


class SimpleSSEWriter:
    """Writes events with `write(bytes)`, then calls `flush()` if the write succeeded.

    `write`: a function, or anything with a `write` method (a text stream gets text). Where it gives an awaitable,
    `write_event` does too; otherwise a lock keeps events of several threads apart.
    """

    def __init__(self, write: Any, flush: Callable[[], Any] | None = None) -> None:
        self._write = _text_writer(write) if isinstance(write, io.TextIOBase) else getattr(write, "write", write)
        self._flush = flush
        self._lock = threading.Lock()

    def write_event(self, event_type: str, data: Any) -> Any:
        """Write one event as a whole. Raises ValueError as `event_bytes`, and what `write` raises."""
        written = event_bytes(event_type, data)
        with self._lock:
            writing = self._write(written)
            if isawaitable(writing):
                return self._finish(writing)
            flushing = self._flush() if self._flush else None
        return flushing if isawaitable(flushing) else None

    async def _finish(self, writing: Any) -> None:
        await writing
        flushing = self._flush() if self._flush else None
        if isawaitable(flushing):
            await flushing


def _text_writer(stream: io.TextIOBase) -> Callable[[bytes], object]:
    return lambda data: stream.write(data.decode())


class SSEToolHandler(NoOpToolHandler):
    """A ToolHandler that writes tool events. It never raises: a failed write goes to `on_error(error, type, tool)`."""

    def __init__(self, writer: SSEEventWriter, on_error: Callable[[Exception, str, str], Any] | None = None) -> None:
        self._writer = writer
        self._on_error = on_error

    def on_tool_call(self, tool_call: ToolCall) -> Any:
        """Write `tool_start`, with the arguments if there are any."""
        event = ToolStatusEvent(tool_call_id=tool_call.id, tool_name=tool_call.name, status="running")
        if tool_call.arguments:
            event.arguments = tool_call.arguments
        return self._send(EVENT_TOOL_START, event)

    def on_tool_result(self, tool_call_id: str, tool_name: str, result: str) -> Any:
        """Write `tool_end` with the result, also an empty one, so that it can be told from none."""
        event = ToolStatusEvent(tool_call_id=tool_call_id, tool_name=tool_name, status="complete", result=result)
        return self._send(EVENT_TOOL_END, event)

    def on_tool_error(self, tool_call_id: str, tool_name: str, error: str | BaseException) -> Any:
        """Write `tool_end` with status error."""
        event = ToolStatusEvent(tool_call_id=tool_call_id, tool_name=tool_name, status="error", error=str(error))
        return self._send(EVENT_TOOL_END, event)

    def _send(self, event_type: str, event: ToolStatusEvent) -> Any:
        try:
            writing = self._writer.write_event(event_type, event)
        except Exception as error:
            return self._failed(error, event_type, event.tool_name)
        return self._finish(writing, event_type, event.tool_name) if isawaitable(writing) else None

    async def _finish(self, writing: Any, event_type: str, tool_name: str) -> None:
        try:
            await writing
        except Exception as error:
            telling = self._failed(error, event_type, tool_name)
            if isawaitable(telling):
                await telling

    def _failed(self, error: Exception, event_type: str, tool_name: str) -> Any:
        return self._on_error(error, event_type, tool_name) if self._on_error else None


@overload
def parse_tool_events(byte_chunks: Iterable[bytes]) -> Iterator[ToolStatusEvent | ChatCompletionChunk]: ...
@overload
def parse_tool_events(byte_chunks: AsyncIterable[bytes]) -> AsyncIterator[ToolStatusEvent | ChatCompletionChunk]: ...
def parse_tool_events(byte_chunks: Any) -> Any:
    """Read a stream with tool events: yields ToolStatusEvents and chunks in order, from bytes in any cut.

    Plain iterables give an iterator, async ones an async iterator. Ends at `[DONE]` or with the bytes; other comments
    are skipped. Raises APIError and StreamError as ChatStream.
    """
    decoder, byte_chunks = ToolEventDecoder(), in_pieces(byte_chunks)
    return (
        _parse_async(byte_chunks, decoder) if isinstance(byte_chunks, AsyncIterable) else _parse(byte_chunks, decoder)
    )


class ToolEventDecoder(ChunkDecoder):
    """A ChunkDecoder that does not skip the comments that are tool events."""

    def comment(self, event: SSEEvent) -> Any:
        """The event in a comment, or None."""
        event_type, colon, text = event.data.partition(b":")
        if not colon or event_type.decode("ascii", "replace") not in (EVENT_TOOL_START, EVENT_TOOL_END):
            return None
        try:
            found = ToolStatusEvent.read(text)
        except ValueError:
            return None  # a comment that only looks like an event is a comment
        return found if found.tool_call_id or found.tool_name else None


def _parse(byte_chunks: Iterable[bytes], decoder: ChunkDecoder) -> Iterator[Any]:
    for piece in byte_chunks:
        yield from decoder.feed(piece)
        if decoder.ended:
            return
    yield from decoder.finish()


async def _parse_async(byte_chunks: AsyncIterable[bytes], decoder: ChunkDecoder) -> AsyncIterator[Any]:
    async for piece in byte_chunks:
        for item in decoder.feed(piece):
            yield item
        if decoder.ended:
            return
    for item in decoder.finish():
        yield item

"""Bytes of streams as endpoints send them, and readers that feed them in several cuts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolnexus_nb.openai import ChatStream, Message, ToolCall

RECORDINGS = Path(__file__).parents[1] / "recordings"
CUTS = (0, 1, 7)  # whole, byte by byte, odd pieces


def pieces(body: bytes, size: int) -> list[bytes]:
    """Cut a body into pieces of `size` bytes; 0 leaves it whole."""
    return [body[i : i + size] for i in range(0, len(body), size)] if size else [body]


def sse(*events: Any, done: bool = True) -> bytes:
    """A stream of `data:` events; dicts are written as JSON, bytes are put in as they are."""
    body = b""
    for event in events:
        body += event if isinstance(event, bytes) else b"data: " + json.dumps(event).encode() + b"\n\n"
    return body + (b"data: [DONE]\n\n" if done else b"")


def chunk(
    delta: dict[str, Any] | None = None, finish: str | None = None, index: int = 0, **more: Any
) -> dict[str, Any]:
    """A chunk with one choice."""
    choice = {"index": index, "delta": delta or {}, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], **more}


def calls(*deltas: Any, finish: str | None = "tool_calls", done: bool = True) -> bytes:
    """A stream of tool-call deltas (each a dict, or a list of dicts that come together) and a finish reason."""
    chunks = [chunk({"tool_calls": delta if isinstance(delta, list) else [delta]}) for delta in deltas]
    return sse(*chunks, *([chunk(finish=finish)] if finish else []), done=done)


def hear(body: bytes, **options: Any) -> ChatStream:
    """Read a body in every cut; they must tell the same. Raises what reading raises."""
    streams = []
    for size in CUTS:
        stream = ChatStream.from_bytes(pieces(body, size), **options)
        failure: Exception | None = None
        try:
            for _ in stream:
                pass
        except Exception as error:
            failure = error
        streams.append((stream, failure))
    told = [(said(stream.message), stream.finish_reason, repr(failure), str(failure)) for stream, failure in streams]
    assert told[0] == told[1] == told[2]
    stream, failure = streams[0]
    if failure is not None:
        raise failure
    return stream


def said(message: Message) -> tuple[Any, ...]:
    """A message without ids that were made here."""
    return (message.content, message.reasoning_text, message.refusal, [brief(call) for call in message.tool_calls])


def brief(call: ToolCall) -> tuple[str, str, bool]:
    """Name, text of the arguments, and whether they can be used."""
    return call.name, call.arguments_text, call.arguments_error is None


class Wire:
    """The helpers above, for tests."""

    recordings = RECORDINGS
    cuts = CUTS
    pieces = staticmethod(pieces)
    sse = staticmethod(sse)
    chunk = staticmethod(chunk)
    calls = staticmethod(calls)
    hear = staticmethod(hear)
    brief = staticmethod(brief)


@pytest.fixture(scope="session")
def wire() -> type[Wire]:
    """Builders and readers of streams."""
    return Wire


@pytest.fixture
def called() -> Callable[..., list[tuple[str, str, dict[str, Any]]]]:
    """Give deltas of tool calls, get (id, name, arguments) of the calls they make."""

    def read(*deltas: Any, finish: str | None = "tool_calls", **options: Any) -> list[tuple[str, str, dict[str, Any]]]:
        message = hear(calls(*deltas, finish=finish), **options).message
        assert all(call.arguments_error is None for call in message.tool_calls)
        return [(call.id, call.name, call.arguments) for call in message.tool_calls]

    return read

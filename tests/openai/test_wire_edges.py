"""What people hand to the wire that is not quite what it asks for: each was once an error of Python's insides."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from toolnexus_nb.openai import (
    APIError,
    ChatStream,
    SimpleSSEWriter,
    SSEToolHandler,
    TokenCounter,
    ToolCall,
    estimate_tokens,
    parse_tool_events,
)
from toolnexus_nb.openai.errors import redact
from toolnexus_nb.openai.stream import parse_response

CHUNK = {"choices": [{"index": 0, "delta": {"content": "Grüße"}, "finish_reason": "stop"}]}
TEXT = f"data: {json.dumps(CHUNK, ensure_ascii=False)}\n\n"


@pytest.mark.parametrize(
    "body",
    [TEXT.encode(), bytearray(TEXT.encode()), memoryview(TEXT.encode()), TEXT, list(TEXT), [bytearray(TEXT.encode())]],
    ids=["bytes", "bytearray", "memoryview", "text", "letters", "list of bytearray"],
)
def test_a_body_may_come_whole_or_as_text(body: Any) -> None:
    assert [chunk.choices[0].delta.content for chunk in ChatStream.from_bytes(body)] == ["Grüße"]
    assert len(list(parse_tool_events(body))) == 1


def test_a_plain_loop_over_an_async_source_says_what_to_use_where_a_loop_runs() -> None:
    async def source() -> AsyncIterator[dict[str, Any]]:
        yield CHUNK

    async def cell() -> list[Any]:
        return list(ChatStream.from_iterable(source()))

    assert len(list(ChatStream.from_iterable(source()))) == 1
    with pytest.raises(RuntimeError, match="use `async for`"):
        asyncio.run(cell())


def test_an_exception_is_a_tool_error_too() -> None:
    written: list[bytes] = []
    SSEToolHandler(SimpleSSEWriter(written.append)).on_tool_error("c1", "add", ValueError("no such city"))
    assert b'"status":"error","error":"no such city"' in written[0]


def test_a_flat_dict_is_a_call() -> None:
    call = ToolCall.from_any({"id": "c1", "name": "add", "arguments": {"a": 1}})
    assert (call.id, call.name, call.arguments) == ("c1", "add", {"a": 1})


def test_nothing_has_no_tokens() -> None:
    counter = TokenCounter()
    counter.add_completion_tokens_from_message(None)
    assert (estimate_tokens(None), counter.get_usage().total_tokens) == (0, 0)


def test_a_dict_gets_its_estimate_as_a_dict() -> None:
    counter = TokenCounter()
    counter.add_completion_tokens_from_text("one two")
    response: dict[str, Any] = {"choices": [], "usage": None}
    counter.inject_usage_if_missing(response)
    assert response["usage"]["completion_tokens"] == 2
    assert response["usage"]["estimated"] is True
    counter.inject_usage_if_missing(reported := {"usage": {"prompt_tokens": 1, "completion_tokens": 1}})
    assert reported["usage"] == {"prompt_tokens": 1, "completion_tokens": 1}


def test_an_empty_reply_is_called_empty() -> None:
    with pytest.raises(APIError, match="the reply is empty"):
        parse_response(b"")


@pytest.mark.parametrize(
    ("text", "secrets", "shown"),
    [
        ("key zebra-crossing-9911!", ["zebra-crossing-9911"], "key [redacted]!"),
        ("key abc", [None, ""], "key abc"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx.c2ln", [], "[redacted]"),
        ("password=hunter2 and more", [], "password=[redacted] and more"),
        ("the password: must be long", [], "the password: must be long"),
    ],
)
def test_keys_are_blanked_whole(text: str, secrets: list[str | None], shown: str) -> None:
    assert redact(text, secrets) == shown

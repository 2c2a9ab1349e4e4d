"""Rows D01 to D21 of the quirks: from bytes to events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from toolnexus_nb.openai import (
    APIConnectionError,
    APIError,
    BadRequestError,
    ChatStream,
    Message,
    StreamError,
    parse_response,
)

SAYS = {"choices": [{"index": 0, "delta": {"content": "那 x"}, "finish_reason": None}]}
ENDS = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


def text(wire: Any, *lines: str, end: str = "\n") -> str | None:
    """The content of a stream made of lines."""
    content: str | None = wire.hear("".join(line + end for line in lines).encode()).message.content
    return content


def data(value: Any, space: str = " ") -> str:
    """A data line."""
    return f"data:{space}{value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"


@pytest.mark.parametrize(
    "comment",
    [
        ": OPENROUTER PROCESSING",
        ":",
        ": ping",
        "data: : OPENROUTER PROCESSING",
        "data:",
        "data: ",
        "event: ping\ndata: {}",
        "",
        "\n\n",
        "id: 7",
        "retry: 10",
        "data",
    ],
)
def test_D01_D02_D09_what_says_nothing_gives_nothing(wire: Any, comment: str) -> None:
    lines = [comment, "", data(SAYS), "", comment, "", data(ENDS), "", comment, "", "data: [DONE]", ""]
    stream = wire.hear("\n".join(lines).encode())
    assert stream.message.content == "那 x"
    assert len(list(ChatStream.from_bytes(["\n".join(lines).encode()]))) == 2


def test_D01_a_comment_between_the_lines_of_an_event(wire: Any) -> None:
    assert (
        text(wire, 'data: {"choices":', ": hello", 'data: [{"delta":{"content":"x"},"finish_reason":"stop"}]}', "")
        == "x"
    )


def test_D03_the_space_after_the_colon_is_optional(wire: Any) -> None:
    assert text(wire, data(SAYS, ""), "", data(ENDS, ""), "", "data:[DONE]", "") == "那 x"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_D04_lines_end_in_three_ways(wire: Any, end: str) -> None:
    assert text(wire, data(SAYS), "", data(ENDS), "", "data: [DONE]", "", end=end) == "那 x"


def test_D04_a_line_end_cut_in_two_is_one(wire: Any) -> None:
    stream = ChatStream.from_bytes([data(SAYS).encode() + b"\r", b"\n\r", b"\n" + data(ENDS).encode() + b"\r\n\r\n"])
    assert [len(chunk.choices) for chunk in stream] == [1, 1]


def test_D05_letters_cut_in_two_are_whole(wire: Any) -> None:
    arguments = {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": '{"a":"那😀"}'}}]}
    body = "\n\n".join(["data: " + json.dumps(wire.chunk(arguments, "tool_calls"), ensure_ascii=False), ""]).encode()
    assert wire.hear(body).message.tool_calls[0].arguments == {"a": "那😀"}


def test_D06_a_byte_order_mark_is_dropped(wire: Any) -> None:
    assert text(wire, "\ufeff" + data(SAYS), "", data(ENDS), "") == "那 x"


def test_D07_the_data_lines_of_an_event_are_one_text(wire: Any) -> None:
    assert (
        text(wire, 'data: {"choices":', 'data: [{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}', "")
        == "x"
    )


def test_D08_events_parted_by_a_single_line_end(wire: Any) -> None:
    assert text(wire, data(SAYS), data(SAYS), data(ENDS), "data: [DONE]") == "那 x那 x"


def test_D08_such_an_event_is_not_held_back_until_the_end() -> None:
    def source() -> Iterator[bytes]:
        yield (data(SAYS) + "\n" + data(SAYS) + "\n").encode()
        pytest.fail("the first event was there already")

    assert next(iter(ChatStream.from_bytes(source()))).choices[0].delta.content == "那 x"


@pytest.mark.parametrize("usage", [[], [{"choices": [], "usage": {"prompt_tokens": 1}}]])
def test_D10_no_done_after_a_finish_reason_is_complete(wire: Any, usage: list[Any]) -> None:
    assert wire.hear(wire.sse(SAYS, ENDS, *usage, done=False)).accumulator.is_complete


@pytest.mark.parametrize("body", [b"", b"\n", b": ping\n\n", b"data: " + json.dumps(SAYS).encode() + b"\n\n"])
def test_D11_an_end_without_an_ending_is_an_error_with_what_had_come(wire: Any, body: bytes) -> None:
    with pytest.raises(StreamError, match="before the answer was complete") as caught:
        wire.hear(body)
    assert caught.value.partial.content == ("那 x" if b"data" in body else None)


def test_D12_nothing_is_read_after_done() -> None:
    def source() -> Iterator[bytes]:
        yield b"data: " + json.dumps(ENDS).encode() + b"\n\ndata: [DONE]\n\n"
        pytest.fail("read on after [DONE]")

    stream = ChatStream.from_bytes(source())
    assert len(list(stream)) == 1 and stream.done


@pytest.mark.parametrize("complete", [True, False])
def test_D13_a_connection_that_breaks_after_the_last_word_does_no_harm(complete: bool) -> None:
    def source() -> Iterator[bytes]:
        yield b"data: " + json.dumps(SAYS).encode() + b"\n\n"
        if complete:
            yield b"data: " + json.dumps({**ENDS, "usage": {"prompt_tokens": 1}}).encode() + b"\n\n"
        raise APIConnectionError("peer closed connection")

    stream = ChatStream.from_bytes(source())
    if complete:
        assert len(list(stream)) == 2 and stream.err is None
        return
    with pytest.raises(APIConnectionError) as caught:
        list(stream)
    assert caught.value.partial.content == "那 x" and stream.err is caught.value


@pytest.mark.parametrize("end", ["", "\n"])
def test_D14_the_last_event_needs_no_empty_line(wire: Any, end: str) -> None:
    assert wire.hear((data(SAYS) + "\n\n" + data(ENDS) + end).encode()).finish_reason == "stop"


def test_D14_half_an_event_at_the_end_is_an_answer_cut_off(wire: Any) -> None:
    with pytest.raises(StreamError, match="before the answer was complete"):
        wire.hear((data(SAYS) + "\n\n" + data(ENDS)[:-9]).encode())


def test_D14_also_when_it_is_the_first(wire: Any) -> None:
    with pytest.raises(StreamError, match="before the answer was complete"):
        wire.hear(data(SAYS)[:-9].encode())


@pytest.mark.parametrize("indent", [None, 2])
def test_D15_a_whole_reply_where_a_stream_was_asked_for(wire: Any, indent: int | None) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"role": "assistant", "content": "Hi", "tool_calls": [call], "reasoning_content": "hm"}
    reply = {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": None}],
        "usage": {"prompt_tokens": 1},
    }
    body = json.dumps(reply, indent=indent).encode()
    stream = wire.hear(body)
    assert stream.message.model_dump_wire() == message
    assert stream.usage.prompt_tokens == 1
    [chunk] = ChatStream.from_bytes([body])
    assert chunk.choices[0].delta.content == "Hi" and chunk.choices[0].delta.tool_calls[0].id == "c1"
    assert parse_response(body).message.model_dump_wire() == message


@pytest.mark.parametrize("between", ["\n", "\n\n"])
def test_D16_a_stream_or_a_done_where_a_reply_was_asked_for(wire: Any, between: str) -> None:
    assert parse_response(wire.sse(SAYS, ENDS)).message.content == "那 x"
    reply = json.dumps({"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]})
    assert parse_response((reply + between + "data: [DONE]").encode()).message.content == "x"


def test_lines_of_bare_json_are_events(wire: Any) -> None:
    body = "".join(json.dumps(event) + "\n" for event in (SAYS, ENDS)).encode()
    assert wire.hear(body).message.content == "那 x"


@pytest.mark.parametrize("name", ["message", "completion", "chunk"])
def test_D17_events_are_judged_by_their_data(wire: Any, name: str) -> None:
    assert (
        text(wire, f"event: {name}", data(SAYS), "", "event: ping", 'data: {"type": "ping"}', "", data(ENDS), "")
        == "那 x"
    )


def test_D17_an_error_event(wire: Any) -> None:
    error = {"error": {"message": "no", "code": "tool_use_failed", "failed_generation": "<f>", "status_code": 400}}
    with pytest.raises(BadRequestError, match="no") as caught:
        wire.hear(b"event: error\ndata: " + json.dumps(error).encode() + b"\n\n")
    assert (caught.value.code, caught.value.status, caught.value.failed_generation) == ("tool_use_failed", 400, "<f>")


def test_D18_an_error_line(wire: Any) -> None:
    error = b'{"code":400,"message":"the request exceeds the available context size","type":"invalid_request_error"}'
    line = b"error: " + error + b"\n\ndata: [DONE]"
    with pytest.raises(BadRequestError, match="exceeds the available context"):
        wire.hear(line)


@pytest.mark.parametrize(
    "body",
    ['{"error":{"message":"boom"}}', '{\n "error": {\n  "message": "boom"\n }\n}\n', '[{"error":{"message":"boom"}}]'],
)
def test_D19_a_bare_error_where_a_stream_should_be(wire: Any, body: str) -> None:
    with pytest.raises(APIError, match="boom"):
        wire.hear(body.encode())


def test_D19_a_page_where_a_stream_should_be(wire: Any) -> None:
    with pytest.raises(APIError, match="no choices: <html>"):
        wire.hear(b"<html>\n<body>Welcome</body></html>")


def test_D20_an_unreadable_event_is_told_and_quoted(wire: Any) -> None:
    with pytest.raises(StreamError, match="could not be read") as caught:
        wire.hear(wire.sse(SAYS, b'data: {"id":"1","choices":[{"delta":{"rdata: {"id":"2"}\n\n', ENDS))
    assert '{"delta":{"rdata' in str(caught.value) and caught.value.partial.content == "那 x"


@pytest.mark.parametrize("junk", ["12", '"x"', "[]", "true"])
def test_D20_json_that_is_no_object_is_unreadable_too(wire: Any, junk: str) -> None:
    with pytest.raises(StreamError, match="could not be read"):
        wire.hear(wire.sse(SAYS, f"data: {junk}\n\n".encode(), ENDS))


def test_D21_a_lone_surrogate_arrives_and_can_be_sent(wire: Any) -> None:
    message = wire.hear(
        wire.sse(b'data: {"choices":[{"delta":{"content":"a\\ud800b"},"finish_reason":"stop"}]}\n\n')
    ).message
    assert message.content == "a\ufffdb"
    message.model_dump_json().encode()
    Message.user("x\udc00").model_dump_json().encode()
    Message.tool("c", {"k\ud800": "\ud800"}).model_dump_json().encode()


def test_D21_a_pair_cut_between_two_chunks_is_one_letter(wire: Any) -> None:
    halves = [
        b'data: {"choices":[{"delta":{"content":"a\\ud83d"}}]}\n\n',
        b'data: {"choices":[{"delta":{"content":"\\ude00b"}}]}\n\n',
    ]
    assert wire.hear(wire.sse(*halves, ENDS)).message.content == "a😀b"


def test_the_source_is_closed_when_the_loop_is_left(wire: Any) -> None:
    closed = []

    async def source() -> Any:
        try:
            while True:
                yield b"data: " + json.dumps(SAYS).encode() + b"\n\n"
        finally:
            closed.append("source")

    async def run() -> None:
        async with ChatStream.from_bytes(source(), aclose=lambda: closed.append("response")) as stream:
            async for _ in stream:
                break
        assert stream.message.content == "那 x"

    asyncio.run(run())
    assert closed == ["source", "response"]


def test_plain_for_reads_async_sources_too() -> None:
    async def source() -> Any:
        for event in (SAYS, ENDS):
            await asyncio.sleep(0)
            yield b"data: " + json.dumps(event).encode() + b"\n\n"

    stream = ChatStream.from_bytes(source())
    assert len(list(stream)) == 2 and stream.message.content == "那 x"


def test_an_exception_of_the_source_comes_after_its_chunks() -> None:
    async def source() -> Any:
        yield SAYS
        yield SAYS
        raise ValueError("producer")

    async def run() -> None:
        stream, seen = ChatStream.from_iterable(source()), 0
        with pytest.raises(ValueError, match="producer"):
            async for _ in stream:
                seen += 1
        assert seen == 2 and isinstance(stream.err, ValueError) and stream.done
        assert [chunk async for chunk in stream] == []

    asyncio.run(run())


def test_cancelling_the_task_ends_the_stream_and_keeps_what_had_come() -> None:
    async def source() -> Any:
        yield SAYS
        await asyncio.sleep(60)

    async def run() -> None:
        stream = ChatStream.from_iterable(source())

        async def read() -> None:
            async for _ in stream:
                pass

        task = asyncio.create_task(read())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert isinstance(stream.err, asyncio.CancelledError) and stream.message.content == "那 x"

    asyncio.run(run())


def test_chunks_given_as_they_are_end_where_they_end() -> None:
    stream = ChatStream.from_iterable([SAYS])
    assert stream.current is None
    assert [chunk.choices[0].delta.content for chunk in stream] == ["那 x"]
    assert stream.current.choices[0].delta.content == "那 x" and stream.accumulator.is_complete

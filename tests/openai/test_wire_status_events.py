"""Tool events inside a stream: their bytes, who writes them, who reads them."""

from __future__ import annotations

import asyncio
import io
import json
import threading
from typing import Any

import pytest

from toolnexus_nb.openai import (
    APIError,
    ChatCompletionChunk,
    ChatStream,
    SimpleSSEWriter,
    SSEEventWriter,
    SSEToolHandler,
    ToolCall,
    ToolStatusEvent,
    generate_tool_call_id,
    parse_tool_events,
)


def call(arguments: Any = None, call_id: str = "call_1", name: str = "search") -> ToolCall:
    """A tool call."""
    return ToolCall.read({"id": call_id, "function": {"name": name, "arguments": arguments}})


def written(*told: tuple[Any, ...]) -> bytes:
    """The bytes a handler writes when it is told these things."""
    parts: list[bytes] = []
    handler = SSEToolHandler(SimpleSSEWriter(parts.append))
    for method, *args in told:
        getattr(handler, method)(*args)
    return b"".join(parts)


def test_163_the_start_of_a_call_with_arguments() -> None:
    head = rb':tool_start:{"tool_call_id":"call_1","tool_name":"search","status":"running",'
    expected = head + rb'"arguments":{"q":"\u003cx\u003e\nline"}}'
    assert written(("on_tool_call", call({"q": "<x>\nline"}))) == expected + b"\n\n"


def test_164_without_arguments_there_is_no_such_key() -> None:
    assert b"arguments" not in written(("on_tool_call", call()))


def test_165_the_end_is_one_line() -> None:
    end = written(("on_tool_result", "call_1", "search", 'line1\nline2 "q" <b>\u2028&\r'))
    head, *rest = end.splitlines()
    assert rest == [b""] and head.startswith(
        b':tool_end:{"tool_call_id":"call_1","tool_name":"search","status":"complete"'
    )
    assert rb'"result":"line1\nline2 \"q\" \u003cb\u003e\u2028\u0026\r"' in head


def test_166_choice_an_empty_result_can_be_told_from_none() -> None:
    [event] = parse_tool_events([written(("on_tool_result", "c", "t", "")), b"data: [DONE]\n\n"])
    assert isinstance(event, ToolStatusEvent) and event.result == ""


def test_an_error_has_its_own_status() -> None:
    [event] = parse_tool_events([written(("on_tool_error", "c", "t", "boom")), b"data: [DONE]\n\n"])
    assert event.model_dump_wire() == {"tool_call_id": "c", "tool_name": "t", "status": "error", "error": "boom"}


@pytest.mark.parametrize("event_type", ["x:y", "a\nb", "", "ä", "a b"])
def test_167_bug_a_type_that_breaks_the_framing_is_refused(event_type: str) -> None:
    parts: list[bytes] = []
    with pytest.raises(ValueError, match="event type"):
        SimpleSSEWriter(parts.append).write_event(event_type, {})
    assert parts == []


def test_168_data_without_a_json_form_writes_nothing_and_flushes_nothing() -> None:
    parts: list[Any] = []
    with pytest.raises(ValueError, match="no JSON form"):
        SimpleSSEWriter(parts.append, lambda: parts.append("flush")).write_event("tool_end", {"a": object()})
    assert parts == []


def test_null_nan_and_half_letters_are_written_as_valid_json() -> None:
    parts: list[bytes] = []
    for data in (None, {"a": float("nan")}, {"a": "\ud800"}):
        SimpleSSEWriter(parts.append).write_event("x", data)
    assert parts == [b":x:null\n\n", b':x:{"a":null}\n\n', ':x:{"a":"\ufffd"}\n\n'.encode()]


def test_169_a_failed_write_goes_to_the_callback_and_nowhere_else() -> None:
    failed: list[Any] = []

    def write(_: bytes) -> None:
        raise OSError("gone")

    flushed: list[int] = []
    writer = SimpleSSEWriter(write, lambda: flushed.append(1))
    SSEToolHandler(writer, lambda *told: failed.append(told)).on_tool_call(call())
    SSEToolHandler(writer).on_tool_result("c", "t", "r")
    [(error, event_type, name)] = failed
    assert isinstance(error, OSError) and (event_type, name) == ("tool_start", "search")
    assert flushed == []


def test_170_ids() -> None:
    import re

    ids = {generate_tool_call_id(index) for index in range(50)}
    assert len(ids) == 50 and all(re.fullmatch(r"call_[0-9a-f]{24}", call_id) for call_id in ids)


def test_it_flushes_after_each_event_that_was_written() -> None:
    seen: list[Any] = []
    writer = SimpleSSEWriter(lambda data: seen.append(data[:5]), lambda: seen.append("flush"))
    writer.write_event("a", {})
    writer.write_event("b", {})
    assert seen == [b":a:{}", "flush", b":b:{}", "flush"]
    assert isinstance(writer, SSEEventWriter)


def test_anything_with_a_write_method_will_do() -> None:
    for target in (io.BytesIO(), io.StringIO()):
        SimpleSSEWriter(target).write_event("a", {"x": "ü"})
        value = target.getvalue()
        assert (value if isinstance(value, str) else value.decode()) == ':a:{"x":"ü"}\n\n'


def test_an_async_writer_is_awaited() -> None:
    parts: list[Any] = []

    async def write(data: bytes) -> None:
        await asyncio.sleep(0)
        parts.append(data)

    async def flush() -> None:
        parts.append("flush")

    async def fail(_: bytes) -> None:
        raise OSError("gone")

    async def run() -> None:
        await SSEToolHandler(SimpleSSEWriter(write, flush)).on_tool_call(call())
        failed: list[Any] = []
        await SSEToolHandler(SimpleSSEWriter(fail, flush), lambda *told: failed.append(told)).on_tool_call(call())
        assert [told[1] for told in failed] == ["tool_start"]

    asyncio.run(run())
    assert parts[0].startswith(b":tool_start:") and parts[1:] == ["flush"]


def test_events_of_several_threads_do_not_mix() -> None:
    parts: list[bytes] = []

    def slowly(data: bytes) -> None:
        for byte in data:
            parts.append(bytes([byte]))

    handler = SSEToolHandler(SimpleSSEWriter(slowly))
    threads = [threading.Thread(target=handler.on_tool_result, args=(str(n), "t", "r" * 200)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    events = list(parse_tool_events([b"".join(parts), b"data: [DONE]\n\n"]))
    assert sorted(event.tool_call_id for event in events) == sorted(map(str, range(8)))


ARGS = {"city": "Zürich 那"}
QUOTE = {"choices": [{"index": 0, "delta": {"content": 'see ":tool_start:{}" 日本'}, "finish_reason": "stop"}]}


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("size", [0, 1, 7, 64])
def test_171_bug_events_are_read_from_any_cut(wire: Any, size: int, end: bytes) -> None:
    body = (
        written(("on_tool_call", call(ARGS)))
        + wire.sse(QUOTE, done=False)
        + b": ping\n\n:tool_start:{bad\n\n:tool_end:{}\n\n:tool_other:{}\n\n"
    )
    body += written(("on_tool_result", "call_1", "search", "sonnig ☀ 那")) + b"data: [DONE]\n\n"
    start, text, finish = parse_tool_events(wire.pieces(body.replace(b"\n", end), size))
    assert isinstance(start, ToolStatusEvent) and (start.status, start.arguments) == ("running", ARGS)
    assert isinstance(text, ChatCompletionChunk) and text.choices[0].delta.content == 'see ":tool_start:{}" 日本'
    assert isinstance(finish, ToolStatusEvent) and finish.result == "sonnig ☀ 那"


def test_async_bytes_are_read_too_and_errors_are_raised() -> None:
    async def source() -> Any:
        yield written(("on_tool_call", call()))
        yield b"data: " + json.dumps({"error": {"message": "boom"}}).encode() + b"\n\n"

    async def run() -> None:
        seen = []
        with pytest.raises(APIError, match="boom"):
            async for item in parse_tool_events(source()):
                seen.append(item)
        assert [item.status for item in seen] == ["running"]

    asyncio.run(run())


def test_an_ordinary_client_does_not_see_them(wire: Any) -> None:
    body = written(("on_tool_call", call())) + wire.sse(QUOTE)
    assert len(list(ChatStream.from_bytes([body]))) == 1

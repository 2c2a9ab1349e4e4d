"""What holds for every stream: cuts change nothing, and no bytes whatever break the reader."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolnexus_nb.openai import (
    APIError,
    ChatCompletionResponse,
    ChatStream,
    CompletionAccumulator,
    Message,
    ToolCallFunction,
    api_error,
    extract_tool_result,
    parse_response,
    parse_tool_events,
    redact,
)

FOLDER = Path(__file__).parents[1] / "recordings"
BODIES = [
    path.read_bytes() for path in sorted(FOLDER.iterdir()) if path.suffix in (".sse", ".json") and path.stem != "index"
]
EXAMPLES = int(os.environ.get("TOOLNEXUS_EXAMPLES", "60"))  # more of them: a longer look for what breaks
RELAXED = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example]
)

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(words, anything, max_size=3)
names = st.from_regex(r"[a-z_]{1,10}", fullmatch=True)


@st.composite
def conversations(draw: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Deltas of an answer in a random order of pieces, and the message they make."""
    text, thought = "".join(draw(st.lists(words, max_size=4))), "".join(draw(st.lists(words, max_size=2)))
    calls = draw(st.lists(st.tuples(names, objects.map(json.dumps)), max_size=3))
    deltas: list[dict[str, Any]] = [{"role": "assistant"}]
    deltas += [{"reasoning_content": piece} for piece in pieces(draw, thought)]
    deltas += [{"content": piece} for piece in pieces(draw, text)]
    queues, order = [], []
    for index, (name, arguments) in enumerate(calls):
        head = {"index": index, "id": f"id{index}", "type": "function", "function": {"name": name, "arguments": ""}}
        queues.append(
            [head, *[{"index": index, "function": {"arguments": piece}} for piece in pieces(draw, arguments)]]
        )
    while queues:
        queue = draw(st.sampled_from(queues))
        order += [queue[0]["index"]] if "id" in queue[0] else []
        deltas.append({"tool_calls": [queue.pop(0)]})
        queues = [queue for queue in queues if queue]
    return deltas, {
        "content": text or None,
        "reasoning": thought,
        "calls": [(f"id{index}", *calls[index]) for index in order],
    }


def pieces(draw: Any, text: str) -> list[str]:
    """A text cut at random places."""
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=4)))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def cut(body: bytes, places: list[int]) -> list[bytes]:
    """A body cut at places, which are taken modulo its length."""
    ends = sorted({place % (len(body) + 1) for place in places} | {len(body)})
    return [body[start:end] for start, end in zip([0, *ends], ends, strict=False)]


places = st.lists(st.integers(0, 10_000), max_size=12)


@RELAXED
@given(conversations(), places, st.sampled_from(["\n", "\r\n", "\r"]), st.booleans(), st.booleans())
def test_cuts_and_line_ends_change_nothing(
    conversation: Any, where: list[int], end: str, comments: bool, escaped: bool
) -> None:
    deltas, wanted = conversation
    reason = "tool_calls" if wanted["calls"] else "stop"
    events = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    filler = [": ping", ""] if comments else []
    lines = [line for event in events for line in (*filler, "data: " + json.dumps(event, ensure_ascii=escaped), "")]
    stream = ChatStream.from_bytes(cut(end.join([*lines, "data: [DONE]", "", ""]).encode(), where))
    assert len(list(stream)) == len(events)
    message = stream.message
    assert (message.content, message.reasoning_text, stream.finish_reason) == (
        wanted["content"],
        wanted["reasoning"],
        reason,
    )
    assert [(call.id, call.name, call.arguments_text) for call in message.tool_calls] == wanted["calls"]
    assert Message.from_any(message.model_dump_wire()).model_dump_wire() == message.model_dump_wire()


def check_message(message: Message) -> None:
    """Whatever arrived: a call that may be run has arguments that parse, and the message can be sent."""
    for call in message.tool_calls:
        assert call.id
        if call.arguments_error is None and call.arguments_text.strip():
            parsed = json.loads(call.arguments_text, strict=False)
            assert parsed is None or isinstance(parsed, dict | str)
    sent = json.dumps(message.for_request(), ensure_ascii=False, allow_nan=False).encode()
    for call in json.loads(sent).get("tool_calls", []):
        assert call.get("custom") or isinstance(json.loads(call["function"]["arguments"]), dict)


def read(body: bytes, where: list[int]) -> None:
    """Reading gives a message or a typed error, in every way of reading."""
    stream = ChatStream.from_bytes(cut(body, where))
    try:
        for _ in stream:
            pass
    except APIError as error:
        assert error.partial is not None and str(error)
        assert all(call.arguments_error for call in error.partial.tool_calls if not call.arguments_text.strip())
    check_message(stream.message)
    json.dumps(stream.accumulator.response().model_dump_wire(), allow_nan=False).encode()
    for attempt in (lambda: parse_response(body), lambda: list(parse_tool_events(cut(body, where)))):
        try:
            attempt()
        except APIError as error:
            str(error).encode()


@st.composite
def mutations(draw: Any) -> bytes:
    """A recorded body with some bytes changed, lost, doubled or put in."""
    body = bytearray(draw(st.sampled_from(BODIES)))
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(body)))
        until = min(len(body), at + draw(st.integers(0, 60)))
        put = draw(st.sampled_from(["flip", "cut", "twice", "put"]))
        if put == "flip" and at < len(body):
            body[at] = draw(st.integers(0, 255))
        elif put == "cut":
            del body[at:until]
        elif put == "twice":
            body[at:at] = body[at:until]
        else:
            body[at:at] = draw(
                st.binary(max_size=8)
                | st.sampled_from([b"\n\n", b"{", b"null", b'"', b"\\ud800", b"data: ", b"\r", b"[DONE]"])
            )
    return bytes(body)


@RELAXED
@given(mutations(), places)
def test_no_mutation_breaks_the_reader_or_makes_a_bad_call_runnable(body: bytes, where: list[int]) -> None:
    read(body, where)


@RELAXED
@given(st.binary(max_size=300), places)
def test_no_bytes_break_the_reader(body: bytes, where: list[int]) -> None:
    read(body, where)


KEYS = [
    "choices",
    "delta",
    "message",
    "tool_calls",
    "function",
    "custom",
    "index",
    "id",
    "type",
    "name",
    "arguments",
    "input",
    "content",
    "text",
]
KEYS += [
    "role",
    "refusal",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "function_call",
    "audio",
    "annotations",
    "logprobs",
    "usage",
]
KEYS += [
    "finish_reason",
    "error",
    "code",
    "prompt_tokens",
    "completion_tokens",
    "prompt_tokens_details",
    "x_groq",
    "object",
    "model",
    "detail",
]
shaped = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 3)
    | st.floats()
    | st.sampled_from(["", "a", "{}", '{"a":', "stop", "length", "\ud800", "error"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=25,
)


def in_choices(value: Any) -> Any:
    """A value as the delta or the message of a choice."""
    return {
        "choices": [{"index": 0, "delta": value}, {"message": value}],
        "usage": value if isinstance(value, dict) else None,
    }


@RELAXED
@given(st.lists(shaped | shaped.map(in_choices), max_size=4), places)
def test_no_json_breaks_the_reader(events: list[Any], where: list[int]) -> None:
    body = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    read(body, where)
    read(body + b"data: [DONE]\n\n", where)
    accumulator = CompletionAccumulator()
    for event in events:
        if isinstance(event, dict):
            accumulator.add_chunk(event)
    check_message(accumulator.message())


@RELAXED
@given(shaped, st.integers(100, 599))
def test_any_body_of_any_status_is_an_error_that_can_be_told(body: Any, status: int) -> None:
    error = api_error(status, {"retry-after": "x"}, json.dumps(body), secrets=["a-secret-of-mine"])
    assert str(error).encode() and isinstance(error.retryable, bool)
    if isinstance(body, dict):
        ChatCompletionResponse.read(body)
        Message.from_any(body)
        extract_tool_result(body) if _is_json(body) else None


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


@RELAXED
@given(st.text(max_size=40) | objects.map(json.dumps) | st.lists(objects.map(json.dumps), max_size=3).map("".join))
def test_arguments_are_always_sent_as_a_json_object(text: str) -> None:
    function = ToolCallFunction(name="f", arguments=text)
    sent = function.model_dump()["arguments"].encode()
    assert isinstance(json.loads(sent, parse_constant=lambda constant: 1 / 0), dict)
    if function.arguments_error is None:
        again = ToolCallFunction(name="f", arguments=sent.decode())
        assert again.arguments_error is None and again.model_dump()["arguments"].encode() == sent


@RELAXED
@given(st.text(max_size=60), st.text("abcXYZ019-_", min_size=8, max_size=30), st.text(max_size=20))
def test_no_piece_of_a_secret_is_left(before: str, secret: str, after: str) -> None:
    shown = redact(before + secret + after, [secret])
    assert secret not in shown
    assert redact(shown, [secret]) == shown

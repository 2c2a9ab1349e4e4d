"""Rows B01 to B25, C01 to C06 and F01 to F07 of the quirks: choices, finish reasons, text, thoughts, usage."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolnexus_nb.openai import APIError, ChatCompletionResponse, Message, StreamError, Usage, parse_response

CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def whole(message: dict[str, Any], finish: str | None = "stop", **more: Any) -> ChatCompletionResponse:
    """A reply that was not streamed."""
    return parse_response(json.dumps({"choices": [{"message": message, "finish_reason": finish}], **more}).encode())


# --- B: choices, finish_reason, roles, content


def test_B01_an_event_without_choices_is_no_error_and_empty_names_do_not_count(wire: Any) -> None:
    first = {"choices": [], "id": "", "model": "", "object": "", "created": 0, "prompt_filter_results": [{"a": 1}]}
    response = wire.hear(wire.sse(first, wire.chunk({"content": "x"}, "stop"))).accumulator.response()
    assert (response.id, response.model, response.message.content) == ("c", "m", "x")
    assert response.extra["prompt_filter_results"] == [{"a": 1}]


def test_B02_usage_after_the_finish_reason_is_read(wire: Any) -> None:
    body = wire.sse(
        wire.chunk({"content": "x"}, "stop"), {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 1}}
    )
    assert wire.hear(body).usage.prompt_tokens == 9


@pytest.mark.parametrize("nothing", [{"choices": None}, {"id": "x"}, {"choices": []}])
def test_B03_no_choices_is_passed_over_in_a_stream_and_an_error_in_a_reply(wire: Any, nothing: dict[str, Any]) -> None:
    assert wire.hear(wire.sse(nothing, wire.chunk({"content": "x"}, "stop"))).message.content == "x"
    with pytest.raises(APIError, match="no choices") as caught:
        parse_response(json.dumps(nothing).encode())
    assert caught.value.raw_body == json.dumps(nothing)


def test_B04_calls_count_also_when_the_reason_is_stop(wire: Any) -> None:
    stream = wire.hear(wire.calls(CALL, finish="stop"))
    assert stream.finish_reason == "stop"
    assert [call.id for call in stream.accumulator.finished_tool_calls()] == ["c1"]


def test_B05_the_reason_tool_calls_without_calls_is_a_final_answer(wire: Any) -> None:
    accumulator = wire.hear(wire.sse(wire.chunk({"content": "x", "tool_calls": []}, "tool_calls"))).accumulator
    assert accumulator.finished_tool_calls() is None and accumulator.finished_content() == "x"


def test_B06_the_first_of_two_reasons_counts(wire: Any) -> None:
    assert (
        wire.hear(wire.sse(wire.chunk({"tool_calls": [CALL]}, "tool_calls"), wire.chunk({}, "stop"))).finish_reason
        == "tool_calls"
    )


def test_B07_no_reason_but_done_is_complete(wire: Any) -> None:
    stream = wire.hear(wire.sse(wire.chunk({"tool_calls": [CALL]}, ""), wire.chunk({}, "")))
    assert stream.finish_reason is None and stream.accumulator.is_complete
    assert stream.message.tool_calls[0].arguments_error is None


@pytest.mark.parametrize("reason", ["eos", "end_turn", "insufficient_system_resource", "error"])
def test_B08_any_reason_is_kept_as_it_is(wire: Any, reason: str) -> None:
    assert wire.hear(wire.sse(wire.chunk({"content": "x"}, reason))).finish_reason == reason
    assert whole({"content": "x"}, reason).choices[0].finish_reason == reason


@pytest.mark.parametrize("arguments", ['{"path":"/t', "", " "])
def test_B09_a_call_cut_by_the_token_limit_can_not_be_run(wire: Any, arguments: str) -> None:
    cut = {"index": 1, "id": "c2", "function": {"name": "g", "arguments": arguments}}
    first, second = wire.hear(wire.calls([CALL, cut], finish="length")).message.tool_calls
    assert first.arguments_error is None
    assert "cut off" in second.arguments_error and second.arguments_text == arguments
    assert whole({"tool_calls": [CALL, cut]}, "length").message.tool_calls[1].arguments_error


def test_B10_cut_arguments_can_not_be_run_whatever_the_reason_says(wire: Any) -> None:
    cut = {"index": 0, "id": "c2", "function": {"name": "g", "arguments": '{"a":"b'}}
    [call] = wire.hear(wire.calls(cut, finish="tool_calls")).message.tool_calls
    assert "not valid JSON" in call.arguments_error


def test_B11_a_filtered_answer_without_content(wire: Any) -> None:
    body = {
        "choices": [
            {
                "finish_reason": "content_filter",
                "index": 0,
                "content_filter_results": {"hate": {}},
                "message": {"role": "assistant"},
            }
        ]
    }
    [choice] = parse_response(json.dumps(body).encode()).choices
    assert (choice.finish_reason, choice.message.content) == ("content_filter", None)
    assert choice.extra["content_filter_results"] == {"hate": {}}


def test_B12_a_refusal_is_no_content(wire: Any) -> None:
    deltas = [{"role": "assistant", "content": None, "refusal": ""}, {"refusal": "I'm "}, {"refusal": "sorry"}]
    stream = wire.hear(wire.sse(*map(wire.chunk, deltas), wire.chunk(finish="stop")))
    assert (stream.message.content, stream.message.refusal) == (None, "I'm sorry")
    assert stream.accumulator.finished_refusal() == "I'm sorry"
    assert stream.accumulator.finished_content() == ""


@pytest.mark.parametrize("roles", [["assistant", None, ""], ["assistant"] * 3, [None] * 3, ["", None, "assistant"]])
def test_B13_the_role_is_said_once_or_never(wire: Any, roles: list[str | None]) -> None:
    body = wire.sse(*[wire.chunk({"role": role, "content": "x"}) for role in roles], wire.chunk(finish="stop"))
    assert wire.hear(body).message.model_dump_wire() == {"role": "assistant", "content": "xxx"}


@pytest.mark.parametrize("content", [{}, {"content": None}, {"content": ""}])
def test_B14_missing_null_and_empty_content_are_the_same(content: dict[str, Any]) -> None:
    message = whole({**content, "tool_calls": [CALL]}, "tool_calls").message
    assert not message.content and message.for_request()["content"] is None


def test_B15_content_may_be_parts_and_change_its_kind(wire: Any) -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    deltas = [{"content": [thinking]}, {"content": [{"type": "text", "text": "1"}, "4"]}, {"content": "4"}]
    message = wire.hear(wire.sse(*map(wire.chunk, deltas), wire.chunk(finish="stop"))).message
    assert (message.content, message.reasoning_text) == ("144", "hm")


def test_B16_unknown_parts_are_no_text_and_are_kept(wire: Any) -> None:
    parts = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "so"}]},
        {"type": "text", "text": "Hi"},
        {"type": "odd", "x": 1},
    ]
    stream = wire.hear(wire.sse(wire.chunk({"content": parts}, "stop")))
    assert (stream.message.content, stream.message.reasoning_text) == ("Hi", "so")
    assert stream.message.other_parts == [{"type": "odd", "x": 1}]
    assert whole({"content": parts}).message.other_parts == [{"type": "odd", "x": 1}]


def test_B17_a_null_or_missing_delta_says_nothing(wire: Any) -> None:
    legacy = {"choices": [{"index": 0, "text": "Hi", "finish_reason": None}]}
    null = {"choices": [{"index": 0, "delta": None, "finish_reason": None}]}
    assert wire.hear(wire.sse(legacy, null, wire.chunk({"content": "x"}, "stop"))).message.content == "x"


def test_B18_a_delta_beside_a_message_counts_alone(wire: Any) -> None:
    def both(delta: str, message: str) -> dict[str, Any]:
        return {"choices": [{"index": 0, "delta": {"content": delta}, "message": {"content": message}}]}

    assert wire.hear(wire.sse(both("a", "a"), both("b", "ab"), wire.chunk(finish="stop"))).message.content == "ab"


def test_B19_unknown_keys_of_a_delta_do_not_break_and_the_last_value_counts(wire: Any) -> None:
    deltas = [{"content": "x", "token_id": 1, "seen": "a"}, {"content": "y", "token_id": 2, "seen": "b"}]
    message = wire.hear(wire.sse(*map(wire.chunk, deltas), wire.chunk(finish="stop"))).message
    assert (message.content, message.extra) == ("xy", {"seen": "b"})


def test_B20_padding_is_no_part_of_the_reply(wire: Any) -> None:
    body = wire.sse(wire.chunk({"content": "x"}, "stop", obfuscation="aaaa", p="bb"))
    assert wire.hear(body).accumulator.response().extra == {}


def test_B21_the_last_model_that_is_named_counts(wire: Any) -> None:
    chunks = [{**wire.chunk({"content": "x"}), "model": model} for model in ("", "gpt-5-nano", "")]
    assert (
        wire.hear(wire.sse(*chunks, {**wire.chunk(finish="stop"), "model": ""})).accumulator.response().model
        == "gpt-5-nano"
    )


def test_B22_a_choice_that_never_gets_a_reason_is_complete_with_done(wire: Any) -> None:
    body = wire.sse(wire.chunk({"content": "a"}), wire.chunk({"content": "b"}, index=1), wire.chunk({}, "stop"))
    choices = wire.hear(body).accumulator.choices
    assert [(choice.message.content, choice.finish_reason) for choice in choices] == [("a", "stop"), ("b", None)]


def test_B23_text_beside_a_delta_is_ignored(wire: Any) -> None:
    choice = {"index": 0, "text": "Hi", "seed": None, "delta": {"token_id": 16, "role": "assistant", "content": "Hi"}}
    assert wire.hear(wire.sse({"choices": [choice]}, wire.chunk(finish="stop"))).message.content == "Hi"


def test_B24_nulls_and_nan_in_logprobs(wire: Any) -> None:
    logprobs = b'{"content":[{"token":"x","logprob":-Infinity}],"refusal":null}'
    event = b'data: {"choices":[{"index":0,"delta":{"content":"x"},"logprobs":' + logprobs + b"}]}\n\n"
    null = {"choices": [{"index": 0, "delta": {}, "logprobs": {"content": None, "refusal": None}}]}
    response = wire.hear(wire.sse(event, null, wire.chunk(finish="stop"))).accumulator.response()
    assert response.choices[0].logprobs["content"][0]["token"] == "x"
    json.loads(response.model_dump_json(), parse_constant=pytest.fail)


def test_B24_logprobs_of_several_chunks_are_one_list(wire: Any) -> None:
    chunks = [
        {"choices": [{"index": 0, "delta": {"content": t}, "logprobs": {"content": [{"token": t}]}}]} for t in "ab"
    ]
    [choice] = wire.hear(wire.sse(*chunks, wire.chunk(finish="stop"))).accumulator.choices
    assert [item["token"] for item in choice.logprobs["content"]] == ["a", "b"]


def test_B25_lists_grow(wire: Any) -> None:
    cites = [{"type": "url_citation", "url_citation": {"url": f"https://e.org/{n}"}} for n in (1, 2)]
    chunks = [wire.chunk({"content": "x", "annotations": [cite]}) for cite in cites]
    message = wire.hear(wire.sse(*chunks, wire.chunk(finish="stop"))).message
    assert message.annotations == cites
    assert "annotations" not in message.for_request()


def test_audio_that_comes_in_pieces_is_joined(wire: Any) -> None:
    pieces = [{"id": "a1"}, {"data": "AA"}, {"transcript": "he"}, {"data": "BB", "transcript": "y"}, {"expires_at": 5}]
    message = wire.hear(
        wire.sse(*[wire.chunk({"audio": piece}) for piece in pieces], wire.chunk(finish="stop"))
    ).message
    assert message.audio == {"id": "a1", "data": "AABB", "transcript": "hey", "expires_at": 5}


# --- C: reasoning and provider extras


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_C01_C02_thoughts_are_no_content_and_keep_their_key(wire: Any, key: str) -> None:
    deltas = [{key: "H", "content": None}, {key: "m"}, {"content": "4", key: None}]
    stream = wire.hear(wire.sse(*map(wire.chunk, deltas), wire.chunk(finish="stop")))
    assert (stream.message.content, stream.message.reasoning_text, stream.accumulator.reasoning) == ("4", "Hm", "Hm")
    assert stream.message.for_request() == {"role": "assistant", "content": "4", key: "Hm"}


def test_C02_copies_of_a_thought_count_once(wire: Any) -> None:
    details = [{"type": "reasoning.text", "text": "Hm", "index": 0}]
    delta = {"reasoning_content": "Hm", "reasoning": "Hm", "reasoning_details": details}
    stream = wire.hear(wire.sse(wire.chunk(delta, "stop")))
    assert stream.accumulator.reasoning == stream.message.reasoning_text == "Hm"


def test_C03_reasoning_details_are_merged_and_sent_back(wire: Any) -> None:
    pieces = [
        {"type": "reasoning.text", "text": "a", "index": 0},
        {"type": "reasoning.text", "text": "b", "signature": "s", "index": 0},
        {"type": "reasoning.encrypted", "data": "…", "id": "r1", "format": "g", "index": 1},
    ]
    body = wire.sse(*[wire.chunk({"reasoning_details": [piece]}) for piece in pieces], wire.chunk(finish="stop"))
    message = wire.hear(body).message
    joined = [{"type": "reasoning.text", "text": "ab", "signature": "s", "index": 0}, pieces[2]]
    assert message.for_request()["reasoning_details"] == message.reasoning_details
    assert [{**item} for item in message.reasoning_details] == joined
    assert message.reasoning_text == "ab"


def test_C04_thoughts_go_back_with_the_call_as_received(wire: Any) -> None:
    message = wire.hear(
        wire.sse(wire.chunk({"reasoning_content": " Hm\n"}), wire.chunk({"tool_calls": [CALL]}, "tool_calls"))
    ).message
    assert message.for_request()["reasoning_content"] == " Hm\n"


@pytest.mark.parametrize("streamed", [True, False])
def test_C05_unknown_keys_of_calls_and_message_survive(wire: Any, streamed: bool) -> None:
    signed = {**CALL, "extra_content": {"google": {"thought_signature": "Eo"}}}
    said = {"tool_calls": [signed], "extra_content": {"x": 1}}
    message = wire.hear(wire.sse(wire.chunk(said, "tool_calls"))).message if streamed else whole(said).message
    sent = message.for_request()
    assert sent["extra_content"] == {"x": 1}
    assert sent["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "Eo"}}
    assert Message.from_any(sent).for_request() == sent


def test_C06_inline_thoughts_stay_in_the_content(wire: Any) -> None:
    text = "<think>\nhm</think>\n\n4"
    assert wire.hear(wire.sse(wire.chunk({"content": text}, "stop"))).message.content == text


# --- F: usage


def report(**numbers: Any) -> dict[str, Any]:
    """A usage object."""
    return {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7, **numbers}


def test_F01_null_never_replaces_a_report(wire: Any) -> None:
    chunks = [wire.chunk({"content": "x"}, usage=None), wire.chunk({}, "stop", usage=None)]
    last = [{"choices": [], "usage": report()}, {"choices": [], "usage": None}]
    assert wire.hear(wire.sse(*chunks, *last)).usage.model_dump() == report()


def test_F02_the_last_of_growing_reports_counts_and_null_numbers_do_no_harm(wire: Any) -> None:
    body = wire.sse(
        wire.chunk({"content": "x"}, usage={"prompt_tokens": 5, "completion_tokens": None, "total_tokens": None}),
        wire.chunk({"content": "x"}, usage=report(completion_tokens=1)),
        wire.chunk({}, "stop", usage=report(completion_tokens=2)),
    )
    assert wire.hear(body).usage.model_dump() == report(completion_tokens=2)


def test_F02_null_numbers_read_as_zero() -> None:
    usage = Usage.read(
        {"prompt_tokens": 5, "completion_tokens": None, "prompt_tokens_details": {"cached_tokens": None}}
    )
    assert (usage.completion_tokens, usage.cached_tokens, usage.reasoning_tokens) == (0, 0, 0)
    assert usage.model_dump() == {"prompt_tokens": 5, "prompt_tokens_details": {}}


@pytest.mark.parametrize(("also", "prompt"), [(True, 5), (False, 3)])
def test_F03_groq_usage_counts_only_without_a_report(wire: Any, also: bool, prompt: int) -> None:
    groq = wire.chunk({"content": "x"}, "stop", x_groq={"id": "r", "usage": {"prompt_tokens": 3}})
    more = [{"choices": [], "usage": report()}] if also else []
    assert wire.hear(wire.sse(groq, *more)).usage.prompt_tokens == prompt


def test_F04_usage_beside_or_inside_the_choice(wire: Any) -> None:
    inside = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": report()}]}
    assert wire.hear(wire.sse(wire.chunk({"content": "x"}), inside)).usage.model_dump() == report()
    assert wire.hear(wire.sse(wire.chunk({"content": "x"}, "stop", usage=report()))).usage.model_dump() == report()


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": 0, "completion_tokens": 0}])
def test_F05_no_usage_and_zeros_are_no_trouble(wire: Any, usage: Any) -> None:
    got = wire.hear(wire.sse(wire.chunk({"content": "x"}, "stop", usage=usage))).usage
    assert got is None or got.model_dump() == usage
    assert (Usage() + got).total_tokens == 0


def test_F06_details_are_passed_on_and_not_added() -> None:
    sent = report(completion_tokens_details={"reasoning_tokens": 40}, cost=0.25, timings={"ms": 1.5}, seats=None)
    usage = whole({"content": "x"}, usage=sent).usage
    assert (usage.completion_tokens, usage.reasoning_tokens) == (2, 40)
    assert usage.model_dump() == {key: value for key, value in sent.items() if value is not None}


def test_F07_a_chunk_without_usage_does_not_erase_it_and_unknown_keys_are_kept(wire: Any) -> None:
    body = wire.sse(
        wire.chunk({}, "stop", usage=report()), wire.chunk(), {"choices": [], "moderation": {"ok": True}, "usage": None}
    )
    accumulator = wire.hear(body).accumulator
    assert accumulator.usage.model_dump() == report()
    assert accumulator.response().extra == {"moderation": {"ok": True}}


def test_usage_adds_up_over_rounds() -> None:
    one = Usage.read(report(prompt_tokens_details={"cached_tokens": 1}, cost=0.5))
    other = Usage(prompt_tokens=1, completion_tokens=1, estimated=True)
    total = sum([one, other, one], start=Usage())
    assert (total.prompt_tokens, total.completion_tokens, total.total_tokens) == (11, 5, 16)
    assert total.cached_tokens == 2 and total.extra == {"cost": 1.0} and total.estimated
    assert sum([one, one]).total_tokens == 14
    assert str(total) == "16 tokens (11 prompt + 5 completion), estimated"


def test_an_answer_without_an_end_is_an_error_also_as_a_whole_body(wire: Any) -> None:
    with pytest.raises(StreamError):
        parse_response(wire.sse(wire.chunk({"content": "x"}), done=False))

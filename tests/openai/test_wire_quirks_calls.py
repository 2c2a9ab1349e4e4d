"""Rows A01 to A30 of the quirks: which call a delta belongs to, and what becomes of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from toolnexus_nb.openai import CompletionAccumulator, StreamError, parse_response

Called = Callable[..., list[tuple[str, str, dict[str, Any]]]]


def function(name: str | None = None, arguments: Any = None, **keys: Any) -> dict[str, Any]:
    """One entry of `delta.tool_calls`; what is None is left out."""
    body = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {**keys, "function": body}


def whole(message: dict[str, Any], finish: str | None = "tool_calls") -> Any:
    """A reply that was not streamed."""
    body = {
        "id": "r",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }
    return parse_response(json.dumps(body).encode())


def test_A01_a_delta_without_index_is_a_call(called: Called) -> None:
    assert called(function("add", '{"a":1}', id="c1", type="function")) == [("c1", "add", {"a": 1})]


def test_A02_a_null_index_is_no_index(called: Called) -> None:
    first = function("sq", "", index=None, id="c1")
    assert called(first, function(None, '{"x":2}', index=None)) == [("c1", "sq", {"x": 2})]


def test_A03_a_new_id_and_a_name_at_a_used_index_are_a_new_call(called: Called) -> None:
    first = function("w", '{"city":"A"}', index=0, id="c1")
    second = function("w", '{"city":"B"}', index=0, id="c2")
    assert called(first, second) == [("c1", "w", {"city": "A"}), ("c2", "w", {"city": "B"})]


def test_A03_also_when_both_calls_have_no_arguments(called: Called) -> None:
    deltas = [function("now", "", index=0, id=name) for name in ("c1", "c2")]
    assert called(*deltas) == [("c1", "now", {}), ("c2", "now", {})]


def test_A04_a_name_after_complete_arguments_is_a_new_call_also_without_ids(called: Called) -> None:
    deltas = [function("read", f'{{"p":{number}}}', index=0) for number in (1, 2)]
    (id1, *first), (id2, *second) = called(*deltas)
    assert (first, second) == (["read", {"p": 1}], ["read", {"p": 2}])
    assert id1 and id2 and id1 != id2


def test_A05_several_calls_in_one_delta_without_index(called: Called) -> None:
    assert called([function("a", "{}", id="c1"), function("b", "{}", id="c2")]) == [("c1", "a", {}), ("c2", "b", {})]


def test_A05_without_ids_the_position_in_the_delta_decides(called: Called) -> None:
    opening = [function("a", '{"x":'), function("b", '{"y":')]
    rest = [function(None, "1}"), function(None, "2}")]
    assert [call[1:] for call in called(opening, rest)] == [("a", {"x": 1}), ("b", {"y": 2})]


def test_A06_empty_strings_mean_absent(called: Called) -> None:
    first = function("calc", "{", index=0, id="c1")
    assert called(first, function("", '"x":1}', index=0, id="", type="")) == [("c1", "calc", {"x": 1})]


def test_A07_an_id_and_a_name_repeated_in_every_delta_count_once(called: Called) -> None:
    deltas = [function("add", piece, index=0, id="c1") for piece in ("", '{"a"', ":1", "}")]
    assert called(*deltas) == [("c1", "add", {"a": 1})]


def test_A08_a_name_in_fragments_is_joined(called: Called) -> None:
    first = function("get_", index=0, id="c1")
    assert called(first, function("weather", "", index=0)) == [("c1", "get_weather", {})]


def test_A08_declared_names_tell_fragments_from_names(called: Called) -> None:
    deltas = [function("get_", index=0, id="c1"), function("get_weather", "{}", index=0)]
    assert called(*deltas, tool_names=["get_weather"]) == [("c1", "get_weather", {})]


@pytest.mark.parametrize("index", [{"index": 0}, {}])
def test_A08_two_declared_names_without_arguments_are_two_calls(called: Called, index: dict[str, int]) -> None:
    deltas = [function("now", "", **index), function("today", "", **index)]
    assert [call[1:] for call in called(*deltas, tool_names=["now", "today"])] == [("now", {}), ("today", {})]


def test_A09_arguments_before_the_name_are_kept(called: Called) -> None:
    first = function(None, '{"q":', id="c1")
    assert called(first, function("search", "1}", id="c1")) == [("c1", "search", {"q": 1})]


def test_A10_a_leading_empty_object_is_a_placeholder(called: Called) -> None:
    deltas = [
        function("f", "{}", index=0, id="c1"),
        function(None, '{"city":', index=0),
        function(None, '"P"}', index=0),
    ]
    assert called(*deltas) == [("c1", "f", {"city": "P"})]


def test_A11_objects_packed_into_one_call_are_several_calls(called: Called) -> None:
    (id1, *first), (id2, *second) = called(function("f", '{"u":1}{"u":2}', index=0, id="c1"))
    assert id1 == "c1" and id2 not in ("", "c1")
    assert (first, second) == (["f", {"u": 1}], ["f", {"u": 2}])


def test_A11_the_ids_of_parted_calls_stay_the_same() -> None:
    accumulator = CompletionAccumulator()
    delta = {"tool_calls": [function("f", '{"u":1}{"u":2}', index=0, id="c1")]}
    accumulator.add_chunk({"choices": [{"index": 0, "delta": delta}]})
    assert [call.id for call in accumulator.tool_calls] == [call.id for call in accumulator.tool_calls]


def test_A12_a_whole_call_in_the_chunk_that_ends_the_answer(wire: Any) -> None:
    delta = {"tool_calls": [function("f", '{"a":1}', index=0, id="c1")]}
    stream = wire.hear(wire.sse(wire.chunk(delta, "tool_calls")))
    assert [wire.brief(call) for call in stream.message.tool_calls] == [("f", '{"a":1}', True)]
    assert stream.finish_reason == "tool_calls"


def test_A13_no_index_no_type_and_everything_in_one_chunk(wire: Any) -> None:
    delta = {"tool_calls": [function("f", "{}", id="Ab3dE6gH9")]}
    stream = wire.hear(wire.sse(wire.chunk(delta, "tool_calls", usage={"prompt_tokens": 3, "completion_tokens": 1})))
    [call] = stream.message.tool_calls
    assert (call.id, call.type, stream.usage.prompt_tokens) == ("Ab3dE6gH9", "function", 3)


@pytest.mark.parametrize("streamed", [True, False])
def test_A14_an_empty_id_is_replaced(wire: Any, streamed: bool) -> None:
    entry = function("t", "{}", id="", type="function")
    message = (
        wire.hear(wire.calls(entry)).message
        if streamed
        else whole({"role": "assistant", "tool_calls": [entry]}).message
    )
    [call] = message.tool_calls
    assert re.fullmatch(r"call_[0-9a-f]{24}", call.id)
    assert message.for_request()["tool_calls"][0]["id"] == call.id


def test_A15_ids_are_opaque_and_sent_back_as_they_are(called: Called) -> None:
    assert called(function("ls", "{}", index=0, id="functions.ls:0"))[0][0] == "functions.ls:0"


def test_A16_two_calls_with_one_id_get_two() -> None:
    entries = [function("w", f'{{"n":{number}}}', id="call_w", type="function") for number in (1, 2)]
    first, second = whole({"role": "assistant", "tool_calls": entries}).message.tool_calls
    assert (first.id, first.arguments) == ("call_w", {"n": 1})
    assert second.id not in ("", "call_w") and second.arguments == {"n": 2}


def test_A16_an_id_that_another_call_has_is_replaced_at_once_and_for_good() -> None:
    accumulator = CompletionAccumulator()
    told = []
    for index, arguments in ((0, "{}"), (1, '{"n":'), (1, "2}")):
        delta = {"tool_calls": [function("w", arguments, index=index, id="call_w")]}
        accumulator.add_chunk({"choices": [{"index": 0, "delta": delta}]})
        told += [piece.id for piece in accumulator.touched]
    first, second = accumulator.tool_calls
    assert (first.id, second.arguments) == ("call_w", {"n": 2})
    assert told == [first.id, second.id, second.id]


def test_A17_another_id_without_a_name_continues_the_call(called: Called) -> None:
    first = function("f", '{"a', index=0, id="x1")
    assert called(first, function(None, '":1}', index=0, id="x2")) == [("x1", "f", {"a": 1})]


def test_A18_null_arguments_add_nothing(wire: Any, called: Called) -> None:
    entry = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": None}}
    assert called(entry) == [("c1", "f", {})]


@pytest.mark.parametrize("streamed", [True, False])
def test_A19_arguments_that_are_an_object(wire: Any, streamed: bool) -> None:
    entry = function("f", {"city": "Paris"}, id="c1", type="function")
    message = (
        wire.hear(wire.calls(entry)).message
        if streamed
        else whole({"role": "assistant", "tool_calls": [entry]}).message
    )
    [call] = message.tool_calls
    assert call.arguments == {"city": "Paris"}
    assert message.for_request()["tool_calls"][0]["function"]["arguments"] == '{"city":"Paris"}'


@pytest.mark.parametrize("arguments", ["", "  \n", None])
def test_A20_no_arguments_are_an_empty_object_and_are_sent_as_one(wire: Any, arguments: str | None) -> None:
    message = wire.hear(wire.calls(function("f", arguments, index=0, id="c1"))).message
    [call] = message.tool_calls
    assert call.arguments == {} and call.arguments_error is None
    assert message.for_request()["tool_calls"][0]["function"]["arguments"] == "{}"


def test_A21_every_key_of_a_delta_may_be_missing(called: Called) -> None:
    deltas = [
        function("f", "{", index=0, id="c1"),
        function(None, "}", index=0),
        {"index": 0},
        {"index": 0, "function": None},
    ]
    assert called(*deltas) == [("c1", "f", {})]


@pytest.mark.parametrize("nothing", [[], None])
def test_A22_empty_tool_calls_are_none(wire: Any, nothing: Any) -> None:
    message = wire.hear(
        wire.sse(wire.chunk({"content": "Hi", "tool_calls": nothing}), wire.chunk(finish="stop"))
    ).message
    assert message.model_dump_wire() == {"role": "assistant", "content": "Hi"}
    assert "tool_calls" not in whole({"content": "Hi", "tool_calls": nothing}, "stop").message.model_dump_wire()


def test_A23_choices_that_are_one_are_merged() -> None:
    entry = function("f", "{}", id="c1", type="function")
    first = {"index": 0, "message": {"content": "Let me look"}, "finish_reason": "stop"}
    second = {"index": 0, "message": {"tool_calls": [entry]}, "finish_reason": "tool_calls"}
    [choice] = parse_response(json.dumps({"choices": [first, second]}).encode()).choices
    assert choice.message.content == "Let me look"
    assert [call.id for call in choice.message.tool_calls] == ["c1"]
    assert choice.finish_reason == "tool_calls"


def test_A24_choices_do_not_leak_into_each_other(wire: Any) -> None:
    def delta(index: int, arguments: str, **keys: Any) -> dict[str, Any]:
        return wire.chunk(
            {"tool_calls": [function(None if keys == {} else "f", arguments, index=0, **keys)]}, index=index
        )

    body = wire.sse(
        delta(1, '{"c":', id="same"), delta(0, '{"c":', id="same"), delta(1, "1}"), delta(0, "0}"),
        wire.chunk(finish="tool_calls", index=1), wire.chunk(finish="tool_calls"),
    )  # fmt: skip
    choices = wire.hear(body).accumulator.choices
    assert [(choice.index, choice.message.tool_calls[0].arguments) for choice in choices] == [
        (0, {"c": 0}),
        (1, {"c": 1}),
    ]
    assert {choice.message.tool_calls[0].id for choice in choices} == {"same"}


def test_A25_a_custom_call_is_kept_and_can_not_be_run(wire: Any) -> None:
    entry = {"index": 0, "id": "c1", "type": "custom", "custom": {"name": "sql", "input": "SELECT"}}
    more = {"index": 0, "custom": {"input": " 1"}}
    message = wire.hear(wire.calls(entry, more)).message
    [call] = message.tool_calls
    assert (call.type, call.name, call.arguments_text) == ("custom", "sql", "SELECT 1")
    assert call.arguments_error and call.arguments == {}
    sent = message.for_request()["tool_calls"]
    assert sent == [{"id": "c1", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}]


def test_A25_a_null_custom_beside_a_function_is_nothing(called: Called) -> None:
    assert called({**function("f", "{}", index=0, id="c1"), "custom": None}) == [("c1", "f", {})]


def test_A26_a_legacy_function_call_is_a_tool_call(wire: Any) -> None:
    deltas = [{"function_call": {"name": "f", "arguments": '{"a"'}}, {"function_call": {"arguments": ":1}"}}]
    stream = wire.hear(wire.sse(*map(wire.chunk, deltas), wire.chunk(finish="function_call")))
    [call] = stream.message.tool_calls
    assert (call.name, call.arguments, stream.finish_reason) == ("f", {"a": 1}, "function_call")
    assert call.id.startswith("call_")
    assert whole({"content": None, "function_call": {"name": "f", "arguments": "{}"}}).message.tool_calls[0].name == "f"


@pytest.mark.parametrize("noise", [None, {"name": "", "arguments": ""}])
def test_A26_an_empty_function_call_is_noise(wire: Any, noise: Any) -> None:
    body = wire.sse(wire.chunk({"content": "x", "function_call": noise}), wire.chunk(finish="stop"))
    assert not wire.hear(body).message.tool_calls


def test_A27_a_packed_parallel_call_arrives_whole(called: Called) -> None:
    arguments = {"tool_uses": [{"recipient_name": "functions.add", "parameters": {"a": 1}}]}
    entry = function("multi_tool_use.parallel", json.dumps(arguments), index=0, id="c1")
    assert called(entry) == [("c1", "multi_tool_use.parallel", arguments)]


def test_A28_indices_are_labels_not_positions(wire: Any) -> None:
    body = wire.calls(function("read", "", index=1, id="t1"), function(None, "{}", index=1))
    stream = wire.hear(body)
    assert [call.id for call in stream.message.tool_calls] == ["t1"]
    assert stream.accumulator.finished_tool_call().id == "t1"


def test_A28_the_order_is_that_of_first_appearance(called: Called) -> None:
    deltas = [function("b", "{", index=7, id="c7"), function("a", "{}", index=2, id="c2"), function(None, "}", index=7)]
    assert called(*deltas) == [("c7", "b", {}), ("c2", "a", {})]


@pytest.mark.parametrize("streamed", [True, False])
def test_A29_zero_values_mean_absent(wire: Any, streamed: bool) -> None:
    entry = {"index": 0, "id": "c1", "type": "function", "custom": {"input": "", "name": ""}}
    entry["function"] = {"name": "f", "arguments": "{}"}
    said = {
        "content": "", "refusal": "", "function_call": {"arguments": "", "name": ""},
        "audio": {"id": "", "data": "", "transcript": "", "expires_at": 0}, "tool_calls": [entry],
    }  # fmt: skip
    body = (
        wire.sse(wire.chunk(said, ""))
        if streamed
        else json.dumps({"choices": [{"message": said, "finish_reason": ""}]}).encode()
    )
    response = wire.hear(body).accumulator.response() if streamed else parse_response(body)
    [choice] = response.choices
    assert choice.finish_reason is None
    assert choice.message.for_request() == {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    }


@pytest.mark.parametrize("end", [b'data: {"error":{"message":"list index out of range"}}\n\n', b""])
def test_A30_a_stream_that_dies_in_a_call_leaves_the_call_unusable(wire: Any, end: bytes) -> None:
    body = wire.calls(function("f", '{"a":', index=0, id="c1"), finish=None, done=False) + end
    with pytest.raises(StreamError) as caught:
        wire.hear(body)
    [call] = caught.value.partial.tool_calls
    assert "cut off" in call.arguments_error and call.arguments_text == '{"a":'


def test_a_call_without_arguments_in_a_broken_stream_is_not_complete(wire: Any) -> None:
    with pytest.raises(StreamError) as caught:
        wire.hear(wire.calls(function("delete_all", "", index=0, id="c1"), finish=None, done=False))
    assert caught.value.partial.tool_calls[0].arguments_error


def test_a_nameless_call_is_kept_so_that_it_can_be_answered_G10(wire: Any) -> None:
    [call] = wire.hear(wire.calls(function("", "{}", index=0, id="c1"))).message.tool_calls
    assert (call.id, call.name) == ("c1", "")

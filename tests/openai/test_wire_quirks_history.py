"""Rows G and I of the quirks, as far as they concern this floor: arguments that are odd, and what goes back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolnexus_nb.openai import Message, ToolCallFunction

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def streamed(wire: Any, *pieces: str) -> Any:
    """The one call of a stream whose arguments come in these pieces."""
    head = {"index": 0, "id": "c1", "function": {"name": "f", "arguments": ""}}
    deltas = [head, *[{"index": 0, "function": {"arguments": piece}} for piece in pieces]]
    [call] = wire.hear(wire.calls(*deltas)).message.tool_calls
    return call


def test_G01_a_parse_error_is_data_and_keeps_the_text(wire: Any) -> None:
    call = streamed(wire, '{"action": list', '_windows"}')
    assert call.arguments_text == '{"action": list_windows"}' and "not valid JSON" in call.arguments_error


def test_G04_a_surrogate_pair_cut_between_deltas_is_one_letter(wire: Any) -> None:
    assert streamed(wire, '{"t":"\\ud83d', '\\ude00"}').arguments == {"t": "😀"}


@pytest.mark.parametrize(
    ("text", "value"),
    [("null", {}), ('"{\\"a\\":1}"', {"a": 1}), ('"{}"', {}), ("  ", {}), ('{"a":null}', {"a": None})],
)
def test_G05_what_means_an_object_is_one(wire: Any, text: str, value: Any) -> None:
    call = streamed(wire, text)
    assert (call.arguments, call.arguments_error) == (value, None)


@pytest.mark.parametrize(
    ("text", "kind"), [("[]", "a list"), ('"text"', None), ("12", "a number"), ("true", "true or false")]
)
def test_G05_anything_else_is_an_error_that_says_what_was_expected(wire: Any, text: str, kind: str | None) -> None:
    error = streamed(wire, text).arguments_error
    assert error and (kind is None or error == f"the arguments must be a JSON object, not {kind}")


def test_G07_a_call_written_as_text_is_text(wire: Any) -> None:
    text = '<tool_call>\n{"name":"f","arguments":{}}\n</tool_call>'
    message = wire.hear(wire.sse(wire.chunk({"content": text}, "stop"))).message
    assert message.content == text and message.tool_calls == []


def test_I03_content_is_null_beside_calls_and_empty_without() -> None:
    assert Message.from_any({"role": "assistant", "tool_calls": [CALL]}).for_request()["content"] is None
    assert Message.from_any({"role": "assistant", "content": "", "tool_calls": [CALL]}).for_request()["content"] is None
    assert Message.from_any({"role": "assistant"}).for_request() == {"role": "assistant", "content": ""}


def test_I04_I10_what_a_request_does_not_have_is_left_out() -> None:
    received = {
        "role": "assistant",
        "content": "x",
        "tool_calls": [],
        "function_call": None,
        "refusal": None,
        "audio": None,
        "annotations": [],
    }
    assert Message.from_any(received).for_request() == {"role": "assistant", "content": "x"}
    called = Message.from_any({"role": "assistant", "tool_calls": [{**CALL, "index": 0}]})
    assert called.for_request()["tool_calls"] == [CALL]


@pytest.mark.parametrize("content", [{"a": 1}, ["x", None], 5, True])
def test_I05_the_result_of_a_tool_is_a_text(content: Any) -> None:
    assert Message.tool("c", content).content == json.dumps(content, separators=(",", ":"))


@pytest.mark.parametrize("arguments", ['{"a": ', "", "[1]", {"a": 1}, None, "nonsense"])
def test_I06_I07_arguments_go_back_as_the_text_of_an_object(arguments: Any) -> None:
    sent = ToolCallFunction(name="f", arguments=arguments).model_dump()["arguments"]
    assert isinstance(sent, str) and isinstance(json.loads(sent), dict)

"""What is wrong with a request is said with the field, as a 400."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolnexus_nb.serve.chat_request import read_chat_request
from toolnexus_nb.serve.problems import Problem

HI = [{"role": "user", "content": "hi"}]
TOOL = {"type": "function", "function": {"name": "mine", "parameters": {"type": "object", "properties": {}}}}


def body(**fields: Any) -> bytes:
    return json.dumps({"model": "m", "messages": HI, **fields}).encode()


def problem(raw: bytes, served: set[str] = frozenset()) -> Problem:  # type: ignore[assignment]
    with pytest.raises(Problem) as caught:
        read_chat_request(raw, served)
    assert caught.value.status == 400
    assert set(caught.value.body()["error"]) == {"message", "type", "param", "code"}
    return caught.value


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff\xfe", b"[1]", b'"x"', b"null", b"[" * 100_000])
def test_a_body_that_is_no_json_object(raw: bytes) -> None:
    assert problem(raw).code == "invalid_json"


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"messages": []}, "messages"),
        ({"messages": None}, "messages"),
        ({"messages": "hi"}, "messages"),
        ({"messages": [{"content": "x"}]}, "messages[0].role"),
        ({"messages": [*HI, {"role": "robot", "content": "x"}]}, "messages[1].role"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].tool_call_id"),
        ({"temperature": "hot"}, "temperature"),
        ({"max_tokens": "many"}, "max_tokens"),
        ({"stream": "maybe"}, "stream"),
        ({"stream_options": 3}, "stream_options"),
        ({"extra_body": 3}, "extra_body"),
        ({"n": 0}, "n"),
        ({"n": "two"}, "n"),
        ({"tools": "all"}, "tools"),
        ({"tools": [{}]}, "tools[0].function.name"),
        ({"tools": [TOOL, TOOL]}, "tools[1].function.name"),
        ({"functions": [{"name": "f"}]}, "functions"),
        ({"tool_choice": {"type": "function", "function": {"name": "nobody"}}}, "tool_choice"),
    ],
)
def test_a_field_of_the_wrong_kind_is_named(fields: dict[str, Any], param: str) -> None:
    found = problem(body(**fields))
    assert found.param == param
    assert found.message


def test_a_tool_with_the_name_of_a_served_one_is_refused() -> None:
    found = problem(body(tools=[TOOL]), {"mine"})
    assert found.code == "tool_name_conflict" and "mine" in found.message


def test_custom_tools_go_to_the_model_only_where_no_tools_run() -> None:
    custom = {"type": "custom", "custom": {"name": "grep"}}
    assert problem(body(tools=[custom]), {"add"}).param == "tools[0].type"
    assert read_chat_request(body(tools=[custom]), ()).tools == [custom]


def test_several_replies_are_refused_where_tools_run() -> None:
    assert problem(body(n=2), {"add"}).param == "n"
    assert read_chat_request(body(n=2), ()).params["n"] == 2
    assert "n" not in read_chat_request(body(n=1), {"add"}).params


def test_everything_else_goes_to_the_model_as_it_is() -> None:
    request = read_chat_request(
        body(temperature=0.5, stop=["x"], seed=7, top_k=3, tools=[TOOL], stream=True, metadata={"a": "b"}, user=None,
             stream_options={"include_usage": True}, extra_body={"min_p": 0.1}), {"add"}
    )  # fmt: skip
    assert request.params == {
        "temperature": 0.5,
        "stop": ["x"],
        "seed": 7,
        "top_k": 3,
        "metadata": {"a": "b"},
        "min_p": 0.1,
    }
    assert request.tools == [TOOL]
    assert request.stream and request.include_usage
    assert request.model == "m"


def test_a_minimal_body_is_enough() -> None:
    request = read_chat_request(json.dumps({"messages": HI}).encode(), ())
    assert (request.stream, request.include_usage, request.tools, request.params) == (False, False, [], {})

"""A Python function as the model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from toolnexus_nb.openai.errors import APIError, ServerError
from toolnexus_nb.rounds.chat import Chat
from toolnexus_nb.rounds.connectors import connect
from toolnexus_nb.rounds.setup_error import SetupError

Messages = list[dict[str, Any]]


def says(result: Any, toolkit: Any = None) -> Any:
    return Chat(connect(result), toolkit).ask_sync("hi")


def test_text_is_the_answer() -> None:
    result = says(lambda messages: f"you said {messages[-1]['content']}")
    assert result.text == "you said hi"
    assert result.usage.estimated


def test_calls_are_run_and_the_function_is_asked_again(toolkit: Any) -> None:
    def generate(messages: Messages, tools: list[Any]) -> Any:
        if messages[-1]["role"] == "tool":
            return f"it is {messages[-1]['content']}"
        assert [tool["function"]["name"] for tool in tools] == ["add", "get_weather"]
        return [("add", {"a": 1, "b": 2}), ("get_weather", {"city": "Oslo"})]

    result = says(generate, toolkit)
    assert [(record.call.name, record.state) for record in result.calls] == [("add", "done"), ("get_weather", "done")]
    assert result.text == "it is sunny in Oslo"


def test_pieces_stream(toolkit: Any) -> None:
    def generate(messages: Messages) -> Iterator[Any]:
        yield {"reasoning": "hm"}
        yield "one "
        yield "two"
        yield {"usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}}

    result = says(generate)
    assert result.text == "one two"
    assert result.reasoning == "hm"
    assert result.usage.total_tokens == 5
    assert not result.usage.estimated
    assert len(result.wire()[0].chunks) >= 4


def test_a_long_conversation_is_counted_once_and_not_for_each_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    from toolnexus_nb.models import in_process

    counted: list[str] = []
    count = in_process.estimated_usage
    monkeypatch.setattr(in_process, "estimated_usage", lambda body, said: counted.append(said) or count(body, said))
    result = says(lambda messages: (f"{number} " for number in range(50)))
    assert result.usage.estimated and result.usage.completion_tokens == 50
    assert len(counted) == 1


def test_async_functions_and_async_generators() -> None:
    async def plain(messages: Messages) -> str:
        return "plain"

    async def pieces(messages: Messages) -> AsyncIterator[str]:
        yield "pie"
        yield "ces"

    assert says(plain).text == "plain"
    assert says(pieces).text == "pieces"


def test_a_whole_message_in_openai_form(toolkit: Any) -> None:
    def generate(body: dict[str, Any]) -> Any:
        if body["messages"][-1]["role"] == "tool":
            return {"choices": [{"message": {"role": "assistant", "content": "done"}}]}
        call = {"id": "mine", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'}}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    result = says(generate, toolkit)
    assert result.tool_calls[0].id == "mine"
    assert result.text == "done"


def test_what_it_raises_names_the_function() -> None:
    def broken(messages: Messages) -> str:
        raise ValueError("out of ideas")

    with pytest.raises(ServerError, match=r"broken raised ValueError: out of ideas"):
        says(broken)


def test_what_it_raises_on_the_way_keeps_what_was_said() -> None:
    def broken(messages: Messages) -> Iterator[str]:
        yield "half "
        raise ValueError("lost")

    chat = Chat(connect(broken))
    with pytest.raises(APIError, match="lost"):
        chat.ask_sync("hi")
    assert chat.last is not None
    assert "half" in chat.last.text


def test_a_value_of_another_kind_says_what_is_allowed() -> None:
    with pytest.raises(APIError, match="it may give text"):
        says(lambda messages: 42)


def test_complete_works_without_streaming() -> None:
    reply = connect(lambda messages: "hello").complete_sync("x")
    assert reply.choices[0].message.content == "hello"


def test_it_needs_a_function() -> None:
    with pytest.raises(SetupError, match="needs a function"):
        connect("in_process")


def test_a_function_that_wants_too_much_is_told_so() -> None:
    with pytest.raises(APIError, match="must take messages"):
        says(lambda one, two, three: "x")


def test_the_name_is_the_functions_own() -> None:
    def parrot(messages: Messages) -> str:
        return "squawk"

    assert connect(parrot).model == "parrot"
    assert connect(parrot, model="polly").model == "polly"

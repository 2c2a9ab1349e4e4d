"""Calls and messages print as a person would write them."""

from __future__ import annotations

from toolnexus_nb.openai import Message, ToolCall, ToolCallFunction


def test_a_call_prints_as_one_would_write_it() -> None:
    call = ToolCall(id="c1", function=ToolCallFunction(name="greet", arguments={"name": "Zoë", "times": 2}))
    assert str(call) == 'greet(name="Zoë", times=2)'


def test_a_call_whose_arguments_are_cut_off_prints_what_came() -> None:
    call = ToolCall(id="c1", function=ToolCallFunction(name="greet", arguments='{"name": "Zo'))
    assert str(call) == 'greet({"name": "Zo)'


def test_a_message_prints_who_says_what_and_which_calls_it_asks_for() -> None:
    call = ToolCall(id="c1", function=ToolCallFunction(name="add", arguments={"a": 1}))
    assert str(Message.user("hi")) == "user: hi"
    assert str(Message.assistant(None, [call])) == "assistant: calls add(a=1)"
    assert str(Message.assistant("Let me see.", [call])) == "assistant: Let me see.; calls add(a=1)"
    assert str(Message.tool("c1", "1")) == "tool: 1"

"""Each endpoint gets what it wants to be sent, from data and not from ifs (H to J rows of the quirks)."""

from __future__ import annotations

import json
from typing import Any

import pytest

import toolnexus_nb as tn
from toolnexus_nb.openai.types import Message
from toolnexus_nb.rounds.chat import Chat
from toolnexus_nb.rounds.client import Client
from toolnexus_nb.rounds.profiles import GENERIC, PRESETS, Profile, profile_for
from toolnexus_nb.rounds.setup_error import SetupError

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
SIGNED = {"google": {"thought_signature": "Eo+abc"}}


def body_for(profile: Profile, messages: list[Any], tools: Any = None, **params: Any) -> dict[str, Any]:
    return Client("http://h/v1", "m", profile=profile).body(messages, tools, params)


def tool_round(call_id: str = "call_abc", text: str | None = None, **extra: Any) -> list[dict[str, Any]]:
    call = {"id": call_id, "type": "function", "function": {"name": "f", "arguments": "{}"}, **extra.pop("call", {})}
    return [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": text, "tool_calls": [call], **extra},
        {"role": "tool", "tool_call_id": call_id, "content": "r"},
    ]


def test_profiles_are_found_by_their_address() -> None:
    assert profile_for("https://api.mistral.ai/v1").name == "mistral"
    assert profile_for("http://localhost:11434/v1").name == "ollama"
    assert profile_for("http://127.0.0.1:1234/v1").name == "lmstudio"
    assert profile_for("https://x.openai.azure.com/openai/v1").name == "azure"
    assert profile_for("https://example.org/v1") is GENERIC


def test_only_what_an_endpoint_knows_goes_back() -> None:
    extra = {
        "refusal": None,
        "annotations": [],
        "reasoning": "hm",
        "audio": None,
        "call": {"index": 0, "extra_content": SIGNED},
    }
    strict = body_for(PRESETS["groq"], tool_round(**extra))["messages"][1]
    assert set(strict) == {"role", "content", "tool_calls"}
    assert set(strict["tool_calls"][0]) == {"id", "type", "function"}
    gemini = body_for(PRESETS["gemini"], tool_round(**{**extra, "call": {"extra_content": SIGNED}}))["messages"][1]
    assert gemini["tool_calls"][0]["extra_content"] == SIGNED


def test_reasoning_goes_back_within_the_rounds_of_one_question() -> None:
    asked = [
        *tool_round(reasoning_content="because"),
        {"role": "assistant", "content": "a"},
        *tool_round(reasoning_content="now"),
    ]
    sent = body_for(PRESETS["deepseek"], asked)["messages"]
    assert [m.get("reasoning_content") for m in sent if m["role"] == "assistant"] == [None, None, "now"]
    assert all("reasoning_content" not in m for m in body_for(PRESETS["mistral"], asked)["messages"])


@pytest.mark.parametrize(("name", "content"), [("openai", None), ("lmstudio", ""), ("mistral", "")])
def test_calls_without_text(name: str, content: str | None) -> None:
    message = body_for(PRESETS[name], tool_round())["messages"][1]
    assert "content" in message and message["content"] == content
    empty = body_for(PRESETS[name], [{"role": "user", "content": "q"}, {"role": "assistant", "content": None}])
    assert empty["messages"][1]["content"] == ""


def test_ids_of_nine_letters_and_digits_are_the_same_for_call_and_answer() -> None:
    messages = body_for(PRESETS["mistral"], [*tool_round("call_abc"), *tool_round("AbCdEf123")])["messages"]
    ids = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    answered = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    assert ids == answered
    assert len(ids[0]) == 9 and ids[0].isalnum() and ids[1] == "AbCdEf123"


def test_a_user_message_after_a_tool_message_is_bridged_where_it_is_refused() -> None:
    asked = [*tool_round(), {"role": "user", "content": "go on"}]
    assert [m["role"] for m in body_for(PRESETS["mistral"], asked)["messages"]][-3:] == ["tool", "assistant", "user"]
    assert [m["role"] for m in body_for(GENERIC, asked)["messages"]][-2:] == ["tool", "user"]


def test_a_named_choice_becomes_required_with_that_tool_alone() -> None:
    other = {"type": "function", "function": {**TOOL["function"], "name": "g"}}
    choice = {"type": "function", "function": {"name": "f"}}
    body = body_for(PRESETS["lmstudio"], [Message.user("q")], [TOOL, other], tool_choice=choice)
    assert body["tool_choice"] == "required" and [t["function"]["name"] for t in body["tools"]] == ["f"]
    assert body_for(PRESETS["openai"], [Message.user("q")], [TOOL, other], tool_choice=choice)["tool_choice"] == choice


def test_no_tools_means_none_of_their_parameters() -> None:
    body = body_for(GENERIC, [Message.user("q")], [], tool_choice="auto", parallel_tool_calls=True)
    assert set(body) == {"model", "messages"}


def test_too_many_tools_are_told_before_they_are_sent() -> None:
    many = [{"type": "function", "function": {"name": f"f{i}"}} for i in range(129)]
    with pytest.raises(SetupError, match="128"):
        body_for(PRESETS["openai"], [Message.user("q")], many)


def test_refused_schema_words_are_left_out_but_not_properties_of_that_name() -> None:
    schema = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"title": {"type": "string", "title": "T"}, "n": {"type": "integer", "exclusiveMinimum": 0}},
        "required": ["title"],
    }
    tool = {"type": "function", "function": {"name": "f", "description": "d" * 2000, "parameters": schema}}
    sent = body_for(PRESETS["gemini"], [Message.user("q")], [tool])["tools"][0]["function"]
    assert sent["parameters"] == {
        "type": "object",
        "properties": {"title": {"type": "string"}, "n": {"type": "integer"}},
        "required": ["title"],
    }
    assert len(body_for(PRESETS["openai"], [Message.user("q")], [tool])["tools"][0]["function"]["description"]) == 1024
    assert "exclusiveMinimum" in json.dumps(tool)


def test_a_call_that_could_not_be_read_is_sent_back_readable(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.sse(calls=[("a", "f", '{"broken": ')]), wire.sse("ok"))

    @tn.tool
    def f() -> str:
        "T."
        return "ran"

    Chat(client, [f]).ask_sync("q")
    assert model.bodies[1]["messages"][1]["tool_calls"][0]["function"]["arguments"] == "{}"


def test_another_endpoint_is_not_given_what_the_first_one_signed(scripted: Any, wire: Any) -> None:
    signed = wire.sse("a", reasoning_details=[{"type": "reasoning.text", "text": "hm"}])
    first, one = scripted(signed, signed)
    chat = Chat(first)
    chat.ask_sync("q1")
    chat.ask_sync("q2")
    assert "reasoning_details" in one.bodies[1]["messages"][1]
    second = Client("http://other/v1", "m", transport=first.transport)
    chat.client = second
    chat.ask_sync("q3")
    assert all("reasoning_details" not in message for message in one.bodies[2]["messages"])
    assert chat.client is second


def test_a_model_that_writes_no_call_right_may_try_again(scripted: Any, wire: Any) -> None:
    failed = wire.error(400, "Failed to call a function", {"retry-after": "0"}, code="tool_use_failed")
    client, model = scripted(failed, wire.sse("ok"))
    assert Chat(client).ask_sync("q").text == "ok"
    assert len(model.bodies) == 2

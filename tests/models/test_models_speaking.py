"""Keyless models answer in the bytes of a real endpoint."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from toolnexus_nb.models.rehearsal.transport import RehearsalTransport, connect
from toolnexus_nb.models.speaking import argument_pieces, call_id, default_pace, pieces
from toolnexus_nb.rounds.chat import Chat
from toolnexus_nb.rounds.transport import TransportRequest


def send(body: Any, *, pace: float = 0, method: str = "POST") -> tuple[int, bytes]:
    async def whole() -> tuple[int, bytes]:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        response = await RehearsalTransport(pace).send(
            TransportRequest(method, "http://x/v1/chat/completions", body=raw)
        )
        return response.status, b"".join([piece async for piece in response])

    return asyncio.run(whole())


def test_a_stream_has_small_pieces_usage_and_an_end(toolkit: Any, prompt: str) -> None:
    body = {
        "messages": [{"role": "user", "content": prompt}],
        "tools": toolkit.to_openai(),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    status, raw = send(body)
    events = raw.decode().strip().split("\n\n")
    chunks = [json.loads(event.removeprefix("data: ")) for event in events[:-1]]
    assert status == 200
    assert events[-1] == "data: [DONE]"
    assert len(chunks) > 20
    assert any(chunk["choices"] and "reasoning_content" in chunk["choices"][0]["delta"] for chunk in chunks)
    assert chunks[-2]["choices"][0]["finish_reason"] == "tool_calls"
    assert chunks[-1]["usage"]["estimated"] is True
    assert chunks[-1]["usage"]["total_tokens"] > 0


def test_usage_is_sent_only_when_asked_for() -> None:
    _, raw = send({"messages": [{"role": "user", "content": "hi"}], "stream": True})
    assert b'"usage"' not in raw


def test_without_streaming_the_body_is_one_completion(toolkit: Any, prompt: str) -> None:
    _, raw = send({"messages": [{"role": "user", "content": prompt}], "tools": toolkit.to_openai()})
    message = json.loads(raw)["choices"][0]["message"]
    assert [call["function"]["name"] for call in message["tool_calls"]] == ["add", "get_weather"]
    assert message["content"] is None


@pytest.mark.parametrize("body", [b"{not json", {"messages": "hello"}, {}])
def test_a_bad_body_is_a_400(body: Any) -> None:
    status, raw = send(body)
    assert status == 400
    assert json.loads(raw)["error"]["message"]


def test_models_are_listed() -> None:
    status, raw = send(b"", method="GET")
    assert status == 200
    assert json.loads(raw)["data"][0]["id"] == "rehearsal"


def test_it_speaks_at_a_human_pace_when_told_to(prompt: str) -> None:
    started = time.perf_counter()
    send({"messages": [{"role": "user", "content": prompt}], "stream": True}, pace=0.5)
    assert 0.2 < time.perf_counter() - started < 2.0


def test_the_environment_sets_the_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLNEXUS_PACE", "0.25")
    assert default_pace() == 0.25
    monkeypatch.setenv("TOOLNEXUS_PACE", "quick")
    assert default_pace() == 0.0


def test_outside_a_kernel_it_speaks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOOLNEXUS_PACE", raising=False)
    assert default_pace() == 0.0


@pytest.mark.parametrize("text", ["two words\nand a line", " lead and trail ", "", "那 是"])
def test_pieces_join_to_the_text(text: str) -> None:
    assert "".join(pieces(text)) == text


@pytest.mark.parametrize("text", ['{"city": "Oslo", "n": [1, 2]}', "{}", '{"t": "a\\"b: c"}'])
def test_argument_pieces_join_to_the_text(text: str) -> None:
    assert "".join(argument_pieces(text)) == text


def test_call_ids_are_nine_letters_and_digits_and_stable() -> None:
    assert call_id(0, 1, "add") == call_id(0, 1, "add") != call_id(1, 1, "add")
    assert len(call_id(0)) == 9
    assert call_id(0).isalnum()


def test_a_whole_run_says_that_no_language_model_was_there(toolkit: Any, prompt: str) -> None:
    result = Chat(connect(), toolkit).ask_sync(prompt)
    assert "42" in result.text
    assert "sunny in Oslo" in result.text
    assert result.rounds == 2
    assert result.usage.estimated
    assert any("no language model" in note for note in result.notes)


def test_a_key_in_the_environment_changes_nothing(monkeypatch: pytest.MonkeyPatch, toolkit: Any) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789abcdef")
    monkeypatch.setenv("OPENAI_MODEL", "gpt-x")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    client = connect()
    assert client.model == "rehearsal"
    assert client.secrets == ()
    assert Chat(client, toolkit).ask_sync("weather in Oslo").status == "done"

"""The official openai client talks to the server as to any other endpoint."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

import toolnexus_nb as tn
from toolnexus_nb.openai import parse_tool_events
from toolnexus_nb.serve import create_app

openai = pytest.importorskip("openai")

QUESTION = [{"role": "user", "content": "What is the weather in Oslo?"}]
MINE = {
    "type": "function",
    "function": {
        "name": "book_flight",
        "description": "Book a flight.",
        "parameters": {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]},
    },
}


@tn.tool
def get_weather(city: str) -> str:
    """Current weather for a city."""
    return f"sunny in {city}"


def answer(body: dict[str, Any], number: int) -> dict[str, Any]:
    """Weather first; then, for a caller that can book, a booking; then words."""
    said = [message["content"] for message in body["messages"] if message["role"] == "tool"]
    offered = [tool["function"]["name"] for tool in body.get("tools", ())]
    if not said:
        return {"text": "I look. ", "calls": [("c1", "get_weather", '{"city":"Oslo"}')]}
    if "book_flight" in offered and len(said) == 1:
        return {"calls": [("c2", "book_flight", '{"to":"Oslo"}')]}
    return {"texts": ["It is ", "; ".join(said), "."]}


@pytest.fixture
def base_url(serving: Callable[..., str], scripted: Callable[..., Any]) -> str:
    return serving(create_app(tn.Toolkit([get_weather]), scripted(answer), api_key="k3y")) + "/v1"


@pytest.fixture
def client(base_url: str) -> Any:
    with openai.OpenAI(base_url=base_url, api_key="k3y", max_retries=0, timeout=20) as client:
        yield client


def test_plain(client: Any) -> None:
    reply = client.chat.completions.create(model="gpt-anything", messages=QUESTION)
    assert reply.choices[0].message.content == "It is sunny in Oslo."
    assert reply.choices[0].finish_reason == "stop"
    assert reply.choices[0].message.tool_calls is None
    assert reply.usage.total_tokens == 30


def test_streamed(client: Any) -> None:
    chunks = list(
        client.chat.completions.create(
            model="x", messages=QUESTION, stream=True, stream_options={"include_usage": True}
        )
    )
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == "I look. It is sunny in Oslo."
    assert chunks[-1].usage.total_tokens == 30
    assert len({chunk.id for chunk in chunks}) == 1


def test_the_stream_helper(client: Any) -> None:
    with client.chat.completions.stream(model="x", messages=QUESTION) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_completion()
    assert final.choices[0].message.content == "I look. It is sunny in Oslo."
    assert kinds.count("content.done") == 1
    assert not any("tool_calls" in kind for kind in kinds)


@pytest.mark.parametrize("stream", [False, True])
def test_own_tools_go_round_and_round(client: Any, stream: bool) -> None:
    messages: list[Any] = list(QUESTION)

    def ask() -> Any:
        if not stream:
            return client.chat.completions.create(model="x", messages=messages, tools=[MINE]).choices[0]
        with client.chat.completions.stream(model="x", messages=messages, tools=[MINE]) as streamed:
            return streamed.get_final_completion().choices[0]

    choice = ask()
    assert choice.finish_reason == "tool_calls"
    (call,) = choice.message.tool_calls
    assert call.function.name == "book_flight"
    assert json.loads(call.function.arguments) == {"to": "Oslo"}
    function = {"name": call.function.name, "arguments": call.function.arguments}
    messages.append({"role": "assistant", "tool_calls": [{"id": call.id, "type": "function", "function": function}]})
    messages.append({"role": "tool", "tool_call_id": call.id, "content": "booked"})
    assert ask().message.content.endswith("It is sunny in Oslo; booked.")


def test_models(client: Any) -> None:
    assert [model.id for model in client.models.list()] == ["scripted"]
    assert client.models.retrieve("anything/at-all").id == "scripted"


def test_errors_are_the_clients_own(client: Any, base_url: str) -> None:
    with pytest.raises(openai.BadRequestError, match="messages"):
        client.chat.completions.create(model="x", messages=[])
    with pytest.raises(openai.AuthenticationError, match="API key"):
        client.with_options(api_key="wrong").models.list()
    clash = {"type": "function", "function": {"name": "get_weather"}}
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(model="x", messages=QUESTION, tools=[clash])
    assert caught.value.code == "tool_name_conflict"


def test_an_upstream_that_dies_is_an_api_error(serving: Callable[..., str], scripted: Callable[..., Any]) -> None:
    model = scripted(lambda body, number: {"texts": ["a", "b", "c"], "break_after": 3})
    url = serving(create_app(tn.Toolkit([get_weather]), model))
    with openai.OpenAI(base_url=url + "/v1", api_key="x", max_retries=0) as client:
        seen = ""
        with pytest.raises(openai.APIError, match="broke"):
            for chunk in client.chat.completions.create(model="x", messages=QUESTION, stream=True):
                seen += chunk.choices[0].delta.content or ""
        assert seen == "ab"


def test_the_async_client_and_many_at_once(base_url: str) -> None:
    async def go() -> list[str]:
        async with openai.AsyncOpenAI(base_url=base_url, api_key="k3y", max_retries=0) as client:

            async def one() -> str:
                stream = await client.chat.completions.create(model="x", messages=QUESTION, stream=True)
                return "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])

            return list(await asyncio.gather(*(one() for _ in range(30))))

    assert set(asyncio.run(go())) == {"I look. It is sunny in Oslo."}


def test_our_own_client_reads_the_tool_events(client: Any) -> None:
    raw = client.chat.completions.with_raw_response.create(model="x", messages=QUESTION, stream=True)
    events = [item for item in parse_tool_events(raw.http_response.iter_bytes()) if hasattr(item, "tool_call_id")]
    assert [(event.tool_name, event.status) for event in events] == [
        ("get_weather", "running"),
        ("get_weather", "complete"),
    ]
    assert events[1].result == "sunny in Oslo"


def test_our_client_over_our_server_gives_the_same_answer(base_url: str) -> None:
    chat = tn.Chat(tn.Client(base_url, model="x", api_key="k3y"), tn.Toolkit())
    assert chat.ask_sync("What is the weather in Oslo?").text == "I look. It is sunny in Oslo."

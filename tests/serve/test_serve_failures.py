"""What goes wrong has a status, a log line and an end; a client that goes away leaves nothing behind."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

import toolnexus_nb as tn
from toolnexus_nb.serve import Limits, create_app

Ask = Callable[..., Any]
HI = [{"role": "user", "content": "hi"}]


@tn.tool
def get_weather(city: str) -> str:
    """Current weather for a city."""
    return f"sunny in {city}"


def two_rounds(body: dict[str, Any], number: int) -> dict[str, Any]:
    """The weather in Oslo, then what the tool said about it."""
    if body["messages"][-1]["role"] == "tool":
        return {"reasoning": ["hm"], "texts": ["It is ", body["messages"][-1]["content"]]}
    return {"text": "Let me look.", "calls": [("c1", "get_weather", '{"city":"Oslo"}')]}


# --- what goes wrong --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("upstream", "status", "words"),
    [
        (400, 400, "bad thing"),
        (401, 502, "401"),
        (403, 502, "403"),
        (404, 404, "bad thing"),
        (429, 429, "bad thing"),
        (500, 502, "500"),
        (503, 502, "503"),
    ],
)
def test_an_upstream_error_has_its_status_also_for_a_stream(
    ask: Ask, scripted: Callable[..., Any], upstream: int, status: int, words: str, stream: bool
) -> None:
    error = {"error": {"message": "bad thing", "type": "some_type", "code": "some_code"}}
    client = scripted(lambda body, n: {"status": upstream, "body": error, "headers": {"retry-after": "7"}})
    for toolkit in (tn.Toolkit(), tn.Toolkit([get_weather])):
        response = ask(create_app(toolkit, client), {"messages": HI, "stream": stream})
        assert response.status_code == status
        assert response.headers["content-type"] == "application/json"
        assert words in response.json()["error"]["message"]
        if status == 429:
            assert response.headers["retry-after"] == "7"


@pytest.mark.parametrize("tools", [True, False])
def test_an_upstream_that_dies_in_mid_stream_ends_with_an_error_event(
    ask: Ask, scripted: Callable[..., Any], tools: bool
) -> None:
    client = scripted(lambda body, n: {"texts": ["a", "b", "c", "d"], "break_after": 3})
    response = ask(create_app(tn.Toolkit([get_weather] if tools else []), client), {"messages": HI, "stream": True})
    assert response.status_code == 200
    *before, last = response.chunks
    assert "".join(c["choices"][0]["delta"].get("content") or "" for c in before) == "ab"
    assert set(last) == {"error"} and "broke" in last["error"]["message"]
    assert "[DONE]" not in response.text


def test_an_id_that_a_model_uses_again_is_told_each_time(ask: Ask, scripted: Callable[..., Any]) -> None:
    def answer(body: dict[str, Any], number: int) -> dict[str, Any]:
        return {"text": "x"} if number > 2 else {"calls": [("same", "get_weather", json.dumps({"city": str(number)}))]}

    app = create_app(tn.Toolkit([get_weather]), scripted(answer))
    kinds = [kind for kind, _ in ask(app, {"messages": HI, "stream": True}).comments]
    assert kinds == ["tool_start", "tool_end"] * 2


def test_a_server_without_a_model_says_what_to_set(ask: Ask, scripted: Callable[..., Any]) -> None:
    app = create_app(tn.Toolkit(), scripted(two_rounds, model=""))
    response = ask(app, {"messages": HI})
    assert response.status_code == 500 and "model" in response.json()["error"]["message"]
    assert ask(app, {"messages": HI, "model": "mine"}).json()["model"] == "mine"


def test_a_key_of_the_upstream_is_never_told(ask: Ask, scripted: Callable[..., Any]) -> None:
    key = "sk-verysecretkey1234567890"
    error = {"error": {"message": f"Incorrect API key provided: {key}"}}
    client = scripted(lambda body, n: {"status": 400, "body": error}, api_key=key)
    response = ask(create_app(tn.Toolkit(), client), {"messages": HI})
    assert "verysecret" not in response.text


def test_a_bug_of_the_server_is_a_500_that_tells_nothing(ask: Ask, scripted: Callable[..., Any]) -> None:
    def broken(body: dict[str, Any], number: int) -> dict[str, Any]:
        raise RuntimeError("inner secret")

    response = ask(create_app(tn.Toolkit([get_weather]), scripted(broken)), {"messages": HI})
    assert response.status_code == 500
    assert "inner secret" not in response.text


def test_bad_bodies_have_a_status_a_log_line_and_leave_nothing(
    ask: Ask, scripted: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    app = create_app(tn.Toolkit([get_weather]), scripted(two_rounds), limits=Limits(body_bytes=2000))
    with caplog.at_level("WARNING", "toolnexus_nb.serve"):
        assert ask(app, raw=b"{").status_code == 400
        assert ask(app, raw=b'{"messages": [], "temperature": NaN}').status_code == 400
        assert ask(app, raw=b'{"messages": [], "temperature": 1e999}').status_code == 400
        assert ask(app, {"messages": []}).status_code == 400
        assert ask(app, {"messages": [{"role": "user", "content": "x" * 3000}]}).status_code == 413
    assert len(caplog.records) == 5 and not any("\n" in record.getMessage() for record in caplog.records)
    assert app.state.activity.running == 0 and app.state.activity.failed == 5


def test_a_tool_that_hangs_ends_with_the_time_of_the_request(ask: Ask, scripted: Callable[..., Any]) -> None:
    stopped = threading.Event()

    @tn.tool
    async def hang() -> str:
        """Never ends."""
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()
        return ""

    client = scripted(lambda body, n: {"calls": [("c1", "hang", "{}")]})
    app = create_app(tn.Toolkit([hang]), client, limits=Limits(seconds=0.3))
    began = time.perf_counter()
    assert ask(app, {"messages": HI}).status_code == 504
    streamed = ask(app, {"messages": HI, "stream": True})
    assert streamed.chunks[-1]["error"]["code"] == "timeout"
    assert time.perf_counter() - began < 5
    assert stopped.wait(1)


def test_silence_is_filled_with_heartbeats(ask: Ask, scripted: Callable[..., Any]) -> None:
    client = scripted(lambda body, n: {"text": "x", "wait": lambda: asyncio.sleep(0.35)})
    app = create_app(tn.Toolkit([get_weather]), client, limits=Limits(heartbeat=0.1))
    response = ask(app, {"messages": HI, "stream": True})
    assert response.text.startswith(": ping\n\n")
    assert response.deltas[0]["content"] == "x"


def test_a_full_server_says_so(scripted: Callable[..., Any], serving: Callable[..., str]) -> None:
    go_on = threading.Event()

    async def wait() -> None:
        while not go_on.is_set():
            await asyncio.sleep(0.01)

    client = scripted(lambda body, n: {"text": "x", "wait": wait})
    url = serving(create_app(tn.Toolkit([get_weather]), client, limits=Limits(at_once=1)))
    first: list[httpx.Response] = []
    post = lambda: httpx.post(url + "/v1/chat/completions", json={"messages": HI}, timeout=20)
    thread = threading.Thread(target=lambda: first.append(post()))
    thread.start()
    time.sleep(0.3)
    busy = post()
    assert (busy.status_code, busy.json()["error"]["code"]) == (429, "server_busy")
    go_on.set()
    thread.join(20)
    assert first[0].status_code == 200


# --- a client that goes away ------------------------------------------------------------------------------------------


def test_a_client_that_goes_away_stops_its_round_and_its_tools(
    scripted: Callable[..., Any], serving: Callable[..., str], waiting: Any
) -> None:
    client = scripted(lambda body, n: {"calls": [("c1", "sleeps", "{}"), ("c2", "blocks", "{}")]})
    app = create_app(waiting.toolkit, client)
    url = serving(app)
    for stream in (True, False):
        with pytest.raises(httpx.TimeoutException):
            httpx.post(url + "/v1/chat/completions", json={"messages": HI, "stream": stream}, timeout=0.5)
        assert waiting.started.is_set()
        assert waiting.both_stopped()
    end = time.monotonic() + 2
    while app.state.activity.running and time.monotonic() < end:
        time.sleep(0.01)
    assert app.state.activity.running == 0
    assert app.state.activity.problem == "the client went away"
    assert client.script.closed == len(client.script.requests)


@pytest.mark.parametrize("at", ["before the body", "in the body", "after the body", "in the stream"])
def test_a_client_that_goes_away_at_any_point_leaves_nothing(
    scripted: Callable[..., Any], serving: Callable[..., str], at: str
) -> None:
    import socket

    client = scripted(lambda body, n: {"texts": ["x"], "then_wait": lambda: asyncio.sleep(30)})
    app = create_app(tn.Toolkit([get_weather]), client)
    url = serving(app)
    body = json.dumps({"messages": HI, "stream": True}).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n".encode()
    with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as wire:
        if at == "before the body":
            wire.sendall(head)
        elif at == "in the body":
            wire.sendall(head + b"\r\n" + body[:10])
        else:
            wire.sendall(head + b"\r\n" + body)
            if at == "in the stream":
                wire.settimeout(5)
                seen = b""
                while b"chatcmpl" not in seen:
                    seen += wire.recv(4096)
        time.sleep(0.1)
    end = time.monotonic() + 3
    while time.monotonic() < end and (app.state.activity.running or client.script.closed < len(client.script.requests)):
        time.sleep(0.01)
    assert app.state.activity.running == 0
    assert client.script.closed == len(client.script.requests)
    assert httpx.get(url + "/health").json() == {"status": "ok"}


def test_a_server_that_stops_stops_its_rounds(scripted: Callable[..., Any], waiting: Any) -> None:
    from toolnexus_nb.serve import Server

    client = scripted(lambda body, n: {"calls": [("c1", "sleeps", "{}"), ("c2", "blocks", "{}")]})
    app = create_app(waiting.toolkit, client)
    server = Server(app)
    url = server.start()
    failed: list[Exception] = []

    def post() -> None:
        try:
            httpx.post(url + "/v1/chat/completions", json={"messages": HI, "stream": True}, timeout=20)
        except httpx.HTTPError as error:
            failed.append(error)

    thread = threading.Thread(target=post)
    thread.start()
    assert waiting.started.wait(5)
    began = time.perf_counter()
    server.stop()
    assert time.perf_counter() - began < 6
    assert waiting.both_stopped()
    thread.join(5)
    assert len(failed) == 1
    assert app.state.activity.running == 0


def test_a_slow_plain_tool_holds_up_nobody_else(scripted: Callable[..., Any], serving: Callable[..., str]) -> None:
    release = threading.Event()

    @tn.tool
    def slow() -> str:
        """Blocks."""
        release.wait(10)
        return "slow result"

    def answer(body: dict[str, Any], number: int) -> dict[str, Any]:
        last = body["messages"][-1]
        if last["role"] == "tool":
            return {"text": last["content"]}
        return {"calls": [("c1", "slow", "{}")]} if "slow" in last["content"] else {"text": "quick"}

    url = serving(create_app(tn.Toolkit([slow]), scripted(answer)))
    replies: list[httpx.Response] = []

    def post(text: str) -> httpx.Response:
        return httpx.post(
            url + "/v1/chat/completions", json={"messages": [{"role": "user", "content": text}]}, timeout=20
        )

    threads = [threading.Thread(target=lambda: replies.append(post("slow please"))) for _ in range(5)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    began = time.perf_counter()
    assert post("now").json()["choices"][0]["message"]["content"] == "quick"
    assert time.perf_counter() - began < 1
    release.set()
    for thread in threads:
        thread.join(20)
    assert [reply.json()["choices"][0]["message"]["content"] for reply in replies] == ["slow result"] * 5

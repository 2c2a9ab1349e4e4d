"""The endpoint: what goes out, what is held back, what goes wrong."""

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

HI = [{"role": "user", "content": "hi"}]
MINE = {"type": "function", "function": {"name": "mine", "parameters": {"type": "object", "properties": {}}}}


@tn.tool
def get_weather(city: str) -> str:
    """Current weather for a city."""
    if city == "Nowhere":
        raise ValueError("no such station")
    return f"sunny in {city}"


def two_rounds(body: dict[str, Any], number: int) -> dict[str, Any]:
    if body["messages"][-1]["role"] == "tool":
        return {"reasoning": ["hm"], "texts": ["It is ", body["messages"][-1]["content"]]}
    return {"text": "Let me look.", "calls": [("c1", "get_weather", '{"city":"Oslo"}')]}


def ask(
    app: Any, body: Any = None, *, raw: bytes | None = None, path: str = "/v1/chat/completions", **headers: str
) -> httpx.Response:
    """One request in this process; the whole answer."""

    async def go() -> httpx.Response:
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://localhost", timeout=20
        ) as client:
            if body is None and raw is None:
                return await client.get(path, headers=headers)
            return await client.post(path, content=raw if raw is not None else json.dumps(body), headers=headers)

    return asyncio.run(go())


def chunks_of(response: httpx.Response) -> list[dict[str, Any]]:
    lines = [line[6:] for line in response.text.splitlines() if line.startswith("data: ")]
    assert lines[-1] == "[DONE]" or "error" in json.loads(lines[-1])
    return [json.loads(line) for line in lines if line != "[DONE]"]


def deltas_of(response: httpx.Response) -> list[dict[str, Any]]:
    return [choice["delta"] for chunk in chunks_of(response) for choice in chunk.get("choices", ())]


def comments_of(response: httpx.Response) -> list[tuple[str, dict[str, Any]]]:
    lines = [line for line in response.text.splitlines() if line.startswith(":tool_")]
    return [(line.split(":")[1], json.loads(line.split(":", 2)[2])) for line in lines]


# --- the plain reply --------------------------------------------------------------------------------------------------


def test_a_plain_reply_is_the_answer_of_the_last_round(scripted: Callable[..., Any]) -> None:
    client = scripted(two_rounds)
    response = ask(
        create_app(tn.Toolkit([get_weather]), client), {"model": "anything", "messages": HI, "temperature": 0.3}
    )
    assert response.status_code == 200
    reply = response.json()
    assert reply["object"] == "chat.completion" and reply["id"].startswith("chatcmpl-") and reply["model"] == "scripted"
    (choice,) = reply["choices"]
    assert choice["finish_reason"] == "stop"
    assert choice["message"]["role"] == "assistant"
    assert choice["message"]["content"] == "It is sunny in Oslo"
    assert choice["message"]["reasoning_content"] == "hm"
    assert "tool_calls" not in choice["message"]
    assert reply["usage"] == {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30}
    assert [request["temperature"] for request in client.script.requests] == [0.3, 0.3]


def test_usage_is_estimated_and_marked_where_the_model_reports_none(scripted: Callable[..., Any]) -> None:
    client = scripted(lambda body, n: {**two_rounds(body, n), "usage": None})
    usage = ask(create_app(tn.Toolkit([get_weather]), client), {"messages": HI}).json()["usage"]
    assert usage["estimated"] is True
    assert usage["prompt_tokens"] > 0 and usage["completion_tokens"] > 0
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


def test_without_tools_the_model_is_passed_through(scripted: Callable[..., Any]) -> None:
    client = scripted(lambda body, n: {"text": "hello", "usage": None})
    app = create_app(tn.Toolkit(), client)
    reply = ask(app, {"messages": HI, "n": 2}).json()
    assert reply["choices"][0]["message"]["content"] == "hello"
    assert client.script.requests[0]["n"] == 2
    assert reply["usage"]["estimated"] is True and reply["usage"]["completion_tokens"] > 0
    streamed = ask(app, {"messages": HI, "stream": True, "stream_options": {"include_usage": True}})
    assert "".join(delta.get("content") or "" for delta in deltas_of(streamed)) == "hello"
    assert chunks_of(streamed)[-1]["usage"]["estimated"] is True


# --- the stream -------------------------------------------------------------------------------------------------------


def test_a_stream_is_one_reply_with_comments_about_the_tools(scripted: Callable[..., Any]) -> None:
    client = scripted(two_rounds)
    response = ask(create_app(tn.Toolkit([get_weather]), client), {"model": "x", "messages": HI, "stream": True})
    assert response.headers["content-type"].startswith("text/event-stream")
    assert "no-cache" in response.headers["cache-control"]
    assert response.headers["x-accel-buffering"] == "no"
    assert "content-length" not in response.headers
    chunks = chunks_of(response)
    assert len({chunk["id"] for chunk in chunks}) == 1
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    deltas = deltas_of(response)
    assert [delta["role"] for delta in deltas if "role" in delta] == ["assistant"]
    assert "role" in deltas[0]
    assert [delta["content"] for delta in deltas if delta.get("content")] == ["Let me look.", "It is ", "sunny in Oslo"]
    assert [delta["reasoning_content"] for delta in deltas if "reasoning_content" in delta] == ["hm"]
    assert not any("tool_calls" in delta for delta in deltas)
    assert [choice["finish_reason"] for chunk in chunks for choice in chunk["choices"] if choice["finish_reason"]] == [
        "stop"
    ]
    assert response.text.endswith("data: [DONE]\n\n")
    assert not any(chunk.get("usage") for chunk in chunks)
    assert comments_of(response) == [
        (
            "tool_start",
            {"tool_call_id": "c1", "tool_name": "get_weather", "status": "running", "arguments": {"city": "Oslo"}},
        ),
        (
            "tool_end",
            {"tool_call_id": "c1", "tool_name": "get_weather", "status": "complete", "result": "sunny in Oslo"},
        ),
    ]
    order = [response.text.index(word) for word in ("Let me look.", ":tool_start:", ":tool_end:", "It is ")]
    assert order == sorted(order)


def test_usage_comes_last_where_it_is_asked_for(scripted: Callable[..., Any]) -> None:
    app = create_app(tn.Toolkit([get_weather]), scripted(two_rounds))
    chunks = chunks_of(ask(app, {"messages": HI, "stream": True, "stream_options": {"include_usage": True}}))
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["total_tokens"] == 30
    assert all("usage" in chunk and chunk["usage"] is None for chunk in chunks[:-1])


def test_a_failing_tool_is_told_and_the_model_goes_on(scripted: Callable[..., Any]) -> None:
    def answer(body: dict[str, Any], number: int) -> dict[str, Any]:
        return {"text": "sorry"} if number > 1 else {"calls": [("c1", "get_weather", '{"city":"Nowhere"}')]}

    response = ask(create_app(tn.Toolkit([get_weather]), scripted(answer)), {"messages": HI, "stream": True})
    _, (kind, end) = comments_of(response)
    assert (kind, end["status"]) == ("tool_end", "error")
    assert "no such station" in end["error"] and "result" not in end
    assert deltas_of(response)[0]["content"] == "sorry"


def test_a_refusal_is_forwarded(scripted: Callable[..., Any]) -> None:
    app = create_app(tn.Toolkit([get_weather]), scripted(lambda body, n: {"refusal": ["I ", "won't"]}))
    deltas = deltas_of(ask(app, {"messages": HI, "stream": True}))
    assert [delta["refusal"] for delta in deltas if "refusal" in delta] == ["I ", "won't"]
    message = ask(app, {"messages": HI}).json()["choices"][0]["message"]
    assert message["refusal"] == "I won't" and message["content"] is None


def test_progress_is_told_between_start_and_end(scripted: Callable[..., Any]) -> None:
    @tn.tool
    def slow(context: tn.ToolContext) -> str:
        """Takes steps."""
        for i in range(3):
            context.report(i + 1, 3, f"step {i + 1}")
        return "ok"

    app = create_app(
        tn.Toolkit([slow]), scripted(lambda body, n: {"text": "x"} if n > 1 else {"calls": [("c1", "slow", "{}")]})
    )
    comments = comments_of(ask(app, {"messages": HI, "stream": True}))
    assert [kind for kind, _ in comments] == ["tool_start", *["tool_progress"] * 3, "tool_end"]
    assert comments[2][1] == {
        "tool_call_id": "c1", "tool_name": "slow", "status": "running", "progress": 2, "total": 3, "message": "step 2",
    }  # fmt: skip


def test_a_result_with_line_ends_is_one_line_of_the_stream(scripted: Callable[..., Any]) -> None:
    @tn.tool
    def text() -> str:
        """Gives lines."""
        return "a\n\ndata: [DONE]\r\n:tool_end:{}\u2028b"

    app = create_app(
        tn.Toolkit([text]), scripted(lambda body, n: {"text": "x"} if n > 1 else {"calls": [("c1", "text", "{}")]})
    )
    response = ask(app, {"messages": HI, "stream": True})
    assert comments_of(response)[1][1]["result"] == "a\n\ndata: [DONE]\r\n:tool_end:{}\u2028b"
    assert response.text.count("data: [DONE]\n\n") == 1


def test_a_run_that_reaches_its_rounds_says_length(scripted: Callable[..., Any]) -> None:
    client = scripted(lambda body, n: {"calls": [(f"c{n}", "get_weather", json.dumps({"city": str(n)}))]})
    app = create_app(tn.Toolkit([get_weather]), client, max_rounds=2)
    assert ask(app, {"messages": HI}).json()["choices"][0]["finish_reason"] == "length"
    assert len(client.script.requests) == 2


# --- the caller's own tools -------------------------------------------------------------------------------------------


def caller_calls(body: dict[str, Any], number: int) -> dict[str, Any]:
    if number == 1:
        return {"calls": [("up1", "get_weather", '{"city":"Oslo"}'), ("up2", "mine", '{"a":1}')]}
    return {"text": "done"}


@pytest.mark.parametrize("stream", [False, True])
def test_calls_of_the_callers_tools_are_handed_back_alone(scripted: Callable[..., Any], stream: bool) -> None:
    client = scripted(caller_calls)
    response = ask(create_app(tn.Toolkit([get_weather]), client), {"messages": HI, "tools": [MINE], "stream": stream})
    if stream:
        (calls,) = [delta["tool_calls"] for delta in deltas_of(response) if "tool_calls" in delta]
        assert [call.pop("index") for call in calls] == [0]
        finish = [choice["finish_reason"] for chunk in chunks_of(response) for choice in chunk["choices"]][-1]
        assert [event["tool_name"] for _, event in comments_of(response)] == ["get_weather", "get_weather"]
    else:
        choice = response.json()["choices"][0]
        calls, finish = choice["message"]["tool_calls"], choice["finish_reason"]
        assert choice["message"]["content"] is None
    assert finish == "tool_calls"
    (call,) = calls
    assert call["function"] == {"name": "mine", "arguments": '{"a":1}'}
    assert call["id"] not in ("up1", "up2")
    offered = [tool["function"]["name"] for tool in client.script.requests[0]["tools"]]
    assert sorted(offered) == ["get_weather", "mine"]


def test_the_model_remembers_what_its_own_tools_said_before_the_callers_ran(scripted: Callable[..., Any]) -> None:
    client = scripted(caller_calls)
    app = create_app(tn.Toolkit([get_weather]), client)
    message = ask(app, {"messages": HI, "tools": [MINE]}).json()["choices"][0]["message"]
    call_id = message["tool_calls"][0]["id"]
    history = [*HI, message, {"role": "tool", "tool_call_id": call_id, "content": "mine says 7"}]
    assert ask(app, {"messages": history, "tools": [MINE]}).json()["choices"][0]["message"]["content"] == "done"
    sent = client.script.requests[1]["messages"]
    assert [m["role"] for m in sent] == ["user", "assistant", "tool", "tool"]
    assert [call["function"]["name"] for call in sent[1]["tool_calls"]] == ["get_weather", "mine"]
    assert {m["tool_call_id"]: m["content"] for m in sent[2:]} == {"up1": "sunny in Oslo", call_id: "mine says 7"}


def test_a_name_clash_and_several_replies_are_refused(scripted: Callable[..., Any]) -> None:
    app = create_app(tn.Toolkit([get_weather]), scripted(two_rounds))
    clash = {"type": "function", "function": {"name": "get_weather"}}
    assert ask(app, {"messages": HI, "tools": [clash]}).json()["error"]["code"] == "tool_name_conflict"
    assert ask(app, {"messages": HI, "n": 2}).json()["error"]["param"] == "n"
    assert ask(app, {"messages": HI, "n": 2}).status_code == 400


# --- approval ---------------------------------------------------------------------------------------------------------


async def later_yes(name: str, arguments: dict[str, Any]) -> bool:
    await asyncio.sleep(0)
    return True


@pytest.mark.parametrize(
    ("approve", "ran"),
    [
        ("ask", False),
        ("deny", False),
        ("allow", True),
        (later_yes, True),
        (lambda name, args: args["n"] == 1, True),
        (lambda name, args: False, False),
    ],
)
def test_a_call_that_needs_approval_follows_the_servers_policy(
    scripted: Callable[..., Any], approve: Any, ran: bool
) -> None:
    seen: list[int] = []

    @tn.tool(needs_approval=True)
    def delete(n: int) -> str:
        """Delete."""
        seen.append(n)
        return "deleted"

    client = scripted(lambda body, n: {"text": "x"} if n > 1 else {"calls": [("c1", "delete", '{"n":1}')]})
    response = ask(create_app(tn.Toolkit([delete]), client, approve=approve), {"messages": HI, "stream": True})
    assert seen == ([1] if ran else [])
    assert [kind for kind, _ in comments_of(response)] == ["tool_start", "tool_end"]
    assert comments_of(response)[1][1]["status"] == ("complete" if ran else "error")


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
    scripted: Callable[..., Any], upstream: int, status: int, words: str, stream: bool
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
    scripted: Callable[..., Any], tools: bool
) -> None:
    client = scripted(lambda body, n: {"texts": ["a", "b", "c", "d"], "break_after": 3})
    response = ask(create_app(tn.Toolkit([get_weather] if tools else []), client), {"messages": HI, "stream": True})
    assert response.status_code == 200
    *before, last = chunks_of(response)
    assert "".join(c["choices"][0]["delta"].get("content") or "" for c in before) == "ab"
    assert set(last) == {"error"} and "broke" in last["error"]["message"]
    assert "[DONE]" not in response.text


def test_an_id_that_a_model_uses_again_is_told_each_time(scripted: Callable[..., Any]) -> None:
    def answer(body: dict[str, Any], number: int) -> dict[str, Any]:
        return {"text": "x"} if number > 2 else {"calls": [("same", "get_weather", json.dumps({"city": str(number)}))]}

    app = create_app(tn.Toolkit([get_weather]), scripted(answer))
    kinds = [kind for kind, _ in comments_of(ask(app, {"messages": HI, "stream": True}))]
    assert kinds == ["tool_start", "tool_end"] * 2


def test_a_server_without_a_model_says_what_to_set(scripted: Callable[..., Any]) -> None:
    app = create_app(tn.Toolkit(), scripted(two_rounds, model=""))
    response = ask(app, {"messages": HI})
    assert response.status_code == 500 and "model" in response.json()["error"]["message"]
    assert ask(app, {"messages": HI, "model": "mine"}).json()["model"] == "mine"


def test_a_key_of_the_upstream_is_never_told(scripted: Callable[..., Any]) -> None:
    key = "sk-verysecretkey1234567890"
    error = {"error": {"message": f"Incorrect API key provided: {key}"}}
    client = scripted(lambda body, n: {"status": 400, "body": error}, api_key=key)
    response = ask(create_app(tn.Toolkit(), client), {"messages": HI})
    assert "verysecret" not in response.text


def test_a_bug_of_the_server_is_a_500_that_tells_nothing(scripted: Callable[..., Any]) -> None:
    def broken(body: dict[str, Any], number: int) -> dict[str, Any]:
        raise RuntimeError("inner secret")

    response = ask(create_app(tn.Toolkit([get_weather]), scripted(broken)), {"messages": HI})
    assert response.status_code == 500
    assert "inner secret" not in response.text


def test_bad_bodies_have_a_status_a_log_line_and_leave_nothing(
    scripted: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    app = create_app(tn.Toolkit([get_weather]), scripted(two_rounds), limits=Limits(body_bytes=2000))
    with caplog.at_level("WARNING", "toolnexus_nb.serve"):
        assert ask(app, raw=b"{").status_code == 400
        assert ask(app, {"messages": []}).status_code == 400
        assert ask(app, {"messages": [{"role": "user", "content": "x" * 3000}]}).status_code == 413
    assert len(caplog.records) == 3
    assert app.state.activity.running == 0 and app.state.activity.failed == 3


def test_a_tool_that_hangs_ends_with_the_time_of_the_request(scripted: Callable[..., Any]) -> None:
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
    assert chunks_of(streamed)[-1]["error"]["code"] == "timeout"
    assert time.perf_counter() - began < 5
    assert stopped.wait(1)


def test_silence_is_filled_with_heartbeats(scripted: Callable[..., Any]) -> None:
    client = scripted(lambda body, n: {"text": "x", "wait": lambda: asyncio.sleep(0.35)})
    app = create_app(tn.Toolkit([get_weather]), client, limits=Limits(heartbeat=0.1))
    response = ask(app, {"messages": HI, "stream": True})
    assert response.text.startswith(": ping\n\n")
    assert deltas_of(response)[0]["content"] == "x"


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


# --- the rest of the app ----------------------------------------------------------------------------------------------


def test_models_tells_the_served_model_and_its_tools(scripted: Callable[..., Any]) -> None:
    app = create_app(tn.Toolkit([get_weather]), scripted(two_rounds))
    (model,) = ask(app, path="/v1/models").json()["data"]
    assert (model["id"], model["object"]) == ("scripted", "model")
    assert model["tools"] == [{"name": "get_weather", "description": "Current weather for a city."}]
    assert ask(app, path="/v1/models/org/any").json()["id"] == "scripted"


def test_tools_of_a_kind_that_only_the_model_knows_reach_it(scripted: Callable[..., Any]) -> None:
    client = scripted(lambda body, n: {"text": "x"})
    custom = {"type": "custom", "custom": {"name": "grep", "format": {"type": "text"}}}
    for stream in (False, True):
        response = ask(create_app(tn.Toolkit(), client), {"messages": HI, "tools": [custom], "stream": stream})
        assert response.status_code == 200
        assert client.script.requests[-1]["tools"] == [custom]


def test_a_base_url_without_v1_means_the_same(scripted: Callable[..., Any]) -> None:
    app = create_app(tn.Toolkit([get_weather]), scripted(two_rounds))
    assert ask(app, path="/models").json() == ask(app, path="/v1/models").json()
    assert ask(app, {"messages": HI}, path="/chat/completions").status_code == 200


def test_parameters_cannot_reach_what_is_not_theirs(scripted: Callable[..., Any]) -> None:
    client = scripted(lambda body, n: {"text": "x"})
    odd = {"on_retry": "x", "self": 1, "tool_names": [], "messages_": [], "round": 7, "timeout": 0}
    for tools in ([], [get_weather]):
        assert ask(create_app(tn.Toolkit(tools), client), {"messages": HI, **odd}).status_code == 200
        assert client.script.requests[-1]["round"] == 7


def test_health_is_open_and_everything_else_asks_for_the_key(scripted: Callable[..., Any]) -> None:
    app = create_app(tn.Toolkit([get_weather]), scripted(two_rounds), api_key="k3y")
    assert ask(app, path="/health").json() == {"status": "ok"}
    assert ask(app, path="/").status_code == 200
    assert ask(app, path="/v1/models").status_code == 401
    assert ask(app, {"messages": HI}).status_code == 401
    assert ask(app, {"messages": HI}, path="/mcp").status_code == 401
    assert ask(app, {"messages": HI}, authorization="Bearer k3y").status_code == 200


def test_other_paths_and_methods_are_told_in_the_openai_shape(scripted: Callable[..., Any]) -> None:
    app = create_app(tn.Toolkit(), scripted(two_rounds))
    assert ask(app, path="/v1/nothing").json()["error"]["type"] == "not_found_error"
    wrong = ask(app, path="/v1/chat/completions")
    assert wrong.status_code == 405 and wrong.json()["error"]["message"]


def test_a_tool_that_is_defined_again_is_served_at_once(scripted: Callable[..., Any]) -> None:
    toolkit = tn.Toolkit([get_weather])
    app = create_app(toolkit, scripted(two_rounds))

    @tn.tool(name="get_weather")
    def other(city: str) -> str:
        """Weather."""
        return "rain"

    toolkit.register(other)
    assert ask(app, {"messages": HI}).json()["choices"][0]["message"]["content"] == "It is rain"


def test_a_filter_offers_some_of_the_tools(scripted: Callable[..., Any]) -> None:
    from toolnexus_nb.openai import exclude_tools

    @tn.tool
    def delete() -> str:
        """Delete."""
        return ""

    client = scripted(two_rounds)
    app = create_app(tn.Toolkit([get_weather, delete]), client, keep=exclude_tools("delete"))
    assert ask(app, {"messages": HI}).status_code == 200
    assert [tool["function"]["name"] for tool in client.script.requests[0]["tools"]] == ["get_weather"]


def test_the_files_of_the_page_say_what_they_may_load(scripted: Callable[..., Any]) -> None:
    app = create_app(tn.Toolkit(), scripted(two_rounds), allowed_origins=["https://course.example.org"])
    for path in ("/", "/page/page.css", "/page/page.js", "/page/markdown.js", "/page/tool-events.js"):
        response = ask(app, path=path)
        policy = response.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "https://course.example.org" in policy
        assert response.headers["x-content-type-options"] == "nosniff"
        assert "http://" not in response.text and "https://" not in response.text

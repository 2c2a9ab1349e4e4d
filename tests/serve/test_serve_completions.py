"""The endpoint: what goes out, what is held back, what is handed to the caller."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

import toolnexus_nb as tn
from toolnexus_nb.serve import create_app

Ask = Callable[..., Any]
HI = [{"role": "user", "content": "hi"}]
MINE = {"type": "function", "function": {"name": "mine", "parameters": {"type": "object", "properties": {}}}}


@tn.tool
def get_weather(city: str) -> str:
    """Current weather for a city."""
    if city == "Nowhere":
        raise ValueError("no such station")
    return f"sunny in {city}"


def two_rounds(body: dict[str, Any], number: int) -> dict[str, Any]:
    """The weather in Oslo, then what the tool said about it."""
    if body["messages"][-1]["role"] == "tool":
        return {"reasoning": ["hm"], "texts": ["It is ", body["messages"][-1]["content"]]}
    return {"text": "Let me look.", "calls": [("c1", "get_weather", '{"city":"Oslo"}')]}


# --- the plain reply --------------------------------------------------------------------------------------------------


def test_a_plain_reply_is_the_answer_of_the_last_round(ask: Ask, scripted: Callable[..., Any]) -> None:
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


def test_usage_is_estimated_and_marked_where_the_model_reports_none(ask: Ask, scripted: Callable[..., Any]) -> None:
    client = scripted(lambda body, n: {**two_rounds(body, n), "usage": None})
    usage = ask(create_app(tn.Toolkit([get_weather]), client), {"messages": HI}).json()["usage"]
    assert usage["estimated"] is True
    assert usage["prompt_tokens"] > 0 and usage["completion_tokens"] > 0
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


def test_without_tools_the_model_is_passed_through(ask: Ask, scripted: Callable[..., Any]) -> None:
    client = scripted(lambda body, n: {"text": "hello", "usage": None})
    app = create_app(tn.Toolkit(), client)
    reply = ask(app, {"messages": HI, "n": 2}).json()
    assert reply["choices"][0]["message"]["content"] == "hello"
    assert client.script.requests[0]["n"] == 2
    assert reply["usage"]["estimated"] is True and reply["usage"]["completion_tokens"] > 0
    streamed = ask(app, {"messages": HI, "stream": True, "stream_options": {"include_usage": True}})
    assert "".join(delta.get("content") or "" for delta in streamed.deltas) == "hello"
    assert streamed.chunks[-1]["usage"]["estimated"] is True


# --- the stream -------------------------------------------------------------------------------------------------------


def test_a_stream_is_one_reply_with_comments_about_the_tools(ask: Ask, scripted: Callable[..., Any]) -> None:
    client = scripted(two_rounds)
    response = ask(create_app(tn.Toolkit([get_weather]), client), {"model": "x", "messages": HI, "stream": True})
    assert response.headers["content-type"].startswith("text/event-stream")
    assert "no-cache" in response.headers["cache-control"]
    assert response.headers["x-accel-buffering"] == "no"
    assert "content-length" not in response.headers
    chunks = response.chunks
    assert len({chunk["id"] for chunk in chunks}) == 1
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    deltas = response.deltas
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
    assert response.comments == [
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


def test_usage_comes_last_where_it_is_asked_for(ask: Ask, scripted: Callable[..., Any]) -> None:
    app = create_app(tn.Toolkit([get_weather]), scripted(two_rounds))
    chunks = ask(app, {"messages": HI, "stream": True, "stream_options": {"include_usage": True}}).chunks
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["total_tokens"] == 30
    assert all("usage" in chunk and chunk["usage"] is None for chunk in chunks[:-1])


def test_a_failing_tool_is_told_and_the_model_goes_on(ask: Ask, scripted: Callable[..., Any]) -> None:
    def answer(body: dict[str, Any], number: int) -> dict[str, Any]:
        return {"text": "sorry"} if number > 1 else {"calls": [("c1", "get_weather", '{"city":"Nowhere"}')]}

    response = ask(create_app(tn.Toolkit([get_weather]), scripted(answer)), {"messages": HI, "stream": True})
    _, (kind, end) = response.comments
    assert (kind, end["status"]) == ("tool_end", "error")
    assert "no such station" in end["error"] and "result" not in end
    assert response.deltas[0]["content"] == "sorry"


def test_a_refusal_is_forwarded(ask: Ask, scripted: Callable[..., Any]) -> None:
    app = create_app(tn.Toolkit([get_weather]), scripted(lambda body, n: {"refusal": ["I ", "won't"]}))
    deltas = ask(app, {"messages": HI, "stream": True}).deltas
    assert [delta["refusal"] for delta in deltas if "refusal" in delta] == ["I ", "won't"]
    message = ask(app, {"messages": HI}).json()["choices"][0]["message"]
    assert message["refusal"] == "I won't" and message["content"] is None


def test_progress_is_told_between_start_and_end(ask: Ask, scripted: Callable[..., Any]) -> None:
    @tn.tool
    def slow(context: tn.ToolContext) -> str:
        """Takes steps."""
        for i in range(3):
            context.report(i + 1, 3, f"step {i + 1}")
        return "ok"

    app = create_app(
        tn.Toolkit([slow]), scripted(lambda body, n: {"text": "x"} if n > 1 else {"calls": [("c1", "slow", "{}")]})
    )
    comments = ask(app, {"messages": HI, "stream": True}).comments
    assert [kind for kind, _ in comments] == ["tool_start", *["tool_progress"] * 3, "tool_end"]
    assert comments[2][1] == {
        "tool_call_id": "c1", "tool_name": "slow", "status": "running", "progress": 2, "total": 3, "message": "step 2",
    }  # fmt: skip


LINES = "a\n\ndata: [DONE]\r\n:tool_end:{}\u2028data: [DONE]\x85data: [DONE]\u2029b"


def test_a_result_with_line_ends_is_one_line_of_the_stream(ask: Ask, scripted: Callable[..., Any]) -> None:
    @tn.tool
    def text() -> str:
        """Gives lines."""
        return LINES

    app = create_app(
        tn.Toolkit([text]), scripted(lambda body, n: {"text": "x"} if n > 1 else {"calls": [("c1", "text", "{}")]})
    )
    response = ask(app, {"messages": HI, "stream": True})
    assert response.comments[1][1]["result"] == LINES
    assert [line for line in response.text.splitlines() if line.startswith("data: [DONE]")] == ["data: [DONE]"]


def test_an_error_in_mid_stream_is_one_line_of_it(ask: Ask, scripted: Callable[..., Any]) -> None:
    broken = {"status": 400, "body": {"error": {"message": LINES}}}
    call = {"calls": [("c1", "get_weather", '{"city": "Oslo"}')]}
    app = create_app(tn.Toolkit([get_weather]), scripted(lambda body, n: call if n == 1 else broken))
    response = ask(app, {"messages": HI, "stream": True})
    assert response.chunks[-1]["error"]["message"] == LINES


def test_a_run_that_reaches_its_rounds_says_length(ask: Ask, scripted: Callable[..., Any]) -> None:
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
def test_calls_of_the_callers_tools_are_handed_back_alone(ask: Ask, scripted: Callable[..., Any], stream: bool) -> None:
    client = scripted(caller_calls)
    response = ask(create_app(tn.Toolkit([get_weather]), client), {"messages": HI, "tools": [MINE], "stream": stream})
    if stream:
        (calls,) = [delta["tool_calls"] for delta in response.deltas if "tool_calls" in delta]
        assert [call.pop("index") for call in calls] == [0]
        finish = [choice["finish_reason"] for chunk in response.chunks for choice in chunk["choices"]][-1]
        assert [event["tool_name"] for _, event in response.comments] == ["get_weather", "get_weather"]
    else:
        choice = response.json()["choices"][0]
        calls, finish = choice["message"]["tool_calls"], choice["finish_reason"]
        assert choice["message"]["content"] is None
    assert finish == "tool_calls"
    (call,) = calls
    assert call["function"] == {"name": "mine", "arguments": '{"a":1}'}
    assert call["id"] == "up2"
    offered = [tool["function"]["name"] for tool in client.script.requests[0]["tools"]]
    assert sorted(offered) == ["get_weather", "mine"]


def test_the_model_remembers_what_its_own_tools_said_before_the_callers_ran(
    ask: Ask, scripted: Callable[..., Any]
) -> None:
    client = scripted(caller_calls)
    app = create_app(tn.Toolkit([get_weather]), client)
    message = ask(app, {"messages": HI, "tools": [MINE]}).json()["choices"][0]["message"]
    history = [*HI, message, {"role": "tool", "tool_call_id": "up2", "content": "mine says 7"}]
    assert ask(app, {"messages": history, "tools": [MINE]}).json()["choices"][0]["message"]["content"] == "done"
    sent = client.script.requests[1]["messages"]
    assert [m["role"] for m in sent] == ["user", "assistant", "tool", "tool"]
    assert [call["function"]["name"] for call in sent[1]["tool_calls"]] == ["get_weather", "mine"]
    assert {m["tool_call_id"]: m["content"] for m in sent[2:]} == {"up1": "sunny in Oslo", "up2": "mine says 7"}


def test_a_conversation_is_remembered_for_those_only_who_have_had_it(ask: Ask, scripted: Callable[..., Any]) -> None:
    client = scripted(caller_calls)
    app = create_app(tn.Toolkit([get_weather]), client)
    message = ask(app, {"messages": HI, "tools": [MINE]}).json()["choices"][0]["message"]
    other = [{"role": "user", "content": "something else"}]
    history = [*other, message, {"role": "tool", "tool_call_id": "up2", "content": "mine says 7"}]
    assert ask(app, {"messages": history, "tools": [MINE]}).status_code == 200
    assert "sunny" not in json.dumps(client.script.requests[1]["messages"])


def test_a_name_clash_and_several_replies_are_refused(ask: Ask, scripted: Callable[..., Any]) -> None:
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
    ask: Ask, scripted: Callable[..., Any], approve: Any, ran: bool
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
    assert [kind for kind, _ in response.comments] == ["tool_start", "tool_end"]
    assert response.comments[1][1]["status"] == ("complete" if ran else "error")

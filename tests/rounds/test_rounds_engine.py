"""Rounds: ask, run the calls, ask again; every call answered, whatever it is."""

from __future__ import annotations

import asyncio
import contextvars
import json
import threading
import time
from typing import Any

import pytest

import toolnexus_nb as tn
from toolnexus_nb.openai.errors import APIError, BadRequestError, StreamError
from toolnexus_nb.openai.types import Message
from toolnexus_nb.rounds import events as ev
from toolnexus_nb.rounds.chat import Chat
from toolnexus_nb.rounds.engine import run_rounds


@tn.tool
def echo(n: int = 0) -> str:
    "Say it again."
    return f"n={n}"


@tn.tool
async def later(seconds: float) -> str:
    "Answer later."
    await asyncio.sleep(seconds)
    return f"after {seconds}"


def answers(body: dict[str, Any]) -> list[str]:
    return [message["content"] for message in body["messages"] if message["role"] == "tool"]


def test_every_call_is_answered_in_call_order_and_usage_adds_up(scripted: Any, wire: Any) -> None:
    calls = [("a", "echo", {"n": 1}), ("b", "echo", {"n": 2}), ("c", "ghost", {}), ("d", "echo", "{bad")]
    client, model = scripted(wire.sse(calls=calls, usage=(3, 4)), wire.sse("done", usage=(5, 6)))
    result = Chat(client, [echo]).ask_sync("go")
    assert (result.status, result.text, result.rounds) == ("done", "done", 2)
    assert (result.usage.prompt_tokens, result.usage.completion_tokens, result.usage.total_tokens) == (8, 10, 18)
    assert [usage.prompt_tokens for usage in result.usages] == [3, 5]
    got = answers(model.bodies[1])
    assert got[:2] == ["n=1", "n=2"]
    assert "ghost" in got[2] and "echo" in got[2]
    assert "JSON" in got[3]
    assert [record.state for record in result.calls] == ["done", "done", "failed", "failed"]
    wire.valid(model.bodies[1]["messages"])


@pytest.mark.parametrize(
    ("arguments", "runs"),
    [
        ("", True),
        ("null", True),
        ("{}", True),
        ("[1]", False),
        ('"s"', False),
        ("5", False),
        ('{"n": ', False),
        ("{]", False),
    ],
)
def test_a_tool_never_runs_on_arguments_that_did_not_parse(
    scripted: Any, wire: Any, arguments: str, runs: bool
) -> None:
    ran: list[int] = []

    @tn.tool
    def all_optional(n: int = 0) -> str:
        "T."
        ran.append(n)
        return "ran"

    client, model = scripted(wire.sse(calls=[("a", "all_optional", arguments)]), wire.sse("ok"))
    Chat(client, [all_optional]).ask_sync("go")
    assert bool(ran) is runs
    assert (answers(model.bodies[1]) == ["ran"]) is runs
    wire.valid(model.bodies[1]["messages"])


def test_a_call_without_an_id_gets_one_that_its_answer_carries(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.sse(calls=[("", "echo", {"n": 1}), ("", "echo", {"n": 2})]), wire.sse("ok"))
    Chat(client, [echo]).ask_sync("go")
    wire.valid(model.bodies[1]["messages"])


def test_equal_ids_in_one_message_are_told_apart(scripted: Any, wire: Any) -> None:
    two = wire.Act([wire.whole(calls=[("same", "echo", {"n": 1}), ("same", "echo", {"n": 2})])])
    client, model = scripted(two, wire.Act([wire.whole("ok")]))
    Chat(client, [echo], stream=False).ask_sync("go")
    wire.valid(model.bodies[1]["messages"])
    assert answers(model.bodies[1]) == ["n=1", "n=2"]


def test_ids_may_come_again_in_the_next_round(scripted: Any, wire: Any) -> None:
    client, model = scripted(
        wire.sse(calls=[("call_0", "echo", {"n": 1})]), wire.sse(calls=[("call_0", "echo", {"n": 2})]), wire.sse("ok")
    )
    Chat(client, [echo]).ask_sync("go")
    assert answers(model.bodies[2]) == ["n=1", "n=2"]
    wire.valid(model.bodies[2]["messages"])


def test_the_last_round_asks_for_an_answer_without_tools(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.sse("once more", calls=[("a", "echo", {"n": 1})]))
    result = Chat(client, [echo], max_rounds=2).ask_sync("go")
    assert (result.status, result.limit, result.rounds) == ("incomplete", "max_rounds", 2)
    assert result.text == "once more"
    assert [body.get("tool_choice") for body in model.bodies] == [None, "none"]
    assert "tools" in model.bodies[1]
    assert "limit of rounds" in result.messages[-1].get_content_as_string()
    assert any("max_rounds=" in note for note in result.notes)


def test_no_rounds_at_all_are_refused(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.sse("ok"))
    chat = Chat(client)
    with pytest.raises(ValueError, match="max_rounds"):
        chat.ask_sync("go", max_rounds=0)
    assert chat.ask_sync("go").text == "ok" and len(model.bodies) == 1


def test_after_the_limit_the_conversation_goes_on(scripted: Any, wire: Any) -> None:
    client, model = scripted(
        wire.sse(calls=[("a", "echo", {"n": 1})]), wire.sse(calls=[("b", "echo", {})]), wire.sse("fine")
    )
    chat = Chat(client, [echo], max_rounds=2)
    chat.ask_sync("go")
    assert chat.ask_sync("well?").text == "fine"
    wire.valid(model.bodies[2]["messages"])


@pytest.mark.parametrize(("finish", "limit"), [("length", "length"), ("content_filter", "content_filter")])
def test_an_answer_cut_by_the_provider_is_incomplete(scripted: Any, wire: Any, finish: str, limit: str) -> None:
    client, _ = scripted(wire.sse("cut", finish=finish))
    result = Chat(client).ask_sync("go")
    assert (result.status, result.limit, result.text, result.finish_reason) == ("incomplete", limit, "cut", finish)


def test_calls_that_length_cut_off_do_not_run(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.sse(calls=[("a", "echo", '{"n": 1')], finish="length"), wire.sse("ok"))
    result = Chat(client, [echo]).ask_sync("go")
    assert [record.state for record in result.calls] == ["failed"]
    assert result.status == "done"
    wire.valid(model.bodies[1]["messages"])


@pytest.mark.parametrize("finish", ["stop", "tool_calls", "function_call", "eos"])
def test_calls_run_because_they_are_there(scripted: Any, wire: Any, finish: str) -> None:
    client, model = scripted(wire.sse(calls=[("a", "echo", {"n": 3})], finish=finish), wire.sse("ok"))
    Chat(client, [echo]).ask_sync("go")
    assert answers(model.bodies[1]) == ["n=3"]


def test_a_refusal_is_shown(scripted: Any, wire: Any) -> None:
    client, _ = scripted(wire.sse(refusal="I will not."))
    result = Chat(client).ask_sync("go")
    assert (result.status, result.refusal) == ("done", "I will not.")


def test_an_empty_answer_ends_the_run(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.sse(""))
    result = Chat(client, [echo]).ask_sync("go")
    assert (result.status, result.text, len(model.bodies)) == ("done", "", 1)


def test_no_tools_means_a_bare_body(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.Act([wire.whole("hi")]))
    Chat(client, stream=False, parallel_tool_calls=False, tool_choice="auto").ask_sync("go")
    assert set(model.bodies[0]) == {"model", "messages"}


def test_a_forced_first_call_does_not_force_for_ever(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.sse(calls=[("a", "echo", {"n": 1})]), wire.sse("ok"))
    Chat(client, [echo], tool_choice="echo").ask_sync("go")
    assert [body["tool_choice"] for body in model.bodies] == [
        {"type": "function", "function": {"name": "echo"}},
        "auto",
    ]


def test_without_streaming_everything_is_the_same(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.Act([wire.whole("see", [("a", "echo", {"n": 1})])]), wire.Act([wire.whole("done")]))
    result = Chat(client, [echo], stream=False).ask_sync("go")
    assert (result.text, result.usage.total_tokens, result.tool_calls[0].name) == ("done", 30, "echo")
    assert answers(model.bodies[1]) == ["n=1"]


@pytest.mark.parametrize("body", [b'{"choices":[]}', b"{}", b"not json", b""])
def test_a_reply_without_a_choice_is_an_error(scripted: Any, wire: Any, body: bytes) -> None:
    client, _ = scripted(wire.Act([body], headers={"content-type": "application/json"}), retries=0)
    for stream in (True, False):
        with pytest.raises(APIError):
            Chat(client, stream=stream).ask_sync("go")


def test_a_server_that_ignores_stream_is_read_all_the_same(scripted: Any, wire: Any) -> None:
    client, _ = scripted(wire.Act([wire.whole("hi")], headers={"content-type": "application/json"}))
    assert Chat(client).ask_sync("go").text == "hi"
    client, _ = scripted(wire.sse("hi"))
    assert Chat(client, stream=False).ask_sync("go").text == "hi"


def test_usage_nobody_reported_is_estimated_and_says_so(scripted: Any, wire: Any) -> None:
    client, _ = scripted(wire.sse("four words of text", usage=None))
    result = Chat(client).ask_sync("go on then")
    assert result.usage.estimated and result.usage.completion_tokens > 0
    assert "estimated" in str(result.usage)


def test_tools_run_side_by_side(scripted: Any, wire: Any) -> None:
    calls = [(f"c{i}", "later", {"seconds": 0.2}) for i in range(20)]
    client, model = scripted(wire.sse(calls=calls), wire.sse("ok"))
    started = time.monotonic()
    Chat(client, [later]).ask_sync("go")
    assert time.monotonic() - started < 1.0
    assert answers(model.bodies[1]) == ["after 0.2"] * 20


def test_starts_come_before_and_ends_right_after(scripted: Any, wire: Any) -> None:
    told: list[str] = []

    @tn.tool
    def slow(n: int) -> str:
        "T."
        told.append(f"run {n}")
        time.sleep(0.15 * n)
        return str(n)

    class Listener:
        def on_event(self, event: Any) -> None:
            if isinstance(event, ev.ToolStarted):
                told.append(f"start {event.call.arguments['n']}")
            if isinstance(event, ev.ToolFinished):
                told.append(f"end {event.result.output}")

    client, model = scripted(wire.sse(calls=[("a", "slow", {"n": 2}), ("b", "slow", {"n": 1})]), wire.sse("ok"))
    Chat(client, [slow], handler=Listener()).ask_sync("go")
    assert told.index("start 2") < told.index("run 2") and told.index("start 1") < told.index("run 1")
    assert told[-2:] == ["end 1", "end 2"]
    assert answers(model.bodies[1]) == ["2", "1"]


def test_events_tell_the_whole_story(scripted: Any, wire: Any) -> None:
    client, _ = scripted(
        wire.sse("hm", calls=[("a", "echo", {"n": 1})], reasoning_content="thinking"), wire.sse("done")
    )
    seen = list(Chat(client, [echo]).events("go"))
    kinds = [type(event).__name__ for event in seen]
    assert kinds == [
        "RoundStarted", "ReasoningDelta", "TextDelta", "ToolCallDelta", "UsageReported", "RoundFinished", "ToolStarted",
        "ToolFinished", "RoundStarted", "TextDelta", "UsageReported", "RoundFinished", "RunFinished",
    ]  # fmt: skip
    assert [event.round for event in seen] == [1] * 8 + [2] * 5
    assert isinstance(seen[0], ev.RoundStarted) and (seen[0].messages, seen[0].tools, seen[0].model) == (1, 1, "m")
    assert isinstance(seen[-1], ev.RunFinished) and seen[-1].result.reasoning == "thinking"


def test_events_can_be_awaited_and_left(scripted: Any, wire: Any) -> None:
    client, model = scripted([wire.chunk({"content": "never ending"}), "hang"])
    chat = Chat(client)

    async def leave() -> None:
        events = aiter(chat.events("go"))
        async for event in events:
            if isinstance(event, ev.TextDelta):
                break
        await events.aclose()

    asyncio.run(leave())
    assert chat.last is not None and (chat.last.status, chat.last.text) == ("stopped", "never ending")
    assert chat.messages == []
    assert model.closed == 1


def test_context_variables_reach_the_tools(scripted: Any, wire: Any) -> None:
    who = contextvars.ContextVar("who", default="LOST")

    @tn.tool
    def plain() -> str:
        "T."
        return who.get()

    @tn.tool
    async def awaited() -> str:
        "T."
        return who.get()

    client, model = scripted(wire.sse(calls=[("a", "plain", {}), ("b", "awaited", {})]), wire.sse("ok"))
    who.set("here")
    Chat(client, [plain, awaited]).ask_sync("go")
    assert answers(model.bodies[1]) == ["here", "here"]


def test_progress_is_told_with_its_call(scripted: Any, wire: Any) -> None:
    @tn.tool
    def work(context: tn.ToolContext) -> str:
        "T."
        for i in range(3):
            context.report(i + 1, 3, f"step {i + 1}")
        return "done"

    client, _ = scripted(wire.sse(calls=[("a", "work", {})]), wire.sse("ok"))
    told = [event for event in Chat(client, [work]).events("go") if isinstance(event, ev.ToolProgress)]
    assert [(event.call_id, event.progress, event.total, event.message) for event in told] == [
        ("a", 1, 3, "step 1"), ("a", 2, 3, "step 2"), ("a", 3, 3, "step 3"),
    ]  # fmt: skip


def test_a_tool_may_ask_a_chat_itself(scripted: Any, wire: Any) -> None:
    inner, _ = scripted(wire.sse("from inside"))

    @tn.tool
    async def awaiting() -> str:
        "T."
        return (await Chat(inner).ask("q")).text

    @tn.tool
    def blocking() -> str:
        "T."
        return Chat(inner).ask_sync("q").text

    client, model = scripted(wire.sse(calls=[("a", "awaiting", {}), ("b", "blocking", {})]), wire.sse("ok"))
    Chat(client, [awaiting, blocking]).ask_sync("go")
    assert answers(model.bodies[1]) == ["from inside", "from inside"]


def test_a_tool_of_the_main_thread_runs_there_in_every_form(scripted: Any, wire: Any) -> None:
    @tn.tool(main_thread=True)
    def where() -> str:
        "T."
        return threading.current_thread().name

    class Busy:
        def on_event(self, event: Any) -> None:
            time.sleep(0.01)  # a handler that takes its time must not make the main thread unreachable

    calls = [(f"c{i}", "where", {}) for i in range(5)]
    for form in ("sync", "async", "sync under a loop"):
        client, model = scripted(wire.sse(calls=calls), wire.sse("ok"))
        chat = Chat(client, [where], handler=Busy())

        async def under(chat: Chat = chat) -> None:
            chat.ask_sync("go")

        if form == "sync":
            chat.ask_sync("go")
        else:
            asyncio.run(chat.ask("go") if form == "async" else under())
        assert answers(model.bodies[1]) == ["MainThread"] * 5, form


# --- when it fails ----------------------------------------------------------------------------------------------------


def test_an_error_carries_the_result_and_takes_the_prompt_back(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.error(400, "no such model"), wire.sse("fine"))
    chat = Chat(client)
    with pytest.raises(BadRequestError, match="no such model") as caught:
        chat.ask_sync("go")
    result = caught.value.result  # type: ignore[attr-defined]
    assert result is chat.last and result.status == "error" and result.error is caught.value
    assert chat.messages == [] and chat.turns == []
    assert chat.ask_sync("go").text == "fine"
    assert len(model.bodies[1]["messages"]) == 1


def test_an_error_after_tools_ran_keeps_what_they_did(scripted: Any, wire: Any) -> None:
    client, model = scripted(
        wire.sse(calls=[("a", "echo", {"n": 1})]), wire.error(400, "broken"), wire.sse("fine"), retries=0
    )
    chat = Chat(client, [echo])
    with pytest.raises(BadRequestError):
        chat.ask_sync("go")
    assert [message.role for message in chat.messages] == ["user", "assistant", "tool"]
    assert chat.ask_sync("and now?").text == "fine"
    wire.valid(model.bodies[2]["messages"])


def test_a_stream_that_breaks_runs_no_tools_and_keeps_its_text(scripted: Any, wire: Any) -> None:
    events = wire.sse("half of", calls=[("a", "echo", {"n": 1})])[:-3]
    client, _ = scripted(events)
    chat = Chat(client, [echo])
    with pytest.raises(StreamError):
        chat.ask_sync("go")
    assert chat.last is not None and chat.last.text == "half of" and chat.last.calls == []
    assert chat.messages == []


def test_one_chat_answers_one_question_at_a_time(scripted: Any, wire: Any) -> None:
    client, _ = scripted([0.2, *wire.sse("ok")])
    chat = Chat(client)

    async def both() -> None:
        first = asyncio.create_task(chat.ask("one"))
        await asyncio.sleep(0.05)
        with pytest.raises(RuntimeError, match="fork"):
            await chat.ask("two")
        assert (await first).text == "ok"

    asyncio.run(both())


def test_a_run_can_have_a_limit_of_time(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.sse(calls=[("a", "later", {"seconds": 30})]), wire.sse("fine"))
    chat = Chat(client, [later], timeout=0.2)
    started = time.monotonic()
    result = chat.ask_sync("go")
    assert time.monotonic() - started < 1
    assert (result.status, result.limit) == ("incomplete", "timeout")
    assert [record.state for record in result.calls] == ["cancelled"]
    assert chat.ask_sync("and now?").text == "fine"
    wire.valid(model.bodies[1]["messages"])


def test_a_call_can_have_a_limit_of_time(scripted: Any, wire: Any) -> None:
    client, model = scripted(
        wire.sse(calls=[("a", "later", {"seconds": 30}), ("b", "echo", {"n": 1})]), wire.sse("fine")
    )
    result = Chat(client, [later, echo], call_timeout=0.1).ask_sync("go")
    assert result.status == "done"
    assert [record.state for record in result.calls] == ["failed", "done"]
    assert "0.1 s" in answers(model.bodies[1])[0]


# --- without a chat ---------------------------------------------------------------------------------------------------


def test_run_rounds_needs_no_chat_and_hands_back_the_callers_calls(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.sse(calls=[("a", "echo", {"n": 1}), ("b", "theirs", {"x": 1})]))
    theirs = {"type": "function", "function": {"name": "theirs", "parameters": {"type": "object", "properties": {}}}}

    async def collect() -> list[Any]:
        rounds = run_rounds(client, tn.Toolkit([echo]), [Message.user("go")], caller_tools=[theirs], max_rounds=3)
        return [event async for event in rounds]

    result = asyncio.run(collect())[-1].result
    assert (result.status, result.finish_reason) == ("done", "tool_calls")
    assert [call.name for call in result.caller_calls] == ["theirs"]
    assert [message.role for message in result.messages] == ["user", "assistant", "tool"]
    assert [tool["function"]["name"] for tool in model.bodies[0]["tools"]] == ["echo", "theirs"]


def test_the_callers_tools_are_offered_in_the_last_round_too(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.sse(calls=[("b", "theirs", {"x": 1})]))
    theirs = {"type": "function", "function": {"name": "theirs", "parameters": {"type": "object", "properties": {}}}}

    async def collect() -> list[Any]:
        rounds = run_rounds(client, tn.Toolkit([echo]), [Message.user("go")], caller_tools=[theirs], max_rounds=1)
        return [event async for event in rounds]

    result = asyncio.run(collect())[-1].result
    assert (result.status, [call.name for call in result.caller_calls]) == ("done", ["theirs"])
    assert [tool["function"]["name"] for tool in model.bodies[0]["tools"]] == ["theirs"]


def test_an_approve_that_is_cancelled_does_not_hang_the_run(scripted: Any, wire: Any) -> None:
    @tn.tool(needs_approval=True)
    def careful() -> str:
        "T."
        return "ran"

    async def gone(call: Any) -> str:
        raise asyncio.CancelledError

    client, model = scripted(wire.sse(calls=[("a", "careful", {})]), wire.sse("ok"))
    result = asyncio.run(asyncio.wait_for(Chat(client, [careful], approve=gone).ask("go"), 5))
    assert [record.state for record in result.calls] == ["cancelled"]
    wire.valid(model.bodies[1]["messages"])


def test_closing_run_rounds_stops_everything(scripted: Any, wire: Any) -> None:
    client, model = scripted([wire.chunk({"content": "x"}), "hang"])

    async def leave() -> int:
        rounds = run_rounds(client, None, [Message.user("go")])
        async for event in rounds:
            if isinstance(event, ev.TextDelta):
                break
        await rounds.aclose()
        return len(asyncio.all_tasks())

    assert asyncio.run(leave()) == 1
    assert model.closed == 1


def test_memory_of_a_call_is_json(scripted: Any, wire: Any) -> None:
    client, _ = scripted(wire.sse(calls=[("a", "echo", {"n": 1})]), wire.sse("ok"))
    chat = Chat(client, [echo])
    chat.ask_sync("go")
    json.dumps([message.model_dump_wire() for message in chat.messages])

"""Whatever happens in whatever order, the conversation can be sent, and the next question is answered."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import toolnexus_nb as tn
from toolnexus_nb.openai.errors import APIConnectionError
from toolnexus_nb.rounds import events as ev
from toolnexus_nb.rounds.chat import Chat


@tn.tool
async def quick(n: int = 0) -> str:
    "Fast."
    return f"quick {n}"


@tn.tool
async def slow(n: int = 0) -> str:
    "Slow."
    await asyncio.sleep(0.004)
    return f"slow {n}"


@tn.tool
def thread(context: tn.ToolContext) -> str:
    "In a thread."
    return "thread"


@tn.tool
async def broken() -> str:
    "Fails."
    raise RuntimeError("broken")


@tn.tool(needs_approval=True)
async def careful() -> str:
    "Needs a decision."
    return "careful"


TOOLS = [quick, slow, thread, broken, careful]
ARGUMENTS = st.sampled_from(["{}", "", '{"n": 1}', "{bad", "[1]", '{"n": ', "null"])
CALL = st.tuples(
    st.sampled_from(["a", "b", "c", "d", ""]),
    st.sampled_from(["quick", "slow", "thread", "broken", "careful", "ghost"]),
    ARGUMENTS,
)
REPLY = st.one_of(
    st.builds(lambda text, calls: ("answer", text, calls), st.sampled_from(["", "text"]), st.lists(CALL, max_size=4)),
    st.just(("cut",)),
    st.just(("error",)),
    st.just(("unreachable",)),
    st.just(("garbage",)),
    st.just(("hang",)),
)
STOP = st.one_of(st.none(), st.integers(min_value=0, max_value=25))
"""At which event the run is stopped, if at all; one that hangs is stopped in any case."""
DECISION = st.sampled_from([None, "allow", "deny", ("deny", "no"), ("edit", {}), "raise"])


def reply(wire: Any, plan: tuple[Any, ...]) -> Any:
    match plan:
        case ("answer", text, calls):
            used: set[str] = set()
            distinct = [call for call in calls if call[0] == "" or not (call[0] in used or used.add(call[0]))]
            return wire.sse(text, calls=distinct)
        case ("cut",):
            return wire.sse("half of it", calls=[("x", "quick", "{}")])[:-3]
        case ("error",):
            return wire.error(400, "refused")
        case ("unreachable",):
            return APIConnectionError("nobody there")
        case ("garbage",):
            return [wire.chunk({"content": "fine so far"}), b"data: {broken\n\n"]
        case _:
            return [wire.chunk({"content": "and then"}), "hang"]


async def one_question(chat: Chat, stop_at: int | None, approve: Any, resume: Any) -> None:
    """Ask, stop at some event, resume what paused; whatever is raised has to be one of the promised exceptions."""

    def decide(call: Any) -> Any:
        if approve == "raise":
            raise LookupError("nobody to ask")
        return approve

    try:
        seen = 0
        events = aiter(chat.events("question", approve=decide))
        async for event in events:
            if seen == stop_at or (isinstance(event, ev.TextDelta) and event.text == "and then"):
                break
            seen += 1
        await events.aclose()
        if chat.last is not None and chat.last.status == "paused" and resume is not None:
            await asyncio.wait_for(chat.last.resume(resume), 0.1)
    except (tn.APIError, LookupError, TimeoutError):
        pass


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    questions=st.lists(st.tuples(st.lists(REPLY, min_size=1, max_size=4), STOP, DECISION, DECISION), max_size=3),
    max_rounds=st.integers(min_value=1, max_value=4),
)
def test_the_next_question_is_always_answered(scripted: Any, wire: Any, questions: list[Any], max_rounds: int) -> None:
    async def story() -> None:
        client, model = scripted(*[reply(wire, plan) for plans, *_ in questions for plan in plans] or [[]], retries=0)
        chat = Chat(client, TOOLS, system="Be brief.", max_rounds=max_rounds)
        for _, stop_at, approve, resume in questions:
            if approve in ("deny", None, "allow", "raise") or isinstance(approve, tuple):
                await one_question(chat, stop_at, approve, resume if resume != "raise" else "allow")
        for body in model.bodies:
            wire.valid(body["messages"])
        assert chat.turns == [i for i, message in enumerate(chat.messages) if message.role == "user"]
        model.acts = [wire.sse("the end")]
        model.bodies.clear()
        assert (await chat.ask("last question")).text == "the end"
        wire.valid(model.bodies[0]["messages"])
        while chat.undo():
            pass
        assert chat.messages == []

    asyncio.run(story())


@pytest.mark.parametrize("stop_at", range(14))
def test_stop_at_every_event_of_a_run(scripted: Any, wire: Any, stop_at: int) -> None:
    async def story() -> None:
        calls = [("a", "quick", {}), ("b", "slow", {}), ("c", "careful", {}), ("d", "ghost", {})]
        client, model = scripted(wire.sse("text", calls=calls), wire.sse("answer"))
        chat = Chat(client, TOOLS)
        await one_question(chat, stop_at, "allow", None)
        model.acts = [wire.sse("the end")]
        assert (await chat.ask("last question")).text == "the end"
        wire.valid(model.bodies[-1]["messages"])

    asyncio.run(story())

"""Who may run: policies, a person asked call by call, and a run that pauses and goes on later, elsewhere."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest

import toolnexus_nb as tn
from toolnexus_nb.rounds import events as ev
from toolnexus_nb.rounds.chat import Chat


@tn.tool(needs_approval=lambda arguments: f"deletes {arguments['path']}" if arguments["path"] != "tmp" else False)
def delete(path: str) -> str:
    "Delete a file."
    return f"deleted {path}"


@tn.tool
def look(path: str) -> str:
    "Look at a file."
    return f"saw {path}"


CALLS = [("a", "delete", {"path": "home"}), ("b", "look", {"path": "home"}), ("c", "delete", {"path": "tmp"})]


def answers(body: dict[str, Any]) -> list[str]:
    return [message["content"] for message in body["messages"] if message["role"] == "tool"]


@pytest.mark.parametrize("decision", ["allow", True, lambda call: "allow", lambda call: True])
def test_allowed(scripted: Any, wire: Any, decision: Any) -> None:
    client, model = scripted(wire.sse(calls=CALLS), wire.sse("ok"))
    policy = decision if decision is not True else lambda call: True
    assert Chat(client, [delete, look], approve=policy).ask_sync("go").status == "done"
    assert answers(model.bodies[1]) == ["deleted home", "saw home", "deleted tmp"]


def test_denied_with_a_reason(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.sse(calls=CALLS), wire.sse("ok"))
    result = Chat(client, [delete, look], approve=lambda call: ("deny", "it is needed")).ask_sync("go")
    assert "it is needed" in answers(model.bodies[1])[0]
    assert [record.state for record in result.calls] == ["denied", "done", "done"]
    wire.valid(model.bodies[1]["messages"])


def test_arguments_edited(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.sse(calls=CALLS[:1]), wire.sse("ok"))
    result = Chat(client, [delete], approve=lambda call: ("edit", {"path": "cache"})).ask_sync("go")
    told = answers(model.bodies[1])[0]
    assert "deleted cache" in told and "changed the arguments" in told
    assert result.calls[0].call.arguments == {"path": "cache"}
    sent = model.bodies[1]["messages"][1]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(sent) == {"path": "home"}


@pytest.mark.parametrize("form", ["plain", "async"])
def test_approve_is_asked_on_the_thread_that_asked_and_sees_the_reason_first(
    scripted: Any, wire: Any, form: str
) -> None:
    client, _ = scripted(wire.sse(calls=CALLS), wire.sse("ok"))
    heard: list[str] = []

    def plain(call: Any) -> str:
        heard.append(f"asked on {threading.current_thread().name}")
        return "allow"

    async def awaited(call: Any) -> str:
        await asyncio.sleep(0.02)
        return plain(call)

    class Listener:
        def on_event(self, event: Any) -> None:
            if isinstance(event, ev.ApprovalAsked):
                heard.append(event.reason)

    chat = Chat(client, [delete, look], approve=plain if form == "plain" else awaited, handler=Listener())
    asyncio.run(chat.ask("go"))
    assert heard == ["deletes home", "asked on MainThread"]


def test_while_a_person_thinks_the_other_tools_go_on(scripted: Any, wire: Any) -> None:
    client, _ = scripted(wire.sse(calls=CALLS), wire.sse("ok"))
    finished: list[str] = []
    seen_before_decision: list[str] = []

    async def person(call: Any) -> str:
        await asyncio.sleep(0.3)
        seen_before_decision.extend(finished)
        return "allow"

    class Listener:
        def on_event(self, event: Any) -> None:
            if isinstance(event, ev.ToolFinished):
                finished.append(event.call.id)

    asyncio.run(Chat(client, [delete, look], approve=person, handler=Listener()).ask("go"))
    assert sorted(seen_before_decision) == ["b", "c"]


def test_a_wrong_decision_is_an_error_that_names_the_forms(scripted: Any, wire: Any) -> None:
    client, _ = scripted(wire.sse(calls=CALLS))
    with pytest.raises(ValueError, match="deny"):
        Chat(client, [delete, look], approve=lambda call: "perhaps").ask_sync("go")
    with pytest.raises(ValueError, match="allow"):
        Chat(client, approve="yes")  # type: ignore[arg-type]


def test_an_approve_that_raises_ends_the_run_in_order(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.sse(calls=CALLS), wire.sse("ok"))

    def broken(call: Any) -> str:
        raise LookupError("no such person")

    chat = Chat(client, [delete, look], approve=broken)
    with pytest.raises(LookupError, match="no such person"):
        chat.ask_sync("go")
    assert chat.ask_sync("again", approve="deny").text == "ok"
    wire.valid(model.bodies[1]["messages"])


def test_without_anyone_to_ask_the_run_pauses_and_resumes(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.sse("let me", calls=CALLS), wire.sse("all done"))
    chat = Chat(client, [delete, look])
    paused = chat.ask_sync("go")
    assert (paused.status, [(p.call.id, p.reason) for p in paused.pending]) == ("paused", [("a", "deletes home")])
    assert [record.call.id for record in paused.calls] == ["b", "c"]
    wire.valid([message.model_dump_wire() for message in chat.messages])
    result = paused.resume_sync({"a": "allow"})
    assert (result.status, result.text, result.rounds) == ("done", "all done", 2)
    assert answers(model.bodies[1]) == ["deleted home", "saw home", "deleted tmp"]
    assert [record.call.id for record in result.calls] == ["b", "c", "a"]
    assert result.usage.total_tokens == 30 and chat.usage.total_tokens == 30
    assert len(result.wire()) == 2
    assert result.messages[0].content == "go"
    wire.valid(model.bodies[1]["messages"])


@pytest.mark.parametrize(
    ("decision", "said"), [(("deny", "too risky"), "too risky"), (("edit", {"path": "x"}), "deleted x")]
)
def test_other_decisions_of_a_paused_run(scripted: Any, wire: Any, decision: Any, said: str) -> None:
    client, model = scripted(wire.sse(calls=CALLS), wire.sse("ok"))
    paused = Chat(client, [delete, look]).ask_sync("go")
    assert asyncio.run(paused.resume({"a": decision})).status == "done"
    assert said in answers(model.bodies[1])[0]


def test_deciding_one_of_two_keeps_the_other_waiting(scripted: Any, wire: Any) -> None:
    calls = [("a", "delete", {"path": "one"}), ("b", "delete", {"path": "two"})]
    client, model = scripted(wire.sse(calls=calls), wire.sse("ok"))
    chat = Chat(client, [delete])
    first = chat.ask_sync("go")
    second = first.resume_sync({"b": "allow"})
    assert (second.status, [p.call.id for p in second.pending]) == ("paused", ["a"])
    assert len(model.bodies) == 1
    assert second.resume_sync("deny").status == "done"
    assert [text.split()[0] for text in answers(model.bodies[1])] == ["The", "deleted"]
    with pytest.raises(ValueError, match="paused"):
        first.resume_sync("allow")


def test_a_paused_question_goes_on_as_it_began(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.sse(calls=CALLS), wire.sse('{"value": 3}'))
    chat = Chat(client, [delete, look])
    paused = chat.ask_sync("how many?", returns=int, temperature=0.7)
    assert paused.resume_sync("allow").value == 3
    assert [body["temperature"] for body in model.bodies] == [0.7, 0.7]


def test_a_decision_about_no_call_names_those_that_wait(scripted: Any, wire: Any) -> None:
    client, _ = scripted(wire.sse(calls=CALLS))
    with pytest.raises(ValueError, match="waiting: a"):
        Chat(client, [delete, look]).ask_sync("go").resume_sync({"z": "allow"})


def test_a_new_question_instead_of_a_decision(scripted: Any, wire: Any) -> None:
    client, model = scripted(wire.sse(calls=CALLS), wire.sse("ok"))
    chat = Chat(client, [delete, look])
    paused = chat.ask_sync("go")
    assert chat.ask_sync("never mind").text == "ok"
    assert "nobody allowed" in answers(model.bodies[1])[0]
    assert paused.pending == []
    wire.valid(model.bodies[1]["messages"])


def test_a_paused_run_goes_on_in_another_process(endpoint: Any, wire: Any, tmp_path: Path) -> None:
    endpoint.acts = [wire.sse(calls=CALLS), wire.sse("from elsewhere")]
    chat = Chat(tn.Client(endpoint.url, "m"), [delete, look])
    chat.ask_sync("go")
    saved = chat.save(tmp_path / "chat.json")
    program = textwrap.dedent(f"""
        import toolnexus_nb as tn
        @tn.tool(needs_approval=True)
        def delete(path: str) -> str:
            "Delete."
            return "deleted " + path
        chat = tn.Chat.load({str(saved)!r}, tn.Client({endpoint.url!r}, "m"), [delete])
        assert chat.last.status == "paused", chat.last
        result = chat.last.resume_sync({{"a": "allow"}})
        print(result.status, result.text, result.rounds)
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "done from elsewhere 2", done.stderr
    assert answers(endpoint.bodies[1]) == ["deleted home", "saw home", "deleted tmp"]
    wire.valid(endpoint.bodies[1]["messages"])

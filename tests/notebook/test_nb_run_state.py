"""The story of a run, reduced from its events."""

from __future__ import annotations

import json

import pytest

from toolnexus_nb.notebook.run_replay import state_of
from toolnexus_nb.notebook.run_state import FOOT, HEAD, NOTES, RunState
from toolnexus_nb.openai.types import Message, ToolCall, Usage
from toolnexus_nb.rounds import events as ev
from toolnexus_nb.rounds.result import CallRecord, Pending, RunResult
from toolnexus_nb.tools.results import ToolResult


def call(call_id: str, name: str, **arguments: object) -> ToolCall:
    return ToolCall.from_any({"id": call_id, "function": {"name": name, "arguments": json.dumps(arguments)}})


def test_a_call_goes_from_received_text_to_its_result() -> None:
    state = RunState(prompt="Weather?")
    state.apply(ev.RoundStarted(1, "m", 1, 1))
    assert state.apply(ev.ToolCallDelta(1, 0, "a", "weather", '{"city": ')) == (HEAD, "r1", "r1.c0")
    assert state.apply(ev.ToolCallDelta(1, 0, "a", "weather", '"Oslo"}')) == ("r1.c0",)
    only = state.calls[0]
    assert (only.status, str(only.typed), only.arguments) == ("receiving", '{"city": "Oslo"}', None)

    made = call("a", "weather", city="Oslo")
    state.apply(ev.RoundFinished(1, Message.assistant(None, tool_calls=[made]), "tool_calls", None, 0.5))
    assert (only.status, only.arguments) == ("received", {"city": "Oslo"})
    state.apply(ev.ToolStarted(1, made, None))
    assert only.status == "running"
    state.apply(ev.ToolProgress(1, "a", 1, 2, "half"))
    assert only.progress == (1, 2, "half")
    state.apply(ev.ToolFinished(1, made, ToolResult("sunny"), 0.2, "done"))
    assert (only.status, only.seconds, only.result.output) == ("done", 0.2, "sunny")
    assert len(state.calls) == 1


def test_the_same_id_in_two_rounds_is_two_calls() -> None:
    state = RunState()
    for number in (1, 2):
        made = call("call_0", "weather", round=number)
        state.apply(ev.ToolCallDelta(number, 0, "call_0", "weather", ""))
        state.apply(ev.ToolStarted(number, made, None))
        state.apply(ev.ToolFinished(number, made, ToolResult(f"r{number}"), 0.1, "done"))
    assert [c.result.output for c in state.calls] == ["r1", "r2"]


def test_a_call_that_streamed_in_without_an_id_is_not_told_twice() -> None:
    state = RunState()
    state.apply(ev.ToolCallDelta(1, 0, "", "weather", "{}"))
    state.apply(ev.ToolStarted(1, call("made-up", "weather"), None))
    assert [(c.call_id, c.status) for c in state.calls] == [("made-up", "running")]


def test_a_paused_run_waits_and_goes_on_in_the_same_call() -> None:
    state = RunState()
    made = call("a", "send_mail", to="x")
    state.apply(ev.ApprovalAsked(1, made, "it sends"))
    state.apply(ev.RunFinished(1, RunResult(status="paused", pending=[Pending(made, "it sends")])))
    assert (state.status, state.calls[0].status, state.calls[0].reason) == ("paused", "waiting", "it sends")
    assert not state.ended
    state.apply(ev.ToolStarted(2, made, None))  # a resumed call may be told of in a later round
    state.apply(ev.ToolFinished(2, made, ToolResult("sent"), 0.1, "done"))
    assert [(c.call_id, c.status) for c in state.calls] == [("a", "done")]


def test_what_was_cut_off_by_a_stop_is_cancelled() -> None:
    state = RunState()
    state.apply(ev.ToolCallDelta(1, 0, "a", "weather", '{"ci'))
    state.apply(ev.RunFinished(1, RunResult(status="stopped")))
    assert state.calls[0].status == "cancelled"
    assert state.ended


def test_an_error_is_kept_with_its_name() -> None:
    state = RunState()
    state.apply(ev.RunFinished(0, RunResult(status="error", error=ValueError("no such model"))))
    assert state.error == "ValueError: no such model"


def test_usage_is_the_sum_of_the_rounds_until_the_run_says_its_own() -> None:
    state = RunState()
    for number in (1, 2):
        state.apply(ev.UsageReported(number, Usage(prompt_tokens=10, completion_tokens=2, total_tokens=12)))
    assert state.usage is not None
    assert state.usage.total_tokens == 24


def test_notes_and_retries_belong_to_their_round_or_to_the_run() -> None:
    state = RunState()
    assert state.apply(ev.Note(0, "rehearsal", "note")) == (NOTES,)
    state.apply(ev.RoundStarted(1, "m", 1, 0))
    assert state.apply(ev.RetryScheduled(1, 1, 0.5, "429")) == (NOTES,)
    state.apply(ev.TextDelta(1, "Hello"))
    assert state.apply(ev.Note(1, "cut off", "warning")) == ("r1",)
    assert [text for _, text in state.notes] == ["rehearsal", "attempt 1: 429; again in 0.5 s"]
    assert state.rounds[0].notes == [("warning", "cut off")]


def test_an_answer_that_did_not_stream_is_told_all_the_same() -> None:
    state = RunState()
    parts = state.apply(ev.RoundFinished(1, Message.assistant("whole"), "stop", None, 0.1))
    assert state.answer == "whole"
    assert {HEAD, FOOT, "r1.text"} <= set(parts)


def test_a_delta_costs_the_same_however_long_the_answer_is() -> None:
    state = RunState()
    state.apply(ev.RoundStarted(1, "m", 1, 0))
    for _ in range(1000):
        state.apply(ev.TextDelta(1, "word "))
    assert len(state.rounds[0].text._pieces) == 1000  # nothing was joined on the way
    assert len(state.answer) == 5000


def test_an_unknown_event_changes_nothing() -> None:
    assert RunState().apply(object()) == ()  # type: ignore[arg-type]


@pytest.mark.parametrize("status", ["done", "error", "stopped"])
def test_a_result_alone_tells_the_run_again(status: str) -> None:
    made = call("a", "weather", city="Oslo")
    result = RunResult(
        text="It is sunny.",
        messages=[
            Message.user("Weather in Oslo?"),
            Message.assistant(None, tool_calls=[made]),
            Message.tool("a", "sunny"),
            Message.assistant("It is sunny."),
        ],
        calls=[CallRecord(made, ToolResult("sunny"), 0.1, "done", 1)],
        rounds=2,
        status=status,  # type: ignore[arg-type]
        model="m",
    )
    state = state_of(result)
    assert (state.prompt, state.status, len(state.rounds)) == ("Weather in Oslo?", status, 2)
    assert [(c.name, c.arguments, c.status) for c in state.calls] == [("weather", {"city": "Oslo"}, "done")]
    assert state.answer == "It is sunny."

"""Every fault on the switchboard, and what a run makes of it."""

from __future__ import annotations

from typing import Any

import pytest

from toolnexus_nb.models.faults import (
    FAULTS,
    list_faults,
    planned_faults,
    read_faults,
    round_of,
    with_faults,
    without_faults,
)
from toolnexus_nb.openai.errors import (
    APIConnectionError,
    APIError,
    AuthenticationError,
    BadRequestError,
    RateLimitError,
    ServerError,
    StreamError,
)
from toolnexus_nb.rounds.chat import Chat
from toolnexus_nb.rounds.connectors import connect
from toolnexus_nb.rounds.setup_error import SetupError

FATAL = {
    "stream-cut": StreamError,
    "connection-lost": APIConnectionError,
    "error-in-stream": APIError,
    "error-list": BadRequestError,
    "wrong-key": AuthenticationError,
    "quota": RateLimitError,
}
SECOND_TRY = {"args-cut", "args-cut-unsaid", "args-broken", "args-fenced", "name-unknown", "calls-packed"}


@pytest.mark.parametrize("name", [name for name in FAULTS if name not in FATAL])
def test_a_run_survives(name: str, toolkit: Any, prompt: str) -> None:
    result = Chat(connect("rehearsal", faults=[name]), toolkit).ask_sync(prompt)
    assert result.status == "done"
    assert "42" in result.text
    assert "sunny in Oslo" in result.text
    good = [record for record in result.calls if record.state == "done"]
    assert [record.call.name.rpartition(".")[2] for record in good] == ["add", "get_weather"]
    assert any(record.state == "failed" for record in result.calls) == (name in SECOND_TRY)


@pytest.mark.parametrize(("name", "error"), FATAL.items())
def test_a_run_ends_with_the_right_error_and_runs_no_tool(
    name: str, error: type[Exception], toolkit: Any, prompt: str
) -> None:
    chat = Chat(connect("rehearsal", faults=[name]), toolkit)
    with pytest.raises(error) as caught:
        chat.ask_sync(prompt)
    assert len(str(caught.value)) < 300
    assert chat.last is not None
    assert not chat.last.calls


def test_a_fault_may_wait_for_the_second_round(toolkit: Any, prompt: str) -> None:
    chat = Chat(connect("rehearsal", faults=["stream-cut@2"]), toolkit)
    with pytest.raises(StreamError):
        chat.ask_sync(prompt)
    assert [record.state for record in chat.last.calls] == ["done", "done"]


def test_a_rate_limit_passes_after_one_more_attempt(toolkit: Any, prompt: str) -> None:
    result = Chat(connect("rehearsal", faults="rate-limit"), toolkit).ask_sync(prompt)
    assert [exchange.status for exchange in result.wire()] == [429, 200, 200]


def test_several_faults_at_once(toolkit: Any, prompt: str) -> None:
    names = ["index-missing", "name-repeated", "crlf", "odd-pieces", "comments", "no-done", "usage-everywhere"]
    assert "42" in Chat(connect("rehearsal", faults=names), toolkit).ask_sync(prompt).text


def test_an_error_behind_200_is_an_error_and_may_be_tried_again(toolkit: Any, prompt: str) -> None:
    client = connect("rehearsal", faults=["error-with-200@1"], retries=0)
    with pytest.raises(ServerError):
        Chat(client, toolkit).ask_sync(prompt)


@pytest.mark.parametrize(
    "faults", ["args-cut@2, no-done", ["args-cut@2", "no-done"], {2: "args-cut", "1": ["no-done"]}]
)
def test_faults_may_be_written_in_several_ways(faults: Any) -> None:
    assert {one.fault.name for one in read_faults(faults)} == {"args-cut", "no-done"}


@pytest.mark.parametrize(
    ("faults", "says"), [(["args-cutt"], "args-cut"), (["bogus"], "list_faults"), (["args-cut@soon"], "args-cut@2")]
)
def test_an_unknown_fault_is_one_sentence(faults: Any, says: str) -> None:
    with pytest.raises(SetupError, match=says):
        connect("rehearsal", faults=faults)


def test_faults_are_taken_off_again() -> None:
    client = connect("rehearsal", faults=["crlf"])
    assert [str(one) for one in planned_faults(client)] == ["crlf"]
    assert any("crlf" in note for note in client.notes_for_display)
    plain = without_faults(client)
    assert planned_faults(plain) == []
    assert not any("faults" in note for note in plain.notes_for_display)
    assert planned_faults(with_faults(client, "no-done"))[0].fault.name == "no-done"


def test_faults_alone_are_no_model() -> None:
    with pytest.raises(SetupError, match="no model"):
        connect("faults")


def test_each_fault_has_its_row_and_one_line() -> None:
    rows = list_faults()
    assert len(rows) >= 15
    assert all(row.row[0].isalpha() and row.row[1:].isdigit() and 10 < len(row.summary) < 80 for row in rows)


def test_rounds_are_counted_from_the_last_question() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user"},
        {"role": "assistant"},
        {"role": "tool"},
        {"role": "assistant"},
        {"role": "user"},
    ]
    assert round_of({"messages": messages}) == 1
    assert round_of({"messages": [*messages, {"role": "assistant"}, {"role": "tool"}]}) == 2

"""Recording a run and playing the model's side back."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from toolnexus_nb.models.recorded import ReplayMiss, record
from toolnexus_nb.models.recording import RecordingError, read_recording
from toolnexus_nb.openai.errors import APIConnectionError, APIError
from toolnexus_nb.rounds.chat import Chat
from toolnexus_nb.rounds.client import Client
from toolnexus_nb.rounds.connectors import connect
from toolnexus_nb.rounds.setup_error import SetupError
from toolnexus_nb.rounds.transport import BytesResponse, TransportRequest
from toolnexus_nb.tools.toolkit import Toolkit


@pytest.fixture
def tape(tmp_path: Path, toolkit: Any, prompt: str) -> Path:
    """A recording of one question in two rounds."""
    path = tmp_path / "run.jsonl"
    with record(path):
        Chat(connect("rehearsal"), toolkit).ask_sync(prompt)
    return path


def replay(path: Path, toolkit: Any, prompt: str, **options: Any) -> Any:
    return Chat(connect(f"recorded:{path}", **options), toolkit).ask_sync(prompt)


def with_weather(text: str) -> Toolkit:
    """The recorded tools, of which one answers otherwise."""

    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    def get_weather(city: str) -> str:
        """Current weather for a city."""
        return text

    return Toolkit([add, get_weather])


# --- the file


def test_it_is_json_lines_a_person_can_read(tape: Path, prompt: str) -> None:
    lines = [json.loads(line) for line in tape.read_text().splitlines()]
    assert lines[0]["recording"] == 1
    requests = [line for line in lines if "request" in line]
    assert [line["round"] for line in requests] == [1, 2]
    assert requests[0]["prompt"] == prompt
    assert requests[1]["after"] == 1  # only what is new is written again
    assert requests[1]["tools"] == "same"
    assert max(len(line) for line in tape.read_text().splitlines()) < 3000


def test_what_is_read_is_what_was_sent(tape: Path, toolkit: Any) -> None:
    first, second = read_recording(tape)
    assert first.tools == second.tools == toolkit.to_openai()
    assert [message["role"] for message in second.messages] == ["user", "assistant", "tool", "tool"]
    assert second.events[-1][1] == b"data: [DONE]\n\n"


KEY = "sk-planted-0123456789abcdefghij"


class Leaky:
    """An endpoint that repeats the key it was given: in its headers, its text, its errors."""

    def __init__(self, error: str | None = None) -> None:
        self.error = error

    async def send(self, request: TransportRequest) -> BytesResponse:
        if self.error == "connection":
            raise APIConnectionError(f"could not connect with {KEY}")
        if self.error:
            return BytesResponse(
                401,
                {"content-type": "application/json", "x-key": KEY},
                [json.dumps({"error": {"message": f"bad key {KEY}"}}).encode()],
            )
        chunk = {"choices": [{"index": 0, "delta": {"content": f"your key is {KEY}"}, "finish_reason": "stop"}]}
        return BytesResponse(
            200,
            {"content-type": "text/event-stream", "x-key": KEY},
            [b"data: " + json.dumps(chunk).encode() + b"\n\ndata: [DONE]\n\n"],
        )

    async def aclose(self) -> None:
        pass


@pytest.mark.parametrize("error", [None, "refused", "connection"])
def test_no_key_is_ever_written(tmp_path: Path, error: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "plain-looking-secret-of-the-environment")
    path = tmp_path / "run.jsonl"
    client = Client(
        f"http://user:{KEY}@host.invalid/v1?api_key={KEY}",
        "m",
        KEY,
        headers={"x-api-key": KEY, "x-trace": "kept"},
        extra_body={"api_key": KEY, "note": f"use {KEY}"},
        transport=Leaky(error),
        retries=0,
    )
    with record(path):
        try:
            Chat(client).ask_sync(f"my key is {KEY} and plain-looking-secret-of-the-environment")
        except APIError:
            assert error
    text = path.read_text()
    assert KEY not in text
    assert "planted-0123456789" not in text
    assert "plain-looking-secret-of-the-environment" not in text
    assert '"request": 1' in text


def test_a_recorder_can_be_stopped_twice_and_says_how_much_it_has(tmp_path: Path, toolkit: Any) -> None:
    recorder = record(tmp_path / "a.jsonl")
    Chat(connect("rehearsal"), toolkit).ask_sync("weather in Oslo")
    recorder.stop()
    recorder.stop()
    Chat(connect("rehearsal"), toolkit).ask_sync("weather in Oslo")
    assert recorder.requests == 2
    assert not recorder.on


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="cannot write"):
        record(tmp_path / "no" / "such" / "folder.jsonl")


# --- replay


def test_the_models_side_is_replayed_and_the_tools_run(tape: Path, prompt: str) -> None:
    ran: list[str] = []

    def add(a: int, b: int) -> int:
        """Add two numbers."""
        ran.append("add")
        return a + b

    def get_weather(city: str) -> str:
        """Current weather for a city."""
        ran.append("get_weather")
        return f"sunny in {city}"

    result = replay(tape, Toolkit([add, get_weather]), prompt, strict=True)
    assert "42" in result.text
    assert sorted(ran) == ["add", "get_weather"]
    assert not [note for note in result.notes if "drift" in note]


def test_it_can_be_replayed_again_and_again(tape: Path, toolkit: Any, prompt: str) -> None:
    client = connect(f"recorded:{tape}", strict=True)
    for _ in range(2):
        assert Chat(client, toolkit).ask_sync(prompt).status == "done"


def test_another_tool_result_is_drift(tape: Path, prompt: str) -> None:
    result = replay(tape, with_weather("rain"), prompt)
    assert [note for note in result.notes if note.startswith("drift")] == [
        'drift in round 2, tool result: get_weather gave "sunny in Oslo", gives "rain"'
    ]


def test_another_schema_is_drift(tape: Path, toolkit: Any, prompt: str) -> None:
    def extra() -> str:
        """Not there when it was recorded."""
        return ""

    result = replay(tape, Toolkit([*toolkit, extra]), prompt)
    assert "drift in round 1, schema: new: extra" in result.notes


def test_a_tool_that_is_gone_is_drift_and_the_run_goes_on(tape: Path, toolkit: Any, prompt: str) -> None:
    result = replay(tape, toolkit.filter(lambda name: name != "add"), prompt)
    assert any("schema: missing: add" in note for note in result.notes)
    assert result.status == "done"


def test_other_parameters_are_drift(tape: Path, toolkit: Any, prompt: str) -> None:
    result = Chat(connect(f"recorded:{tape}"), toolkit, temperature=0.5).ask_sync(prompt)
    assert any("parameters: temperature was null, is 0.5" in note for note in result.notes)


def test_a_prompt_that_was_edited_a_little_is_drift(tape: Path, toolkit: Any, prompt: str) -> None:
    result = replay(tape, toolkit, prompt.replace("?", ", please?"))
    assert any(note.startswith("drift in round 1, prompt") for note in result.notes)


def test_another_order_is_drift(tmp_path: Path, toolkit: Any) -> None:
    path = tmp_path / "two.jsonl"
    with record(path):
        for city in ("Oslo", "Rome"):
            Chat(connect("rehearsal"), toolkit).ask_sync(f"weather in {city}")
    result = replay(path, toolkit, "weather in Rome")
    assert any("order" in note for note in result.notes)
    assert "Rome" in result.text


def test_a_question_that_was_not_recorded_is_a_miss(tape: Path, toolkit: Any) -> None:
    with pytest.raises(ReplayMiss, match=r"round 1: .* no answer for the prompt \"Tell me a story\"") as caught:
        replay(tape, toolkit, "Tell me a story")
    assert (caught.value.round, caught.value.field) == (1, "prompt")


def test_strict_makes_drift_an_error(tape: Path, prompt: str) -> None:
    with pytest.raises(ReplayMiss, match=r"strict replay of run\.jsonl: drift in round 2, tool result"):
        replay(tape, with_weather("rain"), prompt, strict=True)


def test_the_pace_is_the_recorded_one_when_asked_for(tmp_path: Path, toolkit: Any) -> None:
    path = tmp_path / "slow.jsonl"
    with record(path):
        Chat(connect("rehearsal", pace=0.3), toolkit).ask_sync("weather in Oslo")
    started = time.perf_counter()
    replay(path, toolkit, "weather in Oslo", pace=0)
    at_once = time.perf_counter() - started
    started = time.perf_counter()
    replay(path, toolkit, "weather in Oslo", pace=1.0)
    assert time.perf_counter() - started > at_once + 0.1


def test_a_recorded_failure_fails_again(tmp_path: Path, toolkit: Any, prompt: str) -> None:
    path = tmp_path / "lost.jsonl"
    with record(path), pytest.raises(APIConnectionError):
        Chat(connect("rehearsal", faults=["connection-lost"]), toolkit).ask_sync(prompt)
    with pytest.raises(APIConnectionError, match="as recorded"):
        replay(path, toolkit, prompt)


# --- files that are not as they should be


def spoiled(tape: Path, change: Any) -> str:
    lines = tape.read_text().splitlines(keepends=True)
    tape.write_text("".join(change(lines)))
    with pytest.raises(RecordingError) as caught:
        connect(f"recorded:{tape}")
    return str(caught.value)


def test_another_version(tape: Path) -> None:
    assert "version 9" in spoiled(
        tape, lambda lines: [lines[0].replace('"recording": 1', '"recording": 9'), *lines[1:]]
    )


def test_cut_off_in_a_line(tape: Path) -> None:
    assert "cut off" in spoiled(tape, lambda lines: [*lines[:5], lines[5][:20]])


def test_cut_off_between_lines(tape: Path) -> None:
    assert "cut off" in spoiled(tape, lambda lines: lines[:6])


def test_edited_out_of_shape(tape: Path) -> None:
    assert "line 3" in spoiled(tape, lambda lines: [*lines[:2], "not json\n", *lines[3:]])


def test_a_line_that_is_no_part_of_a_recording(tape: Path) -> None:
    assert "not as it was written" in spoiled(tape, lambda lines: [*lines[:2], '{"surprise": 1}\n', *lines[2:]])


def test_some_other_file(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"hello": 1}\n')
    with pytest.raises(RecordingError, match="no recording"):
        connect(f"recorded:{path}")
    path.write_text("")
    with pytest.raises(RecordingError, match="empty"):
        connect(f"recorded:{path}")


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(RecordingError, match="there is no recording"):
        connect("recorded:nowhere.jsonl")


def test_recorded_needs_a_file() -> None:
    with pytest.raises(SetupError, match="needs a file"):
        connect("recorded")


def test_an_attempt_that_was_refused_and_sent_again_is_not_replayed(tmp_path: Path, toolkit: Any, prompt: str) -> None:
    path = tmp_path / "refused.jsonl"
    with record(path):
        Chat(connect("rehearsal", faults=["rate-limit"]), toolkit).ask_sync(prompt)
    result = replay(path, toolkit, prompt, strict=True)
    assert result.status == "done"
    assert [exchange.status for exchange in result.wire()] == [200, 200]

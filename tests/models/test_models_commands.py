"""The words connect, record, replay and faults, without a notebook."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from toolnexus_nb.notebook.commands import UsageError, find, parse
from toolnexus_nb.notebook.session import Session
from toolnexus_nb.rounds.setup_error import SetupError


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"):
        monkeypatch.delenv(name, raising=False)
    return Session()


@pytest.fixture
def say(session: Session, capsys: pytest.CaptureFixture[str]) -> Any:
    """Say a line after %toolnexus; gives what it prints."""

    def line(text: str) -> str:
        word, _, rest = text.partition(" ")
        entry = find(word)
        entry.run(session, parse(entry, rest, None), None)
        return capsys.readouterr().out

    return line


def test_connect_alone_lists_every_name_and_what_it_needs(say: Any) -> None:
    said = say("connect")
    for name in ("rehearsal", "recorded", "in_process", "local", "openai", "ollama"):
        assert name in said
    assert "needs nothing" in said
    assert "pip" not in said.splitlines()[0]


def test_connect_says_what_is_connected(say: Any, session: Session) -> None:
    assert "no language model" in say("connect rehearsal --pace 0")
    assert session.client.keyless


def test_connect_takes_faults(say: Any, session: Session) -> None:
    assert "args-cut@2" in say("connect rehearsal --faults args-cut@2")


def test_connect_knows_no_such_name(say: Any) -> None:
    with pytest.raises(SetupError, match="Did you mean"):
        say("connect rehersal")


def test_record_stop_and_replay(say: Any, session: Session, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"

    def get_weather(city: str) -> str:
        """Current weather for a city."""
        return "sunny"

    session.toolkit.register(get_weather)
    say("connect rehearsal --pace 0")
    assert "recording into" in say(f"record {path}")
    first = session.chat.ask_sync("weather in Oslo")
    assert "2 requests so far" in say("record")
    assert "recorded 2 requests" in say("record --stop")
    session.reset()
    assert "recorded" in say(f"replay {path} --pace 0 --strict")
    assert session.chat.ask_sync("weather in Oslo").text == first.text


def test_drift_is_told_in_the_notes(say: Any, session: Session, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    answers = iter(["sunny", "rain"])

    def get_weather(city: str) -> str:
        """Current weather for a city."""
        return next(answers)

    session.toolkit.register(get_weather)
    say("connect rehearsal --pace 0")
    say(f"record {path}")
    session.chat.ask_sync("weather in Oslo")
    session.reset()
    say(f"replay {path} --pace 0")  # ends the recording, too
    assert any("tool result" in note for note in session.chat.ask_sync("weather in Oslo").notes)
    with pytest.raises(UsageError, match="nothing is being recorded"):
        say("record --stop")


def test_record_needs_a_place(say: Any) -> None:
    with pytest.raises(UsageError, match="where to"):
        say("record")


def test_faults_are_listed_switched_on_and_off(say: Any, session: Session) -> None:
    assert say("faults").count("\n") > 15
    assert "args-cut (round 1)" in say("faults args-cut")
    assert "* args-cut" in say("faults")
    assert "index-missing (every round)" in say("faults index-missing")
    assert "faults are off" in say("faults off")
    assert "* " not in say("faults")
    with pytest.raises(UsageError, match="stands alone"):
        say("faults off crlf")
    with pytest.raises(SetupError, match="did you mean rate-limit"):
        say("faults rate-limits")

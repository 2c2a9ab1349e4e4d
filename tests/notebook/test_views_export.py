"""A finished run, told again and written down: as a page, as Markdown, as data, as a program."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import toolnexus_nb as tn
from toolnexus_nb.notebook.export import export_run
from toolnexus_nb.notebook.run_replay import state_of
from toolnexus_nb.notebook.run_text import run_text
from toolnexus_nb.openai.handler import EventHandler

HOSTILE = "<img src=x onerror='window.HIT=1'></pre><script>window.HIT=1</script>"


def get_weather(city: str) -> str:
    """Current weather for a city.

    Args:
        city: Name of the city.
    """
    print("asking a station")
    if city == "Atlantis":
        raise LookupError("no station there")
    return f"sunny in {city}"


def ask(question: str, **chat: Any) -> tn.RunResult:
    return tn.Chat(tn.connect("rehearsal"), tn.Toolkit([get_weather]), **chat).ask_sync(question)


@pytest.fixture(scope="module")
def run() -> tn.RunResult:
    return ask("What is the weather in Oslo?")


def test_the_story_told_again_is_the_story_as_it_went() -> None:
    from toolnexus_nb.notebook.run_state import RunState

    live = RunState("What is the weather in Atlantis?")

    class Watcher(EventHandler):
        def on_event(self, event: Any) -> None:
            live.apply(event)

    result = ask("What is the weather in Atlantis?", handler=Watcher())
    told = state_of(result)
    assert told.prompt == live.prompt and told.status == live.status and told.answer == live.answer
    assert [(c.name, c.status, c.arguments) for c in told.calls] == [
        (c.name, c.status, c.arguments) for c in live.calls
    ]
    assert [str(r.reasoning) for r in told.rounds] == [str(r.reasoning) for r in live.rounds]
    assert "no station there" in run_text(told)


def test_a_page_stands_alone(run: tn.RunResult, tmp_path: Path) -> None:
    page = export_run(state_of(run), run, tmp_path / "run.html").read_text("utf-8")
    assert page.startswith("<!doctype html>") and '<html lang="en">' in page
    for words in (
        "What is the weather in Oslo?",
        "sunny in Oslo",
        "get_weather",
        "asking a station",
        "chat/completions",
    ):
        assert words in page
    assert "<script" not in page
    assert not re.search(r'(?:src|href)="(?!data:|https?://)', page) and "@import" not in page and "url(" not in page


def test_markdown_json_and_program(run: tn.RunResult, tmp_path: Path) -> None:
    state = state_of(run)
    assert "sunny in Oslo" in export_run(state, run, tmp_path / "run.md").read_text("utf-8")
    told = json.loads(export_run(state, run, tmp_path / "run.JSON").read_text("utf-8"))
    assert told["calls"][0]["result"] == "sunny in Oslo" and told["calls"][0]["arguments"] == {"city": "Oslo"}
    assert told["wire"][0]["body"]["messages"][0]["content"] == "What is the weather in Oslo?"
    assert told["messages"][-1]["role"] == "assistant"
    program = export_run(state, run, tmp_path / "run.py")
    compiled = subprocess.run(
        [sys.executable, "-m", "py_compile", str(program)], capture_output=True, text=True, check=False
    )
    assert compiled.returncode == 0, compiled.stderr


def test_another_ending_is_refused_before_anything_is_written(run: tn.RunResult, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\.html"):
        export_run(state_of(run), run, tmp_path / "run.pdf")
    assert list(tmp_path.iterdir()) == []


def test_a_program_holds_no_key_that_was_typed(tmp_path: Path) -> None:
    key = "sk-" + "a1B2" * 8
    result = tn.Chat(tn.connect("rehearsal")).ask_sync(f"my key is {key}")
    text = export_run(state_of(result), result, tmp_path / "run.py").read_text("utf-8")
    assert "my key is" in text and key not in text


def test_hostile_words_in_a_run_stay_words_in_its_page(tmp_path: Path) -> None:
    def model(messages: list[dict[str, Any]], tools: list[Any]) -> dict[str, Any] | str:
        if messages[-1]["role"] == "tool":
            return HOSTILE
        return {
            "content": HOSTILE,
            "tool_calls": [{"id": HOSTILE, "function": {"name": HOSTILE, "arguments": {HOSTILE: HOSTILE}}}],
        }

    result = tn.Chat(tn.connect(model), tn.Toolkit([get_weather])).ask_sync(HOSTILE)
    page = export_run(state_of(result, HOSTILE), result, tmp_path / "run.html").read_text("utf-8")
    assert "<script" not in page and "<img" not in page

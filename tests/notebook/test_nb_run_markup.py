"""A run as HTML, text and Markdown: it tells everything, escapes everything, and stays small."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import pytest

from toolnexus_nb.notebook.run_markup import approval_actions, card, end_sentence, run_html, said_html
from toolnexus_nb.notebook.run_state import RunState
from toolnexus_nb.notebook.run_text import run_markdown, run_text
from toolnexus_nb.openai.types import Message, ToolCall, Usage
from toolnexus_nb.rounds import events as ev
from toolnexus_nb.rounds.result import Pending, RunResult
from toolnexus_nb.tools.results import ResultPart, ToolResult

HOSTILE = (
    """<img src=x onerror="flag=1"><script>flag=1</script>"><b onclick='flag=1'>&lt; `x` ![p](http://e.org/x.png)"""
)


class Reader(HTMLParser):
    """Collects tags, attributes and balance of a piece of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("img", "br", "hr", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        self.text += data


def call(call_id: str, name: str, arguments: dict[str, Any]) -> ToolCall:
    return ToolCall.from_any({"id": call_id, "function": {"name": name, "arguments": json.dumps(arguments)}})


def told(*events: Any, **about: Any) -> RunState:
    ticks = iter(range(100_000))
    state = RunState(clock=lambda: next(ticks) / 10, **about)
    for event in events:
        state.apply(event)
    return state


def hostile_state() -> RunState:
    made = call("a", HOSTILE, {HOSTILE: HOSTILE, "list": [HOSTILE]})
    other = call("b", "other", {})
    part = ResultPart("image", "image/svg+xml", b"<svg onload='flag=1'><script>flag=1</script></svg>", name=HOSTILE)
    link = ResultPart("link", uri="javascript:flag=1", name=HOSTILE)
    tool = SimpleNamespace(title=HOSTILE, input_schema={"properties": {HOSTILE + "2": {"default": HOSTILE}}})
    failed = ToolResult(HOSTILE, is_error=True, parts=[part, link], printed=HOSTILE, traceback=HOSTILE)
    return told(
        ev.Note(0, HOSTILE, "warning"),
        ev.RoundStarted(1, HOSTILE, 1, 1),
        ev.ReasoningDelta(1, HOSTILE),
        ev.TextDelta(1, HOSTILE + "\n\n[link](javascript:flag=1) <a href='javascript:flag=1'>x</a>"),
        ev.RefusalDelta(1, HOSTILE),
        ev.ToolCallDelta(1, 0, "a", HOSTILE, HOSTILE),
        ev.RoundFinished(1, Message.assistant(HOSTILE, tool_calls=[made, other]), "tool_calls", None, 0.1),
        ev.ToolStarted(1, made, tool),  # type: ignore[arg-type]
        ev.ToolProgress(1, "a", 1, 2, HOSTILE),
        ev.ToolFinished(1, made, failed, 0.1, "failed"),
        ev.ToolFinished(1, other, ToolResult(HOSTILE, value={"x": HOSTILE}), 0.1, "done"),
        ev.RetryScheduled(1, 1, 1.0, HOSTILE),
        ev.RunFinished(1, RunResult(status="error", error=ValueError(HOSTILE))),
        prompt=HOSTILE,
        label=HOSTILE + " at " + HOSTILE,
    )


def test_nothing_that_was_said_becomes_a_tag_an_attribute_or_an_address() -> None:
    read = Reader(run_html(hostile_state()))
    assert not {"script", "svg", "b onclick", "iframe"} & set(read.tags)
    assert not [name for name, _ in read.attributes if name.startswith("on")]
    addresses = [value or "" for name, value in read.attributes if name in ("href", "src")]
    assert all(address.startswith(("data:image/", "http://e.org", "https://")) for address in addresses)
    assert not [value for name, value in read.attributes if name == "src" and not str(value).startswith("data:")]
    assert read.open == []
    assert read.text.count("<script>") >= 8  # it is all there, to be read


def test_the_static_form_needs_no_script_and_no_variables() -> None:
    html = run_html(hostile_state())
    assert "var(" not in html
    assert "<button" not in html


def test_the_editor_of_arguments_escapes_them_too() -> None:
    state = told(ev.ApprovalAsked(1, call("a", HOSTILE, {"x": "</textarea>" + HOSTILE}), HOSTILE))
    read = Reader(card(state.calls[0], 0.0, approval_actions(state.calls[0])))
    assert read.tags.count("textarea") == 1
    assert not {"script", "img"} & set(read.tags)


def full_state(**finish: Any) -> RunState:
    made = [call("a", "weather", {"city": "Oslo"}), call("b", "mail", {"to": "x@example.org"}), call("c", "slow", {})]
    tool = SimpleNamespace(title="Weather", input_schema={"properties": {"city": {}, "unit": {"default": "C"}}})
    usage = Usage(prompt_tokens=412, completion_tokens=96, total_tokens=508)
    events: list[Any] = [
        ev.Note(0, "rehearsal: no language model", "note"),
        ev.RoundStarted(1, "m", 1, 3),
        ev.ReasoningDelta(1, "I should look it up."),
        ev.TextDelta(1, "Let me **look**."),
        ev.RoundFinished(1, Message.assistant("Let me **look**.", tool_calls=made), "tool_calls", usage, 1.4),
        ev.ToolStarted(1, made[0], tool),
        ev.ToolFinished(
            1, made[0], ToolResult('{"sky":"clear"}', value={"sky": "clear"}, printed="hi\n"), 0.31, "done"
        ),
        ev.ToolFinished(1, made[1], ToolResult("not now", is_error=True), 0.0, "denied"),
        ev.ToolStarted(1, made[2], None),
    ]
    if finish:
        events.append(ev.RunFinished(1, RunResult(**finish)))
    return told(*events, prompt="Weather?", label="qwen3:8b at localhost:11434", schema_tokens=138)


@pytest.mark.parametrize("form", [run_html, run_text, run_markdown])
def test_every_form_tells_the_same_story_in_order(form: Any) -> None:
    made = form(full_state(status="stopped", left_running=["slow"]))
    text = Reader(made).text if form is run_html else made
    order = ("qwen3:8b", "stopped", "Weather?", "rehearsal", "Round 1", "Let me", "weather", "done in 0.31 s")
    places = [text.find(words) for words in order]
    assert -1 not in places
    assert places == sorted(places)
    for words in ("Oslo", "clear", "denied", "not now", "cancelled", "Still running"):
        assert words in text, words


def test_states_are_words_and_the_head_counts_them() -> None:
    state = full_state()
    state.calls[1].status = "waiting"
    text = Reader(run_html(state)).text
    assert "round 1 · 3 calls · 1 done, 1 waiting for you, 1 running" in text
    assert "412 tokens in + 96 out" in text
    assert "tools cost 138 of each request" in text
    assert "default" in text  # the unit that was left out


def test_a_stopped_run_says_what_became_of_the_question() -> None:
    kept = [Message.user("q"), Message.assistant(None, [call("c", "slow", {})]), Message.tool("c", "done")]
    assert "kept in the conversation" in end_sentence(full_state(status="stopped", messages=kept))
    assert "taken back" in end_sentence(full_state(status="stopped", messages=kept[:1]))


@pytest.mark.parametrize(
    ("finish", "says"),
    [
        ({"status": "incomplete", "limit": "max_rounds"}, "max_rounds"),
        ({"status": "incomplete", "limit": "length"}, "--max-tokens"),
        ({"status": "incomplete", "limit": "content_filter"}, "content filter"),
        ({"status": "error", "error": ValueError("no such model")}, "ValueError: no such model"),
        ({"status": "paused", "pending": [Pending(call("c", "slow", {}), "it costs")]}, "%toolnexus resume allow"),
    ],
)
def test_an_end_that_is_not_done_says_what_to_do(finish: dict[str, Any], says: str) -> None:
    state = full_state(**finish)
    assert says in Reader(run_html(state)).text
    assert says in run_text(state)


def test_the_models_reading_is_beside_the_value_only_where_it_differs() -> None:
    same = told(ev.ToolFinished(1, call("a", "f", {}), ToolResult("42", value=42), 0.1, "done"))
    json_same = told(ev.ToolFinished(1, call("a", "f", {}), ToolResult('{"a": 1}', value={"a": 1}), 0.1, "done"))
    other = told(ev.ToolFinished(1, call("a", "f", {}), ToolResult("a picture", value=[1, 2]), 0.1, "done"))
    assert "what the model reads" not in run_html(same)
    assert "what the model reads" not in run_html(json_same)
    assert "what the model reads" in run_html(other)


def test_pictures_are_results() -> None:
    part = ResultPart("image", "image/png", b"\x89PNG", name="chart")
    html = run_html(told(ev.ToolFinished(1, call("a", "f", {}), ToolResult("", parts=[part]), 0.1, "done")))
    assert 'src="data:image/png;base64,iVBORw=="' in html
    assert 'alt="chart"' in html


def test_a_frame_is_a_table() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"city": ["Oslo", HOSTILE]})
    html = run_html(told(ev.ToolFinished(1, call("a", "f", {}), ToolResult("…", value=frame), 0.1, "done")))
    assert "<table" in html
    assert "script" not in Reader(html).tags


def test_five_hundred_calls_and_a_very_long_answer_stay_under_two_megabytes() -> None:
    events: list[Any] = [ev.RoundStarted(1, "m", 1, 1)]
    for number in range(500):
        made = call(f"c{number}", "read_page", {"page": number, "text": "x" * 3_000})
        events.append(ev.ToolStarted(1, made, None))
        events.append(
            ev.ToolFinished(1, made, ToolResult("y" * 50_000, value="y" * 50_000, printed="z" * 9_000), 0.1, "done")
        )
    events += [ev.TextDelta(2, "word " * 100_000), ev.RunFinished(2, RunResult())]
    state = told(*events)
    assert len(run_html(state).encode()) + len(run_text(state).encode()) < 2_000_000


def test_long_text_is_not_parsed_as_markdown() -> None:
    assert "<em>" not in said_html("*a* " * 40_000)
    assert "<em>" in said_html("*a*")


def test_markdown_of_a_file_cannot_be_broken_out_of() -> None:
    state = told(ev.ToolFinished(1, call("a", "f", {"x": "`"}), ToolResult("```\n<script>"), 0.1, "done"), label="*m*")
    made = run_markdown(state)
    assert "````" in made
    assert "\\*m\\*" in made

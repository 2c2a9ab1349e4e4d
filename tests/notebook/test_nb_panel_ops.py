"""What the live panel is told to do: little, in order, and no more work for a longer answer."""

from __future__ import annotations

import json
from typing import Any

from toolnexus_nb.notebook.panel_ops import Painter, TextFlow
from toolnexus_nb.notebook.run_state import RunState
from toolnexus_nb.openai.types import Message, ToolCall
from toolnexus_nb.rounds import events as ev
from toolnexus_nb.tools.results import ToolResult


def call(call_id: str, name: str, **arguments: Any) -> ToolCall:
    return ToolCall.from_any({"id": call_id, "function": {"name": name, "arguments": json.dumps(arguments)}})


class Live:
    """A run and its painter; `feed` gives the operations of one flush."""

    def __init__(self, clickable: bool = True) -> None:
        self.state = RunState(clock=lambda: 0.0)
        self.painter = Painter(self.state, lambda: clickable)

    def feed(self, *events: ev.Event) -> list[list[str]]:
        for event in events:
            self.painter.take(event, self.state.apply(event))
        return self.painter.flush()


def kinds(operations: list[list[str]]) -> list[tuple[str, str]]:
    return [(operation[0], operation[1]) for operation in operations]


def test_text_is_sent_once_as_it_came() -> None:
    live = Live()
    live.feed(ev.RoundStarted(1, "m", 1, 0))
    assert live.feed(ev.TextDelta(1, "Hel"), ev.TextDelta(1, "lo <b>")) == [["text", "r1.text", "Hello <b>"]]
    assert live.feed(ev.TextDelta(1, " there")) == [["text", "r1.text", " there"]]
    assert live.feed() == []


def test_a_finished_paragraph_becomes_markdown_while_the_rest_stays_text() -> None:
    live = Live()
    live.feed(ev.RoundStarted(1, "m", 1, 0))
    live.feed(ev.TextDelta(1, "A **bold** "))
    ((name, part, html, tail),) = live.feed(ev.TextDelta(1, "word.\n\nAnd <i>"))
    assert (name, part, tail) == ("settle", "r1.text", "And <i>")
    assert "<strong>bold</strong>" in html
    assert live.feed(ev.TextDelta(1, " more")) == [["text", "r1.text", " more"]]


def test_the_flow_gives_back_every_character_whatever_the_pieces() -> None:
    text = "one\n\ntwo\n```py\n\nx = 1\n\n```\n\nthree\n \nfour"
    for size in (1, 2, 3, 7, 100):
        flow, blocks, rest = TextFlow(), [], ""
        for at in range(0, len(text), size):
            ended = flow.feed(text[at : at + size])
            if ended is None:
                rest += text[at : at + size]
            else:
                blocks.append(ended[0])
                rest = ended[1]
        assert "".join(blocks) + rest == text
        assert not any(block.count("```") % 2 for block in blocks)  # no block ends inside a fence


def test_the_work_of_a_flush_does_not_grow_with_the_answer() -> None:
    live = Live()
    live.feed(ev.RoundStarted(1, "m", 1, 0))
    sizes = []
    for _ in range(300):
        operations = live.feed(*[ev.TextDelta(1, "some words without a blank line ") for _ in range(40)])
        sizes.append(len(json.dumps(operations)))
    assert max(sizes) == min(sizes)


def test_arguments_appear_as_they_arrive_and_are_a_list_when_they_are_whole() -> None:
    live = Live()
    live.feed(ev.RoundStarted(1, "m", 1, 1))
    ((name, part, html),) = [o for o in live.feed(ev.ToolCallDelta(1, 0, "a", "weather", '{"ci')) if o[0] == "add"]
    assert (name, part) == ("add", "r1.calls")
    assert "receiving" in html
    assert live.feed(ev.ToolCallDelta(1, 0, "a", "weather", 'ty": "Oslo"}')) == [
        ["text", "r1.c0.typed", 'ty": "Oslo"}']
    ]
    made = call("a", "weather", city="Oslo")
    operations = live.feed(ev.RoundFinished(1, Message.assistant(None, tool_calls=[made]), "tool_calls", None, 0.1))
    assert any(o[:2] == ["html", "r1.c0"] and "<dt>city</dt>" in o[2] for o in operations)


def test_a_card_that_changed_many_times_between_two_flushes_is_sent_once() -> None:
    live = Live()
    made = call("a", "slow")
    live.feed(ev.RoundStarted(1, "m", 1, 1), ev.ToolStarted(1, made, None))
    operations = live.feed(*[ev.ToolProgress(1, "a", step, 100, None) for step in range(100)])
    assert kinds(operations) == [("html", "r1.c0")]
    assert "99 of 100" in operations[0][2]


def test_buttons_are_drawn_only_where_clicks_are_heard() -> None:
    made = call("a", "send")
    assert "data-act" in json.dumps(Live(clickable=True).feed(ev.ApprovalAsked(1, made, "why")))
    assert "data-act" not in json.dumps(Live(clickable=False).feed(ev.ApprovalAsked(1, made, "why")))


def test_a_new_view_gets_the_run_as_it_is_and_goes_on_from_there() -> None:
    live = Live()
    made = call("a", "weather", city="Oslo")
    live.feed(ev.RoundStarted(1, "m", 1, 1), ev.TextDelta(1, "Let me see."), ev.ToolStarted(1, made, None))
    operations = live.painter.snapshot()
    whole = json.dumps(operations)
    assert operations[0][:2] == ["html", "rounds"]
    assert "Let me see." in whole
    assert "weather" in whole
    later = live.feed(ev.TextDelta(1, " And"), ev.ToolFinished(1, made, ToolResult("sunny"), 0.1, "done"))
    assert ["text", "r1.text", " And"] in later
    assert ("html", "r1.c0") in kinds(later)
    assert ("add", "rounds") not in kinds(later)


def test_thinking_streams_into_its_fold() -> None:
    live = Live()
    live.feed(ev.RoundStarted(1, "m", 1, 0))
    first = live.feed(ev.ReasoningDelta(1, "Hm, <b>"))
    assert kinds(first) == [("html", "r1.thought"), ("text", "r1.thought")]
    assert live.feed(ev.ReasoningDelta(1, " well")) == [["text", "r1.thought", " well"]]


def test_thinking_that_had_begun_goes_on_inside_its_fold_in_a_new_view() -> None:
    live = Live()
    live.feed(ev.RoundStarted(1, "m", 1, 0), ev.ReasoningDelta(1, "Hm"))
    assert 'class="tnx-tail">Hm<' in live.painter.snapshot()[1][2]
    assert live.feed(ev.ReasoningDelta(1, ", well")) == [["text", "r1.thought", ", well"]]


def test_a_view_that_opens_within_a_sentence_keeps_it_whole() -> None:
    live = Live()
    live.feed(ev.RoundStarted(1, "m", 1, 0), ev.TextDelta(1, "A **bold** start.\n\nI will "))
    shown = live.painter.snapshot()
    assert ["text", "r1.text", "I will "] in shown
    (added,) = (html for name, part, html in shown if (name, part) == ("add", "rounds"))
    assert "<strong>bold</strong> start." in added and "I will" not in added
    ((name, _, html, tail),) = live.feed(ev.TextDelta(1, "call.\n\nNow"))
    assert (name, tail) == ("settle", "Now")
    assert "I will call." in html

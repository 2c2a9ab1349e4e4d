"""From a run's changes to the messages of the live panel: what `panel.js` is told to do, in order.

A `Painter` collects what changed between two flushes and then gives one list of operations. The work of a flush grows
with what is new, never with what is already there: text is sent as it came, and a finished paragraph is turned into
Markdown once, when its blank line arrives.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from ..rounds import events as ev
from .markup import tag
from .run_markup import (
    FEW_CALLS,
    approval_actions,
    card,
    round_head,
    round_html,
    round_notes,
    run_end,
    run_foot,
    run_head,
    run_notes,
    said_html,
    thought_html,
    thought_start,
)
from .run_state import END, FOOT, HEAD, NOTES, CallState, RoundState, RunState

Operation: TypeAlias = list[str]
"""["html", part, html] · ["add", part, html] · ["text", part, delta] · ["settle", part, html, tail]; see panel.js."""

LIVE_TEXT = 4_000
"""Most characters of one text in a live card."""
DRAWING = 0.012
"""Seconds one flush may draw cards; what is left over waits for the next, so that hundreds of calls stay smooth."""


@dataclass(slots=True)
class TextFlow:
    """Text that streams in: finds the ends of Markdown blocks as they pass.

    `tail` holds the pieces since the last end; a fenced block has no end inside it. Of the line at hand only its first
    letters are kept, so that a line may be as long as it likes.
    """

    tail: list[str] = field(default_factory=list)
    line_start: str = ""
    fenced: bool = False

    def feed(self, delta: str) -> tuple[str, str] | None:
        """Take a piece in. If blocks ended in it: (their text, the new tail), else None."""
        self.tail.append(delta)
        cut = None
        at = 0  # in delta
        while (end := delta.find("\n", at)) >= 0:
            self._see(delta[at:end])
            at = end + 1
            if self.line_start in ("```", "~~~"):
                self.fenced = not self.fenced
            elif not self.line_start and not self.fenced:
                cut = at
            self.line_start = ""
        self._see(delta[at:])
        if cut is None:
            return None
        rest = delta[cut:]
        block = "".join(self.tail)[: -len(rest) or None]
        self.tail = [rest]
        return block, rest

    def _see(self, piece: str) -> None:
        if len(self.line_start) < 3:
            self.line_start = (self.line_start + piece).lstrip()[:3]


class Painter:
    """Collects changes of one run and paints them.

    `clickable()` says whether buttons would be heard: only then are they drawn.
    """

    def __init__(self, state: RunState, clickable: Callable[[], bool]) -> None:
        self.state = state
        self._clickable = clickable
        self._dirty: dict[str, None] = {}
        self._text: dict[str, list[str]] = {}
        self._flows: dict[str, TextFlow] = {}
        self._drawn: set[str] = set()

    def take(self, event: ev.Event, parts: Iterable[str]) -> None:
        """Note what an event changed. Pieces of text are kept as pieces."""
        match event:
            case ev.TextDelta() | ev.ReasoningDelta():
                (part,) = parts
                self._text.setdefault(part, []).append(event.text)
            case ev.ToolCallDelta():
                parts = list(parts)
                call = parts[-1]
                if call in self._drawn and call not in self._dirty:
                    self._text.setdefault(f"{call}.typed", []).append(event.arguments)
                else:
                    self._dirty.update(dict.fromkeys(parts))
            case _:
                self._dirty.update(dict.fromkeys(parts))

    def touch(self, *parts: str) -> None:
        self._dirty.update(dict.fromkeys(parts))

    @property
    def waiting(self) -> bool:
        """Whether there is anything to send."""
        return bool(self._dirty or self._text)

    def flush(self) -> list[Operation]:
        """The operations for everything that changed since the last flush."""
        dirty, self._dirty = self._dirty, {}
        text, self._text = self._text, {}
        operations: list[Operation] = []
        for round_ in self.state.rounds:
            if round_.part not in self._drawn:
                operations += self._new_round(round_)
            elif round_.part in dirty:
                operations.append(["html", f"{round_.part}.head", round_head(round_, self.state.clock())])
                operations.append(["html", f"{round_.part}.notes", round_notes(round_)])
        operations += [operation for part, pieces in text.items() for operation in self._stream(part, "".join(pieces))]
        until = time.perf_counter() + DRAWING
        for part in dirty:
            call = self.state.call(part)
            if call is not None and time.perf_counter() > until:
                self._dirty[part] = None
            elif call is not None:
                operations.append(self._card(call))
            elif part.endswith(".text"):
                operations += self._said(part)
        operations += [["html", name, make(self.state)] for name, make in _RUN_PARTS if name in dirty]
        return operations

    def snapshot(self) -> list[Operation]:
        """The operations that bring a fresh view to what the run is now; later flushes go on from there."""
        self._dirty, self._text, self._flows, self._drawn = {}, {}, {}, set()
        empty = tag("div", cls="tnx-rounds", data_part="rounds", role="list")
        operations: list[Operation] = [["html", "rounds", empty]]
        for round_ in self.state.rounds:
            text, rest = str(round_.text), ""
            if not round_.finished:  # what streams goes on in the last paragraph
                flow = self._flows[f"{round_.part}.text"] = TextFlow()
                text, rest = flow.feed(text) or ("", text)
            operations += self._new_round(round_, said=said_html(text), thought=str(round_.reasoning))
            operations += [["text", f"{round_.part}.text", rest]] if rest else []
            operations += [self._card(call) for call in round_.calls]
        return operations + [["html", name, make(self.state)] for name, make in _RUN_PARTS]

    def _new_round(self, round_: RoundState, said: str = "", thought: str = "") -> list[Operation]:
        self._drawn.add(round_.part)
        if thought:
            self._flows[f"{round_.part}.thought"] = TextFlow()
            thought = thought_html(thought) if round_.finished else thought_start(thought)
        return [["add", "rounds", round_html(round_, self.state.clock(), thought=thought, said=said)]]

    def _card(self, call: CallState) -> Operation:
        actions = approval_actions(call) if call.status == "waiting" and self._clickable() else ""
        few = len(self.state.calls) <= FEW_CALLS
        html = card(call, self.state.clock(), actions, LIVE_TEXT, open=few or call.status == "failed")
        if call.part in self._drawn:
            return ["html", call.part, html]
        self._drawn.add(call.part)
        return ["add", f"{call.part.split('.')[0]}.calls", html]

    def _stream(self, part: str, delta: str) -> list[Operation]:
        if not part.endswith(".text"):
            start: list[Operation] = []
            if part.endswith(".thought") and part not in self._flows:
                self._flows[part] = TextFlow()
                start = [["html", part, tag("div", thought_start(), data_part=part)]]
            return [*start, ["text", part, delta]]
        flow = self._flows.setdefault(part, TextFlow())
        ended = flow.feed(delta)
        if ended is None:
            return [["text", part, delta]]
        block, rest = ended
        return [["settle", part, said_html(block), rest]]

    def _said(self, part: str) -> list[Operation]:
        """The whole text of a round, drawn once when it is complete."""
        round_ = next(r for r in self.state.rounds if f"{r.part}.text" == part)
        self._flows.pop(part, None)
        operations: list[Operation] = [
            ["html", part, tag("div", said_html(str(round_.text)), cls="tnx-say", data_part=part)]
        ]
        if round_.reasoning:
            thought = f"{round_.part}.thought"
            operations.append(["html", thought, tag("div", thought_html(str(round_.reasoning)), data_part=thought)])
        return operations


_RUN_PARTS: list[tuple[str, Callable[[RunState], str]]] = [
    (HEAD, run_head),
    (NOTES, run_notes),
    (END, run_end),
    (FOOT, run_foot),
]

"""One run as a value: what the events have told so far. No HTML, no widget, no IPython.

The live panel, its static form, the plain text, the export and the terminal all tell the story that is kept here.
`RunState.apply(event)` is the only way it changes; it gives the names of the parts that look different now, so that a
view redraws these and nothing else. Text comes in pieces and stays in pieces: applying a delta costs the same after ten
characters as after a million.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..rounds import events as ev

if TYPE_CHECKING:
    from ..openai.types import ToolCall, Usage
    from ..rounds.result import RunResult
    from ..tools.definition import Tool
    from ..tools.results import ToolResult

CallStatus: TypeAlias = Literal["receiving", "received", "waiting", "running", "done", "failed", "cancelled", "denied"]
RunStatus: TypeAlias = Literal["running", "done", "incomplete", "paused", "stopped", "error"]

HEAD, NOTES, END, FOOT = "head", "notes", "end", "foot"
"""Names of the parts every run has; the parts of a round are `r1`, `r1.text`, `r1.thought`, a call is `r1.c0`."""


@dataclass(slots=True)
class Pieces:
    """Text that grows: appended in pieces, joined when it is read."""

    _pieces: list[str] = field(default_factory=list)
    length: int = 0

    def add(self, text: str) -> None:
        self._pieces.append(text)
        self.length += len(text)

    def __str__(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def __bool__(self) -> bool:
        return self.length > 0


@dataclass(slots=True)
class CallState:
    """One tool call as a person sees it.

    part        its name for views (`r2.c0`)
    arguments   the parsed arguments, None while they stream in (`typed` is their text so far) or if they are no JSON
    object started     clock time when it began to run; `seconds` when it ended
    progress    (done, total or None, message) of the last report
    reason      why a decision was asked for
    """

    part: str
    call_id: str
    name: str
    status: CallStatus = "receiving"
    typed: Pieces = field(default_factory=Pieces)
    arguments: Mapping[str, Any] | None = None
    tool: Tool | None = None
    started: float | None = None
    seconds: float | None = None
    progress: tuple[float | None, float | None, str | None] | None = None
    reason: str = ""
    result: ToolResult | None = None

    @property
    def ended(self) -> bool:
        return self.status in ("done", "failed", "cancelled", "denied")

    @property
    def schema(self) -> Mapping[str, Any] | None:
        return self.tool.input_schema if self.tool is not None else None


@dataclass(slots=True)
class RoundState:
    """One request and what came of it. `seconds` is the model's time, None where it is not known."""

    number: int
    model: str
    started: float
    tools: int = 0
    text: Pieces = field(default_factory=Pieces)
    reasoning: Pieces = field(default_factory=Pieces)
    refusal: Pieces = field(default_factory=Pieces)
    calls: list[CallState] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    usage: Usage | None = None
    seconds: float | None = None
    finish_reason: str | None = None
    finished: bool = False

    @property
    def part(self) -> str:
        return f"r{self.number}"

    @property
    def empty(self) -> bool:
        """Whether nothing came of the request."""
        return not (self.text or self.reasoning or self.refusal or self.calls or self.notes)


@dataclass(slots=True)
class RunState:
    """The whole run: prompt, rounds, notes, status.

    `label` names the model and where it is ("qwen3:8b at localhost:11434"). `schema_tokens` is what the definitions
    of the offered tools cost each request. `clock` gives seconds and is what all times are measured with.
    """

    prompt: str = ""
    label: str = ""
    schema_tokens: int = 0
    clock: Callable[[], float] = time.monotonic
    rounds: list[RoundState] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    status: RunStatus = "running"
    started: float = 0.0
    seconds: float | None = None
    result: RunResult | None = None
    error: str = ""
    _by_part: dict[str, CallState] = field(default_factory=dict, repr=False)
    _by_id: dict[tuple[int, str], CallState] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.started = self.clock()

    # --- reading --------------------------------------------------------------------------------------------------

    @property
    def calls(self) -> list[CallState]:
        return [call for round_ in self.rounds for call in round_.calls]

    @property
    def told(self) -> list[RoundState]:
        """The rounds to show: at the end without those of which nothing came."""
        return [round_ for round_ in self.rounds if not (self.ended and round_.empty)]

    @property
    def answer(self) -> str:
        """The text of the last round."""
        return str(self.rounds[-1].text) if self.rounds else ""

    @property
    def usage(self) -> Usage | None:
        """Tokens so far, over all rounds."""
        if self.result is not None and self.result.usage.total_tokens:
            return self.result.usage
        reported = [round_.usage for round_ in self.rounds if round_.usage is not None]
        total: Usage | None = None
        for usage in reported:
            total = usage if total is None else total + usage
        return total

    @property
    def ended(self) -> bool:
        return self.status not in ("running", "paused")

    def call(self, part: str) -> CallState | None:
        """The call of that part name."""
        return self._by_part.get(part)

    # --- changing -------------------------------------------------------------------------------------------------

    def apply(self, event: ev.Event) -> Sequence[str]:
        """Take one event in; gives the names of the parts that changed. An event of an unknown kind changes nothing."""
        handler = _HANDLERS.get(type(event))
        return handler(self, event) if handler is not None else ()

    def replaced(self, turns: int) -> None:
        """Note that this run stands in place of earlier turns of its cell."""
        self.notes.append(
            ("note", "asked again: this replaces the cell's earlier question" + ("s" if turns > 1 else ""))
        )

    def _round(self, number: int) -> RoundState:
        for round_ in reversed(self.rounds):
            if round_.number == number:
                return round_
        round_ = RoundState(number, "", self.clock())
        self.rounds.append(round_)
        return round_

    def _add_call(self, number: int, call_id: str, name: str) -> CallState:
        round_ = self._round(number)
        call = CallState(f"{round_.part}.c{len(round_.calls)}", call_id, name)
        round_.calls.append(call)
        self._by_part[call.part] = call
        return call

    def _find(self, number: int, call_id: str) -> CallState | None:
        """The call with that id in that round; a resumed call may be told of in a later round than it was made in."""
        known = self._by_id.get((number, call_id))
        return known or next((c for c in reversed(self.calls) if c.call_id == call_id and not c.ended), None)

    def _known(self, number: int, call: ToolCall) -> CallState:
        """The state of a complete call; made now if it was not streamed in."""
        state = self._find(number, call.id) or self._unnamed(number, call.name)
        if state is None:
            state = self._add_call(number, call.id, call.name)
        state.call_id, state.name = call.id, call.name
        self._by_id[number, call.id] = state
        if call.arguments_error is None:
            state.arguments = call.arguments
        if not state.typed:
            state.typed.add(call.arguments_text)
        return state

    def _unnamed(self, number: int, name: str) -> CallState | None:
        """A call that streamed in without an id: some endpoints send none, and one is made up for it later."""
        for call in self._round(number).calls:
            if not call.call_id and not call.ended and call.name in ("", name):
                return call
        return None

    def _round_started(self, event: ev.RoundStarted) -> Sequence[str]:
        round_ = self._round(event.round)
        round_.model, round_.tools = event.model, event.tools
        return (*self._goes_on(), HEAD, round_.part)

    def _goes_on(self) -> Sequence[str]:
        """A paused run that is resumed runs again."""
        paused, self.status = self.status == "paused", "running"
        return (END, FOOT) if paused else ()

    def _text(self, event: ev.TextDelta) -> Sequence[str]:
        round_ = self._round(event.round)
        round_.text.add(event.text)
        return (f"{round_.part}.text",)

    def _reasoning(self, event: ev.ReasoningDelta) -> Sequence[str]:
        round_ = self._round(event.round)
        round_.reasoning.add(event.text)
        return (f"{round_.part}.thought",)

    def _refusal(self, event: ev.RefusalDelta) -> Sequence[str]:
        round_ = self._round(event.round)
        round_.refusal.add(event.text)
        return (round_.part,)

    def _call_delta(self, event: ev.ToolCallDelta) -> Sequence[str]:
        round_ = self._round(event.round)
        new = event.index >= len(round_.calls)
        while event.index >= len(round_.calls):
            self._add_call(event.round, "", "")
        call = round_.calls[event.index]
        call.call_id, call.name = event.call_id or call.call_id, event.name or call.name
        self._by_id[event.round, call.call_id] = call
        call.typed.add(event.arguments)
        return (HEAD, round_.part, call.part) if new else (call.part,)

    def _round_finished(self, event: ev.RoundFinished) -> Sequence[str]:
        round_ = self._round(event.round)
        round_.seconds, round_.finish_reason, round_.finished = event.seconds, event.finish_reason, True
        round_.usage = event.usage or round_.usage
        if not round_.text and event.message.content:
            round_.text.add(event.message.get_content_as_string())
        parts = [HEAD, FOOT, round_.part, f"{round_.part}.text"]
        for call in event.message.tool_calls or ():
            state = self._known(event.round, call)
            if state.status == "receiving":
                state.status = "received"
            parts.append(state.part)
        return parts

    def _tool_started(self, event: ev.ToolStarted) -> Sequence[str]:
        state = self._known(event.round, event.call)
        state.tool, state.status, state.started = event.tool, "running", self.clock()
        return (*self._goes_on(), HEAD, self._round(event.round).part, state.part)

    def _progress(self, event: ev.ToolProgress) -> Sequence[str]:
        state = self._find(event.round, event.call_id)
        if state is None:
            return ()
        state.progress = (event.progress, event.total, event.message)
        return (state.part,)

    def _tool_finished(self, event: ev.ToolFinished) -> Sequence[str]:
        state = self._known(event.round, event.call)
        state.result, state.seconds, state.status = event.result, event.seconds, event.state
        return (HEAD, self._round(event.round).part, state.part)

    def _approval(self, event: ev.ApprovalAsked) -> Sequence[str]:
        state = self._known(event.round, event.call)
        state.status, state.reason = "waiting", event.reason
        return (HEAD, self._round(event.round).part, state.part)

    def _usage(self, event: ev.UsageReported) -> Sequence[str]:
        self._round(event.round).usage = event.usage
        return (FOOT,)

    def _retry(self, event: ev.RetryScheduled) -> Sequence[str]:
        return self._add_note(event.round, "note", retry_sentence(event))

    def _note(self, event: ev.Note) -> Sequence[str]:
        return self._add_note(event.round, event.kind, event.text)

    def _add_note(self, number: int, kind: str, text: str) -> Sequence[str]:
        if (kind, text) in self.notes:
            return ()
        round_ = next((r for r in self.rounds if r.number == number), None)
        if round_ is None or (number == 1 and not round_.text and not round_.calls):
            self.notes.append((kind, text))  # said before anything happened: it is about the run
            return (NOTES,)
        round_.notes.append((kind, text))
        return (round_.part,)

    def _finished(self, event: ev.RunFinished) -> Sequence[str]:
        result = event.result
        self.result, self.status = result, result.status
        self.seconds = self.clock() - self.started
        if result.error is not None:
            self.error = f"{type(result.error).__name__}: {result.error}"
        waiting = {pending.call.id: pending for pending in result.pending}
        for call in self.calls:
            if call.call_id in waiting:
                call.status, call.reason = "waiting", waiting[call.call_id].reason
            elif not call.ended and self.ended:
                call.status = (
                    "cancelled"  # a stopped run says so itself; a call cut off while it streamed in has no other end
                )
        for round_ in self.rounds:
            round_.finished = True
        rounds = [part for round_ in self.rounds for part in (round_.part, f"{round_.part}.text")]
        return (HEAD, NOTES, END, FOOT, *rounds, *self._by_part)


def retry_sentence(event: ev.RetryScheduled) -> str:
    """Why a request is sent again, and when."""
    of = f" of {event.attempts}" if event.attempts else ""
    return f"attempt {event.attempt}{of}: {event.reason}; again in {event.seconds:.2g} s"


_HANDLERS: dict[type, Callable[[RunState, Any], Sequence[str]]] = {
    ev.RoundStarted: RunState._round_started,
    ev.TextDelta: RunState._text,
    ev.ReasoningDelta: RunState._reasoning,
    ev.RefusalDelta: RunState._refusal,
    ev.ToolCallDelta: RunState._call_delta,
    ev.RoundFinished: RunState._round_finished,
    ev.ToolStarted: RunState._tool_started,
    ev.ToolProgress: RunState._progress,
    ev.ToolFinished: RunState._tool_finished,
    ev.ApprovalAsked: RunState._approval,
    ev.UsageReported: RunState._usage,
    ev.RetryScheduled: RunState._retry,
    ev.Note: RunState._note,
    ev.RunFinished: RunState._finished,
}

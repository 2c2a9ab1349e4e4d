"""A run as text that streams: for terminals and consoles, where nothing that was printed can be taken back."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ..rounds import events as ev
from .markup import printable, shortened
from .run_state import RunState, retry_sentence
from .run_text import RESULT, call_line, end_sentence, result_text, status_line, usage_words

if TYPE_CHECKING:
    from ..openai.types import ToolCall


class TextSurface:
    """Prints the answer as it comes, and a line for each call when it ends."""

    def __init__(self, state: RunState) -> None:
        self._state = state
        self._at_line_start = True

    def start(self) -> None:
        """Nothing to claim: text goes where the cursor is."""

    def take(self, event: ev.Event, parts: list[str]) -> None:
        match event:
            case ev.TextDelta(text=text):
                self._write(printable(text))
            case ev.ToolStarted(call=call):
                self._line(f"→ {self._given(call, parts)}")
            case ev.ApprovalAsked(call=call, reason=reason):
                # with its arguments: they are what is decided about
                self._line(f"? {self._given(call, parts)} waits for a decision: {printable(reason)}")
            case ev.ToolFinished():
                self._finished(parts[-1])
            case ev.Note(kind=kind, text=text):
                self._line(f"{kind}: {printable(shortened(text, RESULT))}")
            case ev.RetryScheduled() as event:
                self._line(f"note: {printable(retry_sentence(event))}")

    def paint(self) -> float | None:
        """Text is written as it is taken."""
        return None

    def end(self) -> None:
        ending = end_sentence(self._state) if self._state.status != "error" else ""  # an error is raised as well
        if ending:
            self._line(ending)
        facts = [self._state.label, status_line(self._state), usage_words(self._state)]
        self._line("— " + " · ".join(fact for fact in facts if fact))
        sys.stdout.flush()

    def _given(self, call: ToolCall, parts: list[str]) -> str:
        """`name(argument=value)`, as far as the call is known."""
        state = self._state.call(parts[-1]) if parts else None
        return call_line(state).rsplit("  ", 1)[0] if state is not None else printable(call.name)

    def _finished(self, part: str) -> None:
        call = self._state.call(part)
        if call is None:
            return
        lines = result_text(call).splitlines() or [""]
        state = call_line(call).rsplit("  ", 1)[-1]
        self._line(f"  {lines[0]}  [{printable(call.name)} {state}]")
        for line in lines[1:]:
            self._line(f"  {line}")
        printed = call.result.printed.strip() if call.result is not None else ""
        for line in printable(shortened(printed, RESULT)).splitlines():
            self._line(f"  | {line}")

    def _line(self, text: str) -> None:
        self._write(("" if self._at_line_start else "\n") + text + "\n")

    def _write(self, text: str) -> None:
        if text:
            sys.stdout.write(text)
            sys.stdout.flush()
            self._at_line_start = text.endswith("\n")

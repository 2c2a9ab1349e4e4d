"""The wire view: what was really sent and received, request by request.

WireView(answer).show()            or `%toolnexus wire`
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .live_view import LiveView, pane
from .wire_markup import wire_html, wire_text
from .wire_story import Step, steps

if TYPE_CHECKING:
    from ..rounds.tap import Exchange


class WireView(LiveView):
    """Requests and replies of a run. exchanges: a RunResult, or its `wire()`. label: which model, and where."""

    def __init__(self, exchanges: Any, label: str = "") -> None:
        super().__init__()
        wire = getattr(exchanges, "wire", None)
        self.exchanges: list[Exchange] = list(wire() if callable(wire) else exchanges or ())
        self.label = label or str(getattr(exchanges, "model", "") or "")
        self._steps: list[Step] | None = None

    def steps(self) -> list[Step]:
        """The story of the exchanges; read once when all of them have ended, since a long answer takes a while."""
        if self._steps is None or any(one.ended is None for one in self.exchanges):
            self._steps = steps(self.exchanges)
        return self._steps

    def only(self, rounds: Iterable[int]) -> WireView:
        """The view of some rounds. What is marked as new stays new against the request before it in this view."""
        wanted = set(rounds)
        return WireView([one for one in self.exchanges if one.round in wanted], self.label)

    def html(self) -> str:
        return wire_html(self.steps(), self.label)

    def text(self) -> str:
        return wire_text(self.steps())

    def _build(self) -> Any:
        shown = pane(self.html())
        shown.on_msg(lambda _widget, content, _buffers: self._heard(content))
        return shown

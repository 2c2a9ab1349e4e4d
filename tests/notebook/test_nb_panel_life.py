"""When a panel ends: with its run, or with the next cell if nobody has decided about a paused one."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from toolnexus_nb.notebook import display
from toolnexus_nb.notebook.panel import EventPanel, Nothing, WidgetSurface
from toolnexus_nb.openai.types import ToolCall
from toolnexus_nb.rounds import events as ev
from toolnexus_nb.rounds.result import Pending, RunResult

CALL = ToolCall.from_any({"id": "a", "function": {"name": "send", "arguments": '{"to": "ada"}'}})


@pytest.fixture
def paused(monkeypatch: pytest.MonkeyPatch) -> EventPanel:
    """A paused run whose buttons are on the page; every look at the running cell finds another one."""
    numbers = count()
    monkeypatch.setattr(display, "running_cell", lambda: str(next(numbers)))
    panel = EventPanel("Mail it.")
    panel._surface, panel._shown = Nothing(), True
    monkeypatch.setattr(panel, "_keep_buttons", lambda: display.open_until_next_cell(panel) or True)
    panel.on_event(ev.RoundStarted(1, "m", 1, 1))
    panel.on_event(ev.ApprovalAsked(1, CALL, "mails can't be taken back"))
    panel.on_event(ev.RunFinished(1, RunResult(status="paused", pending=[Pending(CALL, "")])))
    return panel


def test_the_next_cell_ends_a_panel_that_waits_for_a_click(paused: EventPanel) -> None:
    display._open.freeze_old()
    assert paused._frozen


def test_a_run_that_a_click_has_resumed_goes_on_under_the_next_cell(paused: EventPanel) -> None:
    decided: list[dict[str, Any]] = []
    paused.on_decisions = decided.append
    paused._decided("r1.c0", "allow")
    assert decided == [{"a": "allow"}]
    display._open.freeze_old()
    assert not paused._frozen
    paused.on_event(ev.RunFinished(1, RunResult(status="done")))
    assert paused._frozen


class Page:
    """Stands for the widget."""

    def __init__(self) -> None:
        self.operations: list[list[str]] = []
        self.closed = False

    def send(self, message: dict[str, Any]) -> None:
        self.operations += message["ops"]

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("loads", [1, 2])
def test_a_page_that_was_loaded_anew_keeps_the_widget_with_the_whole_run(loads: int) -> None:
    panel, page = EventPanel("Say hello."), Page()
    surface = WidgetSurface(panel.state, display.Display(), lambda part, decision: None, panel._lock)
    surface._widget = page  # type: ignore[assignment]
    panel._surface, panel._shown = surface, True
    for _ in range(loads):
        surface._listen({"type": "ready"})
    panel.on_event(ev.RoundStarted(1, "m", 1, 0))
    panel.on_event(ev.TextDelta(1, "Good morning."))
    panel.on_event(ev.RunFinished(1, RunResult(status="done")))
    assert page.closed is (loads == 1)
    if loads == 2:
        assert any("Good morning." in html for _, _, html in page.operations[-6:])

"""What the panel costs the kernel: per delta, panel on and off, messages a second, and a very long answer.

    python tests/benchmarks/bench_panel.py

Prints one JSON object. Aims: at 1,000 deltas a second at most 25 messages a second and 10 % of the time; a
100,000-token answer and 500 calls stay smooth (no flush above 50 ms) and the saved output stays under 2 MB.
"""

from __future__ import annotations

import json
import time
from typing import Any

from toolnexus_nb.notebook.display import Display, static_bundle
from toolnexus_nb.notebook.panel import FLUSH_EVERY, EventPanel, WidgetSurface
from toolnexus_nb.notebook.run_markup import run_html
from toolnexus_nb.notebook.run_text import run_text
from toolnexus_nb.openai.types import ToolCall
from toolnexus_nb.rounds import events as ev
from toolnexus_nb.rounds.result import RunResult
from toolnexus_nb.tools.results import ToolResult


class CountingWidget:
    """Stands for the anywidget: serialises each message as a comm would and keeps count."""

    def __init__(self) -> None:
        self.messages = 0
        self.bytes = 0

    def send(self, message: dict[str, Any]) -> None:
        self.messages += 1
        self.bytes += len(json.dumps(message))

    def close(self) -> None:
        """Nothing is open."""


class SilentDisplay(Display):
    """Builds bundles as the real one does and shows them to nobody."""

    def _send(self, html: str, text: str, widget: Any, metadata: Any, *, update: bool) -> None:
        static_bundle(html, text)


def live_panel() -> tuple[EventPanel, CountingWidget]:
    """A panel whose page has said that it is ready."""
    panel = EventPanel("a question")
    surface = WidgetSurface(panel.state, SilentDisplay(), lambda part, decision: None, panel._lock)
    widget = CountingWidget()
    surface._widget = widget  # type: ignore[assignment]
    surface.ready.set()
    panel._surface, panel._shown = surface, True
    return panel, widget


def deltas(count: int, words: str = "word ") -> list[ev.Event]:
    paragraph = 120
    return [ev.TextDelta(1, words + ("\n\n" if number % paragraph == paragraph - 1 else "")) for number in range(count)]


def paced(rate: int, seconds: float) -> dict[str, float]:
    """Deltas at a rate, as from a fast model: the share of the time the panel takes, and its messages a second."""
    panel, widget = live_panel()
    panel.on_event(ev.RoundStarted(1, "m", 1, 0))
    events = deltas(int(rate * seconds))
    began, busy, sent = time.perf_counter(), 0.0, 0
    cpu = time.process_time()
    while sent < len(events):
        due = int((time.perf_counter() - began) * rate)
        for event in events[sent:due]:
            at = time.perf_counter()
            panel.on_event(event)
            busy += time.perf_counter() - at
        sent = max(sent, min(due, len(events)))
        time.sleep(0.001)
    took = time.perf_counter() - began
    used = time.process_time() - cpu
    return {
        "deltas_per_second": round(len(events) / took),
        "messages_per_second": round(widget.messages / took, 1),
        "share_of_time_in_handler_percent": round(100 * busy / took, 2),
        "cpu_percent_with_the_loop_that_feeds": round(100 * used / took, 1),
    }


def per_delta(count: int = 20_000) -> dict[str, float]:
    """Microseconds per delta as fast as they come, with the panel and without."""
    events = deltas(count)

    def run(handle: Any) -> float:
        at = time.perf_counter()
        for event in events:
            handle(event)
        return (time.perf_counter() - at) / count * 1e6

    panel, _ = live_panel()
    panel.on_event(ev.RoundStarted(1, "m", 1, 0))
    return {"panel_on_us": round(run(panel.on_event), 2), "panel_off_us": round(run(lambda event: None), 3)}


def long_answer(tokens: int = 100_000) -> dict[str, float]:
    """Flush times over a very long answer: the last ones may not be slower than the first."""
    panel, widget = live_panel()
    panel.on_event(ev.RoundStarted(1, "m", 1, 0))
    flushes = []
    for _ in range(0, tokens, 40):  # one flush at 1,000 a second
        for event in deltas(40):
            panel.state.apply(event)
            panel._surface.take(event, ["r1.text"])
        began = time.perf_counter()
        panel._surface.paint()
        flushes.append((time.perf_counter() - began) * 1000)
    tenth = len(flushes) // 10
    began = time.perf_counter()
    panel.on_event(ev.RunFinished(1, RunResult()))
    return {
        "flushes": len(flushes),
        "first_tenth_ms": round(sum(flushes[:tenth]) / tenth, 3),
        "last_tenth_ms": round(sum(flushes[-tenth:]) / tenth, 3),
        "slowest_ms": round(max(flushes), 2),
        "freeze_ms": round((time.perf_counter() - began) * 1000, 1),
        "saved_kB": round((len(run_html(panel.state)) + len(run_text(panel.state))) / 1000),
        "sent_kB": round(widget.bytes / 1000),
    }


def many_calls(count: int = 500) -> dict[str, float]:
    """Calls side by side, each with its own start and end."""
    panel, widget = live_panel()
    panel.on_event(ev.RoundStarted(1, "m", 1, count))
    slowest, began = 0.0, time.perf_counter()
    calls = [
        ToolCall.from_any({"id": f"c{n}", "function": {"name": "read_page", "arguments": json.dumps({"page": n})}})
        for n in range(count)
    ]
    for call in calls:
        at = time.perf_counter()
        panel.on_event(ev.ToolStarted(1, call, None))
        slowest = max(slowest, time.perf_counter() - at)
    for call in calls:
        at = time.perf_counter()
        panel.on_event(ev.ToolFinished(1, call, ToolResult("text " * 400), 0.1, "done"))
        slowest = max(slowest, time.perf_counter() - at)
    took = time.perf_counter() - began
    panel.on_event(ev.RunFinished(1, RunResult()))
    return {
        "all_events_ms": round(took * 1000),
        "slowest_event_ms": round(slowest * 1000, 1),
        "messages": widget.messages,
        "saved_kB": round((len(run_html(panel.state)) + len(run_text(panel.state))) / 1000),
    }


def main() -> dict[str, Any]:
    return {
        "flush_every_s": FLUSH_EVERY,
        "per_delta": per_delta(),
        "at_1000_a_second": paced(1_000, 3.0),
        "answer_of_100000_tokens": long_answer(),
        "500_calls": many_calls(),
    }


if __name__ == "__main__":
    print(json.dumps(main(), indent=1))

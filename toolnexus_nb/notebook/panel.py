"""The event panel: a handler that shows a run while it goes and leaves it as plain HTML.

One panel owns one display id. While the run goes there are five ways to show it, each a small class with the same four
methods (`start`, `take`, `paint`, `end`):

* `WidgetSurface`   one anywidget; Python sends operations with escaped fragments and pieces of text (`panel_ops.py`).
* `HtmlSurface`     plain HTML through the display handle, where no page answers "ready": no JavaScript is needed.
* `AtTheEnd`        the finished run only, under `%%capture`.
* `TextSurface`     text as it streams, in a terminal and in `jupyter console`, which update no displays.
* `Nothing`         for runs that are not to be shown.

At the end, also after Stop and after an error, the display becomes static HTML with a text form and the widget is
closed. The widget's page says "ready" when it draws; if that does not come within `READY_WITHIN`, the widget is given
up for HTML (no working front end, or a kernel that takes no messages while a cell runs).

Painting happens at most 25 times a second on a timer of the background loop, so that a cell which blocks its thread is
shown as well; a lock keeps it apart from the thread that delivers the events.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from ..openai.handler import EventHandler
from ..rounds import events as ev
from ..tools.background import HAS_THREADS, background_loop, on_background_loop
from .display import Display, closed, has_front_end, in_terminal, open_until_next_cell, page_is_heard, shell
from .panel_ops import Painter
from .run_markup import run_frame, run_html
from .run_state import CallState, RunState
from .run_stream import TextSurface
from .run_text import run_text

if TYPE_CHECKING:
    from ..openai.types import ToolCall
    from ..rounds.client import Client
    from ..rounds.result import RunResult
    from .panel_widget import PanelWidget

FLUSH_EVERY = 0.04
"""Seconds between two paints: 25 a second."""
READY_WITHIN = 1.5
"""Seconds a page has to say that it has drawn the widget."""


class Surface(Protocol):
    """One way to show a run. The methods are called under the panel's lock."""

    def start(self) -> None:
        """The run begins: claim the place under the cell."""

    def take(self, event: ev.Event, parts: list[str]) -> None:
        """An event was applied to the state; these parts look different."""

    def paint(self) -> float | None:
        """Show what is new; gives the seconds until it wants to be called again though nothing happens, or None."""

    def end(self) -> None:
        """The run is over: leave what stays."""


class Nothing:
    """Shows nothing while the run goes and nothing after it."""

    def start(self) -> None:
        """Nothing to claim."""

    def take(self, event: ev.Event, parts: list[str]) -> None:
        """Nothing to show."""

    def paint(self) -> float | None:
        return None

    def end(self) -> None:
        """Nothing to leave."""


class AtTheEnd(Nothing):
    """Shows the finished run only: where every update would be kept beside the others (`%%capture`)."""

    def __init__(self, state: RunState, display: Display) -> None:
        self._state = state
        self._display = display

    def end(self) -> None:
        self._display.publish(run_html(self._state), run_text(self._state))


class HtmlSurface:
    """Plain HTML, drawn anew at most four times a second and for at most a tenth of the time."""

    def __init__(self, state: RunState, display: Display) -> None:
        self._state = state
        self._display = display
        self._next = 0.0
        self._new = True

    def start(self) -> None:
        self._display.publish(run_html(self._state), run_text(self._state))

    def take(self, event: ev.Event, parts: list[str]) -> None:
        self._new = True

    def paint(self) -> float | None:
        running = any(call.status == "running" for call in self._state.calls)
        now = time.monotonic()
        if now < self._next:
            return self._next - now
        if self._new or running:  # a running call shows how long it runs
            self._display.update(run_html(self._state), run_text(self._state))
            self._new = False
            self._next = time.monotonic() + max(0.25, 10 * (time.monotonic() - now))
        return 1.0 if running else None

    def end(self) -> None:
        self._display.update(run_html(self._state), run_text(self._state))


class WidgetSurface:
    """The anywidget. `decided(part, decision)` is called with each click, on the thread that the message came on."""

    def __init__(
        self, state: RunState, display: Display, decided: Callable[[str, Any], None], lock: threading.RLock
    ) -> None:
        self._state = state
        self._display = display
        self._decided = decided
        self._lock = lock
        self._painter = Painter(state, lambda: self.ready.is_set())
        self._widget: PanelWidget | None = None
        self._said_at = 0.0
        self._sentence = ""
        self._give_up_at = 0.0
        self._drawn_anew = False
        self.ready = threading.Event()

    def start(self) -> None:
        self._open(run_frame(self._state, ""), READY_WITHIN)

    def reopen(self) -> None:
        """Come back for the buttons of a paused run, in the place of plain HTML: they are heard after the cell."""
        self._open(run_html(self._state), 5 * READY_WITHIN)

    def _open(self, html: str, patience: float) -> None:
        from .panel_widget import PanelWidget

        self._widget = PanelWidget(html, self._listen)
        self._display.update(html, run_text(self._state), self._widget)
        self._give_up_at = time.monotonic() + patience

    @property
    def given_up(self) -> bool:
        """No page has drawn the widget in time."""
        return not self.ready.is_set() and time.monotonic() > self._give_up_at

    def take(self, event: ev.Event, parts: list[str]) -> None:
        self._painter.take(event, parts)
        self._sentence = sentence(event) or self._sentence

    def paint(self) -> float | None:
        if not self.ready.is_set():
            return max(0.0, self._give_up_at - time.monotonic()) + 0.05
        self._send(self._painter.flush())
        return FLUSH_EVERY if self._painter.waiting else None

    def end(self) -> None:
        self._display.update(run_html(self._state), run_text(self._state))
        if self._drawn_anew:
            # a page that was loaded anew during the cell hears nothing of its displays any more, only of its widgets
            self._send(self._painter.snapshot())
        elif self._widget is not None:
            self._widget.close()
            self._widget = None

    def _send(self, operations: list[list[str]]) -> None:
        if self._widget is None:
            return
        message: dict[str, Any] = {"type": "ops", "ops": operations}
        now = time.monotonic()
        if self._sentence and now - self._said_at >= 1:  # a screen reader needs time to speak
            message["say"], self._sentence, self._said_at = self._sentence, "", now
        if operations or "say" in message:
            self._widget.send(message)

    def _listen(self, message: dict[str, Any]) -> None:
        match message.get("type"):
            case "ready":
                # also a second view of the same panel, and a page that was loaded anew
                with self._lock:
                    self._drawn_anew = self.ready.is_set()
                    self.ready.set()
                    self._send(self._painter.snapshot())
            case "decide":
                decision: Any = message.get("decision")
                if decision == "edit":
                    decision = ("edit", dict(message.get("arguments") or {}))
                self._decided(str(message.get("part")), decision)


def sentence(event: ev.Event) -> str:
    """What a screen reader is told: short, and only at turning points."""
    match event:
        case ev.ToolStarted(call=call):
            return f"{call.name} is running"
        case ev.ToolFinished(call=call, state=state):
            return f"{call.name} {state}"
        case ev.ApprovalAsked(call=call):
            return f"{call.name} waits for your decision"
        case ev.RunFinished(result=result):
            return f"run {result.status}"
    return ""


class EventPanel(EventHandler):
    """Shows runs: what `%%toolnexus ask` makes, and for your own use a handler like any other.

        tn.Chat(client, toolkit, handler=tn.EventPanel())
        with tn.with_tool_handler(tn.EventPanel()): ...

    prompt   the question, shown at the top (known at the end of the run if it is not given)
    client   names the model in the header
    schema_tokens   what the tools' definitions cost each request, for the footer
    show     "auto", "html", "text" or "off"
    """

    def __init__(
        self, prompt: str = "", client: Client | None = None, *, schema_tokens: int = 0, show: str = "auto"
    ) -> None:
        self._notes = client.notes_for_display if client is not None else ()
        self._about: dict[str, Any] = {
            "prompt": prompt,
            "label": client.label if client is not None else "",
            "schema_tokens": schema_tokens,
        }
        self._show = show
        self._lock = threading.RLock()
        self._waiting: dict[str, tuple[asyncio.AbstractEventLoop, asyncio.Future[Any]]] = {}
        self._decisions: dict[str, Any] = {}
        self._due: float | None = None  # when the next timer fires
        self._painted = 0.0
        self.on_decisions: Callable[[dict[str, Any]], None] | None = None
        """Called with {call id: decision} when every call of a paused run has been decided by a click."""
        self._begin()

    def _begin(self) -> None:
        self.state = RunState(**self._about, notes=[("note", text) for text in self._notes])
        self._display = Display()
        self._surface: Surface = Nothing()
        self._shown = False
        self._frozen = False

    def __repr__(self) -> str:
        return f"<EventPanel: {len(self.state.rounds)} rounds, {self.state.status}>"

    # --- the run ----------------------------------------------------------------------------------------------

    def show(self) -> None:
        """Claim the place under the running cell. The first event does it too."""
        with self._lock:
            if not self._shown:
                self._shown = True
                self._surface = self._choose()
                self._surface.start()
                self._later(READY_WITHIN)

    def on_event(self, event: ev.Event) -> None:
        """Take the next event of a run. A panel that has shown one run to its end starts afresh with the next."""
        with self._lock:
            if self._frozen and isinstance(event, ev.RoundStarted):
                self._begin()
            self.show()
            parts = list(self.state.apply(event))
            self._surface.take(event, parts)
            if isinstance(event, ev.RunFinished):
                self._finish(event.result)
            else:
                self._paint_soon()

    def fail(self, error: BaseException) -> None:
        """The asking ended with this error. If the run could not say so itself, the panel says it."""
        with self._lock:
            if self._frozen or self.state.ended:
                return
            result = getattr(error, "result", None)
            if result is not None:
                self.on_event(ev.RunFinished(result.rounds, result))
            elif isinstance(error, asyncio.CancelledError | KeyboardInterrupt):
                self.state.status = "stopped"
            else:
                self.state.status, self.state.error = "error", f"{type(error).__name__}: {error}"
            self.freeze()

    def _finish(self, result: RunResult) -> None:
        if not self.state.prompt and result.messages:
            self.state.prompt = result.messages[0].get_content_as_string()
        if result.status != "paused" or not self._keep_buttons():
            self.freeze()

    def _keep_buttons(self) -> bool:
        """Leave Allow, Edit and Deny until they are clicked or the next cell runs, where a page can show them."""
        surface = self._surface
        if isinstance(surface, HtmlSurface) and self._show == "auto" and has_front_end():
            surface = WidgetSurface(self.state, self._display, self._decided, self._lock)
            surface.reopen()
            self._surface = surface
        if not isinstance(surface, WidgetSurface):
            return False
        self._paint()
        open_until_next_cell(self)
        return True

    def freeze(self) -> None:
        """Leave static HTML and text in the place of what was live."""
        with self._lock:
            if self._frozen or not self._shown:
                return
            self._frozen = True
            self._surface.end()
            closed(self)

    def html(self) -> str:
        """The run so far as static HTML."""
        return run_html(self.state)

    def text(self) -> str:
        """The run so far as text."""
        return run_text(self.state)

    # --- decisions --------------------------------------------------------------------------------------------

    async def decide(self, call: ToolCall) -> Any:
        """A person's decision about a call: waits for a click where clicks reach a running cell; else None: pause."""
        surface = self._surface
        if not isinstance(surface, WidgetSurface) or not await self._clicks_arrive(surface):
            return None
        state = self._waiting_call(call.id)
        if state is None:
            return None
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        with self._lock:
            if call.id in self._decisions:  # clicked before anybody waited
                return self._decisions.pop(call.id)
            self._waiting[state.part] = (asyncio.get_running_loop(), future)
            surface.take(ev.ApprovalAsked(0, call, state.reason), [state.part])
            self._paint_soon()
        try:
            return await future
        finally:
            self._waiting.pop(state.part, None)

    async def _clicks_arrive(self, surface: WidgetSurface) -> bool:
        while not surface.ready.is_set():
            if surface.given_up:
                return False
            await asyncio.sleep(FLUSH_EVERY)
        return True

    def _waiting_call(self, call_id: str) -> CallState | None:
        return next((c for c in reversed(self.state.calls) if c.call_id == call_id and not c.ended), None)

    def _decided(self, part: str, decision: Any) -> None:
        """A click, on whatever thread its message came."""
        with self._lock:
            call = self.state.call(part)
            if call is None or call.status != "waiting":
                return  # a second click, or a call that has ended meanwhile
            if part in self._waiting:
                loop, future = self._waiting.pop(part)
                loop.call_soon_threadsafe(_settle, future, decision)
                return
            self._decisions[call.call_id] = decision
            pending = {c.call_id for c in self.state.calls if c.status == "waiting"}
            if self.state.status != "paused" or not pending <= self._decisions.keys():
                return
            decisions, self._decisions = self._decisions, {}
            closed(self)  # the run goes on: a cell that starts meanwhile must not end its panel
        if self.on_decisions is not None:
            self.on_decisions(decisions)

    # --- painting ---------------------------------------------------------------------------------------------

    def _choose(self) -> Surface:
        if self._show == "off":
            return Nothing()
        if self._show == "text" or in_terminal() or _in_console():
            return TextSurface(self.state)
        if type(getattr(shell(), "display_pub", None)).__name__ == "CapturingDisplayPublisher":
            return AtTheEnd(self.state, self._display)
        if self._show == "html" or not has_front_end() or not page_is_heard() or on_background_loop():
            # asked from the background loop, the cell blocks its thread: "ready" could not arrive before its end
            return HtmlSurface(self.state, self._display)
        return WidgetSurface(self.state, self._display, self._decided, self._lock)

    def _paint_soon(self) -> None:
        """Paint now, or as soon as the last time is long enough ago."""
        wait = FLUSH_EVERY - (time.monotonic() - self._painted)
        if wait > 0:
            self._later(wait)
        else:
            self._paint()

    def _on_timer(self) -> None:
        with self._lock:
            self._due = None
            if not self._frozen:
                self._paint_soon()

    def _paint(self) -> None:
        with self._lock:
            if isinstance(self._surface, WidgetSurface) and self._surface.given_up:
                self._give_up_widget(self._surface)
            self._painted = time.monotonic()
            again = self._surface.paint()
            if again is not None:
                self._later(again)

    def _give_up_widget(self, surface: WidgetSurface) -> None:
        surface.end()
        self._surface = HtmlSurface(self.state, self._display)
        if HAS_THREADS and _package_is_new():
            text = (
                "the live panel needs the page to be loaded anew (anywidget was just installed); this is the plain form"
            )
            self.state.notes.append(("note", text))

    def _later(self, seconds: float) -> None:
        """Paint after so many seconds, unless it is arranged for earlier."""
        due = time.monotonic() + seconds
        if self._due is not None and self._due <= due:
            return
        self._due = due
        loop = background_loop() if HAS_THREADS else asyncio.get_event_loop()
        loop.call_soon_threadsafe(loop.call_later, seconds, self._on_timer)


def _settle(future: asyncio.Future[Any], value: Any) -> None:
    if not future.done():
        future.set_result(value)


def _package_is_new() -> bool:
    """Whether anywidget was installed after this kernel's server started: the page has not loaded its script then."""
    import anywidget

    try:
        installed = os.stat(str(anywidget.__file__)).st_ctime  # noqa: PTH116 - one number is wanted
        server_started = os.stat(f"/proc/{os.getppid()}").st_ctime  # noqa: PTH116
    except OSError:
        return False
    return installed > server_started


def _in_console() -> bool:
    """Whether the kernel was started by `jupyter console`, which shows first displays only and no updates."""
    try:
        with open(f"/proc/{os.getppid()}/cmdline", "rb") as file:  # noqa: PTH123
            return b"console" in file.read().split(b"\0")[1].rsplit(b"/", 1)[-1]
    except (OSError, IndexError):
        return False

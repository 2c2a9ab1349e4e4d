"""What the views have in common: one display id, live until the next cell runs, then static.

A view says what it looks like twice: `html()` and `text()` for the page that stays, `_build()` for the widget while it
is live. Where no page answers, the static form is shown from the start; a widget whose page stays silent becomes static
too.
"""

from __future__ import annotations

import asyncio
from functools import cache
from pathlib import Path
from typing import Any

from .display import Display, closed, has_front_end, in_voila, open_until_next_cell
from .stylesheet import stylesheet

#: Seconds that a page has to say it has drawn the widget (its JavaScript may be missing where the page comes from).
ANSWER_WITHIN = 6.0


@cache
def _pane_class() -> type:
    """The one anywidget of the views: it shows escaped HTML from Python and reports clicks on its buttons."""
    import anywidget
    import traitlets

    class Pane(anywidget.AnyWidget):
        _esm = (Path(__file__).parent / "views.js").read_text(encoding="utf-8")
        _css = stylesheet()
        html = traitlets.Unicode("").tag(sync=True)

    return Pane


def pane(html: str) -> Any:
    """A widget that shows `html` (escaped by the caller), with copy buttons, a filter box, and buttons that report."""
    return _pane_class()(html=html)


class LiveView:
    """One view on the page. `show()` opens it under the running cell, `freeze()` leaves its static form there."""

    def __init__(self) -> None:
        self._display: Display | None = None
        self._widget: Any = None
        self._answered = False

    # --- what a view brings ---------------------------------------------------------------------------------------

    def html(self) -> str:
        """The static form: everything said by a model, a tool or a server is escaped."""
        raise NotImplementedError

    def text(self) -> str:
        """The same for a page or a terminal without HTML."""
        raise NotImplementedError

    def _build(self) -> Any:
        """The live widget."""
        raise NotImplementedError

    # --- its life -------------------------------------------------------------------------------------------------

    @property
    def live(self) -> bool:
        """Whether a widget is open on the page."""
        return self._widget is not None

    def show(self) -> None:
        """Open under the running cell. A view that is open elsewhere becomes static there first."""
        self.freeze()
        self._display = Display()
        self._widget = self._build() if has_front_end() else None
        self._display.publish(self.html(), self.text(), widget=self._widget)
        if self._widget is not None and not in_voila():
            self._answered = False
            open_until_next_cell(self)
            self._expect_answer()

    def freeze(self) -> None:
        """Replace the widget by the static form in the same place and close its comms. Does nothing when static."""
        widget, self._widget = self._widget, None
        if widget is None:
            return
        closed(self)
        if self._display is not None:
            self._display.update(self.html(), self.text())
        close_all(widget)

    def _show_static(self) -> None:
        """Show the static form anew where it stands; a live view shows itself."""
        if self._display is not None and self._widget is None:
            self._display.update(self.html(), self.text())

    def _heard(self, content: Any) -> None:
        """A message of the page: at least one pane of this view was drawn."""
        self._answered = True

    def _expect_answer(self, again: bool = True) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # no loop, so no page could answer through it either

        def check(widget: Any) -> None:
            if self._widget is not widget or self._answered:
                return
            if again:  # a long cell may have kept the answer waiting in the queue: let it in first
                self._expect_answer(again=False)
            else:
                self.freeze()

        loop.call_later(ANSWER_WITHIN if again else 1.0, check, self._widget)

    def _ipython_display_(self) -> None:
        self.show()

    def __str__(self) -> str:
        return self.text()


def close_all(widget: Any) -> None:
    """Close a widget and everything in it, so that no comm stays behind."""
    for child in getattr(widget, "children", ()):
        close_all(child)
    for owned in ("layout", "style"):
        if widget.has_trait(owned) and getattr(widget, owned) is not None:
            getattr(widget, owned).close()
    widget.close()

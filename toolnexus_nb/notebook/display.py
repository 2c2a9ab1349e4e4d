"""One display id per view: published once, updated in place, static HTML at the end.

A bundle is `text/html` plus `text/plain`, and a widget view while something is live. What is left in the saved
notebook never holds a widget view: a reopened notebook has no widget model, and JupyterLab then shows an error instead
of the HTML.

`open_until_next_cell(view)` is the other half: a live view freezes when the next cell starts.
"""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Mapping
from typing import Any, Protocol

from .stylesheet import styled

Bundle = dict[str, Any]

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


def static_bundle(html: str, text: str) -> Bundle:
    """The bundle that stays: `html` (already escaped) with the style rules it uses, and `text` for pages without HTML.

    A page that drops `<style>` (an untrusted notebook, GitHub) still has the classes, the plain inline styles and the
    order.
    """
    return {"text/html": styled(html), "text/plain": text}


def _widget_view(widget: Any) -> tuple[Bundle, dict[str, Any]]:
    """The widget's own part of a bundle and its metadata (Colab needs the metadata of anywidget)."""
    make = getattr(widget, "_repr_mimebundle_", None)
    made = make() if make is not None else None
    data, metadata = made if isinstance(made, tuple) else (made, {})
    view = (data or {}).get(WIDGET_VIEW)
    if view is None:  # ipywidgets 7 publishes by itself and has no bundle to give
        view = {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}
    return {WIDGET_VIEW: view}, dict(metadata or {})


def shell() -> Any | None:
    """The running IPython, or None. IPython is looked at only if something has imported it already."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


def in_terminal() -> bool:
    """True where output can't be updated in place: plain Python, or IPython in a terminal."""
    running = shell()
    return running is None or not hasattr(running, "kernel")


def _request() -> Mapping[str, Any]:
    """The execute request of the running cell, as the kernel keeps it; empty outside a kernel."""
    ask = getattr(shell(), "get_parent", None)
    return (ask() if ask is not None else None) or {}


def has_front_end() -> bool:
    """True where a person's page is likely to render widgets for the running cell.

    JupyterLab and Notebook 7 send the cell's id with a request; nbclient, nbmake, papermill, `jupyter console` do not.
    VS Code, Colab, Voila and JupyterLite are told by what they leave in the process.
    """
    if in_terminal():
        return False
    return (
        "cellId" in (_request().get("metadata") or {})
        or "google.colab" in sys.modules
        or sys.platform == "emscripten"
        or bool(os.environ.get("VSCODE_PID") or os.environ.get("VSCODE_CWD"))
        or in_voila()
    )


def page_is_heard() -> bool:
    """Whether what a page says can arrive while a cell runs: not before ipykernel 7 (Colab), and not in Pyodide."""
    if sys.platform == "emscripten":
        return False
    ipykernel = sys.modules.get("ipykernel")
    return ipykernel is None or ipykernel.version_info[0] >= 7


def in_voila() -> bool:
    """Whether this kernel serves a Voila page: it runs all cells first, and the page is used afterwards."""
    return os.environ.get("SERVER_SOFTWARE", "").startswith("voila")


def running_cell() -> str | None:
    """What tells one execution of a cell from the next: the id of the execute request, or the execution count."""
    running = shell()
    if running is None:
        return None
    return (_request().get("header") or {}).get("msg_id") or str(running.execution_count)


class Display:
    """One output area. `publish` puts it under the running cell; `update` replaces it, also from a later cell."""

    def __init__(self) -> None:
        self.id = f"tnx-{uuid.uuid4().hex}"
        self.published = False

    def publish(self, html: str, text: str, widget: Any = None, metadata: Mapping[str, Any] | None = None) -> None:
        """Show `html` and `text` (and `widget`, where there is one). Without IPython the text is printed."""
        self._send(html, text, widget, metadata, update=False)
        self.published = True

    def update(self, html: str, text: str, widget: Any = None, metadata: Mapping[str, Any] | None = None) -> None:
        """Replace what is shown. A terminal can't take back what it printed, so nothing is printed again there."""
        if not self.published:
            self.publish(html, text, widget, metadata)
        elif not in_terminal():
            self._send(html, text, widget, metadata, update=True)

    def _send(self, html: str, text: str, widget: Any, metadata: Mapping[str, Any] | None, *, update: bool) -> None:
        if shell() is None:
            print(text)
            return
        from IPython.display import display

        bundle, about = static_bundle(html, text), dict(metadata or {})
        if widget is not None:
            view, view_metadata = _widget_view(widget)
            bundle, about = view | bundle, view_metadata | about
        # raw and with our own id: ipywidgets 7 would publish by itself and lose the id
        display(bundle, raw=True, metadata=about, display_id=self.id, update=update)


class Freezable(Protocol):
    def freeze(self) -> None: ...


class _OpenViews:
    """The live views of this kernel. The next cell that starts freezes them; a nested run in the same cell does not."""

    def __init__(self) -> None:
        self._views: list[tuple[Freezable, str | None]] = []
        self._watched: Any = None

    def keep(self, view: Freezable) -> None:
        self._watch()
        if all(view is not kept for kept, _ in self._views):
            self._views.append((view, running_cell()))

    def drop(self, view: Freezable) -> None:
        self._views = [(kept, cell) for kept, cell in self._views if kept is not view]

    def freeze_old(self, *_info: Any) -> None:
        here = running_cell()
        for view, cell in list(self._views):
            if cell != here:
                self.drop(view)
                view.freeze()

    def freeze_all(self) -> None:
        for view, _ in list(self._views):
            self.drop(view)
            view.freeze()
        if self._watched is not None:
            self._watched.events.unregister("pre_run_cell", self.freeze_old)
            self._watched = None

    def _watch(self) -> None:
        running = shell()
        if running is not None and running is not self._watched:
            running.events.register("pre_run_cell", self.freeze_old)
            self._watched = running


_open = _OpenViews()


def open_until_next_cell(view: Freezable) -> None:
    """Call `view.freeze()` when the next cell starts. Kept once; `closed(view)` takes it off the list."""
    _open.keep(view)


def closed(view: Freezable) -> None:
    """The view has frozen by itself."""
    _open.drop(view)


def freeze_open_views() -> None:
    """Freeze every live view and stop watching cells: what unloading the extension calls."""
    _open.freeze_all()

"""The live panel's widget: one anywidget, `panel.js` and the stylesheet. Imported when the first panel goes live."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from .stylesheet import stylesheet


class PanelWidget(anywidget.AnyWidget):
    """Shows `html`, then follows the operations it is sent. `listen` is called with each message of the page."""

    _esm = (Path(__file__).parent / "panel.js").read_text(encoding="utf-8")
    _css = stylesheet()
    html = traitlets.Unicode().tag(sync=True)

    def __init__(self, html: str, listen: Callable[[dict[str, Any]], None]) -> None:
        super().__init__(html=html)
        self.on_msg(lambda _widget, content, _buffers: listen(content))

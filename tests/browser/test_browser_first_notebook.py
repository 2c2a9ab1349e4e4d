"""The first ten minutes in a real JupyterLab: notebook 01 opened, run, seen moving; pictures of it in light and dark.

TOOLNEXUS_SHOTS names a folder to keep the pictures in (the README's is one of them).
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser
NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "01_first_tool.ipynb"


def _cell_that_says(page, text: str) -> int:
    """The code cell with these words; JupyterLab draws cells below the window when it has time."""
    find = (
        "text => [...document.querySelectorAll('.jp-Notebook .jp-Cell')].findIndex("
        "c => c.querySelector('.cm-content') && c.classList.contains('jp-CodeCell')"
        " && c.querySelector('.jp-InputArea').textContent.includes(text))"
    )
    page.page.wait_for_function(f"text => ({find})(text) >= 0", arg=text, timeout=10_000)
    return page.page.evaluate(find, text)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_notebook_01_is_seen_moving(lab, tmp_path: Path, dark: bool) -> None:
    copy = lab.server.notebooks / f"first-{'dark' if dark else 'light'}.ipynb"
    shutil.copy(NOTEBOOK, copy)
    page = lab.open(path=copy, dark=dark, height=3000)  # older ones draw only what is in sight
    load, tools, ask = (_cell_that_says(page, text) for text in ("load_ext", "def get_weather", "17 plus 25"))
    page.run_and_wait(load)
    page.run_and_wait(tools)
    assert page.output(tools).locator(".jupyter-widgets").count(), "the schemas are shown as a widget"
    assert "get_weather" in page.text(tools)

    page.page.evaluate(
        """index => {
          const area = document.querySelectorAll('.jp-Notebook .jp-Cell')[index].querySelector('.jp-OutputArea');
          window.seen = [];
          new MutationObserver(() => {
            const text = area.textContent;
            if (window.seen.at(-1) !== text) window.seen.push(text);
          }).observe(area, {subtree: true, childList: true, characterData: true});
        }""",
        ask,
    )
    page.run_and_wait(ask)
    seen = page.page.evaluate("window.seen")
    assert len(seen) >= 3, seen
    assert any("42" not in text and "add" in text for text in seen), "the call is seen before its result"
    page.wait_text(ask, "42")
    assert "4 °C, light snow" in page.text(ask)
    assert not page.problems

    shots = Path(os.environ.get("TOOLNEXUS_SHOTS") or tmp_path)
    shots.mkdir(parents=True, exist_ok=True)
    page.cell(ask).scroll_into_view_if_needed()
    page.cell(ask).screenshot(path=shots / f"panel-{'dark' if dark else 'light'}.png")
    page.cell(tools).screenshot(path=shots / f"schema-{'dark' if dark else 'light'}.png")

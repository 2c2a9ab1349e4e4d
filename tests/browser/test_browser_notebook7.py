"""Jupyter Notebook 7: opened, run, seen moving, clicked, a form used, and plain HTML at the end."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

SETUP = """%load_ext toolnexus_nb
import asyncio, toolnexus_nb as tn

async def model(messages, tools):
    if messages[-1]["role"] == "tool":
        for word in "The answer came in pieces.".split(" "):
            yield word + " "
            await asyncio.sleep(0.05)
        return
    yield [("slow", {"seconds": 1}), ("send", {"to": "ada@example.org"})]

tn.session().connect(tn.connect(model))
None"""
TOOLS = '''%%toolnexus
async def slow(seconds: float, context: tn.ToolContext) -> str:
    """Takes its time."""
    for step in range(5):
        context.report(step, 5, f"step {step}")
        await asyncio.sleep(seconds / 5)
    return "at last"

@tn.tool(needs_approval=True)
def send(to: str) -> str:
    """Sends a mail."""
    return f"sent to {to}"
'''
WATCH = """index => {
    const cell = document.querySelectorAll('.jp-Notebook .jp-Cell')[index];
    window.seen = [];
    new MutationObserver(() => {
        const text = cell.querySelector('.jp-OutputArea')?.textContent ?? '';
        if (window.seen.at(-1) !== text) window.seen.push(text);
    }).observe(cell, {subtree: true, childList: true, characterData: true});
}"""


def test_a_run_and_a_form_in_notebook_7(notebook7_server: Any, chromium: Any) -> None:
    cells = (SETUP, TOOLS, "%%toolnexus ask\nUse slow and send", "%toolnexus form slow", "1 + 1")
    path = notebook7_server.write(*cells)
    notebook7_server.give_kernel(path.name)
    page = chromium.new_page(viewport={"width": 1000, "height": 1500})
    page.goto(f"{notebook7_server.base}/notebooks/{path.name}", wait_until="domcontentloaded")
    page.wait_for_function("() => window.jupyterapp?.shell?.currentWidget?.context?.isReady", timeout=60_000)
    page.evaluate(
        """async () => {
            const widget = jupyterapp.shell.currentWidget;
            await widget.sessionContext.ready;
            await widget.sessionContext.session.kernel.info;
        }"""
    )

    def run(index: int) -> None:
        page.locator(".jp-Notebook .jp-Cell").nth(index).locator(".jp-InputArea-prompt").first.click()
        page.keyboard.press("Shift+Enter")

    def output(index: int) -> Any:
        return page.locator(".jp-Notebook .jp-Cell").nth(index).locator(".jp-OutputArea")

    run(0)
    run(1)
    page.get_by_role("button", name="try it: slow").wait_for(timeout=30_000)
    page.evaluate(WATCH, 2)
    run(2)
    page.get_by_role("button", name="Allow").click(timeout=20_000)
    output(2).get_by_text(re.compile("2 rounds")).first.wait_for(timeout=20_000)
    output(2).get_by_text(re.compile("done")).first.wait_for()
    seen = "\n".join(page.evaluate("window.seen"))
    assert "step 1" in seen and "step 4" in seen, "the tool was seen at work"
    assert "sent to ada@example.org" in output(2).inner_text()
    assert output(2).locator(".jupyter-widgets, button").count() == 0, "the run is static"

    run(3)
    output(3).get_by_label("seconds", exact=True).fill("0.2")
    output(3).get_by_role("button", name="Run", exact=True).click()
    output(3).get_by_text("at last").first.wait_for(timeout=10_000)
    shot(page)
    run(4)
    page.wait_for_function("() => !document.querySelector('.jp-Cell .tnx-formbox')", timeout=10_000)
    assert "at last" in output(3).inner_text()
    assert "Error displaying widget" not in page.inner_text("body")
    page.close()
    notebook7_server.end_kernels()


def shot(page: Any) -> None:
    folder = os.environ.get("TOOLNEXUS_SHOTS")
    if folder:
        page.screenshot(path=str(Path(folder) / "notebook7.png"))

"""Hostile words in a real page, live, reopened and converted; what axe-core says about the panel in both themes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

EVIL = """<img src=x onerror="window.pwned=1"><script>window.pwned=1</script><svg onload="window.pwned=1"></svg>"""

SETUP = f"""%load_ext toolnexus_nb
import asyncio, json, toolnexus_nb as tn
from toolnexus_nb.rounds.events import Note
EVIL = {EVIL!r}

async def model(messages, tools):
    if messages[-1]["role"] == "tool":
        links = "[click](javascript:window.pwned=1) <a href='javascript:window.pwned=1'>x</a>"
        for piece in (EVIL + "\\n\\n", links, EVIL):
            yield piece
            await asyncio.sleep(0.1)
        return
    yield {{"reasoning": EVIL}}
    yield EVIL
    yield [("evil", {{"text": EVIL, EVIL: EVIL}}), ("evil", {{"text": EVIL}}), (EVIL, {{}})]
    yield ("send", {{"to": "</textarea>" + EVIL}})

class Rich:
    def _repr_html_(self):
        return EVIL + "<b onclick='window.pwned=1'>bold</b><iframe srcdoc='<script>parent.pwned=1</script>'></iframe>"

tn.session().connect(tn.connect(model))
None"""

TOOLS = '''%%toolnexus
async def evil(text: str, context: tn.ToolContext) -> Rich:
    """Evil <script>window.pwned=1</script>."""
    print(EVIL)
    context.report(1, 2, EVIL)
    await asyncio.sleep(0.3)
    return Rich()

@tn.tool(needs_approval=lambda arguments: EVIL)
def send(to: str) -> str:
    """Sends."""
    raise RuntimeError(EVIL)
'''


def pwned(page: Any) -> bool:
    return bool(page.evaluate("window.pwned === 1"))


def test_hostile_words_do_nothing_live_reopened_or_converted(lab, chromium, tmp_path: Path) -> None:
    import nbconvert

    page = lab.open(SETUP, TOOLS, "%%toolnexus ask\n" + EVIL)
    page.run_and_wait(0)
    page.run_and_wait(1)
    page.run(2)
    page.output(2).get_by_role("button", name="Edit").click(timeout=15_000)
    assert "</textarea>" in page.output(2).get_by_role("textbox").input_value()
    page.output(2).get_by_role("button", name="Run with these").click()
    page.done(2)
    page.page.wait_for_timeout(500)
    assert not pwned(page.page)
    assert "window.pwned" in page.text(2)  # it is shown, as text
    page.save()

    again = lab.open(path=page.path, fresh=True)
    again.page.wait_for_timeout(500)
    assert not pwned(again.page)

    html, _ = nbconvert.HTMLExporter(embed_images=False).from_filename(str(page.path))
    file = tmp_path / "converted.html"
    file.write_text(html.split("<body")[0].split("<script")[0] + "<body" + html.split("<body", 1)[1])
    alone = chromium.new_page()
    alone.goto(file.as_uri())
    alone.wait_for_timeout(500)
    assert not pwned(alone)
    alone.close()


def axe_source() -> str | None:
    folders = [os.environ.get("TOOLNEXUS_NODE_MODULES", ""), "node_modules"]
    files = [Path(folder) / "axe-core" / "axe.min.js" for folder in folders if folder]
    return next((file.read_text() for file in files if file.is_file()), None)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_live_or_static(lab, require, dark: bool) -> None:
    require("node")
    source = axe_source()
    if source is None:
        pytest.skip("axe-core is missing; install it with: npm install axe-core")
    page = lab.open(SETUP, TOOLS, "%%toolnexus ask\nplease", dark=dark)
    page.run_and_wait(0)
    page.run_and_wait(1)
    page.run(2)
    page.output(2).get_by_role("button", name="Edit").click(timeout=15_000)
    page.page.evaluate(source)
    script = """async () => {
        document.body.style.overflow = 'visible'; document.body.style.height = 'auto';
        const found = await axe.run('.tnx-run', {runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa']});
        const words = (n) => n.html.slice(0, 150) + ' ' + n.failureSummary;
        return found.violations.map((v) => v.id + ': ' + v.nodes.map(words).join(' | '));
    }"""
    page.page.evaluate("document.querySelectorAll('.tnx-run details').forEach(d => d.open = true)")
    page.page.add_style_tag(content=".tnx-state::before { animation: none !important; }")
    assert page.page.evaluate(script) == []
    page.output(2).get_by_role("button", name="Allow").click()
    page.done(2)
    assert page.page.evaluate(script) == []

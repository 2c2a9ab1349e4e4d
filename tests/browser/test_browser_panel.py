"""The event panel in a real JupyterLab: seen moving, clicked, stopped, saved and reopened."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

SETUP = """%load_ext toolnexus_nb
import asyncio, time, toolnexus_nb as tn

async def model(messages, tools):
    "First round: text and calls of the tools the question names. Second round: a long answer in pieces."
    if messages[-1]["role"] == "tool":
        for word in ("The **answer** came " * 8).split(" "):
            yield word + " "
            await asyncio.sleep(0.03)
        return
    yield {"reasoning": "The person wants tools."}
    for word in "I will call what you named.".split(" "):
        yield word + " "
        await asyncio.sleep(0.03)
    wanted = messages[-1]["content"]
    for name, arguments in CALLS.items():
        if name in wanted:
            yield (name, arguments)

CALLS = {"quick": {"city": "Oslo"}, "slow": {"seconds": 2}, "broken": {}, "send": {"to": "ada@example.org"}}
tn.session().connect(tn.connect(model))
None"""

TOOLS = '''%%toolnexus
def quick(city: str) -> str:
    """Weather of a city."""
    print("looking at", city)
    return f"sunny in {city}"

async def slow(seconds: float, context: tn.ToolContext) -> str:
    """Takes its time."""
    for step in range(10):
        context.report(step, 10, f"step {step}")
        await asyncio.sleep(seconds / 10)
    return "at last"

def broken() -> str:
    """Fails."""
    raise RuntimeError("no station answers")

@tn.tool(needs_approval=True)
def send(to: str) -> str:
    """Sends a mail."""
    return f"sent to {to}"
'''


def shot(page: Any, name: str) -> None:
    """Keep a picture where TOOLNEXUS_SHOTS says, to be looked at."""
    folder = os.environ.get("TOOLNEXUS_SHOTS")
    if folder:
        page.screenshot(path=str(Path(folder) / f"{name}.png"))


@pytest.fixture
def ready(lab):
    """A notebook with the model, the tools, and the cells asked for from index 2 on."""

    def open_with(*cells: str, **options: Any) -> Any:
        page = lab.open(SETUP, TOOLS, *cells, **options)
        page.run_and_wait(0)
        page.run_and_wait(1)
        return page

    return open_with


def html_of(saved: dict[str, Any], index: int) -> str:
    return "".join("".join(o.get("data", {}).get("text/html", "")) for o in saved["cells"][index]["outputs"])


def test_a_run_is_seen_moving_and_stays_as_plain_html(ready) -> None:
    page = ready("%%toolnexus ask --into a\nUse quick, slow and broken")
    page.run(2)
    seen: list[str] = []
    end = time.monotonic() + 30
    while time.monotonic() < end and "rounds" not in (seen or [""])[-1]:
        text = page.text(2)
        if text and (not seen or text != seen[-1]):
            seen.append(text)
            if "step 5" in text:
                shot(page.page, "panel_running")
        page.page.wait_for_timeout(30)
    whole = "\n".join(seen)
    assert len(seen) > 10
    assert re.search(r"running \d", whole)
    assert "step 3" in whole
    assert len({text.count("came") for text in seen}) > 3, "the answer is seen to grow"
    page.done(2)
    assert page.page.locator(".jp-OutputArea .widget-subarea, .jp-OutputArea .jupyter-widgets").count() == 0
    for words in ("done in", "failed after", "no station answers", "looking at Oslo", "The answer came", "3 calls"):
        assert words in page.text(2), words
    assert page.problems == []
    shot(page.page, "panel_done")

    saved = page.save()
    (output,) = [o for o in saved["cells"][2]["outputs"] if "data" in o]
    assert sorted(output["data"]) == ["text/html", "text/plain"]
    assert not [o for o in saved["cells"][2]["outputs"] if o.get("name") == "stderr"]
    assert "widgets" not in saved["metadata"]


def test_the_saved_page_is_read_without_a_kernel(ready, lab) -> None:
    page = ready("%%toolnexus ask\nUse quick")
    page.run_and_wait(2)
    page.save()
    again = lab.open(path=page.path, dark=True, fresh=True)
    assert "sunny in Oslo" in again.text(2)
    assert "Error displaying widget" not in again.page.inner_text("body")
    shot(again.page, "panel_reopened_dark")


def test_a_click_on_allow_reaches_the_running_cell(ready) -> None:
    page = ready("%%toolnexus ask\nUse send and quick")
    page.run(2)
    allow = page.output(2).get_by_role("button", name="Allow")
    allow.wait_for(timeout=15_000)
    shot(page.page, "panel_waiting")
    assert "waiting for you" in page.text(2)
    allow.click()
    page.done(2)
    assert "sent to ada@example.org" in page.text(2)
    assert page.output(2).get_by_role("button").count() == 0


def test_edited_arguments_are_checked_and_then_used(ready) -> None:
    page = ready("%%toolnexus ask\nUse send")
    page.run(2)
    page.output(2).get_by_role("button", name="Edit").click(timeout=15_000)
    box = page.output(2).get_by_role("textbox")
    box.fill('{"to": ')
    page.output(2).get_by_role("button", name="Run with these").click()
    page.wait_text(2, "no JSON object")
    box.fill('{"to": "bob@example.org"}')
    assert "no JSON object" not in page.text(2), "what was wrong is not said of the new text"
    shot(page.page, "panel_edit")
    page.output(2).get_by_role("button", name="Run with these").click()
    page.done(2)
    assert "sent to bob@example.org" in page.text(2)


def test_denying_is_told_to_the_model(ready) -> None:
    page = ready("%%toolnexus ask\nUse send")
    page.run(2)
    page.output(2).get_by_role("button", name="Deny").click(timeout=15_000)
    page.done(2)
    assert "denied" in page.text(2)
    assert "sent to" not in page.text(2)


def test_the_keyboard_alone_allows(ready) -> None:
    page = ready("%%toolnexus ask\nUse send")
    page.run(2)
    allow = page.output(2).get_by_role("button", name="Allow")
    allow.wait_for(timeout=15_000)
    allow.focus()
    page.page.keyboard.press("Tab")
    page.page.keyboard.press("Shift+Tab")
    page.page.keyboard.press("Enter")
    page.done(2)
    assert "sent to ada@example.org" in page.text(2)


def test_the_stop_button_stops_at_once_and_the_next_cell_runs(ready) -> None:
    page = ready("%%toolnexus ask\nUse slow", "print('still', 'here')")
    page.run(2)
    page.wait_text(2, "step 2")
    began = time.monotonic()
    page.stop_button().click()
    page.wait_text(2, "Stopped: the run was cancelled")
    took = time.monotonic() - began
    assert took < 1.0, took  # the click, the kernel (0.3 s at most) and the drawing
    shot(page.page, "panel_stopped")
    assert "cancelled" in page.text(2)
    page.run_and_wait(3)
    page.wait_text(3, "still here")


def test_what_a_person_opened_and_focused_stays_while_the_panel_moves(ready) -> None:
    page = ready("%%toolnexus ask\nUse slow")
    page.run(2)
    page.wait_text(2, "step 1")
    thinking = page.output(2).locator("summary", has_text="thinking")
    thinking.click()
    thinking.focus()
    page.wait_text(2, "step 5")
    assert page.output(2).locator("details.tnx-thought").get_attribute("open") is not None
    assert page.page.evaluate("document.activeElement.textContent").startswith("thinking")


def test_one_polite_region_speaks_in_short_sentences(ready) -> None:
    page = ready("%%toolnexus ask\nUse slow")
    page.run(2)
    page.wait_text(2, "step 2")
    regions = page.output(2).locator("[role=status], [aria-live]")
    assert regions.count() == 1
    assert regions.first.inner_text() == "slow is running"


def test_narrow_pages_stack_the_cards(ready) -> None:
    page = ready("%%toolnexus ask\nUse quick and broken", width=400)
    page.run_and_wait(2)
    boxes = [card.bounding_box() for card in page.output(2).locator(".tnx-call").all()]
    assert boxes[0]["x"] == boxes[1]["x"]
    assert boxes[0]["y"] < boxes[1]["y"]
    panel = page.output(2).locator(".tnx-run").bounding_box()
    assert all(box["x"] + box["width"] <= panel["x"] + panel["width"] + 1 for box in boxes)
    shot(page.page, "panel_narrow")


def test_run_all_with_asks_runs_every_cell(ready) -> None:
    page = ready("%%toolnexus ask\nUse quick", "%%toolnexus ask\nUse broken", "print('last', 'cell')")
    page.run_all()
    page.wait_text(4, "last cell", timeout=60_000)
    assert "no station answers" in page.text(3)


def test_after_a_blocking_cell_the_buttons_resume_the_run(ready) -> None:
    page = ready("%%time\n%%toolnexus ask\nUse send")
    page.run_and_wait(2)
    allow = page.output(2).get_by_role("button", name="Allow")
    allow.wait_for(timeout=10_000)
    shot(page.page, "panel_paused")
    allow.click()
    page.wait_text(2, "sent to ada@example.org")
    page.page.wait_for_function("() => !document.querySelector('.jp-OutputArea button')", timeout=10_000)

"""The schema view, the form and the wire view in a real JupyterLab: live, used by hand, frozen, saved and reopened."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

LOAD = "%load_ext toolnexus_nb\n%toolnexus connect rehearsal"
WEATHER = '''%%toolnexus
from typing import Literal
def get_weather(city: str, unit: Literal["C", "F"] = "C", days: int = 3) -> str:
    """Current weather for a city.

    Args:
        city: Name of the city, in English.
        days: How many days ahead.
    """
    print("asking a station")
    return f"sunny in {city} for {days} days, in {unit}"
'''
MANY = "%%toolnexus\n" + "\n".join(
    f'def tool_{at}(a: int) -> str:\n    """{"Weather" if at % 3 == 0 else "Number"} {at}."""\n    return ""\n'
    for at in range(6)
)
TRIP = '''import asyncio
from dataclasses import dataclass
import toolnexus_nb as tn

@dataclass
class Stop:
    name: str
    nights: int = 1

@tn.tool
async def plan(city: str, stops: list[Stop] = (), wait: float = 0.0) -> str:
    """Plan a trip."""
    await asyncio.sleep(wait)
    return f"{city} by " + ", ".join(f"{stop.name} ({stop.nights})" for stop in stops)

tn.ToolForm(plan)'''


def shot(page: Any, name: str) -> None:
    """Keep a picture where TOOLNEXUS_SHOTS says, to be looked at."""
    folder = os.environ.get("TOOLNEXUS_SHOTS")
    if folder:
        page.screenshot(path=str(Path(folder) / f"{name}.png"))


def tab(output: Any, name: str) -> Any:
    return output.locator(f".tnx-tabs > details > summary:text-is('{name}')").first


def test_the_schema_view_is_live_and_freezes_under_the_next_cell(lab) -> None:
    page = lab.open(LOAD, WEATHER, "1 + 1")
    page.run_and_wait(0)
    page.run_and_wait(1)
    output = page.output(1)
    output.get_by_role("button", name="try it: get_weather").wait_for()
    tab(output, "Anthropic").click()
    shown = output.locator(".tnx-tabs details[open] pre")
    assert '"input_schema"' in shown.inner_text()
    tab(output, "where from").click()
    assert "Name of the city, in English." in output.locator("mark").all_inner_texts()
    shot(page.page, "views-schema-live")
    page.run_and_wait(2)
    page.page.wait_for_function("() => !document.querySelector('.jp-Cell .tnx-go')")
    assert "Name of the city, in English." in page.text(1)
    assert output.locator("button").count() == 0
    tab(output, "Anthropic").click()  # without a kernel's help, and without a script
    assert '"input_schema"' in output.locator(".tnx-tabs details[open] pre").inner_text()
    assert not page.problems


def test_json_is_copied_whole(lab) -> None:
    page = lab.open(LOAD, WEATHER)
    page.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.run_and_wait(0)
    page.run_and_wait(1)
    output = page.output(1)
    tab(output, "OpenAI").click()
    shown = output.locator(".tnx-tabs details[open] pre").text_content()
    output.get_by_role("button", name="copy the OpenAI form").click()
    output.get_by_role("button", name="copied").wait_for()
    assert page.page.evaluate("navigator.clipboard.readText()") == shown


def test_many_tools_are_filtered_by_name_and_description(lab) -> None:
    page = lab.open(LOAD, MANY)
    page.run_and_wait(0)
    page.run_and_wait(1)
    output = page.output(1)
    output.get_by_label("filter").fill("weather")
    output.get_by_text("2 of 6 shown").wait_for()
    assert output.locator(".tnx-tool:visible").count() == 2
    page.page.keyboard.press("Escape")
    output.get_by_label("filter").fill("tool_4")
    assert output.locator(".tnx-tool:visible").count() == 1


def test_a_tool_is_tried_from_its_schema(lab) -> None:
    page = lab.open(LOAD, WEATHER, "1 + 1")
    page.run_and_wait(0)
    page.run_and_wait(1)
    output = page.output(1)
    output.get_by_role("button", name="try it: get_weather").click()
    output.get_by_label("city", exact=True).fill("Oslo")
    output.get_by_label("unit", exact=True).select_option("F")
    output.get_by_role("button", name="Run", exact=True).click()
    page.wait_text(1, "sunny in Oslo for 3 days, in F")
    page.wait_text(1, "asking a station")
    shot(page.page, "views-schema-try")
    page.run_and_wait(2)
    assert not page.problems


def test_a_form_with_a_list_of_objects_an_error_and_a_stop(lab) -> None:
    page = lab.open(TRIP, "1 + 1")
    page.run_and_wait(0)
    output = page.output(0)
    output.get_by_label("city", exact=True).fill("Oslo")
    output.get_by_role("button", name="add to stops").click()
    output.get_by_label("name", exact=True).fill("Hamar")
    output.get_by_label("nights", exact=True).fill("two")
    output.get_by_role("button", name="Run", exact=True).click()
    output.get_by_text("two is not a whole number").wait_for()
    shot(page.page, "views-form-error")
    output.get_by_label("nights", exact=True).fill("2")
    output.get_by_role("button", name="Run", exact=True).click()
    page.wait_text(0, "Oslo by Hamar (2)")
    output.get_by_label("wait", exact=True).fill("30")
    output.get_by_role("button", name="Run", exact=True).click()
    output.get_by_role("button", name="Stop", exact=True).click()
    page.wait_text(0, "stopped in", timeout=2_000)
    shot(page.page, "views-form-stopped")
    page.run_and_wait(1)
    page.page.wait_for_function("() => !document.querySelector('.jp-Cell .tnx-formbox')")
    assert "stopped in" in page.text(0)
    assert not page.problems


def test_the_wire_shows_the_rounds_and_stays(lab) -> None:
    page = lab.open(LOAD, WEATHER, "%toolnexus ask What is the weather in Oslo?", "%toolnexus wire", "1 + 1")
    for index in range(4):
        page.run_and_wait(index)
    output = page.output(3)
    page.wait_text(3, "in words")
    for words in ("round 1", "round 2", "first token", "as in the request before", "new"):
        assert words in page.text(3).lower()
    step = output.locator(".tnx-step").last
    tab(step, "chunks").click()
    assert "[DONE]" in step.locator(".tnx-tabs details[open]").inner_text()
    tab(step, "headers").click()
    shot(page.page, "views-wire")
    page.run_and_wait(4)
    page.page.wait_for_timeout(300)
    assert "first token" in page.text(3)


def test_a_saved_page_reads_without_a_kernel(lab) -> None:
    page = lab.open(LOAD, WEATHER, "%toolnexus form get_weather", "1 + 1")
    for index in range(4):
        page.run_and_wait(index)
    saved = page.save()
    for cell in saved["cells"]:
        for output in cell["outputs"]:
            assert "application/vnd.jupyter.widget-view+json" not in output.get("data", {})
    again = lab.open(path=page.path, fresh=True)
    for index in (1, 2):
        assert "Name of the city, in English." in again.text(index)
        assert "Error displaying widget" not in again.text(index)
    shot(again.page, "views-reopened")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_no_view_is_wider_than_its_place(lab, dark: bool) -> None:
    page = lab.open(LOAD, WEATHER, TRIP, dark=dark)
    for index in range(3):
        page.run_and_wait(index)
    page.wait_text(2, "send stops")
    for width in (1280, 400):
        page.page.set_viewport_size({"width": width, "height": 1400})
        page.page.wait_for_timeout(500)
        shot(page.page, f"views-{'dark' if dark else 'light'}-{width}")
        wide = page.page.evaluate(
            "() => [...document.querySelectorAll('.jp-OutputArea-output .tnx, .jp-OutputArea-output .tnx-formbox')]"
            ".filter(v => v.scrollWidth > v.clientWidth + 1 || v.getBoundingClientRect().right > innerWidth)"
            ".map(v => v.className)"
        )
        assert wide == []

"""The form: a tool run by hand, without a model."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

import toolnexus_nb as tn
from toolnexus_nb.notebook.form_fields import FieldErrors
from toolnexus_nb.notebook.form_markup import Trial, form_html, result_parts, trial_html
from toolnexus_nb.notebook.tool_form import ToolForm, errors_by_field
from toolnexus_nb.tools.results import ResultPart, ToolResult

HOSTILE = "<img src=x onerror='window.HIT=1'></pre><script>window.HIT=1</script>"


def get_weather(city: str, days: int = 3) -> str:
    """Current weather for a city."""
    print("asking")
    if city == "Atlantis":
        raise LookupError("no station there")
    return f"sunny in {city} for {days} days"


async def slow(seconds: float) -> str:
    """Wait."""
    await asyncio.sleep(seconds)
    return "done"


def test_filled_and_run() -> None:
    form = ToolForm(get_weather).fill(city="Oslo")
    result = form.run_sync()
    assert result is not None and result.output == "sunny in Oslo for 3 days"
    html = form.html()
    for words in ("done in", "sunny in Oslo", "default", "asking", "%toolnexus call get_weather"):
        assert words in html
    assert "get_weather" in form.text() and "sunny in Oslo" in form.text()


@pytest.mark.asyncio
async def test_awaited_and_run_from_a_thread_of_its_own() -> None:
    seen: list[str] = []

    def where() -> str:
        """Say where."""
        seen.append(threading.current_thread().name)
        return "here"

    assert (await ToolForm(where).run()).output == "here"  # type: ignore[union-attr]
    assert seen != [threading.main_thread().name]


def test_a_field_at_fault_is_told_and_nothing_runs() -> None:
    form = ToolForm(slow)
    form.page
    assert form.run_sync() is None
    assert form.last is None
    assert "a number is needed" in form.fields.fields["seconds"]._error.value


def test_what_the_tool_refuses_is_told_at_its_field() -> None:
    def double(number: int) -> int:
        """Double it."""
        return number * 2

    form = ToolForm(double)
    form.page
    form.page.as_json.value = True
    form.page.json.value = '{"number": "many"}'
    result = form.run_sync()
    assert result is not None and result.is_error
    assert "number" in errors_by_field(result, form.tool.input_schema)


def test_a_failure_of_the_tool_blames_no_field() -> None:
    form = ToolForm(get_weather).fill(city="Atlantis")
    result = form.run_sync()
    assert result is not None and result.is_error
    assert errors_by_field(result, form.tool.input_schema) == {}
    assert "failed in" in form.html() and "no station there" in form.html() and "traceback" in form.html()


def test_a_click_runs_without_blocking_and_stop_stops() -> None:
    async def page() -> tuple[Trial | None, Trial | None, float]:
        form = ToolForm(slow).fill(seconds=30)
        form.page
        form.page.run.click()
        await asyncio.sleep(0.2)
        assert form.page.run.disabled and not form.page.stop.disabled
        going = form.last
        started = time.monotonic()
        form.page.stop.click()
        while form.last is None:
            await asyncio.sleep(0.01)
        return going, form.last, time.monotonic() - started

    going, stopped, seconds = asyncio.run(page())
    assert going is None
    assert stopped is not None and stopped.state == "stopped" and stopped.result is None
    assert seconds < 0.5


def test_progress_is_told() -> None:
    async def page() -> list[str]:
        told: list[str] = []

        async def work(context: tn.ToolContext) -> str:
            """Work."""
            context.report(1, 4, "first page")
            await asyncio.sleep(0.1)
            return "ok"

        form = ToolForm(work)
        form.page
        form.page._said.observe(lambda change: told.append(change["new"]), "value")
        await form.run()
        return told

    assert any("1 of 4 · first page" in words for words in asyncio.run(page()))


def test_arguments_can_be_typed_as_json_and_go_along() -> None:
    form = ToolForm(get_weather).fill(city="Oslo")
    form.page
    form.page.as_json.value = True
    assert '"city": "Oslo"' in form.page.json.value
    form.page.json.value = '{"city": "Rome", "days": 1}'
    assert form.values() == {"city": "Rome", "days": 1}
    form.page.as_json.value = False
    assert form.values() == {"city": "Rome", "days": 1}
    form.page.as_json.value = True
    form.page.json.value = "{"
    with pytest.raises(FieldErrors):
        form.values()
    assert form.run_sync() is None and "not JSON" in form.page._json_error.value


def test_a_person_and_a_model_may_see_different_things() -> None:
    picture = ResultPart("image", "image/png", data=b"png")
    html = result_parts(ToolResult("a picture", parts=[picture]))
    assert "what you see" in html and "data:image/png" in html and "what the model reads" in html
    assert "what you see" not in result_parts(ToolResult("same", value="same"))
    assert "what you see" not in result_parts(ToolResult('{"a": 1}', value={"a": 1}))


def test_a_result_without_text_says_so() -> None:
    assert "nothing" in result_parts(ToolResult(""))


def test_reopening_shows_the_last_run() -> None:
    form = ToolForm(get_weather).fill(city="Oslo")
    form.run_sync()
    form.close()
    form.page
    assert form.values() == {"city": "Oslo"}
    assert "sunny in Oslo" in form.page._result.html


def test_a_tool_by_name() -> None:
    toolkit = tn.Toolkit([get_weather])
    assert ToolForm("get_weather", toolkit).tool is toolkit.get("get_weather")
    with pytest.raises(KeyError, match="nothing_here"):
        ToolForm("nothing_here", toolkit)


def test_hostile_words_stay_words() -> None:
    trial = Trial(
        {HOSTILE: HOSTILE}, ToolResult(HOSTILE, printed=HOSTILE, traceback=HOSTILE, value={"x": HOSTILE}), 0.1, "done"
    )
    for html in (trial_html(HOSTILE, trial, {}), form_html(HOSTILE, HOSTILE, trial, {}, "")):
        assert "<img" not in html and "<script" not in html
    form = ToolForm(tn.native_tool("evil", HOSTILE, {"type": "object", "properties": {HOSTILE: {}}}, lambda _: HOSTILE))
    box: Any = form.page.box
    form.fields.tell({HOSTILE: HOSTILE, "": HOSTILE})
    form.page.tell({"": HOSTILE})
    form.page.say(HOSTILE)
    assert all("<img" not in html and "<script" not in html for html in _html_of(box))


def _html_of(widget: Any) -> list[str]:
    own = [getattr(widget, name) for name in ("value", "html") if isinstance(getattr(widget, name, None), str)]
    inputs = type(widget).__name__ in ("Text", "Textarea")  # what is typed there is never HTML
    return [*([] if inputs else own), *(html for child in getattr(widget, "children", ()) for html in _html_of(child))]

"""The schema view: what a model reads, what to mend, what it costs, where it came from."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import date
from html import unescape
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

import toolnexus_nb as tn
from toolnexus_nb.notebook.lens_markup import lens_html
from toolnexus_nb.notebook.schema_facts import definitions, form_of, gather, lens_of, mcp_form, tags_of
from toolnexus_nb.notebook.schema_view import SchemaView

HOSTILE = "<img src=x onerror='window.HIT=1'></pre><script>window.HIT=1</script>"


def get_weather(city: str, unit: Literal["C", "F"] = "C", days: Annotated[int, Field(ge=1, le=9)] = 3) -> str:
    """Current weather for a city.

    Args:
        city: Name of the city, in English.
        days: How many days ahead.
    """
    return f"sunny in {city}, {unit}, {days}"


def add(a: float, b: float) -> float:
    return a + b


def test_a_table_says_what_a_model_reads() -> None:
    html = SchemaView([get_weather]).html()
    for words in ("get_weather", "whole number, 1 to 9", "no, <code>3</code>", "Name of the city", "tokens a request"):
        assert words in html
    assert html.count('"tnx-hint">no description') == 1


def test_the_text_form_says_the_same() -> None:
    text = SchemaView([get_weather]).text()
    assert 'unit: "C" or "F" (default "C")' in text
    assert "days: whole number, 1 to 9 (default 3): How many days ahead." in text
    assert "hint: get_weather.unit" in text


def test_findings_come_with_their_mends() -> None:
    html = SchemaView([add]).html()
    assert "warning" in html and "Write a docstring" in html


@pytest.mark.parametrize("name", ["OpenAI", "strict", "Anthropic", "Gemini", "MCP"])
def test_every_provider_has_a_tab_with_its_own_form(name: str) -> None:
    (facts,) = gather([tn.tool(get_weather)])
    assert facts.forms[name].definition is not None
    assert f"<summary>{name}</summary>" in SchemaView([get_weather]).html()


def test_a_form_that_can_not_be_says_why() -> None:
    def free(options: dict[str, Any]) -> str:
        """Take anything."""
        return str(options)

    form = form_of(tn.tool(free), "strict")
    assert form.definition is None and "free" in form.reason
    assert "no such form" in SchemaView([free]).html()


def test_what_an_adapter_had_to_change_is_told() -> None:
    form = form_of(tn.tool(get_weather), "gemini")
    assert form.changes and any("default" in change for change in form.changes)


def test_the_forms_are_those_of_the_adapters() -> None:
    tool = tn.tool(get_weather)
    assert definitions([tool], "openai") == tn.to_openai([tool])
    assert definitions([tool], "anthropic") == tn.to_anthropic([tool])
    assert mcp_form(tool)["inputSchema"] == tool.input_schema


def test_the_lens_marks_the_words_in_the_source() -> None:
    html = lens_html(lens_of(tn.tool(get_weather)))
    for mark in ("str", "Name of the city, in English.", "Current weather for a city."):
        assert f"<mark>{mark}</mark>" in html
    assert "docstring" in html and "signature" in html


def test_the_lens_marks_a_parameter_not_its_namesake() -> None:
    def strong(string: int, str_: str = "str") -> str:
        """Do it."""
        return ""

    html = lens_html(lens_of(tn.tool(strong)))
    assert "<mark>string</mark>: <mark>int</mark>" in html and "str_: <mark>str</mark>" in html


def test_a_tool_without_a_function_has_an_honest_lens() -> None:
    tool = tn.native_tool("look", "Look.", {"type": "object", "properties": {}}, lambda arguments: "")
    assert "written by hand" in lens_html(lens_of(tool))


def test_marks_say_what_is_particular() -> None:
    @tn.tool(needs_approval=True, timeout=5, main_thread=True)
    def drop(table: str) -> str:
        """Drop a table."""
        return table

    assert tags_of(drop) == ["asks first", "main thread", "at most 5 s"]


def test_a_registration_tells_what_it_changed() -> None:
    toolkit = tn.Toolkit([get_weather])
    assert "changed since" not in SchemaView(toolkit).html()

    def changed(city: str, day: date) -> str:
        """Weather on a day.

        Args:
            city: Name of the city, in English.
            day: The day.
        """
        return city

    toolkit.register(tn.tool(changed, name="get_weather"))
    html = SchemaView(toolkit).html()
    assert "changed since the last registration" in html and "+day" in html and "line by line" in html
    toolkit.register(tn.tool(changed, name="get_weather"))
    assert "changed since" not in SchemaView(toolkit).html()


def test_many_tools_are_folded_filtered_and_bounded() -> None:
    tools = [
        tn.native_tool(f"tool_{at}", f"Tool {at}.", {"type": "object", "properties": {}}, lambda _: "")
        for at in range(90)
    ]
    html = SchemaView(tools).html()
    assert "tnx-filterable" in html and html.count("data-find") == 90
    assert "<details" in html and 'class="tnx-tool" open' not in html
    assert len(html) < 200_000 and "%toolnexus schema tool_5" in html


def test_no_tools_says_what_to_do() -> None:
    assert "%%toolnexus" in SchemaView(tn.Toolkit()).html()
    assert "%%toolnexus" in SchemaView([]).text()


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {HOSTILE: {"type": "string", "description": HOSTILE, "default": HOSTILE}}},
        {
            "type": "object",
            "properties": {"a": {"enum": [HOSTILE], "title": HOSTILE}},
            "required": ["a"],
            HOSTILE: HOSTILE,
        },
        {
            "type": "object",
            "properties": {"a": {"type": "array", "items": {"properties": {HOSTILE: {"pattern": HOSTILE}}}}},
        },
    ],
)
def test_a_hostile_server_only_gets_its_words_shown(schema: dict[str, Any]) -> None:
    tool = tn.native_tool("evil", HOSTILE, schema, lambda arguments: HOSTILE)
    changed = tn.native_tool("evil", HOSTILE + "x", {"type": "object", "properties": {}}, lambda arguments: HOSTILE)
    toolkit = tn.Toolkit([changed])
    toolkit.register(tool)
    for html in (SchemaView(toolkit).html(), SchemaView([tool, add]).html()):
        assert "<img" not in html and "<script" not in html


def test_static_html_holds_nothing_a_sanitizer_would_need_to_drop() -> None:
    html = SchemaView([get_weather, add]).html()
    for part in ("<style", "<script", "<button", "<svg", "var(--", "javascript:", " onclick"):
        assert part not in html


def test_json_in_the_view_can_be_copied_as_it_is() -> None:
    html = SchemaView([get_weather]).html()
    start = html.index("<pre", html.index("<summary>Anthropic</summary>"))
    shown = re.sub(r"<[^>]*>", "", html[start : html.index("</pre>", start)])
    assert json.loads(unescape(shown)) == tn.to_anthropic([tn.tool(get_weather)])[0]


def test_a_view_at_the_end_of_a_script_prints_its_text(capsys: pytest.CaptureFixture[str]) -> None:
    SchemaView([get_weather]).show()
    assert "get_weather" in capsys.readouterr().out


def test_showing_works_inside_a_running_loop(capsys: pytest.CaptureFixture[str]) -> None:
    async def cell() -> None:
        SchemaView([get_weather]).show()

    asyncio.run(cell())
    assert "get_weather" in capsys.readouterr().out

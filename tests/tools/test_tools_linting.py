"""Each finding says where, why and how to mend it; a well made tool has none."""

from __future__ import annotations

import functools
import time
from typing import Any, Literal

import pytest

import toolnexus_nb as tn


def schema_tool(properties: dict[str, Any], **more: Any) -> tn.Tool:
    return tn.native_tool(
        "t", "Does a thing well.", {"type": "object", "properties": properties, **more}, lambda args: 1
    )


def codes(tools: Any, provider: str = "openai") -> list[str]:
    return [finding.code for finding in tn.lint(tools, provider)]


def good(city: str, days: int = 3, unit: Literal["C", "F"] = "C") -> str:
    """Weather forecast for a city.

    Args:
        city: Name of the city.
        days: How many days ahead.
        unit: Celsius or Fahrenheit.
    """
    return city


def test_a_well_made_tool_has_no_finding_for_any_provider():
    for provider in ("openai", "anthropic", "gemini", "ollama"):
        assert tn.lint(good, provider) == []


def test_one_parameter_without_text_is_one_finding():
    def f(city: str, days: int = 3) -> str:
        """Weather forecast for a city.

        Args:
            city: Name of the city.
        """
        return city

    findings = tn.lint(tn.Toolkit([f]))
    assert [(one.code, one.tool, one.parameter) for one in findings] == [("no-parameter-description", "f", "days")]
    assert str(findings[0]) == 'f.days: has no description. Describe it in the docstring, or Annotated[..., "text"].'


D = {"description": "text"}


@pytest.mark.parametrize(
    ("code", "tool"),
    [
        ("unknown-keyword", schema_tool({"a": {"types": "string", **D}})),
        ("unknown-type", schema_tool({"a": {"type": "str", **D}})),
        ("no-items", schema_tool({"a": {"type": "array", **D}})),
        ("any-items", schema_tool({"a": {"type": "array", "items": {}, **D}})),
        ("open-object", schema_tool({"a": {"type": "object", **D}})),
        ("open-object", schema_tool({}, additionalProperties=True)),
        ("no-parameter-description", schema_tool({"a": {"type": "string"}})),
        ("no-type", schema_tool({"a": {**D}})),
        ("enum-without-type", schema_tool({"a": {"enum": ["x"], **D}})),
        ("enum-misfits", schema_tool({"a": {"type": "string", "enum": ["x", 1], **D}})),
        ("enum-repeats", schema_tool({"a": {"type": "string", "enum": ["x", "x"], **D}})),
        ("empty-enum", schema_tool({"a": {"type": "string", "enum": [], **D}})),
        ("many-choices", schema_tool({"a": {"type": "integer", "enum": list(range(200)), **D}})),
        ("default-misfits", schema_tool({"a": {"type": "integer", "default": "x", **D}})),
        ("default-misfits", schema_tool({"a": {"type": "string", "enum": ["x"], "default": "y", **D}})),
        ("limits", schema_tool({"a": {"type": "integer", "minimum": 5, "maximum": 1, **D}})),
        ("pattern", schema_tool({"a": {"type": "string", "pattern": "(", **D}})),
        ("required-ghost", schema_tool({"a": {"type": "string", **D}}, required=["b"])),
        ("required-default", schema_tool({"a": {"type": "string", "default": "x", **D}}, required=["a"])),
        ("malformed", schema_tool({"a": {"type": "object", "properties": {}, "required": True, **D}})),
        ("malformed", schema_tool({"a": {"type": "object", "properties": [], **D}})),
        ("dead-ref", schema_tool({"a": {"$ref": "#/$defs/Nowhere", **D}})),
        ("malformed", schema_tool({"a": "string"})),
        ("secret", schema_tool({"api_key": {"type": "string", **D}})),
        ("odd-key", schema_tool({"a b": {"type": "string", **D}})),
        ("no-description", tn.native_tool("t", "", None, lambda args: 1)),
        ("empty-description", tn.native_tool("get_weather", "Get weather.", None, lambda args: 1)),
        ("description-too-long", tn.native_tool("t", "x " * 600, None, lambda args: 1)),
        ("many-tokens", tn.native_tool("t", "word " * 2000, None, lambda args: 1)),
        ("name-invalid", tn.native_tool("my tool!", "Does a thing.", None, lambda args: 1)),
        ("name-too-long", tn.native_tool("x" * 70, "Does a thing.", None, lambda args: 1)),
        ("many-parameters", schema_tool({f"p{n}": {"type": "string", **D} for n in range(25)})),
        (
            "destructive",
            tn.native_tool("drop", "Drops a table.", None, lambda args: 1, annotations={"destructiveHint": True}),
        ),
    ],
)
def test_what_is_wrong_is_found_and_says_how_to_mend_it(code, tool):
    findings = [one for one in tn.lint(tool) if one.code == code]
    assert findings
    for finding in findings:
        assert finding.tool == tool.name
        assert finding.message
        assert finding.mend
        assert finding.severity in ("error", "warning", "hint")
        assert finding.where in str(finding)


def test_a_misspelled_keyword_and_a_python_type_name_are_corrected():
    tool = schema_tool(
        {"a": {"types": "string", **D}, "b": {"type": "dict", **D}, "c": {"type": "string", "descripton": "x", **D}}
    )
    mends = {one.parameter: one.mend for one in tn.lint(tool) if one.code.startswith("unknown")}
    assert mends == {"a": 'Write "type".', "b": 'Write "object".', "c": 'Write "description".'}


def test_findings_deep_inside_say_the_whole_path():
    tool = schema_tool(
        {"a": {"type": "array", "items": {"type": "object", "properties": {"b": {"type": "array", **D}}}, **D}}
    )
    assert [one.parameter for one in tn.lint(tool) if one.code == "no-items"] == ["a[].b"]


def test_a_docstring_that_describes_what_is_not_there():
    def f(city: str) -> str:
        """Weather forecast for cities.

        Args:
            citty: Name of the city.
        """
        return city

    assert "documented-ghost" in codes(f)
    assert "documented-ghost" not in codes(functools.partial(good, days=1))


def test_a_default_that_json_cannot_write_is_a_hint():
    def f(a: Any = object()) -> None:  # noqa: B008
        """Does a thing to a value."""

    assert "default-not-json" in codes(f)


def test_a_method_without_its_object_is_an_error():
    class Service:
        def run(self, x: int) -> int:
            """Runs."""
            return x

    assert "unbound-method" in codes(Service.run) or "no-type" in codes(Service.run)


def test_what_can_not_become_a_tool_is_a_finding_not_an_exception():
    findings = tn.lint([lambda x: x, good])
    assert [one.code for one in findings] == ["no-tool"]


def test_strict_blockers_are_errors_when_strict_is_asked():
    @tn.tool(strict=True)
    def f(table: dict[str, int]) -> None:
        """Reads a table of numbers.

        Args:
            table: numbers by name
        """

    findings = [one for one in tn.lint(f) if one.code == "not-strict"]
    assert findings
    assert findings[0].severity == "error"
    assert "table" in findings[0].message


def test_providers_have_eyes_of_their_own():
    tool = schema_tool({"a": {"type": "number", "exclusiveMinimum": 0, **D}}, anyOf=[{"required": ["a"]}])
    assert "gemini-loses" in codes(tool, "gemini")
    assert "anthropic-loses" in codes(tool, "anthropic")
    assert not {"gemini-loses", "anthropic-loses"} & set(codes(tool))
    assert "key-refused" in codes(schema_tool({"a b": {"type": "string", **D}}), "anthropic")


def numbered(n: int) -> tn.Tool:
    return tn.native_tool(f"tool_{n}", f"Does the thing number {n} in its {n}th way.", None, lambda args: 1)


def test_toolkits_are_looked_at_as_a_whole():
    twins = [tn.native_tool(name, "Find the weather for a place today", None, lambda args: 1) for name in ("a", "b")]
    assert "alike" in codes(twins)
    assert "same-name" in codes([tn.native_tool(name, "Does it.", None, lambda args: 1) for name in ("a.b", "a_b")])
    assert "same-name" in codes([numbered(1), numbered(1)])
    assert "too-many-tools" in codes([numbered(n) for n in range(129)])
    assert "many-tools" in codes([numbered(n) for n in range(60)])
    assert codes([]) == codes(None) == []


def test_descriptions_in_any_language_are_descriptions():
    tools = [tn.native_tool(name, text, None, lambda args: 1) for name, text in (("a", "天气预报"), ("b", "删除文件"))]
    assert tn.lint(tools) == []


def test_a_finding_is_told_once():
    tool = schema_tool({"a": {"anyOf": [{"type": "array", "items": {}}, {"type": "array", "items": {}}], **D}})
    assert codes(tool) == ["any-items"]


def test_errors_come_first():
    tool = schema_tool({"a": {"type": "string"}, "b": {"type": "array", **D}})
    assert [one.severity for one in tn.lint(tool)] == ["error", "hint"]


def test_linting_is_fast():
    toolkit = tn.Toolkit([numbered(n) for n in range(100)])
    started = time.perf_counter()
    tn.lint(toolkit)
    assert time.perf_counter() - started < 1


def test_a_heading_that_lacks_its_colon_is_pointed_at() -> None:
    def good(city: str) -> str:
        """Weather of a place.

        Args:
            city: Name of the city.
        """
        return city

    def bare(city: str) -> str:
        """Weather of a place.

        Arguments
            city: Name of the city.
        """
        return city

    assert "heading-without-colon" not in codes(good)
    assert any('Write "Args:"' in str(finding) for finding in tn.lint(bare))

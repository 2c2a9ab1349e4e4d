"""Tools in the providers' words: the seed's examples, the worked cases, strict mode, each provider's subset."""

# Optional, Union, quotes and mutable defaults are what notebooks hold, so they are what is tested.
# ruff: noqa: UP007, UP037, UP045, B006

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, Literal, Optional, Union

import pytest
from pydantic import BaseModel

import toolnexus_nb as tn
from toolnexus_nb.tools.names import wire_name
from toolnexus_nb.tools.portable import Change
from toolnexus_nb.tools.strict import StrictError

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def weather() -> tn.Tool:
    return tn.native_tool("get_weather", "Current weather for a city", CITY, lambda args: f"sunny in {args['city']}")


# --- the seed page's three examples -----------------------------------------------------------------------------------


def test_seed_example_1_one_tool_to_openai_schema():
    schema = tn.to_openai([weather()])
    assert json.loads(json.dumps(schema)) == [
        {
            "type": "function",
            "function": {"name": "get_weather", "description": "Current weather for a city", "parameters": CITY},
        }
    ]


def test_seed_example_2_feeding_it_straight_into_a_request_body():
    tools = [
        tn.native_tool(name, text, {"type": "object", "properties": {}}, lambda args: "")
        for name, text in (("search", "Search the docs"), ("ping", "Health check"))
    ]
    body = {
        "model": "gpt-4o-mini",
        "messages": [{"role": "user", "content": "search for adapters"}],
        "tools": tn.to_openai(tools),
    }
    got = json.loads(json.dumps(body))
    assert [entry["function"]["name"] for entry in got["tools"]] == ["search", "ping"]


def test_seed_example_3_round_tripping_a_call_back_to_the_tool():
    tools = [weather()]
    called = next(tool for tool in tools if tool.name == "get_weather")
    result = called.execute_sync(json.loads('{"city":"Chennai"}'), None)
    assert (result.output, result.is_error) == ("sunny in Chennai", False)
    assert tn.to_openai(None) == []


# --- the worked cases -------------------------------------------------------------------------------------------------


def test_nothing_is_empty_everywhere():
    for adapt in (tn.to_openai, tn.to_anthropic, tn.to_gemini):
        assert adapt([]) == adapt(None) == []


def test_two_tools_of_one_name_are_refused_by_name():
    with pytest.raises(ValueError, match="two tools are called get_weather"):
        tn.to_openai([weather(), weather()])


def test_every_call_gives_a_fresh_copy():
    tool = weather()
    tn.to_openai([tool])[0]["function"]["parameters"]["properties"].clear()
    assert tn.to_openai([tool])[0]["function"]["parameters"] == CITY
    assert tool.input_schema == CITY


def test_a_changed_description_is_sent():
    tool = weather()
    tn.to_openai([tool])
    tool.description = "New"
    assert tn.to_openai([tool])[0]["function"]["description"] == "New"


def test_anthropic_and_gemini_shapes():
    assert tn.to_anthropic([weather()]) == [
        {"name": "get_weather", "description": "Current weather for a city", "input_schema": CITY}
    ]
    assert tn.to_gemini([weather()]) == [
        {
            "functionDeclarations": [
                {"name": "get_weather", "description": "Current weather for a city", "parameters": CITY}
            ]
        }
    ]


def test_a_tool_without_description_sends_none():
    for blank in ("", "   "):
        assert "description" not in tn.to_openai([tn.native_tool("f", blank, None, lambda args: 1)])[0]["function"]


def test_a_filter_keeps_names():
    tools = [tn.native_tool(name, "", None, lambda args: 1) for name in "abc"]
    assert [entry["function"]["name"] for entry in tn.to_openai(tools, filter=lambda name: name != "b")] == ["a", "c"]


@pytest.mark.parametrize(
    ("name", "wire"),
    [
        ("a b/c.d:e", "a_b_c_d_e"),
        ("keep-_OK1", "keep-_OK1"),
        ("bad name!é", "bad_name__"),
        ("my srv_a.b c", "my_srv_a_b_c"),
    ],
)
def test_names_are_made_acceptable(name, wire):
    assert wire_name(name) == wire


def test_names_that_would_vanish_or_are_too_long_get_a_mark_of_their_own():
    assert wire_name("日本") != wire_name("中国")
    assert wire_name("日本").startswith("tool_")
    long = [wire_name("x" * 79 + end) for end in "ab"]
    assert long[0] != long[1]
    assert {len(name) for name in long} == {64}


def test_definitions_of_others_are_taken():
    mcp = SimpleNamespace(
        name="m", description=None, inputSchema={"type": "object", "properties": {"x": {"type": "string"}}}
    )
    wire = {"type": "function", "function": {"name": "w", "description": "W", "parameters": CITY, "strict": True}}
    anthropic = {"name": "a", "description": "A", "input_schema": CITY}

    def function(x: int) -> int:
        return x

    names = [entry["function"]["name"] for entry in tn.to_openai([mcp, wire, anthropic, function])]
    assert names == ["m", "w", "a", "function"]
    assert tn.to_openai([wire])[0]["function"]["strict"] is True
    with pytest.raises(ValueError, match="no tool definition"):
        tn.to_openai([{"nothing": 1}])


def test_a_long_description_is_cut_for_openai_and_reported():
    report: list[Change] = []
    tool = tn.native_tool("f", "x" * 2000, None, lambda args: 1)
    assert len(tn.to_openai([tool], report=report)[0]["function"]["description"]) == 1024
    assert [str(change) for change in report] == [
        "f: description: cut from 2000 to 1024 characters, the most openai takes"
    ]
    assert len(tn.to_anthropic([tool])[0]["description"]) == 2000


# --- from_openai ------------------------------------------------------------------------------------------------------

DEFINITION = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Add.",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
        },
    },
}


def test_a_definition_and_a_function_make_a_tool():
    async def later(a: int, b: int = 0) -> int:
        return a + b

    by_name = tn.from_openai(DEFINITION, lambda a, b: a + b)
    by_dict = tn.from_openai(DEFINITION, lambda args: args["a"] + args["b"])
    by_keywords = tn.from_openai(DEFINITION, lambda **kw: kw["a"] + kw["b"])
    for tool in (by_name, by_dict, by_keywords, tn.from_openai(DEFINITION, later)):
        assert tool.execute_sync('{"a": 1, "b": 2}').value == 3
        assert tn.to_openai([tool]) == [DEFINITION]
    assert "b is missing" in by_name.execute_sync({"a": 1}).output


# --- strict mode ------------------------------------------------------------------------------------------------------


class Place(BaseModel):
    city: str = "Oslo"
    zip: Optional[str] = None
    inner: Optional["Place"] = None


def walk(node: Any):
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from walk(value)
    elif isinstance(node, list):
        for one in node:
            yield from walk(one)


def test_strict_schemas_are_what_openai_accepts():
    def f(
        where: Place,
        n: int = 3,
        mode: Literal["a", "b"] = "a",
        places: list[Place] = [],
        either: Union[int, str] = 1,
        name: Optional[str] = None,
    ) -> Any:
        return where, n, mode, places, either, name

    entry = tn.Toolkit([f]).to_openai(strict=True)[0]["function"]
    assert entry["strict"] is True
    for node in walk(entry["parameters"]):
        assert "default" not in node or "type" not in node
        if node.get("type") == "object":
            assert node["additionalProperties"] is False
            assert node["required"] == list(node["properties"])
    properties = entry["parameters"]["properties"]
    assert properties["n"] == {"type": ["integer", "null"]}
    assert properties["mode"] == {"anyOf": [{"type": "string", "enum": ["a", "b"]}, {"type": "null"}]}
    nulls = {
        "where": {"city": None, "zip": None, "inner": None},
        "n": None,
        "mode": None,
        "places": None,
        "either": None,
        "name": None,
    }
    assert tn.tool(f).execute_sync(nulls).value == (Place(), 3, "a", [], 1, None)


def test_strict_is_sent_only_when_asked():
    @tn.tool(strict=True)
    def f(x: int) -> int:
        return x

    assert tn.to_openai([f])[0]["function"]["strict"] is True
    assert "strict" not in tn.to_openai([f], strict=False)[0]["function"]
    assert "strict" not in tn.to_openai([weather()])[0]["function"]


def test_a_schema_that_cannot_be_strict_says_every_reason():
    def f(table: dict[str, int], anything, stuff: list, **rest: int) -> None: ...

    with pytest.raises(StrictError) as caught:
        tn.to_openai([f], strict=True)
    text = str(caught.value)
    assert text.startswith("f cannot be strict: ")
    assert len(caught.value.reasons) == 4
    assert all(name in text for name in ("table", "anything", "each item of stuff", "the arguments"))


# --- Gemini and Anthropic ---------------------------------------------------------------------------------------------


def test_gemini_gets_only_keywords_it_knows_and_what_was_lost_is_reported():
    schema = {
        "type": "object",
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "additionalProperties": False,
        "properties": {
            "a": {"type": ["string", "null"], "format": "uri", "default": "x"},
            "b": {"const": "only"},
            "c": {"oneOf": [{"type": "integer"}, {"type": "string"}]},
            "d": {"type": "integer", "enum": [1, 2], "multipleOf": 1},
            "e": {"type": "array"},
            "f": {},
            "g": {"$ref": "#/$defs/G"},
            "h": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "$defs": {"G": {"type": "object", "properties": {"again": {"$ref": "#/$defs/G"}, "n": {"type": "integer"}}}},
    }
    report: list[Change] = []
    declared = tn.to_gemini([tn.native_tool("t", "T", schema, lambda args: 1)], report=report)[0][
        "functionDeclarations"
    ][0]["parameters"]
    known = {
        "type",
        "format",
        "description",
        "nullable",
        "enum",
        "items",
        "properties",
        "required",
        "anyOf",
        "minimum",
        "maximum",
    }
    properties = declared["properties"]
    for node in [declared, *properties.values(), properties["g"]["properties"]["n"]]:
        assert set(node) <= known
        assert isinstance(node.get("type", ""), str)
    assert properties["a"] == {"type": "string", "nullable": True}
    assert properties["b"] == {"type": "string", "enum": ["only"]}
    assert properties["e"] == {"type": "array", "items": {"type": "string"}}
    assert properties["h"] == {"type": "string", "nullable": True}
    lossy = {change.where: change.what for change in report if change.lossy}
    assert lossy["d"] == "multipleOf removed"
    assert "recursive" in lossy["g.again"]
    assert any(change.what == "additionalProperties removed" and not change.lossy for change in report)


def test_an_ordinary_function_loses_nothing_for_any_provider():
    def f(city: str, days: int = 3, unit: Literal["C", "F"] = "C", tags: Optional[list[str]] = None) -> None:
        """F."""

    for adapt in (tn.to_openai, tn.to_anthropic, tn.to_gemini):
        report: list[Change] = []
        adapt([f], report=report)
        assert [change for change in report if change.lossy] == []


def test_anthropic_loses_a_union_at_the_top_only():
    schema = {
        "type": "object",
        "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
        "anyOf": [{"required": ["a"]}],
    }
    report: list[Change] = []
    sent = tn.to_anthropic([tn.native_tool("t", "T", schema, lambda args: 1)], report=report)[0]["input_schema"]
    assert "anyOf" not in sent
    assert "anyOf" in sent["properties"]["a"]
    assert len(report) == 1


def test_a_definition_without_a_schema_still_sends_an_object():
    for schema in (None, {}, {"type": "object"}):
        parameters = tn.to_openai([SimpleNamespace(name="f", description="", inputSchema=schema)])[0]["function"][
            "parameters"
        ]
        assert (parameters["type"], parameters["properties"]) == ("object", {})


def test_gemini_gets_what_a_schema_says_in_other_words() -> None:
    schema = {
        "type": "object",
        "properties": {
            "place": {"allOf": [{"$ref": "#/definitions/Place"}], "description": "where"},
            "level": {"const": 3},
            "count": {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 10},
        },
        "definitions": {"Place": {"type": "object", "properties": {"city": {"type": "string"}}}},
    }
    changes: list[Any] = []
    tool = tn.native_tool("go", "Go there.", schema, lambda arguments: "")
    declared = tn.to_gemini([tool], report=changes)[0]["functionDeclarations"][0]
    assert declared["parameters"]["properties"] == {
        "place": {"type": "object", "properties": {"city": {"type": "string"}}, "description": "where"},
        "level": {"type": "integer", "description": "One of: 3."},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
    }
    assert not [change for change in changes if change.lossy]


def test_openai_gets_no_choice_at_the_top_and_no_array_without_items() -> None:
    schema = {
        "type": "object",
        "properties": {
            "names": {"type": "array"},
            "pair": {"type": "array", "items": [{"type": "string"}, {"type": "array"}]},
        },
        "anyOf": [{"required": ["names"]}, {"required": ["pair"]}],
    }
    report: list[Change] = []
    tool = tn.native_tool("join", "Join them.", schema, lambda arguments: "")
    parameters = tn.to_openai([tool], report=report)[0]["function"]["parameters"]
    assert parameters == {
        "type": "object",
        "properties": {
            "names": {"type": "array", "items": {}},
            "pair": {"type": "array", "items": {}, "prefixItems": [{"type": "string"}, {"type": "array", "items": {}}]},
        },
    }
    assert [(change.where, change.lossy) for change in report] == [
        ("the arguments", True),
        ("names", False),
        ("pair", False),
        ("pair[]", False),
    ]
    assert any(finding.code == "openai-loses" for finding in tn.lint(tool))
    assert tool.input_schema["anyOf"]

"""What a server gives back: whole, as text for the model and as parts for the person."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from toolnexus_nb.tools.mcp_output_schema import MISMATCH, certainly_fits, difference_to_schema
from toolnexus_nb.tools.mcp_results import result_of_call


@pytest.fixture
def call(kit, raw):
    kit.add_mcp_sync("r", command=raw())
    return lambda tool, **arguments: kit.execute_sync(f"r_{tool}", arguments)


def result(structured=None, *, error=False, **content):
    from mcp.types import CallToolResult, TextContent

    blocks = [TextContent(type="text", text=text) for text in content.get("texts", ())]
    given = {} if structured is None else {"structured_content": structured}
    return result_of_call(CallToolResult(content=blocks, is_error=error, **given), {"server": "s"})


def test_every_kind_of_content_arrives(call):
    got = call("blocks")
    assert not got.is_error
    kinds = [(part.kind, part.mime_type) for part in got.parts]
    assert kinds == [
        ("image", "image/png"),
        ("audio", "audio/wav"),
        ("link", "text/markdown"),
        ("resource", "text/plain"),
        ("resource", "application/zip"),
    ]
    assert got.parts[0].data.startswith(b"\x89PNG") and got.parts[4].data == b"PK"
    assert got.output == "see\ninside\nnotes: file:///notes.md (text/markdown)"
    assert got.metadata == {"server": "r", "tool": "blocks"}


def test_structured_content_is_the_value_and_its_json_is_told(call):
    got = call("structured")
    assert got.value == {"b": 1, "a": "é"}
    assert got.output == '{"b": 1, "a": "é"}'


def test_failures_join_what_is_not_blank(call):
    got = call("fail")
    assert got.is_error and got.output == "bad1\n\nbad2"
    assert call("fail_silently").output == "MCP tool returned an error"


def test_a_result_against_its_schema_is_given_and_reported(kit, call):
    got = call("lie")
    assert not got.is_error and got.value == {"n": "not a number"}
    assert "at n" in got.metadata[MISMATCH]
    assert any("lie" in note and "at n" in note for note in kit.servers["r"].notes)


def test_a_large_result_arrives_whole(call):
    assert len(call("big", bytes=3_000_000).output) == 3_000_000


@pytest.mark.parametrize(
    ("texts", "structured", "output"),
    [
        (["a", "", "b"], None, "a\n\nb"),
        (['{"x": 1}'], {"x": 1}, '{"x": 1}'),
        (["3"], {"result": 3}, "3"),
        (["hello"], {"content": "hello"}, "hello"),
        (["[1]"], {"entities": [1]}, "[1]"),
        (["a", "b"], {"result": ["a", "b"]}, "a\nb"),
        (["three blocks"], {"blocks": 3}, 'three blocks\n{"blocks": 3}'),
        ([], {"result": None}, '{"result": null}'),
    ],
)
def test_structured_content_is_told_once(texts, structured, output):
    assert result(structured, texts=texts).output == output


def test_a_failed_result_with_structure_alone_tells_it():
    assert result({"why": "no"}, error=True).output == '{"why": "no"}'


def test_an_image_alone_is_described():
    from mcp.types import CallToolResult, ImageContent

    got = result_of_call(CallToolResult(content=[ImageContent(type="image", data="AAAA", mime_type="image/png")]), {})
    assert got.output == "image (image/png, 3 bytes)" and got.parts[0].data == b"\0\0\0"


def test_differences_are_named_and_foreign_documents_are_not_fetched():
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}}}
    assert "a[1]" in difference_to_schema({"a": [1, "x"]}, schema)
    assert difference_to_schema({"a": [1]}, schema) == ""
    assert "no structured content" in difference_to_schema(None, schema)
    assert difference_to_schema({"a": 1}, {"$ref": "http://127.0.0.1:9/elsewhere.json"}) == ""


TREE = {
    "$ref": "#/$defs/N",
    "$defs": {"N": {"type": "object", "properties": {"kids": {"items": {"$ref": "#/$defs/N"}}}}},
}


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ({"a": 1}, {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}, "required": ["a"]}),
        (
            {"a": 1.5, "b": None},
            {"properties": {"a": {"type": "number"}, "b": {"anyOf": [{"type": "string"}, {"type": "null"}]}}},
        ),
        ({"kids": [{"kids": []}]}, TREE),
        (["x"], {"type": ["array", "null"], "items": {"enum": ["x", "y"]}}),
        ({"a": 1}, {"additionalProperties": {"type": "integer"}}),
    ],
)
def test_what_plainly_fits_is_recognised_without_jsonschema(value, schema):
    assert certainly_fits(value, schema, schema) and difference_to_schema(value, schema) == ""


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ({}, {"required": ["a"]}),
        ({"a": True}, {"properties": {"a": {"type": "integer"}}}),
        (True, {"enum": [1]}),
        ({"b": 1}, {"properties": {"a": {}}, "additionalProperties": False}),
        ({"kids": [{"kids": [3]}]}, TREE),
        ("x", {"pattern": "^x$"}),
        (1, {"oneOf": [{"type": "integer"}]}),
        ({}, {"$ref": "http://elsewhere/"}),
    ],
)
def test_what_is_not_sure_is_left_to_jsonschema(value, schema):
    assert not certainly_fits(value, schema, schema)


def test_a_call_whose_result_fits_does_not_import_jsonschema():
    code = (
        "import sys, toolnexus_nb as tn\n"
        "from mcp.server import MCPServer\n"
        "server = MCPServer('s')\n"
        "@server.tool()\n"
        "def add(a: int, b: int) -> int:\n"
        "    return a + b\n"
        "kit = tn.Toolkit()\n"
        "kit.add_mcp_sync('s', server=server)\n"
        "assert kit.execute_sync('s_add', {'a': 1, 'b': 2}).output == '3'\n"
        "assert 'jsonschema' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_schemas_are_kept_and_sendable(kit, raw):
    kit.add_mcp_sync("r", command=raw())
    schema = kit.get("r_odd").input_schema
    assert schema["type"] == "object" and schema["additionalProperties"] is True
    assert schema["properties"]["tree"] == {"$ref": "#/$defs/Node"} and "Node" in schema["$defs"]
    assert schema["properties"]["either"]["anyOf"] == [{"type": "string"}, {"type": "null"}]
    sent = {tool["function"]["name"]: tool["function"]["parameters"] for tool in kit.to_openai()}
    assert json.loads(json.dumps(sent["r_odd"]))["properties"]["tree"]


def test_arguments_are_the_servers_to_judge(call):
    assert call("odd", anything={"goes": 1}).output == "odd"

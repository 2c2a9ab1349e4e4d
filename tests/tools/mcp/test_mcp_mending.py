"""One odd piece in what a server says must not cost the rest."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from toolnexus_nb.tools.mcp_mending import mend, mended_tool, read_message


def mended(result):
    """(the mended result, the remarks)."""
    remarks = []
    item = SimpleNamespace(message=SimpleNamespace(result=result))
    assert mend(item, remarks.append) is item
    return result, remarks


GOOD = {"name": "a", "inputSchema": {"type": "object"}}


def test_good_answers_pass_untouched():
    answer = {"tools": [dict(GOOD)], "nextCursor": "2"}
    assert mended(answer) == ({"tools": [GOOD], "nextCursor": "2"}, [])
    answer = {"content": [{"type": "text", "text": "x"}], "structuredContent": {"a": 1}, "isError": False}
    assert mended(dict(answer)) == (answer, [])


def test_other_messages_are_left_alone():
    answer = {"contents": [{"uri": "x", "text": "y"}]}
    assert mended(dict(answer)) == (answer, [])
    assert mend(error := ValueError("no message"), print) is error


def test_a_schema_without_type_or_no_schema_is_completed():
    remarks = []
    tool = mended_tool({"name": "a", "inputSchema": {"properties": {"x": {}}}}, remarks.append)
    assert tool["inputSchema"] == {"properties": {"x": {}}, "type": "object"} and "'a'" in remarks[0]
    assert mended_tool({"name": "a"}, print)["inputSchema"] == {"type": "object"}
    assert mended_tool({"name": "a", "inputSchema": None}, print)["inputSchema"] == {"type": "object"}


def test_optional_fields_that_cannot_be_read_are_left_out():
    remarks = []
    tool = mended_tool({**GOOD, "annotations": "careful", "title": 3, "description": "ok"}, remarks.append)
    assert tool == {**GOOD, "description": "ok"} and len(remarks) == 2


def test_a_tool_without_a_name_is_dropped_and_the_others_stay():
    answer, remarks = mended({"tools": [{"inputSchema": {}}, "nonsense", dict(GOOD)]})
    assert answer["tools"] == [GOOD] and len(remarks) == 2


def test_unknown_content_becomes_its_json():
    answer, remarks = mended({"content": [{"type": "hologram", "data": 1}, {"type": "text"}, "plain"]})
    assert [block["text"] for block in answer["content"]] == [
        '{"type": "hologram", "data": 1}',
        '{"type": "text"}',
        "plain",
    ]
    assert len(remarks) == 3


def test_structured_content_that_is_no_object_is_text_on_older_connections():
    answer, _ = mended({"content": [], "structuredContent": [1, 2]})
    assert answer == {"content": [{"type": "text", "text": "[1, 2]"}]}
    newer = {"content": [], "structuredContent": [1, 2], "resultType": "complete"}
    assert mended(dict(newer))[0] == newer


def test_a_result_without_content_is_an_empty_one():
    assert mended({"isError": True})[0] == {"isError": True, "content": []}


def test_a_mended_server_says_so(kit, raw):
    server = kit.add_mcp_sync("r", command=raw())
    assert any("'odd'" in note and "completed" in note for note in server.notes)


def test_a_tool_that_only_newer_connections_may_have_costs_no_other():
    given = {"name": "list", "inputSchema": {"type": "object"}, "outputSchema": {"type": "array"}}
    assert mended_tool(dict(given), print) == {"name": "list", "inputSchema": {"type": "object"}}
    assert mended_tool(dict(given), print, older=False) == given
    odd = {"name": "odd", "inputSchema": {"type": "object", "properties": []}}
    assert mended_tool(odd, print)["inputSchema"] == {"type": "object"}


def test_a_schema_too_deep_for_the_sdk_costs_only_itself():
    schema = {"type": "object"}
    for _ in range(300):
        schema = {"type": "object", "properties": {"in": schema}}
    assert mended_tool({"name": "deep", "inputSchema": schema}, print)["inputSchema"] == {"type": "object"}


def test_fields_around_the_content_that_cannot_be_read_are_left_out():
    answer, remarks = mended({"content": [], "isError": "yes", "_meta": "no object"})
    assert answer == {"content": [], "isError": True} and len(remarks) == 2
    assert mended({"tools": None})[0] == {"tools": []}


def test_half_a_surrogate_and_deep_nesting_are_read():
    message = read_message(rb'{"jsonrpc": "2.0", "id": 1, "result": {"text": "a\ud800b", "whole": "\ud83d\ude00"}}')
    assert message.result == {"text": "a\ufffdb", "whole": "\U0001f600"}
    nested = b'{"jsonrpc": "2.0", "id": 1, "result": {"deep": %s}}' % (b"[" * 300 + b"]" * 300)
    assert read_message(nested).id == 1


@pytest.mark.parametrize(
    ("fields", "said"),
    [('"error": "no such file"', "no such file"), ('"result": [1]', "[1]"), ('"result": null', "null")],
)
def test_an_answer_of_the_wrong_form_is_an_error_for_its_caller(fields, said):
    message = read_message(b'{"jsonrpc": "2.0", "id": 7, %s}' % fields.encode())
    assert message.id == 7 and said in message.error.message


@pytest.mark.parametrize("line", [b"Listening on 8000", b"[]", b"null", b"{", b'{"level": "info"}', b"\xff\xfe"])
def test_what_is_no_message_is_none(line):
    assert read_message(line) is None

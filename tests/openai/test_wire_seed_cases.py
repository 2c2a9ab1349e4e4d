"""The worked cases of the seed's package, numbered 115 to 205, with what is right here.

Where the seed's package does otherwise, its number is followed by a word why: bug (we do what users want) or choice.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from toolnexus_nb.openai import (
    ChatCompletionRequest,
    ChatCompletionResponse,
    CompletionAccumulator,
    Message,
    StreamError,
    TokenCounter,
    ToolCallFunction,
    ToolExecutionError,
    Usage,
    all_tools,
    build_multimodal_message,
    build_tool_result_message,
    estimate_tokens,
    exclude_tools,
    execute_tool_calls,
    extract_all_text_content,
    extract_tool_result,
    image_base64_content_part,
    mcp_tools_to_openai,
    parse_response,
    text_content_part,
    tools_by_name,
)


def accumulate(wire: Any, *deltas: dict[str, Any], finish: str | None = "stop") -> CompletionAccumulator:
    """What a stream of deltas with a finish reason gives."""
    accumulator = CompletionAccumulator()
    for delta in deltas:
        accumulator.add_chunk(wire.chunk(delta))
    if finish:
        accumulator.add_chunk(wire.chunk(finish=finish))
    return accumulator


def entry(index: int | None, name: str | None, arguments: str | None, call_id: str | None = None) -> dict[str, Any]:
    """A delta with one tool call."""
    call = {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}
    return {"tool_calls": [{key: value for key, value in call.items() if value is not None}]}


def made(accumulator: CompletionAccumulator) -> list[tuple[str, str]]:
    """Name and arguments of the finished calls."""
    return [(call.name, call.arguments_text) for call in accumulator.finished_tool_calls() or []]


# --- 3.7 streams


def test_115_text(wire: Any) -> None:
    assert accumulate(wire, {"content": "Hel"}, {"content": "lo"}).finished_content() == "Hello"


def test_116_an_end_without_text_is_an_empty_text(wire: Any) -> None:
    assert accumulate(wire).finished_content() == ""


def test_117_bug_text_and_reason_of_an_answer_that_was_cut(wire: Any) -> None:
    accumulator = accumulate(wire, {"content": "Hel"}, finish="length")
    assert (accumulator.finished_content(), accumulator.finish_reason) == ("Hel", "length")


def test_118_119_calls_in_pieces(wire: Any) -> None:
    two = accumulate(
        wire, entry(0, "a", '{"x":', "1"), entry(0, None, "1}"), entry(1, "b", "{}", "2"), finish="tool_calls"
    )
    assert made(two) == [("a", '{"x":1}'), ("b", "{}")]


@pytest.mark.parametrize("index", [None, 0])
def test_120_bug_a_new_id_or_name_is_a_new_call(wire: Any, index: int | None) -> None:
    two = accumulate(
        wire, entry(index, "echo", '{"n":1}', "1"), entry(index, "echo", '{"n":2}', "2"), finish="tool_calls"
    )
    assert made(two) == [("echo", '{"n":1}'), ("echo", '{"n":2}')]


@pytest.mark.parametrize("indices", [(0, 2), (1,), (None, 0)])
def test_121_122_123_bug_any_index_is_a_label(wire: Any, indices: tuple[int | None, ...]) -> None:
    deltas = [entry(index, f"t{position}", "{}", f"id{position}") for position, index in enumerate(indices)]
    names = [name for name, _ in made(accumulate(wire, *deltas, finish="tool_calls"))]
    assert names == [f"t{position}" for position in range(len(indices))]


@pytest.mark.parametrize("names", [("get_", "weather"), ("get_weather", "get_weather")])
def test_124_bug_names_are_joined_but_not_repeated(wire: Any, names: tuple[str, str]) -> None:
    deltas = [entry(0, names[0], None, "1"), entry(0, names[1], None), entry(0, None, "{}")]
    assert made(accumulate(wire, *deltas, finish="tool_calls")) == [("get_weather", "{}")]


def test_125_bug_an_id_is_made(wire: Any) -> None:
    [call] = accumulate(wire, entry(0, "a", "{}"), finish="tool_calls").finished_tool_calls() or []
    assert call.id.startswith("call_") and len(call.id) == 29


@pytest.mark.parametrize("reason", ["stop", "function_call"])
def test_126_127_bug_calls_are_finished_whatever_the_reason(wire: Any, reason: str) -> None:
    assert made(accumulate(wire, entry(0, "a", "{}", "1"), finish=reason)) == [("a", "{}")]


@pytest.mark.parametrize("arguments", ["{bad", "[1]", '"x"', "5"])
def test_128_bug_arguments_that_do_not_parse_say_so(wire: Any, arguments: str) -> None:
    [call] = accumulate(wire, entry(0, "a", arguments, "1"), finish="tool_calls").tool_calls
    assert call.arguments_error and call.arguments_text == arguments and call.arguments == {}


def test_128b_choice_a_call_counts_only_if_the_stream_was_closed_properly(wire: Any) -> None:
    delta = wire.chunk(entry(0, "a", "{}", "1"))
    assert accumulate(wire, entry(0, "a", "{}", "1"), finish=None).finished_tool_calls() is None
    assert made(wire.hear(wire.sse(delta)).accumulator) == [("a", "{}")]
    with pytest.raises(StreamError):
        wire.hear(wire.sse(delta, done=False))


def test_129_bug_a_refusal_is_there_to_show(wire: Any) -> None:
    accumulator = accumulate(wire, {"refusal": "No."})
    assert (accumulator.finished_refusal(), accumulator.finished_content()) == ("No.", "")
    assert accumulator.message().refusal == "No."


@pytest.mark.parametrize("together", [True, False])
def test_130_bug_choices_stay_apart_and_all_are_there(wire: Any, together: bool) -> None:
    parts = [wire.chunk({"content": "A"}), wire.chunk({"content": "B"}, index=1)]
    chunks = [{**parts[0], "choices": parts[0]["choices"] + parts[1]["choices"]}] if together else parts
    accumulator = CompletionAccumulator()
    for chunk in chunks:
        accumulator.add_chunk(chunk)
    assert accumulator.content == "A"
    assert [choice.message.content for choice in accumulator.choices] == ["A", "B"]
    assert accumulator.message(1).content == "B"


def test_130c_bug_content_in_parts_is_a_text() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    body = {"choices": [{"message": {"content": parts}, "finish_reason": "stop"}]}
    assert parse_response(json.dumps(body).encode()).message.content == "ab"


def test_130d_bug_refusal_and_legacy_call_of_a_whole_reply() -> None:
    message = {"refusal": "No.", "function_call": {"name": "f", "arguments": "{}"}}
    got = parse_response(json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()).message
    assert got.refusal == "No." and got.tool_calls[0].name == "f"


def test_131_text_after_the_end_is_added(wire: Any) -> None:
    accumulator = accumulate(wire, {"content": "a"})
    accumulator.add_chunk(wire.chunk({"content": "b"}))
    assert accumulator.finished_content() == "ab"


def test_132_bug_an_error_in_mid_stream_is_raised_with_what_had_come(wire: Any) -> None:
    with pytest.raises(StreamError, match="boom") as caught:
        wire.hear(wire.sse(wire.chunk({"content": "a"}), {"error": {"message": "boom"}}))
    assert caught.value.partial.content == "a"


def test_133_an_answer_without_an_end_is_not_complete(wire: Any) -> None:
    accumulator = accumulate(wire, {"content": "a"}, finish=None)
    assert not accumulator.is_complete and accumulator.finished_content() is None and accumulator.content == "a"


def test_134_bug_usage_is_collected(wire: Any) -> None:
    accumulator = accumulate(wire, {"content": "a"})
    accumulator.add_chunk({"choices": [], "usage": {"prompt_tokens": 1000, "completion_tokens": 2}})
    assert accumulator.usage is not None and accumulator.usage.prompt_tokens == 1000


def test_135_bug_a_negative_choice_does_not_break(wire: Any) -> None:
    accumulator = CompletionAccumulator()
    accumulator.add_chunk(wire.chunk({"content": "a"}, index=-1))
    assert accumulator.content == "a"


# --- 3.8 types, extraction, filters


@pytest.mark.parametrize(
    ("arguments", "written"),
    [({"query": "hello"}, '{"query":"hello"}'), (None, "{}"), ({}, "{}"), ({"a": "<ü>"}, '{"a":"<ü>"}')],
)
def test_136_137_arguments_are_written_as_text(arguments: Any, written: str) -> None:
    assert ToolCallFunction(name="search", arguments=arguments).model_dump() == {"name": "search", "arguments": written}


@pytest.mark.parametrize("arguments", ["", None, "null", " ", {}])
def test_138_139_nothing_is_no_arguments(arguments: Any) -> None:
    function = ToolCallFunction(name="f", arguments=arguments)
    assert function.arguments == {} and function.arguments_error is None
    assert ToolCallFunction.read({"name": "f"}).arguments == {}


@pytest.mark.parametrize("text", ["[1]", "5", "{bad", "true", '"x"', '{"a":1}{"b":2}'])
def test_140_bug_one_bad_call_does_not_lose_the_reply(text: str) -> None:
    function = ToolCallFunction(name="f", arguments=text)
    assert (function.arguments, function.arguments_text) == ({}, text)
    assert function.arguments_error and function.model_dump()["arguments"] == "{}"


def test_141_142_bug_objects_and_large_numbers() -> None:
    assert ToolCallFunction(name="f", arguments={"a": 1}).arguments == {"a": 1}
    exact = ToolCallFunction(name="f", arguments='{"a":12345678901234567890,"a":12345678901234567891}')
    assert exact.arguments == {"a": 12345678901234567891}


def test_143_what_was_not_set_is_not_written() -> None:
    assert Message().model_dump_wire() == {}
    assert Message(role="assistant", content="").model_dump_wire() == {"role": "assistant", "content": ""}


def test_144_145_choice_extra_body_goes_to_the_top_and_wins() -> None:
    request = ChatCompletionRequest(model="m", messages=[], extra_body={"model": "override", "b": 1})
    assert request.model_dump_wire() == {"model": "override", "messages": [], "b": 1}
    sent = {"tool_choice": "auto", "stop": ["a"], "extra_body": {"k": 1, "tool_choice": "x"}}
    assert ChatCompletionRequest.model_validate(sent).model_dump_wire() == {"tool_choice": "x", "stop": ["a"], "k": 1}


MIXED = [
    {"type": "text", "text": "a"},
    {"type": "image_url", "image_url": {"url": "u"}},
    {"type": "text", "text": "b"},
    "loose",
    {"text": "no type"},
    {"type": "input_text", "text": "c"},
    {"type": "text", "text": 5},
    {"type": "text"},
]


@pytest.mark.parametrize(("content", "text"), [(None, ""), ("hi", "hi"), ([], ""), (MIXED, "abc"), ({"x": 1}, "")])
def test_146_147_the_text_of_any_content(content: Any, text: str) -> None:
    assert Message(role="user", content=content).get_content_as_string() == text


def test_148_bug_a_message_made_of_parts_has_a_text() -> None:
    message = build_multimodal_message(text_content_part("a"), image_base64_content_part("image/png", b"\x89"))
    assert message.get_content_as_string() == "a"
    assert message.model_dump_wire()["content"][1] == {
        "type": "image_url",
        "image_url": {"url": "data:image/png;base64,iQ=="},
    }
    assert [part.type for part in message.get_content_as_parts()] == ["text", "image_url"]
    assert Message.user([text_content_part("x")]).get_content_as_string() == "x"


EMPTY = {"type": "object", "properties": {}}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def test_149_bug_every_tool_has_an_object_schema() -> None:
    tools = [
        {"name": "a", "description": "A", "inputSchema": SCHEMA},
        {"name": "b"},
        {"name": "c", "inputSchema": "text", "description": ""},
        {"name": "a", "input_schema": json.dumps(SCHEMA)},
    ]
    got = mcp_tools_to_openai(tools)
    assert [tool["function"]["parameters"] for tool in got] == [SCHEMA, EMPTY, EMPTY, SCHEMA]
    assert ["description" in tool["function"] for tool in got] == [True, False, False, False]
    assert got[0]["function"]["parameters"] is not SCHEMA and got[0]["type"] == "function"
    assert mcp_tools_to_openai(None) == []


@pytest.mark.parametrize(
    ("keep", "names"),
    [
        (tools_by_name("a", "c"), "aca"), (tools_by_name(), ""), (exclude_tools(), "abcda"), (all_tools(), "abcda"),
        (exclude_tools("a", "d"), "bc"), (None, "abcda"), (lambda name: name > "b", "cd"),
    ],
)  # fmt: skip
def test_150_151_filters(keep: Any, names: str) -> None:
    got = mcp_tools_to_openai([{"name": name} for name in "abcda"], keep)
    assert "".join(tool["function"]["name"] for tool in got) == names


def test_150_names_that_no_tool_has_are_told() -> None:
    with pytest.warns(UserWarning, match="no tool is called x, y"):
        mcp_tools_to_openai([{"name": "a"}], tools_by_name("a", "x", "y"))


def texts(*values: str) -> dict[str, Any]:
    """A result of text blocks."""
    return {"content": [{"type": "text", "text": value} for value in values]}


IMAGE = {"type": "image", "data": "AA==", "mimeType": "image/png"}
RESOURCE = {"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}}
BLOB = {"type": "resource", "resource": {"uri": "file:///a", "blob": "AA==", "mimeType": "image/png"}}
LINK = {"type": "resource_link", "name": "n", "uri": "file:///b"}


@pytest.mark.parametrize(
    ("result", "text", "all_text"),
    [
        (None, "(no output)", ""),  # 152 choice: says that there is none
        ({"content": []}, "(no output)", ""),
        (texts("hello"), "hello", "hello"),  # 153
        (texts("a", "b"), "a\nb", "a\nb"),  # 154 bug
        (texts("", "b"), "b", "b"),  # 155 bug
        (texts("a", "", "c"), "a\n\nc", "a\n\nc"),  # 161
        ({"content": [IMAGE, *texts("caption")["content"]]}, "[image: image/png]\ncaption", "caption"),  # 156 choice
        ({"content": [IMAGE]}, "[image: image/png]", ""),  # 157 bug
        ({"content": [RESOURCE]}, "inside", ""),
        ({"content": [BLOB]}, "[resource: file:///a image/png]", ""),
        ({"content": [LINK]}, "[link: n file:///b]", ""),
        ({"structuredContent": {"b": 1, "a": [1, 2]}, **texts("t")}, '{"a":[1,2],"b":1}', "t"),  # 158
        *[({"structuredContent": value}, json.dumps(value), "") for value in ({}, [], 0, False, "str")],  # 159
        ({"isError": True, **texts("boom")}, "Error: boom", "boom"),  # 162 bug: the flag is kept
        ({"isError": True, **texts("Error: boom")}, "Error: boom", "Error: boom"),
    ],
)
def test_152_to_162_results_as_text(result: Any, text: str, all_text: str) -> None:
    assert extract_tool_result(result) == text
    assert extract_all_text_content(result) == all_text


@pytest.mark.parametrize("value", [{"a": object()}, {"a": float("nan")}, {1: 1, "a": 2}])
def test_160_structured_content_that_is_no_json(value: Any) -> None:
    with pytest.raises(ValueError, match="can't be written as JSON"):
        extract_tool_result({"structuredContent": value, **texts("t")})


def test_the_quick_start_with_a_server_in_this_process() -> None:
    from mcp.server import MCPServer

    server = MCPServer("my-server")

    @server.tool()
    def search(query: str) -> str:
        """Search the web."""
        return f"found {query}"

    @server.tool()
    def dangerous_tool() -> str:
        return "boom"

    async def run() -> tuple[Any, Any]:
        return await server.list_tools(), await server.call_tool("search", {"query": "hello"})

    tools, result = asyncio.run(run())
    [definition] = mcp_tools_to_openai(tools, exclude_tools("dangerous_tool"))
    assert definition["function"]["name"] == "search"
    assert definition["function"]["description"] == "Search the web."
    assert definition["function"]["parameters"]["required"] == ["query"]
    message = build_tool_result_message("call_1", extract_tool_result(result))
    assert message.model_dump_wire() == {
        "role": "tool",
        "tool_call_id": "call_1",
        "content": '{"result":"found hello"}',
    }


# --- 3.9 events (163 to 171 are in test_wire_status_events)


CALLS = [
    {"id": str(number), "function": {"name": name, "arguments": "{}"}}
    for number, name in enumerate(["ok", "bad", "ok"], 1)
]


def run_tool(name: str, arguments: dict[str, Any]) -> str:
    """A tool that may fail."""
    if name == "bad":
        raise RuntimeError("boom")
    return name


def test_172_a_failure_is_a_message() -> None:
    messages = execute_tool_calls(CALLS, run_tool)
    assert [(message.tool_call_id, message.content) for message in messages] == [
        ("1", "ok"),
        ("2", "Error: boom"),
        ("3", "ok"),
    ]


def test_173_or_stops_the_run() -> None:
    with pytest.raises(ToolExecutionError) as caught:
        execute_tool_calls(CALLS, run_tool, stop_on_error=True)
    assert str(caught.value) == 'tool "bad" (id: 2) execution failed: boom'
    assert [message.content for message in caught.value.messages] == ["ok"]


def test_a_call_that_does_not_parse_is_not_run() -> None:
    call = {"id": "1", "function": {"name": "ok", "arguments": "{bad"}}
    [message] = execute_tool_calls([call], lambda name, arguments: pytest.fail("run"))
    assert message.content.startswith("Error: the arguments are not valid JSON")


# --- 3.10 tokens

TOKENS = [
    ("", 0, 0), ("a", 1, 1), ("   ", 0, 1), ("hello", 1, 2), ("Hello, world!", 4, 4),
    ("The quick brown fox jumps over the lazy dog", 9, 11), ("don't stop", 3, 3), ("...", 3, 1), ("a.b.c", 3, 2),
    ("日本語", 1, 3), ("日本語。", 2, 3), ("snake_case_name", 3, 4), ("$100 + 5%", 4, 3), ('{"query":"hello"}', 8, 5),
    ("http://x.y/z?q=1", 7, 4), ("<tag>", 1, 2), ("~|^", 1, 1), ("1,234.56", 3, 2), ("emoji 😀", 2, 3),
]  # fmt: skip


@pytest.mark.parametrize(("text", "words", "size"), TOKENS)
def test_174_to_190_tokens_of_a_text(text: str, words: int, size: int) -> None:
    assert estimate_tokens(text) == words
    assert estimate_tokens(text, "bytes") == size


def user(content: Any) -> dict[str, Any]:
    """A person's message."""
    return {"role": "user", "content": content}


CALLING = {
    "role": "assistant",
    "tool_calls": [{"id": "1", "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}],
}
PICTURE = [{"type": "text", "text": "what is this?"}, {"type": "image_url", "image_url": {"url": "u"}}]


@pytest.mark.parametrize(
    ("messages", "words", "size"),
    [
        ([], 4, 4),
        ([user("Hello!")], 10, 10),
        ([{"role": "system", "content": "You are helpful"}, user("Hello!")], 17, 19),
        ([CALLING], 18, 17),
        ([{"role": "tool", "content": "Found 3 results"}], 11, 12),
        ([user(PICTURE)], 97, 97),
        (
            [build_multimodal_message(text_content_part("what is this?"), image_base64_content_part("image/png", b""))],
            97,
            97,
        ),
    ],
)
def test_191_to_197_tokens_of_a_prompt(messages: list[Any], words: int, size: int) -> None:
    for method, tokens in (("words", words), ("bytes", size)):
        counter = TokenCounter(method)  # type: ignore[arg-type]
        counter.add_prompt_tokens_from_messages(messages)
        assert counter.get_usage().prompt_tokens == tokens


def test_198_bug_a_conversation_costs_its_overhead_once() -> None:
    counter = TokenCounter()
    counter.add_prompt_tokens_from_messages([])
    counter.add_prompt_tokens_from_messages([])
    assert counter.get_usage().prompt_tokens == 4


@pytest.mark.parametrize(("method", "tokens"), [("words", 4), ("bytes", 5)])
def test_199_bug_text_in_pieces_counts_as_the_whole_text(method: Any, tokens: int) -> None:
    text = "The quick brown fox"
    counter = TokenCounter(method)
    for letter in text:
        counter.add_completion_tokens_from_delta({"content": letter})
    assert counter.get_usage().completion_tokens == estimate_tokens(text, method) == tokens


@pytest.mark.parametrize(
    ("reported", "wanted", "estimated"),
    [
        (None, (10, 5, 15), True),  # 200
        ((0, 0, 0), (10, 5, 15), True),
        ((20, 0, 20), (20, 5, 25), True),  # 201 bug: only the number that is missing
        ((100, 50, 150), (100, 50, 150), False),  # 202
        ((3, 2, 5), (3, 2, 5), False),  # 203 bug: a real report wins
        ((0, 0, 99), (0, 0, 99), False),  # 204 choice: a report of a total is one
        ((100, 50, 999), (100, 50, 999), False),  # 205 choice: and is not corrected
    ],
)
def test_200_to_205_an_estimate_where_a_report_is_missing(
    reported: Any, wanted: tuple[int, ...], estimated: bool
) -> None:
    counter = TokenCounter()
    counter.add_prompt_tokens_from_text(" ".join("w" * 10))
    counter.add_completion_tokens_from_text(" ".join("w" * 5))
    response = ChatCompletionResponse()
    if reported:
        numbers = dict(zip(("prompt_tokens", "completion_tokens", "total_tokens"), reported, strict=True))
        response.usage = Usage.read({**numbers, "prompt_tokens_details": {"cached_tokens": 2}})
    counter.inject_usage_if_missing(response)
    usage = response.usage
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens, usage.estimated) == (*wanted, estimated)
    assert usage.cached_tokens == 2 or estimated

"""Types of the wire: what was set is written, unknown keys are kept, odd values of endpoints do no harm."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from pydantic import ValidationError

import toolnexus_nb.openai as wire_floor
from toolnexus_nb.openai import (
    GO_NAMES,
    ChatCompletionChunk,
    ChatCompletionRequest,
    ChatCompletionResponse,
    ChatStream,
    ErrorResponse,
    FunctionTool,
    Message,
    ModelsResponse,
    StreamError,
    StreamingToolCallAccumulator,
    TokenCounter,
    ToolCall,
    ToolCallFunction,
    build_assistant_tool_call_message,
    estimate_tokens,
    estimate_tool_tokens,
    mcp_tools_to_openai,
    new_tool,
)

WHOLE_REQUEST = {
    "model": "gpt-x",
    "messages": [
        {"role": "developer", "content": "Be brief.", "name": "boss"},
        {
            "role": "user",
            "content": [
                {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
                {"type": "file", "file": {"file_id": "f"}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "1"},
        {"role": "assistant", "content": "x", "refusal": "no", "audio": {"id": "a"}},
    ],
    "tools": [
        {
            "type": "function",
            "function": {"name": "f", "description": "F", "parameters": {"type": "object"}, "strict": True},
        },
        {"type": "custom", "custom": {"name": "sql", "format": {"type": "text"}}},
    ],
    "tool_choice": {
        "type": "allowed_tools",
        "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "name": "f"}]},
    },
    "parallel_tool_calls": False,
    "response_format": {
        "type": "json_schema",
        "json_schema": {"name": "s", "schema": {"type": "object"}, "strict": True},
    },
    "stream": True,
    "stream_options": {"include_usage": True, "include_obfuscation": False},
    "max_tokens": 5,
    "max_completion_tokens": 5,
    "temperature": 0,
    "top_p": 0.5,
    "frequency_penalty": 0,
    "presence_penalty": -1.5,
    "logit_bias": {"50256": -100},
    "logprobs": True,
    "top_logprobs": 2,
    "stop": ["a"],
    "n": 2,
    "seed": 7,
    "reasoning_effort": "minimal",
    "verbosity": "low",
    "modalities": ["text", "audio"],
    "audio": {"voice": "alloy", "format": "wav"},
    "prediction": {"type": "content", "content": "x"},
    "web_search_options": {"search_context_size": "low", "user_location": {"type": "approximate"}},
    "metadata": {"k": "v"},
    "service_tier": "flex",
    "store": False,
    "user": "u",
    "safety_identifier": "s",
    "prompt_cache_key": "p",
    "prompt_cache_retention": "24h",
    "functions": [{"name": "f"}],
    "function_call": "auto",
    "a_providers_own": {"deep": [1, None]},
}


def test_a_request_with_every_parameter_comes_back_as_it_was() -> None:
    request = ChatCompletionRequest.model_validate(WHOLE_REQUEST)
    assert request.model_dump_wire() == WHOLE_REQUEST
    assert json.loads(request.model_dump_json()) == WHOLE_REQUEST
    assert request.extra == {"a_providers_own": {"deep": [1, None]}}


@pytest.mark.parametrize(
    "choice",
    [
        "auto",
        "none",
        "required",
        {"type": "function", "function": {"name": "f"}},
        {"type": "custom", "custom": {"name": "c"}},
    ],
)
def test_every_form_of_tool_choice(choice: Any) -> None:
    assert ChatCompletionRequest(tool_choice=choice).model_dump_wire() == {"tool_choice": choice}


def test_a_request_that_is_wrong_says_where() -> None:
    with pytest.raises(ValidationError, match="max_tokens"):
        ChatCompletionRequest.model_validate({"max_tokens": "many"})
    with pytest.raises(ValidationError, match="messages"):
        ChatCompletionRequest.model_validate({"messages": "hi"})


def test_what_is_appended_in_place_is_written() -> None:
    request = ChatCompletionRequest(model="m")
    request.messages.append(Message.user("hi"))
    request.tools += mcp_tools_to_openai([{"name": "a"}])
    request.tools.append(new_tool("b", "B"))
    sent = request.model_dump_wire()
    assert sent["messages"] == [{"role": "user", "content": "hi"}]
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["a", "b"]


def test_unknown_keys_survive_on_every_level() -> None:
    reply = {
        "id": "r",
        "x": 1,
        "choices": [
            {"index": 0, "x": 2, "message": {"role": "assistant", "content": "a", "x": 3}, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 1, "x": 4, "prompt_tokens_details": {"cached_tokens": 1, "x": 5}},
    }
    assert ChatCompletionResponse.model_validate(reply).model_dump_wire() == reply
    event = {
        "choices": [
            {
                "index": 0,
                "delta": {"x": 1, "tool_calls": [{"index": 0, "x": 2, "function": {"name": "f", "x": 3}}]},
                "x": 4,
            }
        ]
    }
    assert ChatCompletionChunk.model_validate(event).model_dump_wire() == event
    tool = {"type": "function", "x": 1, "function": {"name": "f", "x": 2}}
    assert FunctionTool.model_validate(tool).model_dump_wire() == tool
    call = {"id": "c", "type": "function", "x": 1, "function": {"name": "f", "arguments": "{}", "x": 2}}
    assert ToolCall.model_validate(call).model_dump_wire() == call


@pytest.mark.parametrize(
    "odd",
    [
        {"created": "soon"},
        {"created": 1.5},
        {"id": 12},
        {"model": None},
        {"choices": "x"},
        {"choices": [None, 1]},
        {"usage": []},
        {"choices": [{"index": "x", "delta": 5, "finish_reason": 7, "logprobs": 3}]},
        {"choices": [{"delta": {"tool_calls": {}, "content": 5}}]},
        {"choices": [{"delta": {"tool_calls": [None, {"index": "0", "function": "x"}, {"index": 1.5}], "role": []}}]},
        {"usage": {"prompt_tokens": "many", "completion_tokens": [1]}},
        {"system_fingerprint": {}},
        {"service_tier": 1},
    ],
)
def test_values_of_another_type_count_as_absent(odd: dict[str, Any]) -> None:
    from toolnexus_nb.openai import CompletionAccumulator

    chunk = ChatCompletionChunk.read(json.dumps({"system_fingerprint": "kept", **odd}))
    accumulator = CompletionAccumulator()
    accumulator.add_chunk(chunk)
    accumulator.response().model_dump_json()
    assert chunk.system_fingerprint in ("kept", None)


def test_a_body_that_is_no_object_is_a_value_error() -> None:
    for body in ("[]", "1", "{", ""):
        with pytest.raises(ValueError):
            ChatCompletionResponse.read(body)


def test_small_bodies() -> None:
    models = ModelsResponse.read('{"object":"list","data":[{"id":"m","owned_by":"me","context_window":4096}]}')
    assert [(model.id, model.context_window) for model in models.data] == [("m", 4096)]
    assert ModelsResponse.read('{"data":null}').data == []
    assert ErrorResponse.read('{"error":{"message":"m","code":429}}').error.code == "429"


def test_messages_take_the_openai_packages_objects() -> None:
    chat = pytest.importorskip("openai.types.chat")
    function = {"name": "f", "arguments": '{"a": 1}'}
    theirs = chat.ChatCompletionMessage.model_validate(
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": function}],
            "reasoning_content": "hm",
        }
    )
    message = Message.from_any(theirs)
    assert message.reasoning_content == "hm" and message.tool_calls[0].arguments == {"a": 1}
    assert ToolCall.from_any(theirs.tool_calls[0]).name == "f"
    assert Message.assistant(None, theirs.tool_calls).tool_calls[0].arguments_text == '{"a": 1}'
    assert Message.from_any(message) is message
    with pytest.raises(TypeError, match="a dict or an object"):
        Message.from_any("hi")


def test_chunks_of_the_openai_package_can_be_accumulated() -> None:
    chat = pytest.importorskip("openai.types.chat")
    choice = {"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}
    chunk = chat.ChatCompletionChunk.model_validate(
        {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    )
    stream = ChatStream.from_iterable([chunk])
    assert len(list(stream)) == 1 and stream.message.content == "hi" and stream.finish_reason == "stop"


def test_builders() -> None:
    call = ToolCall(id="c", function=ToolCallFunction(name="f", arguments={"a": [1]}))
    message = build_assistant_tool_call_message("", [call])
    wanted = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":[1]}'}}
    assert message.model_dump_wire() == {"role": "assistant", "content": None, "tool_calls": [wanted]}
    assert Message.tool("c", {"a": "ü"}).content == '{"a":"ü"}'
    assert Message.tool("c", None).content == ""
    assert new_tool("f").model_dump_wire()["function"] == {
        "name": "f",
        "parameters": {"type": "object", "properties": {}},
    }
    message.set_content_as_string("a\ud800")
    assert message.content == "a\ufffd"


def test_what_is_shown_is_what_was_said() -> None:
    assert repr(Message.user("hi")) == "Message(role='user', content='hi')"
    call = ToolCall.read({"id": "c", "function": {"name": "f", "arguments": "{bad"}, "seen": 1})
    shown = repr(call)
    assert "arguments_text='{bad'" in shown and "arguments_error=" in shown and "seen=1" in shown
    assert "None" not in repr(ChatCompletionChunk.read('{"id":"x","choices":[{"index":0,"delta":{"content":"a"}}]}'))


def test_calls_given_later_are_read_like_those_given_at_once() -> None:
    message = Message.assistant("x")
    message.tool_calls = [{"id": "c", "function": {"name": "f", "arguments": {"a": 1}}}]  # type: ignore[list-item]
    assert message.tool_calls[0].arguments == {"a": 1}


# --- arguments


@pytest.mark.parametrize(
    ("received", "value", "written"),
    [
        ('{"a": 1}', {"a": 1}, '{"a": 1}'),
        ('{"code":"line1\nline2"}', {"code": "line1\nline2"}, '{"code":"line1\\nline2"}'),  # G03
        ('"{\\"a\\":1}"', {"a": 1}, '{"a":1}'),  # G05
        ('{"t":"\\ud83d\\ude00"}', {"t": "😀"}, '{"t":"\\ud83d\\ude00"}'),  # G04
        ('{"t":"\\ud83d"}', {"t": "\ufffd"}, '{"t":"\ufffd"}'),
        ('{"n":Infinity}', {"n": float("inf")}, '{"n":null}'),
        ('{"a":1,"a":2}', {"a": 2}, '{"a":1,"a":2}'),
        ('{}{"a":1}', {"a": 1}, '{"a":1}'),  # A10
        (' {"a":1} ', {"a": 1}, ' {"a":1} '),
    ],
)
def test_arguments_are_read_leniently_and_written_strictly(received: str, value: Any, written: str) -> None:
    function = ToolCallFunction(name="f", arguments=received)
    assert (function.arguments, function.arguments_error) == (value, None)
    sent = function.model_dump()["arguments"]
    assert sent == written
    sent.encode()
    json.loads(sent, parse_constant=pytest.fail)


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,}',
        "{'a':1}",
        '```json\n{"a":1}\n```',
        '{"a":True}',
        '{"a":1}</function>',
        '{"action": list"}',
        '{"a":',
        "nothing",
        '{"a":' * 100_000,
        "[" * 100_000,
    ],
)
def test_G01_G02_nothing_is_repaired(text: str) -> None:
    function = ToolCallFunction(name="f", arguments=text)
    assert function.arguments_error and function.arguments_text == text and function.model_dump()["arguments"] == "{}"


@pytest.mark.parametrize("depth", [150, 250, 900, 5000])
def test_deep_json_breaks_nothing(depth: int) -> None:
    deep = "[" * depth + "]" * depth
    function = ToolCallFunction(name="f", arguments=f'{{"a":{deep}}}')
    assert bool(function.arguments_error) == (depth > 200)
    json.loads(function.model_dump()["arguments"])
    event = f'data: {{"x":{deep},"choices":[{{"delta":{{"content":"hi","y":{deep}}},"finish_reason":"stop"}}]}}\n\n'
    stream = ChatStream.from_bytes([event.encode()])
    try:
        list(stream)
    except StreamError:
        assert depth > 150
    stream.message.model_dump_json()


def test_a_number_too_long_for_python_is_an_error_of_that_call() -> None:
    assert ToolCallFunction(name="f", arguments='{"a":' + "9" * 5000 + "}").arguments_error


def test_arguments_that_were_changed_are_written_as_changed() -> None:
    function = ToolCallFunction(name="f", arguments='{"a": 1}')
    function.arguments["b"] = "ü"
    assert function.arguments_text == '{"a":1,"b":"ü"}' == function.model_dump()["arguments"]
    broken = ToolCallFunction(name="f", arguments="{bad")
    broken.arguments = {"a": 1}
    assert broken.arguments_error is None and broken.model_dump()["arguments"] == '{"a":1}'


def test_copies_keep_the_text_and_the_error() -> None:
    call = ToolCall.read({"id": "c", "function": {"name": "f", "arguments": "{bad"}})
    for twin in (call.model_copy(deep=True), ToolCall.from_any(call)):
        assert twin.arguments_text == "{bad" and twin.arguments_error


# --- the assembler by itself


def test_the_assembler_tells_what_it_touched_and_which_ids_it_made() -> None:
    made: list[str] = []
    assembler = StreamingToolCallAccumulator()
    first = assembler.process_delta(
        {"tool_calls": [{"index": 0, "function": {"name": "f"}}, {"index": 3, "id": "c3"}]}, made.append
    )
    assert first == [made[0], "c3"] and len(made) == 1
    assert assembler.process_delta({"tool_calls": [{"index": 0, "id": "c0", "function": {"arguments": "{}"}}]}) == [
        "c0"
    ]
    assert assembler.pieces[0] == (0, "c0", "f", "{}")
    assert len(assembler) == 2 and assembler.has_tool_calls
    assert (
        assembler.get_tool_call(0).id == "c0"
        and assembler.get_tool_call(3).id == "c3"
        and assembler.get_tool_call(1) is None
    )
    assert [call.id for call in assembler.finalize()] == ["c0"]
    assembler.reset()
    assert len(assembler) == 0 and assembler.finalize() == [] and not assembler.has_tool_calls


# --- tokens


def test_a_prompt_counts_the_same_as_dicts_and_as_objects() -> None:
    messages = WHOLE_REQUEST["messages"]
    counters = [TokenCounter(), TokenCounter()]
    counters[0].add_prompt_tokens_from_messages(messages)
    counters[1].add_prompt_tokens_from_messages([Message.model_validate(message) for message in messages])
    assert counters[0].get_usage() == counters[1].get_usage()
    assert counters[0].get_usage().estimated


def test_tool_definitions_count() -> None:
    small, large = new_tool("f", "short"), new_tool("f", "a much longer description " * 5)
    assert 0 < estimate_tool_tokens(small) < estimate_tool_tokens(large)
    assert estimate_tool_tokens(small.model_dump()) == estimate_tool_tokens(small)
    counter = TokenCounter()
    counter.add_prompt_tokens_from_tools([small, large])
    assert counter.get_usage().prompt_tokens == estimate_tool_tokens(small) + estimate_tool_tokens(large)


def test_deltas_count_like_the_message_they_make() -> None:
    deltas = [
        {"content": "Hel"},
        {"content": "lo, wor"},
        {"content": "ld "},
        {"content": "again"},
        {"reasoning_content": "h"},
        {"reasoning_content": "m."},
        {"tool_calls": [{"index": 0, "function": {"name": "get_weather", "arguments": '{"ci'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": 'ty":"P"}'}}]},
    ]
    call = {"id": "c", "function": {"name": "get_weather", "arguments": '{"city":"P"}'}}
    streamed, whole = TokenCounter(), TokenCounter()
    for delta in deltas:
        streamed.add_completion_tokens_from_delta(delta)
    whole.add_completion_tokens_from_message(
        {"content": "Hello, world again", "reasoning_content": "hm.", "tool_calls": [call]}
    )
    assert streamed.get_usage() == whole.get_usage()
    streamed.reset()
    assert streamed.get_usage().total_tokens == 0


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(ValueError, match="words"):
        estimate_tokens("x", "guess")  # type: ignore[arg-type]


# --- names


@pytest.mark.parametrize("name", sorted(GO_NAMES))
def test_every_name_of_the_seed_is_here(name: str) -> None:
    first, *rest = GO_NAMES[name].split(".")
    value = getattr(wire_floor, first)
    for part in rest:
        fields = getattr(value, "model_fields", {})
        assert part in fields or hasattr(value, part) or part in _instance_names(value), part
        value = getattr(value, part, None)


def _instance_names(kind: Any) -> set[str]:
    """Attributes that exist on instances only."""
    try:
        made = kind.from_iterable([]) if hasattr(kind, "from_iterable") else kind()
    except TypeError:
        return set()
    return set(vars(made))


def test_every_public_name_can_be_imported() -> None:
    for name in wire_floor.__all__:
        assert getattr(wire_floor, name) is not None


def test_importing_the_floor_is_light() -> None:
    heavy = "httpx mcp IPython ipywidgets anywidget starlette uvicorn jsonschema griffe"
    code = (
        "import sys, toolnexus_nb.openai as wire; [getattr(wire, name) for name in wire.__all__];"
        f"print([name for name in '{heavy}'.split() if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.strip() == "[]"

"""A toolkit keeps order and history, finds the tool a model means, and answers its calls."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest

import toolnexus_nb as tn


def get_weather(city: str, days: int = 3) -> str:
    """Weather for a city.

    Args:
        city: where
        days: how long
    """
    return f"sunny in {city} for {days}"


def ping() -> str:
    """Health check."""
    return "pong"


def redefined(source: str) -> Any:
    names: dict[str, Any] = {}
    exec(source, names)
    return names["get_weather"]


def test_tools_keep_their_order_and_can_be_looked_at():
    toolkit = tn.Toolkit([get_weather, ping])
    assert toolkit.names == ["get_weather", "ping"]
    assert [tool.name for tool in toolkit] == toolkit.names
    assert len(toolkit) == 2
    assert "ping" in toolkit
    assert ping in toolkit
    assert toolkit["ping"] in toolkit
    assert toolkit.get("nothing") is None
    assert str(toolkit["ping"]) == "ping(): Health check."


def test_one_tool_alone_is_a_list_of_one():
    assert tn.Toolkit(ping).names == tn.Toolkit(tn.tool(ping)).names == ["ping"]
    assert tn.to_openai(ping) == tn.to_openai([ping])
    assert tn.to_openai(tn.to_openai(ping)[0]) == tn.to_openai(ping)


def test_running_a_cell_again_replaces_the_tool_in_its_place_and_says_what_changed():
    toolkit = tn.Toolkit([get_weather, ping])
    toolkit.register(
        redefined(
            'def get_weather(city: str, days: int = 5, units: str = "C"):\n    "Weather for a city."\n    return city'
        )
    )
    assert toolkit.names == ["get_weather", "ping"]
    change = toolkit.history("get_weather")[-1]
    assert change.diff() == "changed: +units, city: -description, days: -description, days: default 3 → 5"
    assert (change.before.execute_sync({"city": "a"}).value, change.after.execute_sync({"city": "a"}).value) == (
        "sunny in a for 3",
        "a",
    )
    assert [one.kind for one in toolkit.history("get_weather")] == ["registered", "changed"]


def test_running_the_same_cell_again_is_noted_as_unchanged():
    toolkit = tn.Toolkit()
    for _ in range(2):
        toolkit.register(redefined("def get_weather(city: str): return city"))
    assert [one.diff() for one in toolkit.history("get_weather")] == ["registered", "unchanged"]


def test_removing_is_history_too_and_a_wrong_name_is_helped():
    toolkit = tn.Toolkit([get_weather, ping])
    assert toolkit.remove("ping").name == "ping"
    assert toolkit.names == ["get_weather"]
    assert toolkit.history("ping")[-1].kind == "removed"
    with pytest.raises(KeyError, match="did you mean get_weather"):
        toolkit.remove("get_wether")


def test_changes_are_announced_until_the_undo():
    toolkit = tn.Toolkit()
    seen: list[str] = []
    undo = toolkit.on_change(lambda change: seen.append(str(change)))
    toolkit.register(ping)
    undo()
    undo()
    toolkit.remove("ping")
    assert seen == ["ping registered"]


def test_one_refused_tool_leaves_the_toolkit_as_it_was():
    toolkit = tn.Toolkit()
    with pytest.raises(TypeError):
        toolkit.register(ping, 5)
    assert toolkit.names == []


def test_a_filter_is_a_new_toolkit():
    toolkit = tn.Toolkit([get_weather, ping])
    assert toolkit.filter(lambda name: name != "ping").names == ["get_weather"]
    assert toolkit.names == ["get_weather", "ping"]


@pytest.mark.parametrize(
    "name",
    [
        "get_weather",
        "functions.get_weather",
        "get_weather<|channel|>commentary",
        " get_weather ",
        "default_api.get_weather",
    ],
)
def test_the_name_a_model_means_is_found(name):
    toolkit = tn.Toolkit([get_weather, ping])
    assert toolkit.resolve(name) is toolkit["get_weather"]
    assert toolkit.execute_sync(name, {"city": "Oslo"}).output == "sunny in Oslo for 3"


@pytest.mark.parametrize("name", ["", "ghost", None])
def test_an_unknown_name_is_an_error_result_with_the_names_there_are(name):
    result = tn.Toolkit([get_weather, ping]).execute_sync(name, {})
    assert result.is_error
    assert result.output == f"Unknown tool: {name}. Available: get_weather, ping."
    near = tn.Toolkit([get_weather, ping]).execute_sync("get_wether")
    assert near.output == "Unknown tool: get_wether, did you mean get_weather? Available: get_weather, ping."


CALL = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}


def test_calls_are_answered_one_message_each_in_their_order():
    async def slow_first(n: int) -> int:
        await asyncio.sleep(0.05 if n == 0 else 0)
        return n

    toolkit = tn.Toolkit([slow_first])
    calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": "slow_first", "arguments": json.dumps({"n": n})}}
        for n in range(3)
    ]
    messages = asyncio.run(toolkit.run_calls(calls))
    assert [(one.role, one.tool_call_id, one.content) for one in messages] == [
        ("tool", f"c{n}", str(n)) for n in range(3)
    ]


def test_calls_may_be_dicts_our_types_the_openai_packages_or_a_whole_message():
    from toolnexus_nb.openai.types import ToolCall

    openai_types = pytest.importorskip("openai.types.chat")
    theirs = openai_types.ChatCompletionMessage.model_validate(
        {"role": "assistant", "content": None, "tool_calls": [CALL]}
    )
    toolkit = tn.Toolkit([get_weather])
    for given in (
        [CALL],
        [ToolCall.from_any(CALL)],
        theirs.tool_calls,
        theirs,
        {"role": "assistant", "tool_calls": [CALL]},
        CALL,
    ):
        messages = toolkit.run_calls_sync(given)
        assert [(one.tool_call_id, one.content) for one in messages] == [("c1", "sunny in Oslo for 3")]


@pytest.mark.parametrize(
    "nothing", [None, [], {"role": "assistant", "content": "hi", "tool_calls": None}, SimpleNamespace(tool_calls=None)]
)
def test_no_calls_are_no_messages(nothing):
    assert tn.Toolkit([ping]).run_calls_sync(nothing) == []


def test_a_bad_call_is_answered_too():
    broken = {"id": "c2", "function": {"name": "get_weather", "arguments": '{"city": '}}
    unknown = {"id": "c3", "function": {"name": "ghost", "arguments": "{}"}}
    messages = tn.Toolkit([get_weather]).run_calls_sync([broken, unknown, CALL])
    assert [one.tool_call_id for one in messages] == ["c2", "c3", "c1"]
    assert "the text ends before the object is closed" in messages[0].content
    assert "Unknown tool: ghost" in messages[1].content


def test_the_messages_are_plain_dicts_on_the_wire():
    message = tn.Toolkit([ping]).run_calls_sync([{"id": "c", "function": {"name": "ping", "arguments": ""}}])[0]
    assert message.model_dump_wire() == {"role": "tool", "tool_call_id": "c", "content": "pong"}


def test_wire_names_are_valid_unique_and_mapped_back():
    names = ["a.b", "a_b", "x" * 80, "日本", "plain"]
    toolkit = tn.Toolkit([tn.native_tool(name, "", None, lambda args, name=name: name) for name in names])
    sent = [entry["function"]["name"] for entry in toolkit.to_openai()]
    assert len(set(sent)) == len(names)
    assert all(
        0 < len(name) <= 64 and name.replace("_", "").replace("-", "").isalnum() and name.isascii() for name in sent
    )
    assert sent[4] == "plain"
    assert [toolkit.execute_sync(name).output for name in sent] == names
    assert [toolkit.wire_name(tool) for tool in toolkit] == sent


def test_wire_names_do_not_change_when_tools_come_and_go():
    first = tn.native_tool("a.b", "", None, lambda args: 1)
    second = tn.native_tool("a_b", "", None, lambda args: 2)
    toolkit = tn.Toolkit([first, second])
    before = toolkit.wire_name(second)
    assert toolkit.filter(lambda name: name == "a_b").to_openai()[0]["function"]["name"] == before
    toolkit.register(second)
    assert toolkit.wire_name(second) == before


def test_a_toolkit_closes_its_servers():
    closed: list[str] = []

    async def close() -> None:
        closed.append("yes")

    async def main() -> None:
        async with tn.Toolkit([ping]) as toolkit:
            toolkit.servers["s"] = SimpleNamespace(close=close)  # type: ignore[assignment]

    asyncio.run(main())
    assert closed == ["yes"]

"""What the rehearsal model does with a request, over rounds and turns."""

from __future__ import annotations

import copy
import json
from datetime import date
from typing import Any

import pytest

from toolnexus_nb.models.rehearsal.planner import plan

TODAY = date(2026, 11, 30)
SUMS = {"add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b}


def sums(name: str, arguments: dict[str, Any]) -> str:
    return str(SUMS[name](**arguments))


def test_two_different_calls_side_by_side(rehearsal: Any) -> None:
    talk = rehearsal("add", "get_weather", answer=lambda name, arguments: "42" if name == "add" else "sunny")
    answer = talk.ask("What is 17 plus 25, and what is the weather in Oslo?")
    assert talk.calls() == [[("add", {"a": 17, "b": 25}), ("get_weather", {"city": "Oslo"})]]
    assert "42" in answer
    assert "sunny" in answer


def test_one_tool_for_several_cities(rehearsal: Any) -> None:
    talk = rehearsal("add", "get_weather")
    talk.ask("Weather in Oslo, Rome and Paris")
    assert talk.calls() == [[("get_weather", {"city": city}) for city in ("Oslo", "Rome", "Paris")]]


def test_a_call_that_needs_an_earlier_result_waits_for_it(rehearsal: Any) -> None:
    talk = rehearsal("add", "subtract", "multiply", answer=sums)
    answer = talk.ask("add 2 and 3, then multiply the result by 10")
    assert talk.calls() == [[("add", {"a": 2, "b": 3})], [("multiply", {"a": 5, "b": 10})]]
    assert "50" in answer


def test_from_turns_the_order_round(rehearsal: Any) -> None:
    talk = rehearsal("add", "subtract", answer=sums)
    talk.ask("Add 4 and 5, then subtract 3 from it.")
    assert talk.calls()[1] == [("subtract", {"a": 9, "b": 3})]
    talk.ask("Subtract 8 from 20")
    assert talk.calls() == [[("subtract", {"a": 20, "b": 8})]]


def test_without_parallel_calls_they_come_one_by_one(rehearsal: Any) -> None:
    talk = rehearsal("add", "get_weather", parallel_tool_calls=False)
    talk.ask("What is 17 plus 25, and what is the weather in Oslo?")
    assert [len(round_) for round_ in talk.calls()] == [1, 1]


def test_what_is_not_said_is_asked_for(rehearsal: Any) -> None:
    talk = rehearsal("book_hotel")
    answer = talk.ask("Book a hotel in Rome")
    assert talk.calls() == []
    assert "nights" in answer
    talk.ask("three nights")
    assert talk.calls() == [[("book_hotel", {"city": "Rome", "nights": 3})]]


def test_a_short_question_goes_on_with_the_last_call(rehearsal: Any) -> None:
    talk = rehearsal("get_weather", "add")
    talk.ask("What is the weather in Oslo in celsius?")
    talk.ask("and in Rome?")
    assert talk.calls() == [[("get_weather", {"city": "Rome", "unit": "celsius"})]]


@pytest.mark.parametrize(
    "prompt", ["Tell me a joke", "Who painted the Mona Lisa?", "Write a poem about Oslo", "Hello!", "Thanks!", "", "?"]
)
def test_nothing_fits_and_it_says_so(rehearsal: Any, prompt: str) -> None:
    talk = rehearsal("add", "get_weather")
    answer = talk.ask(prompt)
    assert talk.calls() == []
    assert answer


def test_without_tools_it_says_what_it_is() -> None:
    made = plan({"messages": [{"role": "user", "content": "What is 2 plus 2?"}]}, TODAY)
    assert "rehearsal" in made.text


def test_an_error_is_told(rehearsal: Any) -> None:
    talk = rehearsal("get_weather", answer=lambda name, arguments: "ValueError: the station is on fire")
    answer = talk.ask("weather in Oslo")
    assert "the station is on fire" in answer
    assert len(talk.calls()) == 1


@pytest.mark.parametrize(
    ("error", "mended"),
    [
        ("Error: unit must be one of: metric-celsius, metric-fahrenheit", "metric-celsius"),
        ('get_weather was not run: unit must be "Celsius", did you mean Celsius', "Celsius"),
    ],
)
def test_an_error_that_says_how_is_mended_once(rehearsal: Any, error: str, mended: str) -> None:
    talk = rehearsal(
        "get_weather", answer=lambda name, arguments: error if arguments.get("unit") != mended else "12 degrees"
    )
    answer = talk.ask("weather in Oslo in celsius")
    assert talk.calls()[1] == [("get_weather", {"city": "Oslo", "unit": mended})]
    assert "12 degrees" in answer
    assert "must be" not in answer


def test_it_does_not_mend_twice(rehearsal: Any) -> None:
    talk = rehearsal("get_weather", answer=lambda name, arguments: f"Error: unit must be one of: x{arguments['unit']}")
    talk.ask("weather in Oslo in celsius")
    assert len(talk.calls()) <= 2


def test_a_call_whose_arguments_never_arrived_is_made_again(rehearsal: Any) -> None:
    asked = rehearsal("get_weather").ask
    del asked
    messages = [
        {"role": "user", "content": "weather in Oslo"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}],
        },
        {
            "role": "tool",
            "tool_call_id": "a",
            "content": "The arguments of get_weather could not be read, so it was not run",
        },
    ]
    talk = rehearsal("get_weather")
    talk.messages = messages
    assert [call.arguments for call in talk.move().calls] == [{"city": "Oslo"}]


def test_tool_choice_none_calls_nothing(rehearsal: Any) -> None:
    talk = rehearsal("get_weather", tool_choice="none")
    assert "told to call no tool" in talk.ask("weather in Oslo")
    assert talk.calls() == []


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "add"}}])
def test_an_insisting_caller_gets_a_call_with_every_required_argument(rehearsal: Any, choice: Any) -> None:
    talk = rehearsal("add", "get_weather", tool_choice=choice)
    talk.messages = [{"role": "user", "content": "Tell me a joke"}]
    made = talk.move()
    assert len(made.calls) == 1
    assert set(made.calls[0].arguments) >= ({"a", "b"} if made.calls[0].name == "add" else {"city"})


def test_the_named_tool_is_called_and_no_other(rehearsal: Any) -> None:
    talk = rehearsal("add", "multiply", tool_choice={"type": "function", "function": {"name": "multiply"}})
    talk.messages = [{"role": "user", "content": "add 2 and 3"}]
    assert [call.name for call in talk.move().calls] == ["multiply"]


def test_json_is_answered_when_asked_for(rehearsal: Any) -> None:
    talk = rehearsal("add", answer=sums, response_format={"type": "json_object"})
    assert json.loads(talk.ask("add 2 and 3"))["results"] == [{"tool": "add", "result": 5}]


def test_a_schema_is_filled_from_results_and_prompt(rehearsal: Any) -> None:
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "temperature": {"type": "number"}, "note": {"type": "string"}},
        "required": ["city", "temperature", "note"],
    }
    talk = rehearsal(
        "get_weather",
        answer=lambda name, arguments: '{"temperature": 21.5}',
        response_format={"type": "json_schema", "json_schema": {"name": "report", "schema": schema}},
    )
    value = json.loads(talk.ask("What is the weather in Oslo?"))
    assert value["city"] == "Oslo"
    assert value["temperature"] == 21.5
    assert isinstance(value["note"], str)


def test_the_system_message_may_say_what_day_it_is() -> None:
    tool = {
        "type": "function",
        "function": {
            "name": "list_events",
            "description": "List the events of a day.",
            "parameters": {
                "type": "object",
                "properties": {"date": {"type": "string", "format": "date"}},
                "required": ["date"],
            },
        },
    }
    messages = [
        {"role": "system", "content": "Today is 2030-01-01."},
        {"role": "user", "content": "List the events of tomorrow"},
    ]
    assert plan({"messages": messages, "tools": [tool]}).calls[0].arguments == {"date": "2030-01-02"}


def test_the_same_request_gives_the_same_plan_and_is_left_alone(rehearsal: Any) -> None:
    talk = rehearsal("add", "get_weather")
    request = {
        "messages": [{"role": "user", "content": "What is 17 plus 25, and what is the weather in Oslo?"}],
        "tools": talk.tools,
    }
    before = copy.deepcopy(request)
    assert plan(request, TODAY) == plan(request, TODAY)
    assert request == before


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"messages": None, "tools": None},
        {
            "messages": ["x", {"role": "user"}, {"role": "tool", "content": "x"}],
            "tools": ["x", {}, {"function": {"name": 3}}],
        },
        {
            "messages": [{"role": "user", "content": "x"}],
            "tools": [
                {
                    "function": {
                        "name": "f",
                        "parameters": {
                            "properties": {"a": {"$ref": "#/$defs/A"}},
                            "$defs": {"A": {"$ref": "#/$defs/A"}},
                        },
                    }
                }
            ],
        },
        {
            "messages": [{"role": "user", "content": "do f 1 x"}],
            "tools": [
                {
                    "function": {
                        "name": "f",
                        "parameters": {
                            "properties": {"a": True, "b": {"type": ["null", "integer"]}, "c": {"enum": []}},
                            "required": ["a", "zz"],
                        },
                    }
                }
            ],
        },
    ],
)
def test_odd_requests_are_survived(request_: dict[str, Any]) -> None:
    plan(request_, TODAY)


def test_one_of_fifty_tools_is_found_quickly(rehearsal: Any) -> None:
    import time

    filler = [
        {
            "type": "function",
            "function": {
                "name": f"report_{n}",
                "description": f"Report number {n} of the archive.",
                "parameters": {"type": "object", "properties": {"year": {"type": "integer"}}, "required": ["year"]},
            },
        }
        for n in range(48)
    ]
    talk = rehearsal("get_weather", "add")
    talk.tools = filler[:24] + talk.tools + filler[24:]
    started = time.perf_counter()
    talk.ask("What is the weather in Oslo?")
    assert talk.calls() == [[("get_weather", {"city": "Oslo"})]]
    assert time.perf_counter() - started < 2


def test_a_recursive_schema_is_read_to_an_end() -> None:
    node = {
        "type": "object",
        "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/N"}}, "v": {"type": "integer"}},
    }
    schema = {"type": "object", "properties": {"node": {"$ref": "#/$defs/N"}}, "$defs": {"N": node}}
    tool = {"type": "function", "function": {"name": "tree", "description": "Grow a tree.", "parameters": schema}}
    plan({"messages": [{"role": "user", "content": "grow a tree with 3"}], "tools": [tool]}, TODAY)


@pytest.mark.parametrize(("prompt", "calls"), [("Double 5", 1), ("Triple 5", 0), ("Halve 5", 0), ("use f on 5", 1)])
def test_a_verb_the_tool_does_not_have_outweighs_a_number_that_fits(prompt: str, calls: int) -> None:
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    tool = {"type": "function", "function": {"name": "f", "description": "Double a number.", "parameters": schema}}
    assert len(plan({"messages": [{"role": "user", "content": prompt}], "tools": [tool]}, TODAY).calls) == calls


def test_a_call_inside_another_comes_first(rehearsal: Any) -> None:
    talk = rehearsal(
        "capital_city", "get_weather", answer=lambda name, arguments: "Paris" if name == "capital_city" else "mild"
    )
    talk.ask("What is the weather in the capital of France?")
    assert talk.calls() == [[("capital_city", {"country": "France"})], [("get_weather", {"city": "Paris"})]]


def test_a_statement_is_no_request(rehearsal: Any) -> None:
    talk = rehearsal("book_hotel")
    assert "does not say" not in talk.ask("I love hotel rooms")


def test_whole_numbers_are_said_without_a_point(rehearsal: Any) -> None:
    assert "is 42." in rehearsal("add", answer=lambda name, arguments: "42.0").ask("add 17 and 25")


def test_it_is_the_last_result_of_an_earlier_question(rehearsal: Any) -> None:
    talk = rehearsal("add", "subtract", answer=sums)
    talk.ask("add 5 and 6")
    talk.ask("now subtract 4 from it")
    assert talk.calls() == [[("subtract", {"a": 11, "b": 4})]]


@pytest.mark.parametrize("prompt", ["Drop the weather table", "Delete the hotel", "Paint Oslo"])
def test_a_verb_the_tools_do_not_know_is_never_answered_with_a_call(rehearsal: Any, prompt: str) -> None:
    talk = rehearsal("get_weather", "book_hotel")
    talk.ask(prompt)
    assert talk.calls() == []


def test_months_and_units_are_no_places(rehearsal: Any) -> None:
    talk = rehearsal("get_weather")
    talk.ask("I go to Oslo in December. What is the weather there in Celsius?")
    assert talk.calls() == [[("get_weather", {"city": "Oslo", "unit": "celsius"})]]


def test_another_operation_is_not_done_by_the_tool_at_hand(rehearsal: Any) -> None:
    talk = rehearsal("add")
    talk.ask("Multiply 8 and 3 together")
    assert talk.calls() == []


@pytest.mark.parametrize("prompt", ["I want to order a pizza", "order by name", "Read my orders aloud"])
def test_a_word_is_no_id(prompt: str) -> None:
    schema = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
    tool = {
        "type": "function",
        "function": {"name": "lookup_order", "description": "Find the status of an order", "parameters": schema},
    }
    assert plan({"messages": [{"role": "user", "content": prompt}], "tools": [tool]}, TODAY).calls == ()

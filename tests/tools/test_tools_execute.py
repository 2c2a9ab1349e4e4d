"""A call can't hurt: every mistake of a model or a tool comes back as a sentence, and Stop passes through."""

# Optional, Union, quotes and mutable defaults are what notebooks hold, so they are what is tested.
# ruff: noqa: UP007, UP045

from __future__ import annotations

import asyncio
import contextvars
import dataclasses
import datetime
import sqlite3
import threading
import time
from typing import Annotated, Any, Literal, Optional, Union

import pytest
from pydantic import BaseModel, Field, field_validator

import toolnexus_nb as tn
from toolnexus_nb.tools.background import left_running


class Stop(BaseModel):
    city: str = Field(min_length=1, description="Name of the city")
    nights: int = Field(1, ge=1, le=14)
    note: Optional[str] = None

    @field_validator("city")
    @classmethod
    def known(cls, value: str) -> str:
        if value == "Atlantis":
            raise ValueError("no such city on the map")
        return value


@tn.tool
def plan(
    stops: list[Stop],
    start: datetime.date,
    budget: Annotated[float, Field(gt=0)] = 100.0,
    pace: Literal["slow", "fast"] = "slow",
    round_trip: bool = False,
) -> str:
    """Plan a trip."""
    return f"{len(stops)} stops from {start.isoformat()} at {budget} {pace} {round_trip}"


GOOD: dict[str, Any] = {"stops": [{"city": "Oslo"}], "start": "2026-05-31"}


def answer(arguments: Any) -> tn.ToolResult:
    return plan.execute_sync(arguments)


def test_a_good_call_gives_text_and_value():
    result = answer(GOOD)
    assert (result.output, result.is_error) == ("1 stops from 2026-05-31 at 100.0 slow False", False)
    assert result.value == result.output


def test_all_misfits_are_told_at_once_each_with_its_parameter_and_what_was_expected():
    result = answer(
        {
            "stops": [{"city": ""}, {"nights": 20, "citty": "x"}],
            "budget": -1,
            "pace": "medium",
            "round_trip": "yes",
            "when": 1,
        }
    )
    assert result.is_error
    lines = result.output.splitlines()
    assert lines[0] == "plan was not run, 9 things do not fit:"
    assert set(lines[1:]) == {
        '- stops[0].city must be a string of at least 1 characters, but got ""',
        "- stops[1].city is missing: a string of at least 1 characters is required (Name of the city)",
        "- stops[1].nights must be an integer from 1 to 14, but got 20",
        '- there is no key "citty" in stops[1], did you mean city? (there is: city, nights, note)',
        "- budget must be a number greater than 0, but got -1",
        '- pace must be one of "slow", "fast", but got "medium"',
        '- round_trip must be true or false, but got "yes"',
        '- there is no parameter "when" (there is: stops, start, budget, pace, round_trip)',
        '- start is missing: a date like "2026-05-31" is required',
    }


def test_a_validators_own_words_reach_the_model():
    assert answer({**GOOD, "stops": [{"city": "Atlantis"}]}).output == (
        'plan was not run: stops[0].city is not accepted: no such city on the map, but got "Atlantis"'
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"start": "2026-05-31", "stops": [],}', "character 36: a comma stands before the closing bracket"),
        ('{"stops": [], "start": "2026', "a string that starts here is never closed"),
        ('{"stops": [{"city": "Oslo"}]', "the text ends before the object is closed"),
        ("{'stops': []}", "character 2: a single quote stands here"),
        ('{"stops": [], "round_trip": True}', "True stands here; JSON writes true"),
        ('{"note": None}', "JSON writes null"),
        ('```json\n{"stops": []}\n```', "line 1, column 1: remove the ``` code fence"),
        ('{"stops": []}</function>', "text after the end of the object"),
        ('{"budget": NaN}', "NaN is no JSON number"),
        ("[1, 2]", "must be a JSON object, but got an array"),
        ("12", "must be a JSON object, but got a number"),
        ('"text"', "must be a JSON object, but got a string"),
        ("[" * 100_000, "nested too deeply"),
        ('{"budget": ' + "9" * 5000 + "}", "not valid JSON"),
    ],
)
def test_broken_json_is_an_error_that_says_where_and_how_to_mend_it(text, says):
    result = answer(text)
    assert result.is_error
    assert says in result.output


@pytest.mark.parametrize("nothing", [None, "", "  ", "null", "{}", {}, b"{}", '""'])
def test_nothing_is_no_arguments(nothing):
    assert tn.tool(lambda: "ran", name="f").execute_sync(nothing).output == "ran"


def test_an_object_encoded_twice_and_raw_newlines_are_read():
    f = tn.tool(lambda code: code, name="f")
    assert f.execute_sync('"{\\"code\\": \\"x\\"}"').value == "x"
    assert f.execute_sync('{"code": "a\nb"}').value == "a\nb"


def test_numbers_and_lists_sent_as_text_are_read_where_no_text_is_taken():
    def f(n: int, flag: bool, tags: list[str], stop: Stop) -> Any:
        return n, flag, tags, stop.city

    result = tn.tool(f).execute_sync({"n": "3", "flag": "true", "tags": '["a"]', "stop": '{"city": "Oslo"}'})
    assert result.value == (3, True, ["a"], "Oslo")


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (int, True),
        (float, False),
        (bool, 1),
        (bool, "on"),
        (datetime.date, 0),
        (datetime.datetime, 1.5),
        (str, 5),
        (int, 1.5),
    ],
)
def test_guesses_that_could_hurt_are_refused(annotation, value):
    def f(x): ...

    f.__annotations__ = {"x": annotation}
    result = tn.tool(f).execute_sync({"x": value})
    assert result.is_error
    assert result.output.startswith("f was not run: x must be ")


def test_a_union_takes_the_branch_that_fits_and_names_all_when_none_does():
    def f(x: Union[int, list[str], None]) -> Any:
        return x

    tool = tn.tool(f)
    assert [tool.execute_sync({"x": value}).value for value in (5, ["a"], None)] == [5, ["a"], None]
    assert "x must be an integer or an array of strings or null, but got true" in tool.execute_sync({"x": True}).output


def test_null_for_an_optional_parameter_means_it_is_left_out():
    def f(n: int = 7, stop: Optional[Stop] = None) -> Any:
        return n, stop and stop.nights

    result = tn.tool(f).execute_sync({"n": None, "stop": {"city": "Oslo", "nights": None}})
    assert result.value == (7, 1)


def test_null_for_a_required_parameter_does_not_fit():
    assert "start must be a date" in answer({**GOOD, "start": None}).output


# --- what a tool does wrong -------------------------------------------------------------------------------------------


class Odd(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("boom"), "ValueError: boom"),
        (ValueError(), "ValueError"),
        (KeyError("k"), "KeyError: 'k'"),
        (RuntimeError("two\nlines"), "RuntimeError: two lines"),
        (SystemExit(3), "SystemExit: 3"),
        (StopIteration(5), "RuntimeError: StopIteration: 5"),
        (Odd(), "Odd"),
        (asyncio.CancelledError(), "f was cancelled from inside (CancelledError)"),
        (TimeoutError("mine"), "TimeoutError: mine"),
    ],
)
@pytest.mark.parametrize("kind", ["plain", "async"])
def test_an_exception_is_one_line_with_its_type(error, line, kind):
    def plain() -> None:
        raise error

    async def later() -> None:
        raise error

    if kind == "async" and isinstance(error, StopIteration):
        pytest.skip("Python itself forbids it")
    result = tn.tool(plain if kind == "plain" else later, name="f").execute_sync()
    assert (result.output, result.is_error) == (line, True)


def test_the_traceback_begins_in_the_tools_own_code_and_is_kept_from_the_model():
    def broken(x: int) -> float:
        return x / 0

    result = tn.tool(broken).execute_sync({"x": 1})
    assert "return x / 0" in result.traceback
    assert "toolnexus_nb" not in result.traceback.replace("tests/tools", "")
    assert "Traceback" not in result.output


def test_keyboard_interrupt_passes_through():
    def stopped() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tn.tool(stopped).execute_sync()
    assert tn.tool(lambda: 1, name="after").execute_sync().value == 1


def test_cancelling_passes_through_and_tells_the_tool():
    context = tn.ToolContext()

    async def main() -> None:
        async def forever() -> None:
            await asyncio.sleep(30)

        task = asyncio.create_task(tn.tool(forever).execute(context=context))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert context.cancelled


def test_a_plain_function_that_outlives_its_timeout_is_told_left_and_named():
    ended = threading.Event()

    def stubborn(context: tn.ToolContext) -> None:
        while not context.cancelled:
            time.sleep(0.01)
        time.sleep(0.15)
        ended.set()

    result = tn.tool(stubborn, timeout=0.05).execute_sync()
    assert result.output == "stubborn did not finish within 0.05 seconds and was given up"
    assert "stubborn" in left_running()
    assert ended.wait(5)
    time.sleep(0.05)
    assert "stubborn" not in left_running()


def test_an_async_tools_timeout():
    async def slow() -> None:
        await asyncio.sleep(30)

    started = time.monotonic()
    assert tn.tool(slow, timeout=0.05).execute_sync().is_error
    assert time.monotonic() - started < 2


def test_the_deadline_is_in_the_context():
    def f(context: tn.ToolContext) -> float:
        assert context.deadline is not None
        return context.deadline - time.monotonic()

    assert 3 < tn.tool(f, timeout=5).execute_sync().value <= 5


# --- where it runs ----------------------------------------------------------------------------------------------------

place: contextvars.ContextVar[str] = contextvars.ContextVar("place", default="nowhere")


def test_contextvars_of_the_caller_are_seen_in_threads_and_on_the_loop():
    def plain() -> str:
        return place.get()

    async def later() -> str:
        return place.get()

    token = place.set("here")
    try:
        assert [tn.tool(one).execute_sync().value for one in (plain, later)] == ["here", "here"]
    finally:
        place.reset(token)


def test_a_plain_function_does_not_block_the_loop():
    async def main() -> float:
        tool = tn.tool(lambda: time.sleep(0.2), name="nap")
        task = asyncio.create_task(tool.execute())
        started = time.monotonic()
        await asyncio.sleep(0.01)
        waited = time.monotonic() - started
        await task
        return waited

    assert asyncio.run(main()) < 0.15


def test_a_main_thread_tool_runs_there_awaited_and_blocking():
    @tn.tool(main_thread=True)
    def where() -> bool:
        return threading.current_thread() is threading.main_thread()

    @tn.tool(main_thread=True)
    async def where_async() -> bool:
        return threading.current_thread() is threading.main_thread()

    toolkit = tn.Toolkit([where, where_async])
    assert [tool.execute_sync().value for tool in toolkit] == [True, True]
    calls = [{"id": name, "function": {"name": name, "arguments": "{}"}} for name in toolkit.names]
    assert [message.content for message in asyncio.run(toolkit.run_calls(calls))] == ["true", "true"]


def test_an_object_bound_to_its_thread_is_answered_with_the_way_out():
    connection = sqlite3.connect(":memory:")

    def count() -> Any:
        return connection.execute("select 1").fetchone()

    assert "main_thread=True" in tn.tool(count).execute_sync().output
    assert tn.tool(count, main_thread=True).execute_sync().value == (1,)


def test_a_tool_stays_the_function_it_was():
    import copy
    import inspect
    import pickle
    import textwrap

    assert plan(stops=[], start=datetime.date(2026, 1, 1)).startswith("0 stops")
    assert (plan.__name__, plan.__doc__, plan.__module__) == ("plan", "Plan a trip.", __name__)
    assert list(inspect.signature(plan).parameters) == ["stops", "start", "budget", "pace", "round_trip"]
    assert copy.deepcopy(plan) is plan
    assert pickle.loads(pickle.dumps(tn.tool(textwrap.dedent, timeout=3))).timeout == 3


def test_options_are_changed_on_a_copy():
    for tool in (tn.tool(lambda: 1, name="f"), tn.native_tool("f", "", None, lambda args: args)):
        other = tn.tool(tool, name="g", timeout=3)
        assert (tool.name, tool.timeout, other.name, other.timeout) == ("f", None, "g", 3)
        assert other.execute_sync().value == tool.execute_sync().value
        assert tn.to_openai([tool, other])[1]["function"]["name"] == "g"
        assert tn.tool(tool) is tool


def test_a_schema_handed_out_is_a_copy():
    tool = tn.tool(lambda x: x, name="f")
    tool.input_schema["properties"]["x"]["type"] = "string"
    assert tool.input_schema["properties"]["x"] == {}


# --- native tools -----------------------------------------------------------------------------------------------------

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def test_a_native_tool_gets_one_dict():
    weather = tn.native_tool("get_weather", "Current weather for a city", CITY, lambda args: f"sunny in {args['city']}")
    assert weather.execute_sync('{"city": "Chennai"}').output == "sunny in Chennai"
    assert weather.source == "native"


def test_a_native_tool_gets_the_context_as_second_parameter_or_by_annotation():
    context = tn.ToolContext(call_id="c")
    second = tn.native_tool("a", "", None, lambda args, ctx: ctx.call_id)
    annotated = tn.native_tool("b", "", None, _wants_context)
    optional = tn.native_tool("c", "", None, lambda args, ctx=None: ctx)
    assert [tool.execute_sync({}, context).value for tool in (second, annotated, optional)] == ["c", "c", None]


async def _wants_context(args: dict[str, Any], *, run: tn.ToolContext | None = None) -> Any:
    return run and run.call_id


def test_a_native_tool_checks_its_schema_with_the_same_sentences():
    schema = {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "where"},
            "days": {"type": "integer", "minimum": 1, "maximum": 9},
        },
        "required": ["city"],
        "additionalProperties": False,
    }
    tool = tn.native_tool("f", "", schema, lambda args: args)
    result = tool.execute_sync({"days": 20, "cty": "x"})
    assert set(result.output.splitlines()[1:]) == {
        "- city is missing: a string is required (where)",
        "- days must be an integer from 1 to 9, but got 20",
        '- there is no parameter "cty", did you mean city? (there is: city, days)',
    }


def test_a_native_tool_without_a_schema_takes_no_arguments():
    tool = tn.native_tool("ping", "Health check", None, lambda args: "pong")
    assert tool.input_schema == {"type": "object", "properties": {}, "additionalProperties": False}
    assert tool.execute_sync({"x": 1}).is_error


def test_a_native_schema_is_copied_and_may_be_broken():
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"$ref": "#/$defs/Nowhere"}}}
    tool = tn.native_tool("f", "", schema, lambda args: 1)
    schema["properties"].clear()
    assert "a" in tool.input_schema["properties"]
    assert "its author has to mend it" in tool.execute_sync({"a": 1}).output


def test_a_native_schema_that_is_no_object_is_refused():
    with pytest.raises(ValueError, match="must describe an object"):
        tn.native_tool("f", "", {"type": "array"}, lambda args: 1)


# --- approval ---------------------------------------------------------------------------------------------------------


def test_approval_is_yes_no_or_a_reason():
    def make(rule: Any) -> tn.Tool:
        return tn.tool(lambda amount: 1, name="pay", needs_approval=rule)

    assert make(False).approval_needed({}) is None
    assert make(True).approval_needed({}) == "pay asks for approval"
    rule = make(lambda arguments: arguments["amount"] > 10 and "that is a lot")
    assert rule.approval_needed({"amount": 5}) is None
    assert rule.approval_needed({"amount": 50}) == "that is a lot"
    assert "failed (KeyError: 'amount')" in (rule.approval_needed({}) or "")


@dataclasses.dataclass
class Parcel:
    weight: float


def test_values_are_what_the_annotation_promises():
    def send(parcel: Parcel, to: list[Parcel]) -> Any:
        return type(parcel), [type(one) for one in to]

    assert tn.tool(send).execute_sync({"parcel": {"weight": 1}, "to": [{"weight": 2}]}).value == (Parcel, [Parcel])

"""No JSON value hurts: any arguments at any tool end in a result, and what is accepted is what was promised."""

# Optional, Union, quotes and mutable defaults are what notebooks hold, so they are what is tested.
# ruff: noqa: UP007, UP037, UP045, B006

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import uuid
from collections.abc import Iterable
from typing import Annotated, Any, Literal, NamedTuple, Optional, TypedDict, Union

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

import toolnexus_nb as tn
from toolnexus_nb.tools.linting import lint
from toolnexus_nb.tools.results import to_result
from toolnexus_nb.tools.running import run_call

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=8)
    | st.sampled_from(["red", "1", "true", "2026-05-31", "[1]", "{}"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=4) | st.sampled_from(["x", "y", "name"]), inner, max_size=3)
    ),
    max_leaves=6,
)


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0


class Person(TypedDict, total=False):
    name: str
    age: Annotated[int, Field(ge=0)]


class Pair(NamedTuple):
    x: int
    y: str = ""


class Node(BaseModel):
    name: str
    below: list["Node"] = []


ANNOTATIONS: list[Any] = [
    int,
    float,
    bool,
    str,
    Any,
    list,
    dict,
    list[int],
    set[str],
    tuple[int, str],
    dict[str, float],
    Iterable[int],
    Optional[int],
    Union[int, str],
    Union[Point, Pair, list[int]],
    Literal["red", 1, None],
    Color,
    Level,
    Point,
    Person,
    Pair,
    Node,
    datetime.date,
    datetime.datetime,
    datetime.timedelta,
    uuid.UUID,
    decimal.Decimal,
    pathlib.Path,
    bytes,
    Annotated[int, Field(ge=1, le=5)],
    Annotated[str, Field(pattern="^a")],
    complex,
    type("Live", (), {}),
]


def taking(annotation: Any) -> tn.Tool:
    async def f(x, y=None, *rest, **more):
        return type(x).__name__

    f.__annotations__ = {"x": annotation, "y": Optional[annotation], "rest": annotation, "more": annotation}
    return tn.tool(f)


TOOLS = [taking(annotation) for annotation in ANNOTATIONS]


@pytest.fixture(scope="module")
def loop():
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.mark.parametrize("tool", TOOLS, ids=[str(one)[:40] for one in ANNOTATIONS])
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(value=VALUES, keys=st.sampled_from([["x"], ["x", "y"], ["x", "rest"], ["x", "zzz"], ["y"], []]))
def test_any_value_at_any_annotation_is_a_result(loop, tool, value, keys):
    result = loop.run_until_complete(run_call(tool, dict.fromkeys(keys, value)))
    assert isinstance(result.output, str)
    if result.is_error:
        assert result.output.startswith("f was not run")
        assert result.traceback == ""
    json.dumps(result.output)


@settings(max_examples=150, deadline=None)
@given(text=st.text(max_size=30) | VALUES.map(json.dumps) | VALUES.map(lambda value: json.dumps({"x": value})[:-1]))
def test_any_text_as_arguments_is_a_result(text):
    result = asyncio.run(run_call(TOOLS[0], text))
    assert isinstance(result.output, str)


@tn.tool
async def typed(
    n: int, flag: bool = False, color: Color = Color.RED, point: Optional[Point] = None, tags: list[str] = []
) -> None:
    assert type(n) is int
    assert type(flag) is bool
    assert isinstance(color, Color)
    assert point is None or isinstance(point, Point)
    assert all(isinstance(tag, str) for tag in tags)


ITS_SCHEMA = jsonschema.Draft202012Validator(typed.input_schema)


@settings(max_examples=150, deadline=None)
@given(arguments=st.dictionaries(st.sampled_from(["n", "flag", "color", "point", "tags"]), VALUES))
def test_what_the_schema_accepts_the_function_accepts(arguments):
    """The advertised schema keeps its word: whatever is valid under it runs."""
    result = asyncio.run(run_call(typed, arguments))
    assert not (ITS_SCHEMA.is_valid(arguments) and result.is_error), result.output
    assert "Assertion" not in result.output


@settings(max_examples=150, deadline=None)
@given(
    value=VALUES
    | st.binary(max_size=9)
    | st.sets(st.integers(), max_size=4)
    | st.floats()
    | st.characters()
    | st.dates()
)
def test_any_value_returned_is_text(value):
    result = to_result(value)
    assert not result.is_error
    result.output.encode()


@settings(max_examples=150, deadline=None)
@given(
    schema=st.dictionaries(
        st.sampled_from(
            [
                "type",
                "properties",
                "required",
                "items",
                "enum",
                "anyOf",
                "default",
                "$ref",
                "$defs",
                "additionalProperties",
                "const",
                "description",
            ]
        ),
        VALUES,
    )
)
def test_any_schema_can_be_linted_and_adapted(schema):
    try:
        tool = tn.Tool(name="t", input_schema=schema, invoke=_nothing)
    except ValueError:
        return
    for provider in ("openai", "anthropic", "gemini"):
        for finding in lint(tool, provider):
            assert str(finding)
    for adapt in (tn.to_openai, tn.to_anthropic, tn.to_gemini):
        assert adapt([tool])
    assert isinstance(asyncio.run(run_call(tool, {"a": 1})).output, str)


async def _nothing(arguments: dict[str, Any], context: Any) -> str:
    return "ran"

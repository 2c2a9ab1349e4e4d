"""A battery of signatures nobody tuned for: each line is a function, its schema in short, one call and its value."""

# Optional, Union, quotes and mutable defaults are what notebooks hold, so they are what is tested.
# ruff: noqa: UP007, UP045, PIE796

from __future__ import annotations

import collections
import dataclasses
import datetime
import enum
import functools
import io
import numbers
import typing
from collections import OrderedDict, defaultdict
from dataclasses import InitVar, field
from typing import Annotated, Any, Generic, Literal, NamedTuple, Optional, TypedDict, TypeVar, Union

import pydantic
import pytest
from annotated_types import Ge, Len
from pydantic import BaseModel, ConfigDict, Discriminator, HttpUrl, PositiveInt, RootModel, SecretStr, StringConstraints
from pydantic.dataclasses import dataclass as pydantic_dataclass

import toolnexus_nb as tn

T = TypeVar("T")
Unit = Literal["C", "F"]


class Meters(float):
    """A length."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    name: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Derived(Base):
    tags: list[str] = field(default_factory=list)


@dataclasses.dataclass
class WithInit:
    a: int
    seed: InitVar[int] = 1
    total: int = field(init=False, default=0)

    def __post_init__(self, seed: int) -> None:
        self.total = self.a + seed


@dataclasses.dataclass
class Crate(Generic[T]):
    content: T


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    breed: str


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    a: int


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int


class Names(RootModel[list[str]]):
    pass


class Aliased(BaseModel):
    from_: str = pydantic.Field(alias="from")


@pydantic_dataclass
class Checked:
    n: PositiveInt


Odd = TypedDict("Odd", {"from": str, "a-b": int})


class Child(Odd, total=False):
    extra: bool


class Money(NamedTuple):
    amount: float
    currency: Literal["EUR", "USD"] = "EUR"


class Mood(enum.Enum):
    """How someone feels."""

    GOOD = "good"
    FINE = "good"  # an alias


class Flags(enum.IntFlag):
    READ = 1
    WRITE = 2


def f01(x: Annotated[Unit, "the unit"] = "C"):
    return x


def f02(x: Optional[list[Optional[int]]] = None):
    return x


def f03(x: str | int | None = None):
    return x


def f04(x: defaultdict[str, list[int]]):
    return dict(x)


def f05(x: OrderedDict[str, int], y: collections.deque[int], z: collections.Counter[str]):
    return list(x), list(y), z["a"]


def f06(x: Derived):
    return x


def f07(x: WithInit):
    return x.total


def f08(x: Crate[int]):
    return x.content


def f09(x: Annotated[Union[Cat, Dog], Discriminator("kind")]):
    return type(x).__name__


def f10(x: Union[Cat, Dog]):
    return type(x).__name__


def f11(x: Closed):
    return x.a


def f12(x: Open):
    return x.model_extra


def f13(x: Names):
    return x.root


def f14(x: Aliased):
    return x.from_


def f15(x: Checked):
    return x.n


def f16(x: Odd):
    return x


def f17(x: Child):
    return x


def f18(x: list[Money]):
    return sum(one.amount for one in x)


def f19(x: Mood):
    return x


def f20(x: Annotated[list[int], Len(1, 3)], y: Annotated[int, Ge(0)] = 0):
    return x, y


def f21(x: Annotated[str, StringConstraints(pattern="^a", max_length=3)]):
    return x


def f22(x: HttpUrl, y: SecretStr):
    return x.host, y.get_secret_value()


def f23(x: Meters):
    return type(x).__name__


def f24(x: numbers.Number, y: numbers.Integral = 1):
    return x, y


def f26(x: None = None):
    return x


def f27(ctx: tn.ToolContext, /, x: int, *rest: int):
    return type(ctx).__name__, x, rest


def f28(*, name: str, description: str = "", strict: bool = False, function: str = ""):
    return name


def f29(größe: int, 名: str = "x"):
    return größe


def f30(x: io.StringIO):
    return x.getvalue()


def f31(x: Flags = Flags.READ):
    return x


def f32(x: dict[Literal["a", "b"], int]):
    return x


def f33(x: dict[int, str]):
    return x


def f34(x: tuple[()] = ()):
    return x


def f36(x: datetime.timezone):
    return x


def f37(x: typing.Mapping[str, typing.Sequence[Money]]):
    return x["a"][0].currency


def f38(x: int | float):
    return x


def f39(x: bool | int):
    return x


def f40(x: object, y: Any | None = None):
    return x


HERE = datetime.UTC
CASES: list[tuple[Any, dict[str, Any], dict[str, Any], Any]] = [
    (f01, {"type": "string", "description": "the unit", "enum": ["C", "F"], "default": "C"}, {"x": "F"}, "F"),
    (f02, {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}, {"x": [1, None]}, [1, None]),
    (f03, {"anyOf": [{"type": "string"}, {"type": "integer"}]}, {"x": 5}, 5),
    (f04, {"type": "object"}, {"x": {"a": [1]}}, {"a": [1]}),
    (f05, {"type": "object"}, {"x": {"a": 1}, "y": [1], "z": {"a": 2}}, (["a"], [1], 2)),
    (f06, {"type": "object", "required": ["name"]}, {"x": {"name": "n"}}, Derived(name="n")),
    (f07, {"type": "object", "required": ["a"]}, {"x": {"a": 2, "seed": 5}}, 7),
    (f08, {"type": "object"}, {"x": {"content": 3}}, 3),
    (f09, {}, {"x": {"kind": "dog", "breed": "b"}}, "Dog"),
    (f10, {}, {"x": {"kind": "cat"}}, "Cat"),
    (f11, {"additionalProperties": False}, {"x": {"a": 1}}, 1),
    (f12, {"additionalProperties": True}, {"x": {"a": 1, "b": 2}}, {"b": 2}),
    (f13, {"type": "array", "items": {"type": "string"}}, {"x": ["a"]}, ["a"]),
    (f14, {"required": ["from"]}, {"x": {"from": "here"}}, "here"),
    (f15, {"type": "object"}, {"x": {"n": 3}}, 3),
    (f16, {"required": ["from", "a-b"]}, {"x": {"from": "a", "a-b": 1}}, {"from": "a", "a-b": 1}),
    (
        f17,
        {"required": ["from", "a-b"]},
        {"x": {"from": "a", "a-b": 1, "extra": True}},
        {"from": "a", "a-b": 1, "extra": True},
    ),
    (f18, {"type": "array"}, {"x": [{"amount": 1}, {"amount": 2, "currency": "USD"}]}, 3.0),
    (f19, {"type": "string", "enum": ["good"], "description": "How someone feels."}, {"x": "good"}, Mood.GOOD),
    (f20, {"type": "array", "minItems": 1, "maxItems": 3}, {"x": [1]}, ([1], 0)),
    (f21, {"type": "string", "pattern": "^a", "maxLength": 3}, {"x": "abc"}, "abc"),
    (f22, {"type": "string", "format": "uri"}, {"x": "https://example.org/a", "y": "s"}, ("example.org", "s")),
    (f23, {"type": "number"}, {"x": 2}, "Meters"),
    (f24, {"type": "number"}, {"x": 2.5}, (2.5, 1)),
    (f26, {}, {}, None),
    (f27, {"type": "integer"}, {"x": 1, "rest": [2, 3]}, ("ToolContext", 1, (2, 3))),
    (f28, {}, {"name": "n"}, "n"),
    (f29, {}, {"größe": 2}, 2),
    (f30, {"type": "string"}, {"x": "buffer"}, "kept"),
    (f31, {"type": "integer"}, {"x": 2}, Flags.WRITE),
    (f32, {"type": "object"}, {"x": {"a": 1}}, {"a": 1}),
    (f33, {"type": "object", "additionalProperties": {"type": "string"}}, {"x": {"1": "a"}}, {1: "a"}),
    (f34, {"type": "array"}, {"x": []}, ()),
    (f36, {"type": "string"}, {"x": "HERE"}, HERE),
    (f37, {"type": "object"}, {"x": {"a": [{"amount": 1}]}}, "EUR"),
    (f38, {"anyOf": [{"type": "integer"}, {"type": "number"}]}, {"x": 1.5}, 1.5),
    (f39, {"anyOf": [{"type": "boolean"}, {"type": "integer"}]}, {"x": True}, True),
    (f40, {}, {"x": [1]}, [1]),
]


@pytest.mark.parametrize(("function", "schema", "arguments", "value"), CASES, ids=[case[0].__name__ for case in CASES])
def test_schema_and_call(function, schema, arguments, value):
    buffer = io.StringIO("kept")
    tool = tn.tool(function)
    first = tool.input_schema["properties"].get("x", {})
    assert {key: first.get(key) for key in schema} == schema
    context = tn.ToolContext(namespace=lambda: {"buffer": buffer, "HERE": HERE})
    result = tool.execute_sync(arguments, context)
    assert not result.is_error, result.output + result.traceback
    assert (result.value, type(result.value)) == (value, type(value))
    for adapt in (tn.to_openai, tn.to_anthropic, tn.to_gemini):
        assert adapt([tool])


class Later:
    async def __call__(self, x: int) -> int:
        """Comes later."""
        return x


@tn.tool
async def made(a: int, b: int = 2) -> int:
    """Made before."""
    return a * b


async def steps(n: int):
    for i in range(n):
        yield i


def test_partials_of_tools_coroutines_and_generators_and_async_objects():
    assert tn.tool(Later()).execute_sync({"x": 3}).value == 3
    fixed = tn.tool(functools.partial(made, b=5))
    assert (fixed.name, fixed.description, fixed.execute_sync({"a": 2}).value) == ("made", "Made before.", 10)
    assert tn.tool(functools.partial(steps, n=3)).execute_sync().value == 2
    assert tn.tool(functools.partial(functools.partial(made.function, 3), b=4)).execute_sync().value == 12


def test_a_docstring_with_arguments_only():
    def f(a: int, b: int) -> int:
        """
        Arguments:
            a: the a
            b (int): the b
        """
        return a

    tool = tn.tool(f)
    assert tool.description == ""
    assert [one["description"] for one in tool.input_schema["properties"].values()] == ["the a", "the b"]


def test_an_inherited_docstring_counts():
    class Parent:
        def go(self, x: int) -> int:
            """Go there."""
            return x

    class Son(Parent):
        def go(self, x: int) -> int:
            return x + 1

    assert tn.tool(Son().go).description == "Go there."


def test_a_decorator_that_wraps_keeps_the_inner_signature():
    def logged(function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            return function(*args, **kwargs)

        return inner

    @logged
    def f(a: int, b: str = "x") -> str:
        """Logged.

        :param a: the a
        """
        return b * a

    tool = tn.tool(f)
    assert tool.input_schema["properties"]["a"] == {"type": "integer", "description": "the a"}
    assert tool.execute_sync({"a": 2}).value == "xx"


def test_numpy_numbers_and_pandas_times():
    numpy = pytest.importorskip("numpy")
    pandas = pytest.importorskip("pandas")

    def f(a: numpy.float64, b: numpy.int64, c: pandas.Timestamp) -> Any:
        return a, b, c

    f.__annotations__ = {"a": numpy.float64, "b": numpy.int64, "c": pandas.Timestamp}
    tool = tn.tool(f)
    assert [one["type"] for one in tool.input_schema["properties"].values()] == ["number", "integer", "string"]
    a, b, c = tool.execute_sync({"a": 1.5, "b": 2, "c": "2026-05-31T10:00:00"}).value
    assert (type(a), type(b), c) == (numpy.float64, numpy.int64, pandas.Timestamp("2026-05-31 10:00"))


@pytest.mark.parametrize("function", [f09, f10])
def test_of_a_union_of_objects_the_branch_that_was_meant_is_told(function):
    tool = tn.tool(function)
    assert "x.breed is missing: a string is required" in tool.execute_sync({"x": {"kind": "dog"}}).output
    assert (
        'x.lives must be an integer, but got "many"'
        in tool.execute_sync({"x": {"kind": "cat", "lives": "many"}}).output
    )
    assert "x must be an object with" in tool.execute_sync({"x": 5}).output


def test_a_union_that_nothing_fits_is_shown_with_the_value_that_stands_there():
    def f(x: list[Union[Cat, list[int]]]) -> Any:
        return x

    assert "[0] must be" in tn.tool(f).execute_sync({"x": [["a"]]}).output
    assert 'but got ["a"]' in tn.tool(f).execute_sync({"x": [["a"]]}).output

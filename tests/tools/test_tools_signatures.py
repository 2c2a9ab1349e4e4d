"""Every signature a notebook user writes becomes a right schema, and the values arrive as the annotation promises."""

# Optional, Union, quotes and mutable defaults are what notebooks hold, so they are what is tested.
# ruff: noqa: UP007, UP037, UP045, B006, B008, RUF013

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import functools
import json
import linecache
import pathlib
import sys
import types
import typing
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    Optional,
    TypedDict,
    TypeVar,
    Union,
)

import pytest
from pydantic import BaseModel, Field
from typing_extensions import Doc, Unpack

import toolnexus_nb as tn
from toolnexus_nb.tools.signature import SignatureError


def schema_of(function: Any) -> dict[str, Any]:
    return tn.tool(function).input_schema


def properties_of(function: Any) -> dict[str, Any]:
    return schema_of(function)["properties"]


def call(function: Any, **arguments: Any) -> Any:
    result = tn.tool(function).execute_sync(arguments)
    assert not result.is_error, result.output + result.traceback
    return result.value


# --- texts ------------------------------------------------------------------------------------------------------------


def test_a_google_docstring_gives_the_long_description_and_each_parameters_text():
    def weather(city: str, days: int = 3) -> str:
        """Get the weather.

        Looks ahead
        a few days.

        Args:
            city: The city, for instance
                Chennai.
            days (int, optional): How many days.

        Returns:
            The forecast.
        """
        return f"{city} {days}"

    tool = tn.tool(weather)
    assert tool.description == "Get the weather.\n\nLooks ahead\na few days."
    assert tool.input_schema == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "The city, for instance Chennai."},
            "days": {"type": "integer", "description": "How many days.", "default": 3},
        },
        "required": ["city"],
        "additionalProperties": False,
    }


def test_a_numpy_docstring_gives_texts_and_other_parameters():
    def f(x: float, y: float, *, unit: str = "C") -> float:
        """Add.

        Parameters
        ----------
        x, y : float
            A summand.

        Other Parameters
        ----------------
        unit : {"C", "F"}
            The unit.

        Returns
        -------
        float
            The sum.
        """
        return x + y

    texts = {key: value.get("description") for key, value in properties_of(f).items()}
    assert texts == {"x": "A summand.", "y": "A summand.", "unit": "The unit."}
    assert tn.tool(f).description == "Add."


@pytest.mark.parametrize("mark", [":", "@"])
def test_rest_and_epytext_docstrings_give_texts(mark):
    def f(a: int, b: int = 1) -> int:
        return a * b

    f.__doc__ = (
        f"Multiply.\n\n{mark}param a: the first\n    factor\n{mark}param b: the second\n{mark}returns: product\n"
    )
    assert {key: value["description"] for key, value in properties_of(f).items()} == {
        "a": "the first factor",
        "b": "the second",
    }


def test_comments_behind_and_above_parameters_are_their_texts():
    def f(
        city: str,  # Which city
        # How many days
        # to look ahead
        days: int = 3,
        unit: Literal["C", "F"] = "C",  # Unit of temperature
        plain: int = 0,  # pragma: no cover
    ) -> str:
        return city

    texts = {key: value.get("description") for key, value in properties_of(f).items()}
    assert texts == {
        "city": "Which city",
        "days": "How many days to look ahead",
        "unit": "Unit of temperature",
        "plain": None,
    }


def test_a_comment_behind_a_header_of_one_line_describes_no_parameter():
    def f(a: int, b: int) -> int:  # adds
        return a + b

    assert [value.get("description") for value in properties_of(f).values()] == [None, None]


def test_annotated_text_doc_and_field_give_texts_and_limits():
    def f(
        a: Annotated[str, "text of a"],
        b: Annotated[int, Field(ge=1, le=5, description="text of b")] = 2,
        c: Annotated[str, Doc("text of c")] = "",
        d: int = Field(3, description="text of d", gt=0),
        e: Optional[Annotated[int, "text of e"]] = None,
    ) -> list[Any]:
        return [a, b, c, d, e]

    properties = properties_of(f)
    assert [properties[key]["description"][-1] for key in "abcde"] == list("abcde")
    assert (properties["b"]["minimum"], properties["b"]["maximum"], properties["d"]["exclusiveMinimum"]) == (1, 5, 0)
    assert schema_of(f)["required"] == ["a"]
    assert call(f, a="x") == ["x", 2, "", 3, None]


def test_a_default_that_is_a_required_field_stays_required():
    def f(a: int = Field(..., description="a"), tags: list[str] = Field(default_factory=list)) -> Any:
        return a, tags

    assert schema_of(f)["required"] == ["a"]
    assert call(f, a=1) == (1, [])


def test_an_annotated_text_wins_over_the_docstring_and_the_docstring_over_a_comment():
    def f(
        a: Annotated[int, "annotated"],  # comment
        b: int = 1,  # comment
    ) -> int:
        """F.

        Args:
            a: docstring
            b: docstring
        """
        return a

    assert {key: value["description"] for key, value in properties_of(f).items()} == {
        "a": "annotated",
        "b": "docstring",
    }


def test_types_that_stand_only_in_the_docstring_count():
    def f(x, names, unit="C", limit=None):
        """F.

        Parameters
        ----------
        x : int
        names : list of str
        unit : {"C", "F"}, optional
        limit : int or None, default None
        """
        return x

    properties = properties_of(f)
    assert properties["x"] == {"type": "integer"}
    assert properties["names"] == {"type": "array", "items": {"type": "string"}}
    assert properties["unit"] == {"type": "string", "enum": ["C", "F"], "default": "C"}
    assert properties["limit"] == {"type": "integer"}


def test_words_in_a_docstring_that_are_no_type_leave_the_parameter_open():
    def f(frame):
        """F.

        Args:
            frame (some table like thing): the data
        """

    assert properties_of(f)["frame"] == {"description": "the data"}


# --- types ------------------------------------------------------------------------------------------------------------


class Color(enum.Enum):
    RED = "red"
    GREEN = "green"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Corner(enum.Enum):
    ORIGIN = (0, 0)
    FAR = (9, 9)


@dataclasses.dataclass
class Point:
    """A point.

    Attributes:
        x: to the right
    """

    x: float
    y: float = 0.0


class Person(TypedDict):
    """Someone."""

    name: Annotated[str, "full name"]
    age: NotRequired[int]


class Place(NamedTuple):
    lat: float
    lon: float = 1.0


class Node(BaseModel):
    value: int
    children: list[Node] = []


def test_literals_are_enums_with_a_type():
    def f(a: Literal["x", "y"], b: Literal["x", 1, None] = None, c: Literal[True] = True) -> Any: ...

    properties = properties_of(f)
    assert properties["a"] == {"type": "string", "enum": ["x", "y"]}
    assert properties["b"] == {"anyOf": [{"type": "string", "enum": ["x"]}, {"type": "integer", "enum": [1]}]}
    assert properties["c"] == {"type": "boolean", "enum": [True], "default": True}


def test_enums_arrive_as_members_and_their_numbers_are_explained():
    def f(color: Color, level: Level = Level.LOW, corner: Corner = Corner.ORIGIN) -> Any:
        return color, level, corner

    properties = properties_of(f)
    assert properties["color"] == {"type": "string", "enum": ["red", "green"]}
    assert properties["level"]["enum"] == [1, 2]
    assert "1 = LOW, 2 = HIGH" in properties["level"]["description"]
    assert properties["level"]["default"] == 1
    assert properties["corner"]["enum"] == ["ORIGIN", "FAR"]
    assert call(f, color="red", level=2, corner="FAR") == (Color.RED, Level.HIGH, Corner.FAR)


def test_optional_parameters_are_plain_when_leaving_them_out_means_none():
    def f(a: Optional[str] = None, b: str | None = None, c: Optional[int] = 5, d: int = None) -> Any:
        return a, b, c, d

    properties = properties_of(f)
    assert properties["a"] == properties["b"] == {"type": "string"}
    assert properties["c"] == {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": 5}
    assert "required" not in schema_of(f)
    assert call(f, a=None, c=None, d=None) == (None, None, None, None)


def test_a_required_optional_says_that_null_is_taken():
    def f(a: Optional[str]) -> Any:
        return a

    assert properties_of(f)["a"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert call(f, a=None) is None


def test_unions_keep_all_their_branches():
    def f(a: Union[int, str], b: int | list[str] = 0) -> Any:
        return a, b

    assert properties_of(f)["a"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert call(f, a="5", b=["x"]) == ("5", ["x"])


def test_containers_have_item_types_and_arrive_as_promised():
    def f(
        a: list[Literal["x", "y"]],
        b: dict[str, int],
        c: tuple[int, str],
        d: set[int],
        e: frozenset[str] = frozenset(),
        g: tuple[int, ...] = (),
        h: Sequence[float] = (),
        i: Mapping[str, Any] = {},
    ) -> Any:
        return a, b, c, d, e, g

    properties = properties_of(f)
    assert properties["a"]["items"] == {"type": "string", "enum": ["x", "y"]}
    assert properties["b"] == {"type": "object", "additionalProperties": {"type": "integer"}}
    assert (properties["c"]["minItems"], properties["c"]["maxItems"]) == (2, 2)
    assert properties["d"] == {"type": "array", "uniqueItems": True, "items": {"type": "integer"}}
    assert properties["h"] == {"type": "array", "items": {"type": "number"}, "default": []}
    got = call(f, a=["x"], b={"k": 1}, c=[1, "z"], d=[1, 1], e=["q"], g=[1, 2])
    assert got == (["x"], {"k": 1}, (1, "z"), {1}, frozenset("q"), (1, 2))


def test_every_array_has_items():
    def f(a: list, b: tuple, c: set, d: tuple[int, str], e: Iterable = ()) -> Any: ...

    assert all("items" in value for value in properties_of(f).values())


def test_bare_dicts_are_objects():
    def f(a: dict, b: dict = {}) -> Any: ...

    assert properties_of(f)["a"]["type"] == "object"


def test_classes_of_every_kind_are_objects_and_arrive_as_themselves():
    def f(point: Point, person: Person, place: Place, node: Node, points: list[Point] = []) -> Any:
        return point, person, place, node, points

    schema = schema_of(f)
    properties = schema["properties"]
    assert properties["point"]["description"] == "A point."
    assert properties["point"]["properties"]["x"] == {"type": "number", "description": "to the right"}
    assert properties["person"]["properties"]["name"]["description"] == "full name"
    assert properties["person"]["required"] == ["name"]
    assert properties["place"]["properties"] == {"lat": {"type": "number"}, "lon": {"type": "number", "default": 1.0}}
    assert properties["node"] == {"$ref": "#/$defs/Node"}
    assert schema["$defs"]["Node"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}
    got = call(
        f,
        point={"x": 1},
        person={"name": "a"},
        place={"lat": 2},
        node={"value": 1, "children": [{"value": 2}]},
        points=[{"x": 3}],
    )
    assert got == (
        Point(1.0),
        {"name": "a"},
        Place(2.0),
        Node(value=1, children=[Node(value=2)]),
        [Point(3.0)],
    )


@dataclasses.dataclass
class Room:
    """A room."""

    width: float  # in metres
    height: float
    """in metres, too"""
    plain: int = 0  # type: ignore[assignment]


def test_comments_and_strings_beside_fields_are_their_texts():
    def f(room: Room) -> Any: ...

    fields = properties_of(f)["room"]["properties"]
    assert {key: value.get("description") for key, value in fields.items()} == {
        "width": "in metres",
        "height": "in metres, too",
        "plain": None,
    }


def test_comments_beside_fields_of_a_notebook_class_are_found(monkeypatch):
    import __main__

    source = (
        "@dataclasses.dataclass\nclass CellRoom:\n    width: float  # in metres\n\ndef measure(room: CellRoom): ...\n"
    )
    file = "/tmp/ipykernel_1/2.py"
    monkeypatch.setitem(linecache.cache, file, (len(source), None, source.splitlines(True), file))
    monkeypatch.delattr(__main__, "__file__", raising=False)
    names = {"__name__": "__main__", "dataclasses": dataclasses}
    exec(compile(source, file, "exec", dont_inherit=True), names)
    assert properties_of(names["measure"])["room"]["properties"]["width"]["description"] == "in metres"


def test_titles_and_definitions_appear_only_where_they_must():
    def f(point: Point, other: Point, color: Color = Color.RED) -> Any: ...

    text = json.dumps(schema_of(f))
    assert "title" not in text
    assert "$ref" not in text


def test_two_classes_of_one_name_keep_their_own_definitions():
    def make(kind: type) -> type[BaseModel]:
        class Tree(BaseModel):
            leaf: kind  # type: ignore[valid-type]
            below: Optional["Tree"] = None

        Tree.model_rebuild(_types_namespace={"Tree": Tree, "kind": kind, "Optional": Optional})
        return Tree

    ints, texts = make(int), make(str)

    def f(a, b): ...

    f.__annotations__ = {"a": ints, "b": texts}
    schema = schema_of(f)
    assert {one["properties"]["leaf"]["type"] for one in schema["$defs"].values()} == {"integer", "string"}


def test_dates_times_ids_decimals_paths_and_bytes_arrive_as_objects():
    def f(
        d: datetime.date,
        t: datetime.time,
        dt: datetime.datetime,
        td: datetime.timedelta,
        u: uuid.UUID,
        m: decimal.Decimal,
        p: pathlib.Path,
        b: bytes,
    ) -> Any:
        return d, t, dt, td, u, m, p, b

    got = call(
        f,
        d="2026-05-01",
        t="10:00",
        dt="2026-05-01T10:00:00",
        td="PT1H",
        u="00000000-0000-0000-0000-000000000001",
        m="1.50",
        p="/tmp",
        b="hi",
    )
    assert got == (
        datetime.date(2026, 5, 1),
        datetime.time(10),
        datetime.datetime(2026, 5, 1, 10),
        datetime.timedelta(hours=1),
        uuid.UUID(int=1),
        decimal.Decimal("1.50"),
        pathlib.Path("/tmp"),
        b"hi",
    )
    assert call(f, **_in_words(f, m=0.1))[5] == decimal.Decimal("0.1")


def _in_words(function: Any, **changes: Any) -> dict[str, Any]:
    return {
        "d": "2026-05-01",
        "t": "10:00",
        "dt": "2026-05-01T10:00:00",
        "td": "PT1H",
        "u": "00000000-0000-0000-0000-000000000001",
        "m": "1",
        "p": "/",
        "b": "",
    } | changes


def test_defaults_that_are_objects_are_written_as_json():
    def f(
        d: datetime.date = datetime.date(2026, 5, 1),
        p: Point = Point(1, 2),
        path: pathlib.Path = pathlib.Path("/x"),
        s: set[int] = {1},
    ) -> Any:
        return d, p, path, s

    assert [value["default"] for value in properties_of(f).values()] == ["2026-05-01", {"x": 1, "y": 2}, "/x", [1]]
    assert call(f) == (datetime.date(2026, 5, 1), Point(1, 2), pathlib.Path("/x"), {1})


def test_a_default_json_cannot_write_is_left_out_and_still_counts():
    marker = object()

    def f(a: Any = marker, b: float = float("inf")) -> Any:
        return a is marker, b

    assert all("default" not in value for value in properties_of(f).values())
    assert call(f) == (True, float("inf"))


def test_iterables_are_checked_before_the_function_runs():
    def f(a: Iterable[int], b: Iterator[int] = iter(())) -> Any:
        return sum(a) + sum(b)

    assert properties_of(f)["a"] == {"type": "array", "items": {"type": "integer"}}
    assert call(f, a=[1, 2], b=[3]) == 6
    assert "a[1] must be an integer" in tn.tool(f).execute_sync({"a": [1, "x"]}).output


T = TypeVar("T")
UserId = NewType("UserId", int)


class Box(BaseModel, Generic[T]):
    item: T


def test_generics_and_new_types():
    def f(items: list[T], box: Box[int], user: UserId) -> Any:
        return items, box.item, user

    properties = properties_of(f)
    assert properties["box"]["properties"]["item"] == {"type": "integer"}
    assert properties["user"] == {"type": "integer"}
    assert call(f, items=["a"], box={"item": 1}, user=7) == (["a"], 1, 7)


def test_no_hints_means_anything():
    def f(a, b=2):
        return a, b

    assert schema_of(f) == {
        "type": "object",
        "properties": {"a": {}, "b": {"default": 2}},
        "required": ["a"],
        "additionalProperties": False,
    }
    assert call(f, a={"x": [1]}) == ({"x": [1]}, 2)


# --- kinds of parameters ----------------------------------------------------------------------------------------------


def test_star_args_is_an_array_and_double_star_types_the_further_keys():
    def f(first: int, *rest: int, flag: bool = False, **options: float) -> Any:
        return first, rest, flag, options

    schema = schema_of(f)
    assert schema["properties"]["rest"] == {"type": "array", "items": {"type": "integer"}}
    assert schema["additionalProperties"] == {"type": "number"}
    assert schema["required"] == ["first"]
    assert call(f, first=1, rest=[2, 3], z=1.5) == (1, (2, 3), False, {"z": 1.5})
    assert call(f, first=1) == (1, (), False, {})


def test_bare_stars_take_anything():
    def f(*args, **kwargs):
        return args, kwargs

    assert schema_of(f)["additionalProperties"] is True
    assert call(f, args=[1, "a"], k=2) == ((1, "a"), {"k": 2})


def test_an_unpacked_typed_dict_gives_its_keys():
    def f(**options: Unpack[Person]) -> Any:
        return options

    assert schema_of(f)["required"] == ["name"]
    assert call(f, name="a") == {"name": "a"}
    assert "there is no parameter" in tn.tool(f).execute_sync({"name": "a", "zip": 1}).output


def test_an_unpacked_typed_dict_beside_positional_only_parameters():
    def f(a: int, /, **options: Unpack[Person]) -> Any:
        return a, options

    assert call(f, a=1, name="n") == (1, {"name": "n"})


def test_positional_only_and_keyword_only_parameters_are_passed_as_python_demands():
    def f(a: int, b: int = 5, /, c: int = 3, *, d: int) -> Any:
        return a, b, c, d

    assert schema_of(f)["required"] == ["a", "d"]
    assert call(f, a=1, d=2) == (1, 5, 3, 2)
    assert call(f, a=1, b=2, c=3, d=4) == (1, 2, 3, 4)


def test_a_gap_among_positional_only_parameters_is_filled_with_the_defaults():
    def f(a: int = 1, b: int = 2, c: int = 3, /) -> Any:
        return a, b, c

    assert call(f, c=9) == (1, 2, 9)


def test_names_that_collide_with_pydantic_or_python_are_ordinary_names():
    def f(
        schema: str,
        json: int,
        copy: bool,
        model_config: str,
        _x: int,
        validate: str = "",
        dict: str = "",
        fields: str = "",
    ) -> Any:
        return schema, json, copy, model_config, _x, validate, dict, fields

    assert list(properties_of(f)) == ["schema", "json", "copy", "model_config", "_x", "validate", "dict", "fields"]
    assert call(f, schema="a", json=1, copy=True, model_config="m", _x=2)[:5] == ("a", 1, True, "m", 2)


def test_an_alias_is_the_name_on_the_wire():
    def f(from_: Annotated[str, Field(alias="from")]) -> str:
        return from_

    assert list(properties_of(f)) == ["from"]
    assert call(f, **{"from": "x"}) == "x"


def test_a_context_parameter_is_injected_and_never_in_the_schema():
    def f(a: int, context: tn.ToolContext) -> Any:
        return context

    def g(a: int, ctx: Optional[tn.ToolContext] = None) -> Any:
        return ctx

    def h(a: int, ctx=None) -> Any:
        return ctx

    context = tn.ToolContext(call_id="c1")
    for function in (f, g, h):
        assert list(properties_of(function)) == ["a"]
        result = tn.tool(function).execute_sync({"a": 1}, context)
        assert result.value is context


def test_ctx_context_and_self_are_no_properties():
    def f(self, a, ctx, context): ...

    def g(a, ctx, context):
        return ctx is context

    assert list(properties_of(f)) == list(properties_of(g)) == ["a"]
    assert call(g, a=1) is True


def test_what_a_model_sends_for_the_context_never_reaches_the_function():
    def f(ctx: tn.ToolContext) -> bool:
        return isinstance(ctx, tn.ToolContext)

    assert call(f, ctx="evil") is True


def test_a_parameter_called_context_with_a_type_is_an_ordinary_one():
    def f(context: str) -> str:
        return context

    assert call(f, context="about cats") == "about cats"


# --- kinds of callables -----------------------------------------------------------------------------------------------


def add(a: int, b: int = 1) -> int:
    """Add."""
    return a + b


def test_what_a_partial_has_fixed_is_not_offered():
    tool = tn.tool(functools.partial(add, b=5))
    assert (tool.name, tool.description) == ("add", "Add.")
    assert list(tool.input_schema["properties"]) == ["a"]
    assert tool.execute_sync({"a": 1}).value == 6
    assert list(properties_of(functools.partial(add, 2))) == ["b"]


class Counter:
    """Counts."""

    def __init__(self, start: int) -> None:
        self.start = start

    def __call__(self, step: int) -> int:
        """Count on.

        Args:
            step: how far
        """
        return self.start + step

    def method(self, x: int) -> int:
        """A method."""
        return self.start * x

    @classmethod
    def of_class(cls, x: int) -> str:
        return f"{cls.__name__}{x}"

    @staticmethod
    def static(x: int) -> int:
        return x

    async def later(self, x: int) -> int:
        return self.start + x

    @tn.tool
    def decorated(self, x: int) -> int:
        """A decorated method."""
        return self.start - x

    @tn.tool
    @classmethod
    def decorated_class(cls, x: int) -> str:
        return f"{cls.__name__}{x}"


def test_callable_objects_and_methods_of_every_kind():
    counter = Counter(2)
    assert tn.tool(counter).name == "Counter"
    assert tn.tool(counter).description == "Count on."
    assert properties_of(counter) == {"step": {"type": "integer", "description": "how far"}}
    assert call(counter, step=3) == 5
    assert [call(one, x=3) for one in (counter.method, counter.of_class, Counter.static, counter.later)] == [
        6,
        "Counter3",
        3,
        5,
    ]
    assert "self" not in properties_of(counter.method)


def test_a_tool_in_a_class_body_is_bound_like_a_method():
    counter = Counter(10)
    assert counter.decorated(3) == 7
    assert counter.decorated.execute_sync({"x": 3}).value == 7
    assert list(counter.decorated.input_schema["properties"]) == ["x"]
    assert counter.decorated is counter.decorated
    assert Counter.decorated_class.execute_sync({"x": 1}).value == "Counter1"
    assert Counter(1).decorated.execute_sync({"x": 3}).value == -2


def test_async_functions_and_generators():
    async def later(x: int) -> int:
        return x

    def steps(n: int):
        for i in range(n):
            yield f"step {i}"

    async def async_steps(n: int):
        for i in range(n):
            yield i

    def returning():
        yield "on the way"
        return "there"

    assert [call(later, x=1), call(steps, n=3), call(async_steps, n=3), call(returning)] == [1, "step 2", 2, "there"]


def test_each_yield_is_progress():
    def steps(n: int):
        for i in range(n):
            yield f"step {i}"

    seen: list[Any] = []
    context = tn.ToolContext(on_progress=lambda *progress: seen.append(progress))
    tn.tool(steps).execute_sync({"n": 2}, context)
    assert seen == [(None, None, "step 0"), (None, None, "step 1")]


def test_a_wrapped_function_keeps_its_own_signature():
    @functools.lru_cache
    def cached(x: int) -> int:
        """Cached."""
        return x

    assert properties_of(cached) == {"x": {"type": "integer"}}
    assert call(cached, x=1) == 1


def test_builtins_with_a_signature_work():
    import math

    assert call(math.sqrt, x=4) == 2.0


def test_a_class_is_a_tool_that_makes_one():
    assert call(Point, x=1) == Point(1.0)


# --- string annotations -----------------------------------------------------------------------------------------------


@pytest.fixture
def names(monkeypatch) -> dict[str, Any]:
    """A user's namespace, as a kernel has one in __main__."""
    module = types.ModuleType("users_notebook")
    monkeypatch.setitem(sys.modules, "users_notebook", module)
    return vars(module)


def cell(source: str, names: dict[str, Any]) -> None:
    """Run source as a notebook cell."""
    exec(compile(source, "<cell>", "exec"), names)


def test_string_annotations_of_an_earlier_cell_are_resolved_in_the_users_namespace(names):
    cell("from __future__ import annotations\nfrom dataclasses import dataclass\n", names)
    source = (
        "from __future__ import annotations\n@dataclass\nclass Thing:\n    size: int\n    twin: Thing | None = None\n"
    )
    cell(source + "def f(thing: Thing, n: 'int' = 1) -> int:\n    return thing.size * n\n", names)
    assert call(names["f"], thing={"size": 2, "twin": {"size": 1}}, n=3) == 6


def test_types_of_a_functions_own_scope_are_found_while_it_runs():
    @dataclasses.dataclass
    class Leaf:
        v: int

    @dataclasses.dataclass
    class Tree:
        left: Leaf
        right: Optional[Tree] = None

    class Basket(TypedDict):
        leaves: list[Leaf]
        label: NotRequired[Annotated[str, "what it says"]]

    def f(tree: Tree, basket: Basket) -> Any:
        return tree.right.left.v, basket

    assert properties_of(f)["basket"]["properties"]["label"] == {"type": "string", "description": "what it says"}
    got = call(f, tree={"left": {"v": 1}, "right": {"left": {"v": 2}}}, basket={"leaves": [{"v": 3}]})
    assert got == (2, {"leaves": [Leaf(3)]})


def test_forward_references_inside_generics_are_resolved():
    def f(points: list["Point"], names: "dict[str, 'Point']") -> Any:
        return points, names

    f.__annotations__ = {"points": list["Point"], "names": "dict[str, 'Point']"}
    assert call(f, points=[{"x": 1}], names={"a": {"x": 2}}) == ([Point(1.0)], {"a": Point(2.0)})


def test_a_name_that_cannot_be_found_is_an_error_with_the_function_the_parameter_and_the_name(names):
    cell("def f(x: 'NoSuchThing') -> int:\n    return 1\n", names)
    with pytest.raises(SignatureError, match=r"f: the annotation of x names NoSuchThing"):
        tn.tool(names["f"])


def test_a_field_whose_type_cannot_be_found_is_an_error_too():
    def make() -> Any:
        @dataclasses.dataclass
        class Hidden:
            v: int

        @dataclasses.dataclass
        class Outer:
            hidden: Hidden

        def f(outer: Outer) -> None: ...

        f.__annotations__ = {"outer": Outer}
        return f

    with pytest.raises(SignatureError, match=r"f: the parameter outer .* names Hidden, which is not defined"):
        tn.tool(make())


# --- what can't be ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("annotation", [Callable[[int], int], collections.abc.Callable, type[int], typing.NoReturn])
def test_what_has_no_json_form_is_an_error_that_names_the_way_out(annotation):
    def rank(key: Any, n: int = 1) -> Any: ...

    rank.__annotations__["key"] = annotation
    with pytest.raises(SignatureError) as caught:
        tn.tool(rank)
    assert all(word in str(caught.value) for word in ("rank", "key", "functools.partial"))


def test_a_lambda_needs_a_name():
    with pytest.raises(SignatureError, match="name="):
        tn.tool(lambda x: x)
    assert tn.tool(lambda x: x, name="same").execute_sync({"x": 1}).value == 1


def test_a_builtin_without_a_signature_says_to_wrap_it():
    with pytest.raises(SignatureError, match="wrap it"):
        tn.tool(max)


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="takes a function"):
        tn.tool(5)

"""Odd but plausible annotations, and what a model is told about them: each one was once wrong."""

from __future__ import annotations

import dataclasses
import enum
import sys
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from ipaddress import IPv4Address
from typing import Annotated, Any, Generic, Literal, LiteralString, NotRequired, TypedDict, TypeVar, Union

import pytest
from pydantic import BaseModel, Field, RootModel, SecretStr

import toolnexus_nb as tn
from toolnexus_nb.tools.signature import SignatureError

ItemType = TypeVar("ItemType")


def property_of(function: Any, name: str) -> dict[str, Any]:
    return tn.tool(function).input_schema["properties"][name]


def said(function: Any, **arguments: Any) -> str:
    result = tn.tool(function).execute_sync(arguments)
    assert result.is_error
    return result.output


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]


def adopt(pet: Annotated[Cat | Dog, Field(discriminator="kind")]) -> str:
    return type(pet).__name__


def test_a_discriminated_union_is_an_anyof_of_its_branches_with_nothing_that_points_nowhere() -> None:
    schema = property_of(adopt, "pet")
    assert set(schema) == {"anyOf"}
    assert [one["properties"]["kind"]["enum"] for one in schema["anyOf"]] == [["cat"], ["dog"]]
    assert tn.tool(adopt).execute_sync({"pet": {"kind": "dog"}}).output == "Dog"
    assert tn.to_openai([tn.tool(adopt)], strict=True)[0]["function"]["strict"] is True


def test_a_wrong_or_missing_discriminator_is_told_by_its_key() -> None:
    assert said(adopt, pet={"kind": "bird"}) == (
        'adopt was not run: pet.kind must be one of "cat", "dog", but got "bird"'
    )
    assert said(adopt, pet={}) == 'adopt was not run: pet.kind is missing: one of "cat", "dog" is required'


def test_an_object_that_is_none_of_a_unions_branches_is_told_all_of_them() -> None:
    def measure(span: Cat | Square | None) -> None:
        """Measure it."""

    assert said(measure, span={"width": 3}) == (
        "measure was not run: span must be an object with kind, lives (optional) or an object with side or null, "
        'but got {"width": 3}'
    )
    assert said(measure, span={"side": "x"}) == 'measure was not run: span.side must be an integer, but got "x"'


class Ids(RootModel[list[int]]):
    pass


def test_a_root_model_is_what_it_wraps() -> None:
    def pick(ids: Ids) -> list[int]:
        return ids.root

    assert property_of(pick, "ids") == {"type": "array", "items": {"type": "integer"}}
    assert tn.tool(pick).execute_sync({"ids": [1]}).value == [1]


class Permission(enum.Flag):
    READ = 1
    WRITE = 2


def test_flags_may_be_added_up() -> None:
    def grant(what: Permission) -> str:
        """Grant.

        Args:
            what: the rights
        """
        return str(what)

    assert property_of(grant, "what") == {
        "type": "integer",
        "description": "the rights\nthe sum of any of: 1 = READ, 2 = WRITE",
        "minimum": 0,
        "maximum": 3,
    }
    assert tn.tool(grant).execute_sync({"what": 3}).output == "Permission.READ|WRITE"
    assert said(grant, what=4) == "grant was not run: what must be an integer from 0 to 3, but got 4"


class Way(enum.Enum):
    NORTH = (0, 1)
    SOUTH = (0, -1)


def test_an_enum_chosen_by_name_has_a_default_by_name() -> None:
    def walk(ways: list[Way] = [Way.NORTH]) -> int:  # noqa: B006
        return len(ways)

    assert property_of(walk, "ways")["default"] == ["NORTH"]


@dataclass
class Square:
    side: int
    area: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.area = self.side**2


def test_a_field_the_class_fills_in_itself_is_not_offered() -> None:
    def draw(square: Square) -> int:
        return square.area

    assert list(property_of(draw, "square")["properties"]) == ["side"]
    assert tn.tool(draw).execute_sync({"square": {"side": 3}}).value == 9
    assert said(draw, square={"side": 3, "area": 1}) == (
        'draw was not run: there is no key "area" in square (there is: side)'
    )


class Page(TypedDict, Generic[ItemType]):
    items: list[ItemType]
    following: NotRequired[ItemType]


def test_a_generic_typed_dict_has_the_types_it_was_given() -> None:
    def show(page: Page[int]) -> int:
        return len(page["items"])

    schema = property_of(show, "page")
    assert schema["properties"] == {
        "items": {"type": "array", "items": {"type": "integer"}},
        "following": {"type": "integer"},
    }
    assert schema["required"] == ["items"]
    assert tn.tool(show).execute_sync({"page": {"items": [1]}}).value == 1


def test_an_attrs_class_is_made_from_an_object() -> None:
    attr = pytest.importorskip("attr")

    @attr.define
    class Point:
        x: int
        y: int = 2

    def plot(point: Point) -> int:
        return point.x + point.y

    schema = property_of(plot, "point")
    assert (list(schema["properties"]), schema["required"]) == (["x", "y"], ["x"])
    assert tn.tool(plot).execute_sync({"point": {"x": 1}}).value == 3


def test_a_literal_string_is_a_string() -> None:
    def query(sql: LiteralString) -> str:
        return sql

    assert property_of(query, "sql") == {"type": "string"}


Tangled = Union[dict[str, "Tangled"], list["Tangled"], str]  # noqa: UP007


def test_an_alias_that_names_itself_is_refused_with_the_way_out() -> None:
    def keep(value: Tangled) -> None:
        """Keep it."""

    with pytest.raises(SignatureError, match="needs a name: write it as Json = "):
        tn.tool(keep)


class Desk:
    Unit = Literal["C", "F"]

    def list(self) -> str:
        return "hides the builtin"

    def convert(self, unit: Unit, values: list[int]) -> str:
        return unit * len(values)


def test_a_method_may_use_the_names_of_its_class_body() -> None:
    schema = tn.tool(Desk().convert).input_schema["properties"]
    assert schema["unit"]["enum"] == ["C", "F"]
    assert schema["values"] == {"type": "array", "items": {"type": "integer"}}


def test_star_arguments_may_be_an_unpacked_tuple() -> None:
    def locate(*where: *tuple[float, str]) -> str:
        return f"{where[0]} {where[1]}"

    assert property_of(locate, "where")["prefixItems"] == [{"type": "number"}, {"type": "string"}]
    assert tn.tool(locate).execute_sync({"where": [1.5, "N"]}).output == "1.5 N"


@pytest.mark.skipif(sys.version_info < (3, 12), reason="PEP 695 is Python 3.12's")
def test_type_parameters_come_before_globals_of_the_same_name() -> None:
    names: dict[str, Any] = {}
    source = (
        "from __future__ import annotations\n"
        "T = ['not a type']\n"
        "type Pair[X] = tuple[X, X]\n"
        "def both[T: int](pair: Pair[T], more: list[T]) -> T: return pair[0]\n"
        "class Box[T]:\n"
        "    def put[S: (int, str)](self, item: S) -> S: return item\n"
    )
    exec(source, names)
    assert property_of(names["both"], "more") == {"type": "array", "items": {"type": "integer"}}
    assert property_of(names["Box"]().put, "item") == {"anyOf": [{"type": "integer"}, {"type": "string"}]}


def test_limits_and_digits_read_as_one_sentence() -> None:
    def order(amount: Decimal, count: Annotated[int, Field(ge=0, lt=10)] = 1) -> None:
        """Order it."""

    assert said(order, amount="much", count=10) == (
        "order was not run, 2 things do not fit:\n"
        '- amount must be a number or digits in a string like "12.50", but got "much"\n'
        "- count must be an integer of at least 0 and less than 10, but got 10"
    )


def test_a_recursive_type_is_described_once() -> None:
    @dataclass
    class Node:
        children: list[Node] = dataclasses.field(default_factory=list)

    def walk(node: Node | list[Node]) -> None:
        """Walk it."""

    assert said(walk, node=1) == (
        "walk was not run: node must be an object with children (optional) or an array whose items are an object, "
        "but got 1"
    )


def test_strict_mode_leaves_a_reference_alone_and_drops_words_it_does_not_know() -> None:
    class Tree(BaseModel):
        children: list[Tree]

    def grow(tree: Annotated[Tree, "the tree to grow"], key: SecretStr) -> None:
        """Grow it."""

    properties = tn.to_openai([tn.tool(grow)], strict=True)[0]["function"]["parameters"]["properties"]
    assert properties["tree"] == {"description": "the tree to grow", "anyOf": [{"$ref": "#/$defs/Tree"}]}
    assert properties["key"] == {"type": "string"}


class Mood(enum.StrEnum):
    CALM = "calm"


class Shout(str):
    def __str__(self) -> str:
        raise ValueError("no")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Mood.CALM, "calm"),
        (Shout("hi"), "hi"),
        (IPv4Address("192.0.2.1"), "192.0.2.1"),
        (Fraction(1, 3), "1/3"),
        (SecretStr("hidden"), "**********"),
        ([10**5000], '["an integer of 5001 digits"]'),
        (10**5000, "an integer of 5001 digits"),
    ],
    ids=["StrEnum", "a str of its own", "address", "fraction", "secret", "large integer in a list", "large integer"],
)
def test_results_are_plain_text(value: Any, text: str) -> None:
    def give() -> Any:
        return value

    output = tn.tool(give).execute_sync({}).output
    assert (type(output), output) == (str, text)


def test_a_generator_exit_of_a_tool_is_an_answer() -> None:
    def leave() -> None:
        raise GeneratorExit("gone")

    assert tn.tool(leave).execute_sync({}).output == "RuntimeError: GeneratorExit: gone"


def test_a_class_method_may_be_made_a_tool_on_either_side_of_the_decorator() -> None:
    class Shop:
        @classmethod
        @tn.tool
        def inner(cls, count: int) -> str:
            return cls.__name__ * count

        @tn.tool
        @classmethod
        def outer(cls, count: int) -> str:
            return cls.__name__ * count

    assert Shop.outer.execute_sync({"count": 2}).output == "ShopShop"
    if sys.version_info < (3, 13):  # from there on classmethod does not ask what it wraps
        assert Shop.inner.execute_sync({"count": 2}).output == "ShopShop"


def test_a_schema_that_is_no_dict_is_refused_in_words() -> None:
    with pytest.raises(TypeError, match="find: input_schema must be a dict, a JSON Schema, got str"):
        tn.native_tool("find", "Find it.", '{"type": "object"}', lambda arguments: "")  # type: ignore[arg-type]


def test_a_mutable_default_is_new_for_each_call() -> None:
    def collect(first: str, /, found: list[str] = ["start"], **more: int) -> list[str]:  # noqa: B006
        found.append(first)
        return found

    tool = tn.tool(collect)
    assert [tool.execute_sync({"first": "a"}).value for _ in range(2)] == [["start", "a"]] * 2
    assert tool.input_schema["properties"]["found"]["default"] == ["start"]

"""Whatever a function returns: text for the model, parts for pictures, the object itself for the person."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import json
import math
import pathlib
import uuid
from typing import Any

import pytest
from pydantic import BaseModel

import toolnexus_nb as tn
from toolnexus_nb.tools import rendering
from toolnexus_nb.tools.results import ResultPart, to_result


@dataclasses.dataclass
class Point:
    x: int
    y: object = None


class Model(BaseModel):
    when: datetime.date


class Color(enum.Enum):
    RED = "red"


class ForModels:
    def _repr_llm_(self) -> str:
        return "for the model"

    def _repr_markdown_(self) -> str:
        return "for people"


class Plain:
    pass


class BrokenRepr:
    def __repr__(self) -> str:
        raise ValueError("no")


class BrokenMarkdown:
    def _repr_markdown_(self) -> str:
        raise KeyError("x")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("s", "s"),
        (None, "null"),
        (5, "5"),
        (1.5, "1.5"),
        (True, "true"),
        ([1, "é"], '[1, "é"]'),
        ({"a": 1}, '{"a": 1}'),
        (math.nan, "null"),
        ([math.inf, 1], "[null, 1]"),
        ({3, 1, 2}, "[1, 2, 3]"),
        (frozenset("ba"), '["a", "b"]'),
        (b"hi", "hi"),
        (b"\x00\xff", "2 bytes, starting 00 ff"),
        (range(3), "[0, 1, 2]"),
        ((n * n for n in range(3)), "[0, 1, 4]"),
        (iter([1, 2]), "[1, 2]"),
        (map(str, [1]), '["1"]'),
        (datetime.date(2026, 5, 1), "2026-05-01"),
        (datetime.datetime(2026, 5, 1, 3), "2026-05-01T03:00:00"),
        (decimal.Decimal("1.50"), "1.50"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (pathlib.PurePosixPath("/x"), "/x"),
        (Point(1), '{"x": 1, "y": null}'),
        (Model(when=datetime.date(2026, 5, 1)), '{"when": "2026-05-01"}'),
        (Color.RED, "red"),
        ({Color.RED: 1, (1, 2): 2, None: 3}, '{"red": 1, "[1, 2]": 2, "null": 3}'),
        (collections.Counter("aab"), '{"a": 2, "b": 1}'),
        (collections.deque([1]), "[1]"),
        (ForModels(), "for the model"),
        ([ForModels()], '["for the model"]'),
        (Plain(), "a Plain object"),
        (BrokenRepr(), "a BrokenRepr object (its repr fails: ValueError)"),
        ("\ud83d lone", "\ufffd lone"),
        ("\ud83d\ude00", "😀"),
        (len, "len"),
        (Point, "Point"),
        (json, "module json"),
    ],
)
def test_a_value_as_text_for_a_model(value, text):
    result = tn.tool(lambda: value, name="give").execute_sync()
    assert (result.output, result.is_error) == (text, False)
    assert result.value is value or isinstance(value, float)


def test_an_object_whose_own_markdown_fails_is_named_with_the_reason():
    assert "could not be written in full: KeyError" in to_result(BrokenMarkdown()).output


def test_cycles_and_repeated_structures_end():
    cycle: list[Any] = []
    cycle.append(cycle)
    assert to_result(cycle).output == '["…"]'
    doubled: list[Any] = [1]
    for _ in range(60):
        doubled = [doubled, doubled]
    assert len(to_result(doubled).output) < rendering.LONGEST + 200


def test_long_results_are_cut_with_a_note_of_how_much():
    output = to_result("x" * 50_000).output
    assert "[30000 of 50000 characters cut]" in output
    assert len(output) < rendering.LONGEST + 100


def test_an_endless_generator_expression_ends():
    import itertools

    assert to_result(n for n in itertools.count()).output.endswith('"… (only the first 10000 items)"]')


def test_a_tool_result_passes_through():
    made = tn.ToolResult("text", is_error=True, metadata={"a": 1})
    result = tn.tool(lambda: made, name="give").execute_sync()
    assert result is made


def test_frames_show_shape_types_and_a_bounded_table():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"n": range(50), "name": ["x"] * 50})
    result = to_result(frame)
    assert result.output.startswith("DataFrame with 50 rows and 2 columns: n (int64), name (")
    assert result.output.endswith("… 30 more rows")
    assert result.value is frame
    assert to_result(pandas.Series([1, 2], name="s")).output.startswith("Series named s with 2 values (int64)")
    assert to_result({"frame": frame.head(1)}).output.startswith('{"frame": "DataFrame with 1 rows')
    assert [to_result(one).output for one in (pandas.NaT, pandas.NA)] == ["null", "null"]


def test_arrays_and_numpy_scalars():
    numpy = pytest.importorskip("numpy")
    assert to_result(numpy.arange(3)).output == "array of shape (3,), int64: [0, 1, 2]"
    large = to_result(numpy.arange(1000.0)).output
    assert large.startswith("array of shape (1000,), float64; min 0, max 999, mean 499.5")
    assert len(large) < 300
    scalars = [numpy.float32(1.5), numpy.int64(3), numpy.bool_(True), numpy.array(5)]
    assert [to_result(one).output for one in scalars] == ["1.5", "3", "true", "5"]
    assert to_result({"a": numpy.int64(1), "b": numpy.nan}).output == '{"a": 1, "b": null}'


class Tensor:
    """What torch and jax arrays have in common."""

    def __init__(self, values: list[float]) -> None:
        self.values, self.shape, self.dtype = values, (len(values),), "float32"

    def tolist(self) -> list[float]:
        return self.values

    def __repr__(self) -> str:
        return "tensor([...])"


def test_arrays_of_other_libraries_are_read_as_arrays():
    assert to_result(Tensor([1.0, 2.0])).output == "Tensor of shape (2,), float32: [1.0, 2.0]"
    assert to_result(Tensor([0.0] * 500)).output == "Tensor of shape (500,), float32\ntensor([...])"


def test_figures_and_images_become_parts_with_a_short_text():
    figure_module = pytest.importorskip("matplotlib.figure")
    image_module = pytest.importorskip("PIL.Image")
    figure = figure_module.Figure()
    figure.subplots().set_title("Rain")
    result = to_result(figure)
    assert result.output == "a figure with 1 axes: Rain"
    assert [(part.kind, part.mime_type) for part in result.parts] == [("image", "image/png")]
    assert result.parts[0].data is not None
    assert result.parts[0].data.startswith(b"\x89PNG")
    image = image_module.new("RGB", (3, 2))
    assert to_result(image).output == "an image of 3 × 2 pixels"
    both = to_result([figure, "and text", image])
    assert (len(both.parts), both.output.splitlines()[1]) == (2, "and text")
    assert to_result({"plot": figure}).output == "plot: a figure with 1 axes: Rain"


def test_a_part_given_back_by_a_tool_is_kept():
    part = ResultPart("audio", "audio/wav", b"RIFF", name="a.wav")
    result = to_result([part, "said"])
    assert result.parts == [part]
    assert result.output == "[audio a.wav audio/wav, 4 bytes]\nsaid"

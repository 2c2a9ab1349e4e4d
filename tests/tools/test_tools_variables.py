"""Live objects are passed by the name of the variable that holds them."""

# Optional, Union, quotes and mutable defaults are what notebooks hold, so they are what is tested.
# ruff: noqa: UP037, UP045

from __future__ import annotations

import os
from typing import Any, Optional

import pytest

import toolnexus_nb as tn


class Robot:
    """Nothing JSON could say."""


ROBOT = Robot()
NAMESPACE: dict[str, Any] = {
    "rob": ROBOT,
    "_hidden": Robot(),
    "os": os,
    "count": 3,
    "Robot": Robot,
    "In": [],
    "get_ipython": 1,
}


def run(function: Any, **arguments: Any) -> tn.ToolResult:
    return tn.tool(function).execute_sync(arguments, tn.ToolContext(namespace=lambda: NAMESPACE))


def move(robot: Robot, steps: int = 1, helpers: Optional[list[Robot]] = None) -> Any:
    """Move a robot.

    Args:
        robot: Which one.
    """
    return robot, helpers


def test_the_schema_is_a_string_that_says_so():
    properties = tn.tool(move).input_schema["properties"]
    assert properties["robot"] == {
        "type": "string",
        "description": "Which one. Name of a notebook variable that holds a Robot.",
    }
    assert properties["helpers"]["items"]["type"] == "string"


def test_the_object_itself_arrives():
    assert run(move, robot="rob", helpers=["rob"]).value == (ROBOT, [ROBOT])


@pytest.mark.parametrize("name", ["bob", "_hidden", "os", "count", "Robot", "In", "__builtins__", "rob.x"])
def test_a_wrong_name_is_answered_with_the_right_ones(name):
    result = run(move, robot=name)
    assert result.is_error
    assert "there is: rob)" in result.output
    assert "_hidden" not in result.output.partition("(there is")[2]


def test_a_near_name_is_guessed_aloud():
    assert "did you mean rob?" in run(move, robot="robb").output


def test_a_variable_of_another_kind_is_told():
    assert "count is an int, not a Robot" in run(move, robot="count").output


def test_python_may_pass_the_object_itself():
    assert run(move, robot=ROBOT).value[0] is ROBOT


def test_frames_and_arrays_are_live_objects():
    pandas = pytest.importorskip("pandas")
    numpy = pytest.importorskip("numpy")
    NAMESPACE["df"], NAMESPACE["arr"] = pandas.DataFrame({"a": [1]}), numpy.arange(3)

    def shape(frame: pandas.DataFrame, array: "numpy.ndarray | None" = None) -> Any:
        return frame.shape, array is not None and array.shape

    assert run(shape, frame="df", array="arr").value == ((1, 1), (3,))
    assert "an ndarray" in tn.tool(shape).input_schema["properties"]["array"]["description"]


def test_the_context_looks_variables_up_too():
    def read(name: str, context: tn.ToolContext) -> Any:
        return context.variable(name)

    assert run(read, name="count").value == 3
    assert "NameError: there is no variable 'cont', did you mean count?" in run(read, name="cont").output


def test_without_a_namespace_the_main_module_is_looked_at(monkeypatch):
    import __main__

    monkeypatch.setattr(__main__, "main_robot", ROBOT, raising=False)
    assert tn.tool(move).execute_sync({"robot": "main_robot"}).value[0] is ROBOT

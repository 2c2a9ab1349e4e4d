"""Each piece of a schema knows the line it came from."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

import toolnexus_nb as tn
from toolnexus_nb.tools.provenance import Provenance


@tn.tool
def forecast(
    city: str,
    days: Annotated[int, Field(ge=1, le=14)] = 3,
    unit: str = "C",  # Celsius or Fahrenheit
    note: Annotated[str, "what to add"] = "",
) -> str:
    """Weather ahead.

    Args:
        city: Name of the city.
        days: How many days.
    """
    return city


def line_of(entry: Provenance) -> str:
    assert entry.line is not None
    return forecast.source_text.splitlines()[entry.line - 1].strip()


def entries(parameter: str) -> dict[str, Provenance]:
    return {entry.part: entry for entry in forecast.provenance if entry.parameter == parameter}


def test_the_tools_own_name_and_description():
    own = entries("")
    assert line_of(own["name"]) == "def forecast("
    assert (own["description"].source, line_of(own["description"])) == ("docstring", '"""Weather ahead.')


def test_types_defaults_and_required_come_from_the_signature():
    assert (entries("city")["type"].text, line_of(entries("city")["type"])) == ("str", "city: str,")
    assert line_of(entries("city")["required"]) == "city: str,"
    assert "default" not in entries("city")
    assert (entries("days")["default"].text, line_of(entries("days")["default"])) == (
        "3",
        "days: Annotated[int, Field(ge=1, le=14)] = 3,",
    )


def test_texts_come_from_docstring_comment_or_annotation():
    found = {
        name: (entries(name)["description"].source, line_of(entries(name)["description"]))
        for name in ("city", "unit", "note")
    }
    assert found == {
        "city": ("docstring", "city: Name of the city."),
        "unit": ("comment", 'unit: str = "C",  # Celsius or Fahrenheit'),
        "note": ("annotation", 'note: Annotated[str, "what to add"] = "",'),
    }


def test_limits_name_themselves():
    assert entries("days")["limits"].text == "minimum 1, maximum 14"
    assert entries("days")["limits"].source == "annotation"


def test_docstring_types_are_traced_to_the_docstring():
    def f(x):
        """F.

        Parameters
        ----------
        x : int
            The x.
        """

    tool = tn.tool(f)
    found = {entry.part: entry for entry in tool.provenance if entry.parameter == "x"}
    assert found["type"].source == "docstring"
    assert tool.source_text.splitlines()[(found["type"].line or 0) - 1].strip() == "x : int"


def test_what_was_said_to_the_decorator_is_an_argument():
    tool = tn.tool(lambda x: x, name="same", description="Gives it back.")
    assert [(entry.part, entry.source) for entry in tool.provenance if not entry.parameter] == [
        ("name", "argument"),
        ("description", "argument"),
    ]


def test_a_hand_written_schema_has_no_provenance_and_no_source_is_no_error():
    assert tn.native_tool("f", "", None, lambda args: 1).provenance == []
    names: dict[str, object] = {}
    exec("def f(x: int = 1): 'F.'", names)
    assert [entry.line for entry in tn.tool(names["f"]).provenance] == [None] * 4
    assert tn.tool(names["f"]).source_text == ""

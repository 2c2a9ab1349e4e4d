"""What the tests of the models share: two tools, and the measuring rules."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from toolnexus_nb.models.rehearsal.planner import Plan, plan

TODAY = date(2026, 11, 30)


@pytest.fixture(scope="session")
def measuring() -> ModuleType:
    """measuring.py of this folder (it is a script, too)."""
    spec = importlib.util.spec_from_file_location("rehearsal_measuring", Path(__file__).with_name("measuring.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def definition(
    name: str, description: str, required: list[str] | None = None, **properties: dict[str, Any]
) -> dict[str, Any]:
    """A tool definition as a request holds it."""
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
    }
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


NUMBER, TEXT, INTEGER = {"type": "number"}, {"type": "string"}, {"type": "integer"}
TOOLS = {
    "add": definition("add", "Add two numbers.", a=NUMBER, b=NUMBER),
    "subtract": definition("subtract", "Subtract b from a.", a=NUMBER, b=NUMBER),
    "multiply": definition("multiply", "Multiply two numbers.", a=NUMBER, b=NUMBER),
    "get_weather": definition(
        "get_weather",
        "Current weather for a city.",
        ["city"],
        city=TEXT,
        unit={"type": "string", "enum": ["celsius", "fahrenheit"]},
    ),
    "capital_city": definition("capital_city", "Capital city of a country.", country=TEXT),
    "book_hotel": definition(
        "book_hotel", "Book a hotel room.", city=TEXT, nights={"type": "integer", "description": "Number of nights"}
    ),
    "translate": definition("translate", "Translate a text into another language.", text=TEXT, target_language=TEXT),
}


class Rehearsal:
    """A conversation with the planner, tools answered by a function of (name, arguments)."""

    def __init__(self, *names: str, answer: Callable[[str, dict[str, Any]], str] | None = None, **params: Any) -> None:
        self.tools = [TOOLS[name] for name in names]
        self.answer = answer or (lambda name, arguments: "done")
        self.messages: list[dict[str, Any]] = []
        self.params = params
        self.rounds: list[Plan] = []

    def move(self) -> Plan:
        """The planner's next message."""
        return plan({"messages": self.messages, "tools": self.tools, **self.params}, TODAY)

    def ask(self, prompt: str) -> str:
        """Ask and run the rounds; gives the answer. `rounds` keeps every plan of this question."""
        self.messages.append({"role": "user", "content": prompt})
        self.rounds = []
        for _ in range(8):
            made = self.move()
            self.rounds.append(made)
            if not made.calls:
                self.messages.append({"role": "assistant", "content": made.text})
                return made.text
            ids = [f"c{len(self.messages)}{at}" for at in range(len(made.calls))]
            entries = [
                {
                    "id": id_,
                    "type": "function",
                    "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
                }
                for id_, call in zip(ids, made.calls, strict=True)
            ]
            self.messages.append({"role": "assistant", "content": None, "tool_calls": entries})
            for id_, call in zip(ids, made.calls, strict=True):
                self.messages.append(
                    {"role": "tool", "tool_call_id": id_, "content": self.answer(call.name, call.arguments)}
                )
        raise AssertionError("no answer after eight rounds")

    def calls(self) -> list[list[tuple[str, dict[str, Any]]]]:
        """The calls of the last question, round by round."""
        return [[(call.name, call.arguments) for call in made.calls] for made in self.rounds if made.calls]


@pytest.fixture
def rehearsal() -> type[Rehearsal]:
    return Rehearsal


@pytest.fixture
def toolkit() -> Any:
    """A toolkit of add and get_weather, real functions."""
    from toolnexus_nb.tools.toolkit import Toolkit

    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    def get_weather(city: str) -> str:
        """Current weather for a city."""
        return f"sunny in {city}"

    return Toolkit([add, get_weather])


PROMPT = "What is 17 plus 25, and what is the weather in Oslo?"


@pytest.fixture
def prompt() -> str:
    """A question that needs both tools of `toolkit`."""
    return PROMPT

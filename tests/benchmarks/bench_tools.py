"""How fast tools are made, sent and run. `python tests/benchmarks/bench_tools.py` prints a table.

The schema of each function is built cold: every function, class and docstring is new, imports are warm. pydantic-ai and
chatlas, if installed, build the same functions in the same process; the ratio is ours to theirs (below 1 is faster).
"""

from __future__ import annotations

import asyncio
import json
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import toolnexus_nb as tn

SOURCE = '''
import dataclasses
from typing import Literal, Optional
from pydantic import BaseModel

def forecast_{n}(city: str, days: int = 3, unit: Literal["C", "F"] = "C") -> str:
    """Get the weather {n}.

    Args:
        city: The city.
        days: How many days.
        unit: Celsius or Fahrenheit.
    """
    return city

class Order_{n}(BaseModel):
    item: str
    count: int = 1

def save_{n}(order: Order_{n}, tags: list[str], note: Optional[str] = None) -> str:
    """Save an order {n}.

    :param order: the order
    :param tags: its tags
    :param note: a note
    """
    return order.item

@dataclasses.dataclass
class Point_{n}:
    x: float
    y: float

def scale_{n}(point: Point_{n}, factor: float = 1.0) -> float:
    """Scale a point {n}.

    Parameters
    ----------
    point : Point
        The point.
    factor : float
        How much.
    """
    return point.x * factor
'''
KINDS = ("forecast", "save", "scale")
ROUNDS = 30
TEXT = '{"a": 1, "b": "z"}'


def functions(first: int) -> list[Callable[..., Any]]:
    """ROUNDS new functions of each kind."""
    names: dict[str, Any] = {}
    for n in range(first, first + ROUNDS):
        exec(compile(SOURCE.replace("{n}", str(n)), "<bench>", "exec", dont_inherit=True), names)
    return [names[f"{kind}_{n}"] for n in range(first, first + ROUNDS) for kind in KINDS]


def ours(function: Callable[..., Any]) -> Any:
    return tn.tool(function).input_schema


def builders() -> dict[str, Callable[[Callable[..., Any]], Any]]:
    """Schema builders by name: ours and those of the installed peers."""
    found = {"toolnexus_nb": ours}
    try:
        from pydantic_ai import Tool

        found["pydantic-ai"] = lambda function: Tool(function).tool_def.parameters_json_schema
    except ImportError:
        pass  # not installed: nothing to compare with
    try:
        from chatlas._tools import Tool as ChatlasTool

        found["chatlas"] = lambda function: ChatlasTool.from_func(function).schema
    except ImportError:
        pass  # as above
    return found


def schema_times() -> dict[str, float]:
    """Median microseconds for one cold schema, by builder, measured in turns so that all see the same machine."""
    times: dict[str, list[float]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for turn in range(3):
            for index, (name, build) in enumerate(builders().items()):
                fresh = functions((turn * 10 + index) * ROUNDS)
                for function in fresh[: len(KINDS)]:
                    build(function)  # imports and first-time work
                for function in fresh[len(KINDS) :]:
                    started = time.perf_counter()
                    build(function)
                    times.setdefault(name, []).append((time.perf_counter() - started) * 1e6)
    return {name: statistics.median(found) for name, found in times.items()}


def sending_time() -> float:
    """Best milliseconds for to_openai of 1,000 tools whose entries are cached."""
    names: dict[str, Any] = {}
    for n in range(1000):
        exec(f"def tool_{n}(city: str, days: int = 3):\n    'Does thing {n}.'", names)
    toolkit = tn.Toolkit(value for key, value in names.items() if key.startswith("tool_"))
    toolkit.to_openai()
    return best(toolkit.to_openai, 20) * 1e3


def running_time(arguments: Any) -> float:
    """Best average microseconds of one `execute` of a trivial async tool, validation included."""

    @tn.tool
    async def trivial(a: int, b: str = "x") -> str:
        return b

    async def many() -> float:
        started = time.perf_counter()
        for _ in range(1000):
            await trivial.execute(arguments)
        return (time.perf_counter() - started) / 1000

    return min(asyncio.run(many()) for _ in range(5)) * 1e6


def linting_time() -> float:
    """Best milliseconds for lint of 100 tools."""
    toolkit = tn.Toolkit(functions(9000))
    return best(lambda: tn.lint(toolkit), 5) * 1e3


def best(work: Callable[[], Any], times: int) -> float:
    def once() -> float:
        started = time.perf_counter()
        work()
        return time.perf_counter() - started

    return min(once() for _ in range(times))


def bare_time() -> float:
    """Best average microseconds of what no `execute` can do without: pydantic's check of two values and an await."""
    from pydantic import TypeAdapter

    async def trivial(a: int, b: str = "x") -> str:
        return b

    integer, text = TypeAdapter(int), TypeAdapter(str)

    async def many() -> float:
        started = time.perf_counter()
        for _ in range(1000):
            await trivial(a=integer.validate_python(1), b=text.validate_python("z"))
        return (time.perf_counter() - started) / 1000

    return min(asyncio.run(many()) for _ in range(5)) * 1e6


def copying_time() -> float:
    """Best milliseconds for copying 1,000 entries as `json` does, the plain way to give out fresh dicts."""
    entries = [*tn.to_openai([tn.tool(functions(8000)[0])]) * 1000]
    return best(lambda: json.loads(json.dumps(entries)), 5) * 1e3


def main() -> None:
    """Times in the machine's own units, so that a busy one changes them little: goals stand beside them."""
    times = schema_times()
    own = times["toolnexus_nb"]
    print("cold schema, median per function (goal: below both)")
    for name, value in times.items():
        print(f"  {name:14} {value:7.0f} µs   ratio {own / value:.2f}")
    sending, copying = sending_time(), copying_time()
    print(f"to_openai of 1,000 cached tools   {sending:7.2f} ms   {sending / copying:.2f} of a JSON copy (goal 5 ms)")
    bare = bare_time()
    for name, arguments in (("a dict", {"a": 1, "b": "z"}), ("text", TEXT)):
        running = running_time(arguments)
        told = f"{running / bare:.1f} times checking and awaiting alone (goal 60 µs)"
        print(f"execute, arguments as {name:12}{running:7.1f} µs   {told}")
    print(f"lint of {3 * ROUNDS} tools                  {linting_time():7.1f} ms")


if __name__ == "__main__":
    main()

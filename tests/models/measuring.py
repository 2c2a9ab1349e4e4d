"""How often the rehearsal model is right: the rules by which prompts are scored, for the tests and for people.

python tests/models/measuring.py                     the prompts of this repository
python tests/models/measuring.py bfcl [odd|even]     the public BFCL questions (pip install --no-deps bfcl-eval)
python tests/models/measuring.py bfcl odd -v         each miss in a line
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from toolnexus_nb.models.rehearsal.planner import PlannedCall, plan

PROMPTS = Path(__file__).parent / "prompts"
TODAY = date(2026, 11, 30)
CATEGORIES = ("simple_python", "multiple", "parallel", "irrelevance")
INSTALL = "pip install --no-deps bfcl-eval"


@dataclass(frozen=True)
class Case:
    """A prompt, its tools, and the calls that count as right: for each parameter the values that do."""

    id: str
    prompt: str
    tools: list[dict[str, Any]]
    right: list[tuple[str, dict[str, list[Any]]]]
    optional: str = ""


def calls_for(case: Case) -> tuple[PlannedCall, ...]:
    """The first round of calls the planner makes."""
    return plan({"messages": [{"role": "user", "content": case.prompt}], "tools": case.tools}, TODAY).calls


# --- scoring


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return re.sub(r"[\s,./_*^()'\"-]+", "", value).lower()
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return round(float(value), 6)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return value


def fits(value: Any, accepted: list[Any]) -> bool:
    """Whether a value is one of those that count as right; objects are compared property by property, as BFCL does."""
    for one in accepted:
        if isinstance(value, Mapping) and isinstance(one, Mapping):
            if all(
                fits(value.get(key, ""), inner if isinstance(inner, list) else [inner]) for key, inner in one.items()
            ) and set(value) <= set(one):
                return True
        elif _plain(value) == _plain(one) and type(_plain(value)) is type(_plain(one)):
            return True
    return False


def call_is_right(call: PlannedCall, name: str, right: Mapping[str, list[Any]]) -> bool:
    """The right tool with the right arguments: every given value accepted, every one left out allowed to be."""
    if call.name != name or not set(call.arguments) <= set(right):
        return False
    return all(
        fits(call.arguments[key], accepted) if key in call.arguments else "" in accepted
        for key, accepted in right.items()
    )


def is_right(calls: tuple[PlannedCall, ...], case: Case) -> bool:
    """All calls right, in any order, none too many."""
    left = list(calls)
    for name, right in case.right:
        found = next((call for call in left if call_is_right(call, name, right)), None)
        if found is None:
            return False
        left.remove(found)
    return not left


def right_tools(calls: tuple[PlannedCall, ...], case: Case) -> bool:
    """The right tools as often as they should be called, whatever the arguments."""
    return sorted(call.name for call in calls) == sorted(name for name, _ in case.right)


# --- where cases come from


def own_cases(file: str) -> list[Case]:
    """The prompts of prompts/FILE.json."""
    sets = json.loads((PROMPTS / "tool_sets.json").read_text())
    rows = json.loads((PROMPTS / f"{file}.json").read_text())
    return [
        Case(
            f"{file}-{at}",
            row["prompt"],
            sets[row["tools"]],
            [(call["name"], _accepted(call["arguments"])) for call in row["calls"]],
        )
        for at, row in enumerate(rows)
    ]


def _accepted(arguments: Mapping[str, Any]) -> dict[str, list[Any]]:
    return {
        key: value["one_of"] if isinstance(value, Mapping) and "one_of" in value else [value]
        for key, value in arguments.items()
    }


def bfcl_folder() -> Path | None:
    """The data folder of the installed bfcl_eval, without importing the package; None when it is not installed."""
    spec = importlib.util.find_spec("bfcl_eval")
    return Path(str(spec.origin)).parent / "data" if spec is not None and spec.origin else None


def bfcl_cases(category: str, half: str | None = None) -> list[Case]:
    """The questions of a BFCL category; half "even" or "odd" by the number in the id."""
    folder = bfcl_folder()
    if folder is None:
        raise FileNotFoundError(INSTALL)
    answers = {}
    answered = folder / "possible_answer" / f"BFCL_v4_{category}.json"
    if answered.exists():
        answers = {row["id"]: row["ground_truth"] for row in _rows(answered)}
    cases = []
    for row in _rows(folder / f"BFCL_v4_{category}.json"):
        number = int(re.findall(r"\d+", row["id"])[-1])
        if half and number % 2 != (half == "odd"):
            continue
        right = [(name, dict(arguments)) for truth in answers.get(row["id"], []) for name, arguments in truth.items()]
        tools = [
            {"type": "function", "function": {**function, "parameters": json_schema(function["parameters"])}}
            for function in row["function"]
        ]
        cases.append(Case(row["id"], row["question"][0][-1]["content"], tools, right))
    return cases


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            yield json.loads(line)


_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": "string", "int": "integer"}


def json_schema(schema: Any) -> Any:
    """BFCL's Python types as JSON Schema's."""
    if isinstance(schema, list):
        return [json_schema(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: _TYPES.get(value, value) if key == "type" and isinstance(value, str) else json_schema(value)
        for key, value in schema.items()
    }


def score(cases: list[Case]) -> tuple[float, float, list[tuple[Case, tuple[PlannedCall, ...]]]]:
    """(share wholly right, share with the right tools, the misses)."""
    outcomes = [(case, calls_for(case)) for case in cases]
    misses = [(case, calls) for case, calls in outcomes if not is_right(calls, case)]
    tools = sum(right_tools(calls, case) for case, calls in outcomes)
    return 1 - len(misses) / len(cases), tools / len(cases), misses


def _report(title: str, cases: list[Case], verbose: bool) -> None:
    whole, tools, misses = score(cases)
    print(f"{title:32} {len(cases):4} prompts   wholly right {whole:6.1%}   right tools {tools:6.1%}")
    for case, calls in misses if verbose else ():
        print(f"  {case.id}: {case.prompt[:300]}")
        print(f"      made:  {[(call.name, call.arguments) for call in calls]}")
        print(f"      right: {case.right}")
        if not calls or not right_tools(calls, case):
            print(f"      tools: {[(t['function']['name'], t['function'].get('description')) for t in case.tools]}")


def main(words: list[str]) -> None:
    verbose = "-v" in words
    if "bfcl" in words:
        half = next((word for word in words if word in ("odd", "even")), "odd")
        for category in [word for word in words if word in CATEGORIES] or CATEGORIES:
            _report(f"BFCL {category} ({half} ids)", bfcl_cases(category, half), verbose)
    else:
        for file in [word for word in words if (PROMPTS / f"{word}.json").exists()] or ("held_out", "tuned"):
            if (PROMPTS / f"{file}.json").exists():
                _report(file, own_cases(file), verbose)


if __name__ == "__main__":
    main(sys.argv[1:])

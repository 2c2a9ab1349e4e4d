"""Exercises that check themselves: say which calls a run should have made, and tell the learner what it did instead.

    from toolnexus_nb.checks import expect_calls
    expect_calls([("get_weather", {"city": "Oslo"}), ("add", {"a": 17, "b": 25})], text="42", hints=["Ask for both."])

A check that fails raises `CheckFailed` (an AssertionError, so nbmake and pytest see it). Each time it fails in the same
way it shows one hint more. A check that passes says so in one line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .openai.types import ToolCall
    from .rounds.result import RunResult

__all__ = ["CheckFailed", "Passed", "expect", "expect_calls", "expect_no_findings"]

ExpectedCall = str | tuple[str, Mapping[str, Any]]

_failures: dict[tuple[str, ...], int] = {}
"""How often each check has failed in the same way in this kernel: decides how many hints are shown."""


class CheckFailed(AssertionError):
    """What differs from what the exercise asks for, one finding a line, and the hints earned so far."""

    def _render_traceback_(self) -> list[str]:
        return ["Not yet.", *str(self).splitlines()]


@dataclass(frozen=True)
class Passed:
    """A check that passed; shown as one line."""

    summary: str

    def __str__(self) -> str:
        return f"✓ {self.summary}"

    __repr__ = __str__


def expect_calls(
    expected: Iterable[ExpectedCall] = (),
    result: RunResult | None = None,
    *,
    order: str = "any",
    others: bool = False,
    counts: Mapping[str, int] | None = None,
    text: str | re.Pattern[str] | Sequence[str] | None = None,
    rounds: int | None = None,
    max_tokens: int | None = None,
    hints: Sequence[str] = (),
) -> Passed:
    """Check the calls of a run, the last one of this notebook unless `result` is given.

    `expected`: a tool's name, or (name, arguments). Of the arguments only those named are compared; a value may be a
    predicate (`lambda city: ...`), or `...` for any. Numbers compare as numbers, text without case and edges.
    `order`: "any" (one expectation, one call) or "given" (the calls came in this order).
    `others`: whether calls beside the expected ones are fine. `counts`: how often each tool was called.
    `text`: what the answer contains (all of them), or a compiled pattern. `rounds`: exactly so many.
    `max_tokens`: at most so many.
    `hints`: one more is shown each time the check fails in the same way.

    Raises CheckFailed with everything that differs; ValueError for an expectation that makes no sense.
    """
    if order not in ("any", "given"):
        raise ValueError(f'order is "any" or "given", not {order!r}.')
    wanted = [_expectation(item) for item in expected]
    run = result if result is not None else _last_run()
    calls = [record.call for record in run.calls]
    findings = _compare_calls(wanted, calls, in_order=order == "given", others=others or bool(counts))
    findings += _compare_counts(counts or {}, calls)
    findings += _compare_answer(run, text, rounds, max_tokens)
    _settle(findings, hints)
    done = ", ".join(_say_call(call) for call in calls) or "no tool was called"
    return Passed(f"{done}; {run.rounds} round{'s' * (run.rounds != 1)}")


def expect(condition: object, otherwise: str, *, hints: Sequence[str] = ()) -> Passed:
    """Check a condition of the learner's own; `otherwise` says what is the case if it does not hold.

    Raises CheckFailed with that sentence and the hints earned so far.
    """
    _settle([] if condition else [otherwise], hints)
    return Passed("right")


def expect_no_findings(tool: str, *, hints: Sequence[str] = ()) -> Passed:
    """Check that `lint` finds nothing in a registered tool.

    Raises CheckFailed with the findings, or if no tool of that name is registered.
    """
    from .notebook.session import session
    from .tools.linting import lint

    found = session().toolkit.get(tool)
    if found is None:
        raise CheckFailed(f"There is no tool {tool} yet. Define it in a cell that starts with %%toolnexus.")
    _settle([str(finding) for finding in lint(found)], hints)
    return Passed(f"nothing to mend in {tool}")


def _settle(findings: list[str], hints: Sequence[str]) -> None:
    """Raise CheckFailed if there are findings, with one hint more each time these very findings come again."""
    if not findings:
        return
    key = (*findings, *hints)
    seen = _failures[key] = _failures.get(key, 0) + 1
    told = [f"Hint {i}: {hint}" for i, hint in enumerate(hints[:seen], 1)]
    if len(hints) > seen:
        told.append("(Run the check again for another hint.)")
    raise CheckFailed("\n".join([*findings, *told]))


def _last_run() -> RunResult:
    from .notebook.session import session

    last = session().last
    if last is None:
        raise CheckFailed("Nothing was asked yet. Run a %%toolnexus ask cell first, then this check.")
    return last


def _expectation(item: ExpectedCall) -> tuple[str, Mapping[str, Any]]:
    if isinstance(item, str):
        return item, {}
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str) and isinstance(item[1], Mapping):
        return item
    raise ValueError(f'An expected call is a tool\'s name or (name, {{"argument": value}}), not {item!r}.')


def _compare_calls(
    wanted: list[tuple[str, Mapping[str, Any]]], calls: list[ToolCall], *, in_order: bool, others: bool
) -> list[str]:
    findings: list[str] = []
    left = list(calls)
    for tool, arguments in wanted:
        found = next((call for call in left if _fits(call, tool, arguments)), None)
        if found is None:
            findings.append(_why_missing(tool, arguments, left))
        elif in_order:
            del left[: left.index(found) + 1]
        else:
            left.remove(found)
    if in_order and not findings and not others and len(calls) > len(wanted):
        findings.append(f"Expected {len(wanted)} calls, but the model made {len(calls)}: {_say_calls(calls)}.")
    elif not in_order and not findings and left and not others:
        findings.append(f"The model also called {_say_calls(left)}, which was not asked for.")
    return findings


def _fits(call: ToolCall, tool: str, arguments: Mapping[str, Any]) -> bool:
    return call.function.name == tool and all(
        key in call.function.arguments and _same(value, call.function.arguments[key])
        for key, value in arguments.items()
    )


def _same(wanted: Any, got: Any) -> bool:
    if wanted is ...:
        return True
    if callable(wanted):
        try:
            return bool(wanted(got))
        except Exception:  # a predicate that cannot take the value does not hold for it
            return False
    if isinstance(wanted, str) and isinstance(got, str):
        return wanted.strip().casefold() == got.strip().casefold()
    if isinstance(wanted, Mapping) and isinstance(got, Mapping):
        return wanted.keys() == got.keys() and all(_same(wanted[key], got[key]) for key in wanted)
    if isinstance(wanted, list | tuple) and isinstance(got, list | tuple):
        return len(wanted) == len(got) and all(map(_same, wanted, got))
    return bool(wanted == got) and isinstance(wanted, bool) == isinstance(got, bool)


def _why_missing(tool: str, arguments: Mapping[str, Any], left: list[ToolCall]) -> str:
    same_tool = [call for call in left if call.function.name == tool]
    if same_tool:
        asked = f"{tool}({_say_arguments(arguments)})"
        return f"Expected {asked}, but the model called {_say_calls(same_tool)}."
    if left:
        return f"Expected a call of {tool}, but the model called {_say_calls(left)}."
    return f"Expected a call of {tool}, but the model made no further call."


def _compare_counts(counts: Mapping[str, int], calls: list[ToolCall]) -> list[str]:
    got = {tool: sum(call.function.name == tool for call in calls) for tool in counts}
    wrong = [(tool, n) for tool, n in counts.items() if got[tool] != n]
    return [f"Expected {n} calls of {tool}, but there were {got[tool]}." for tool, n in wrong]


def _compare_answer(
    run: RunResult, text: str | re.Pattern[str] | Sequence[str] | None, rounds: int | None, max_tokens: int | None
) -> list[str]:
    findings: list[str] = []
    if isinstance(text, re.Pattern):
        if not text.search(run.text):
            findings.append(f"The answer should match {text.pattern!r}, but it is: {_short(run.text)}")
    else:
        for part in [text] if isinstance(text, str) else text or ():
            if part.casefold() not in run.text.casefold():
                findings.append(f"The answer should contain {part!r}, but it is: {_short(run.text)}")
    if rounds is not None and run.rounds != rounds:
        findings.append(f"Expected {rounds} round{'s' * (rounds != 1)}, but it took {run.rounds}.")
    if max_tokens is not None and run.usage and run.usage.total_tokens > max_tokens:
        findings.append(f"At most {max_tokens} tokens, please; this run used {run.usage.total_tokens}.")
    return findings


def _say_arguments(arguments: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={_say_value(value)}" for key, value in arguments.items())


def _say_value(value: Any) -> str:
    if value is ...:
        return "anything"
    if isinstance(value, Callable):  # type: ignore[arg-type]
        return "something that fits"
    return json.dumps(value, ensure_ascii=False, default=str)


def _say_call(call: ToolCall) -> str:
    return f"{call.function.name}({_short(_say_arguments(call.function.arguments), 80)})"


def _say_calls(calls: list[ToolCall]) -> str:
    return ", then ".join(map(_say_call, calls)) or "nothing"


def _short(text: str, limit: int = 160) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"

"""Reckoning with tools that take two numbers: "(2 + 3) * 10" adds, then multiplies; "add 1, 2 and 3" adds twice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .choosing import Match
from .cues import companions
from .offers import Offer
from .reading import Reading, Token
from .step import Earlier, Step

_NAMED = {
    **dict.fromkeys(("add", "plus", "sum", "addition"), "+"),
    **dict.fromkeys(("subtract", "minus", "subtraction"), "-"),
    **dict.fromkeys(("multiply", "times", "product", "multiplication"), "*"),
    **dict.fromkeys(("divide", "division"), "/"),
    **dict.fromkeys(("power", "pow"), "^"),
}
_FILLERS = frozenset(["two", "numbers", "number", "values", "ints", "integers", "floats"])
_SIGNS = {
    "plus": "+",
    "minus": "-",
    "times": "*",
    "multiplied": "*",
    "x": "*",
    "divided": "/",
    "over": "/",
    "power": "^",
}
_SIGNS |= {sign: sign for sign in "+-*/^()"} | {"×": "*", "÷": "/", "−": "-"}
_BINDING = {"+": 1, "-": 1, "*": 2, "/": 2, "^": 3}


def operation(offer: Offer) -> str:
    """The sign of a tool that reckons with just two numbers, or ""."""
    words = [word for word in offer.name_words if word not in _FILLERS]
    numbers = [p for p in offer.parameters if p.kind in ("number", "integer")]
    if len(words) != 1 or len(numbers) != 2 or len(offer.required) != 2 or len(offer.parameters) != 2:
        return ""
    return _NAMED.get(words[0], "")


def written_sum(offers: list[Offer], reading: Reading) -> tuple[list[Step], Reading] | None:
    """The steps of a sum of several operations and the reading without it; None when none is written.

    No steps when a tool for one of its operations is missing: a part of a sum is a wrong answer.
    """
    tools = {operation(offer): offer for offer in reversed(offers)}
    tools.pop("", None)
    if not tools or any(p.kind == "string" and "expression" in p.words for o in offers for p in o.parameters):
        return None
    for begin, end in _runs(reading.tokens):
        postfix = _postfix(reading.tokens[begin:end])
        if postfix is None:
            continue
        steps: list[Step] = []
        if all(isinstance(part, int | float) or part in tools for part in postfix):
            stack: list[Any] = []
            for part in postfix:
                if not isinstance(part, str):
                    stack.append(part)
                    continue
                second, first = stack.pop(), stack.pop()
                steps.append(_step(tools[part], first, second))
                stack.append(Earlier(len(steps) - 1))
        rest = Reading(reading.text, [*reading.tokens[:begin], *reading.tokens[end:]])
        return steps, rest
    return None


def _step(offer: Offer, first: Any, second: Any) -> Step:
    names = [parameter.name for parameter in offer.parameters]
    if f"{names[0]} from" in offer.description:  # "Subtract a from b"
        names.reverse()
    return Step(offer, offer.ordered(dict(zip(names, (first, second), strict=True))))


def _runs(tokens: list[Token]) -> list[tuple[int, int]]:
    """The stretches of numbers and signs."""
    runs: list[tuple[int, int]] = []
    begin = 0
    for at in range(len(tokens) + 1):
        if at < len(tokens) and (_sign(tokens, at) or tokens[at].kind == "number" or _by(tokens, at)):
            continue
        if at > begin:
            runs.append((begin, at))
        begin = at + 1
    return runs


def _sign(tokens: list[Token], at: int) -> str:
    return _SIGNS.get(tokens[at].lower, "") if tokens[at].kind in ("word", "mark") else ""


def _by(tokens: list[Token], at: int) -> bool:
    """The "by" of "divided by"."""
    return tokens[at].lower == "by" and at > 0 and tokens[at - 1].lower in ("divided", "multiplied")


def _postfix(tokens: list[Token]) -> list[Any] | None:
    """Numbers and signs in the order of reckoning; None unless this is a sum of two operations or more."""
    out: list[Any] = []
    waiting: list[str] = []
    operand = False  # whether a number has just been read
    for at, token in enumerate(tokens):
        sign = _sign(tokens, at)
        if _by(tokens, at):
            continue
        if token.kind == "number" or sign == "(":
            if operand:
                return None
            out += [token.value] if not sign else []
            waiting += [sign] if sign else []
            operand = not sign
        elif not operand:
            return None
        elif sign == ")":
            while waiting and waiting[-1] != "(":
                out.append(waiting.pop())
            if not waiting:
                return None
            waiting.pop()
        else:
            while waiting and waiting[-1] != "(" and _BINDING[waiting[-1]] >= _BINDING[sign] and sign != "^":
                out.append(waiting.pop())
            waiting.append(sign)
            operand = False
    if not operand or "(" in waiting:
        return None
    out += reversed(waiting)
    return out if sum(isinstance(part, str) for part in out) > 1 else None


def goes_on(found: Match, earlier: Any) -> Step | None:
    """ "… then multiply by 3", "and subtract 1": with one number only, a sum goes on with the result before it."""
    if not operation(found.offer) or len(found.filled.missing) != 1 or len(found.filled.arguments) != 1:
        return None
    (value,) = found.filled.arguments.values()
    return replace(_step(found.offer, earlier, value), match=found)


def folded(found: Match, reading: Reading, at: int) -> list[Step]:
    """ "Add 1, 2 and 3" for a tool that takes two: each number after the second goes to the result so far."""
    offer = found.offer
    numbers = [position for position, token in enumerate(reading.tokens) if token.kind == "number"]
    if not operation(offer) or len(numbers) < 3:
        return []
    span = [token.lower for token in reading.tokens[numbers[1] : numbers[-1]]]
    listed = operation(offer) in ("+", "*") and companions(reading, numbers[0]) == numbers
    # "3 and 4, 5 and 12" are pairs; "divide 100 by 4, then by 5" goes on with the result.
    if not (listed and span.count("and") < 2) and not (len(numbers) == 3 and "then" in span):
        return []
    values = [reading.tokens[position].value for position in numbers]
    steps = [_step(offer, values[0], values[1])]
    for value in values[2:]:
        steps.append(_step(offer, Earlier(at + len(steps) - 1), value))
    return steps

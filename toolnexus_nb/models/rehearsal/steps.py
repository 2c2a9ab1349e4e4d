"""From a prompt to the calls it asks for: one, several side by side, or one that needs another's result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .choosing import THRESHOLD, Match, could_fit, rank
from .clauses import clauses
from .filling import Filled
from .frames import MOST_CALLS, several
from .lexicon import POINTING
from .offers import Offer, Parameter
from .reading import Reading
from .spelling import mended
from .step import Earlier, Step
from .sums import folded, goes_on, written_sum


def find_steps(offers: list[Offer], reading: Reading) -> list[Step]:
    """The calls a prompt asks for, in its order; empty when no tool fits."""
    steps: list[Step] = []
    reading = mended(reading, offers)
    reckoned = written_sum(offers, reading)
    if reckoned is not None:
        steps, reading = reckoned
        if not reading.tokens:
            return steps
    if not any(parameter.kind in ("array", "object") for offer in offers for parameter in offer.parameters):
        reading = reading.without_lists()
    for clause in clauses(offers, reading):
        found = clause.match
        if steps:
            lent = _shared(found, steps)
            if not lent.filled.missing and any(token.lower == "there" for token in clause.reading.tokens):
                found = lent
            follower = chained(found, clause.reading, steps)
            if follower is not None:
                steps.append(follower)
                continue
            follower = goes_on(found, Earlier(len(steps) - 1))
            if follower is not None:
                steps.append(follower)
                continue
            found = _shared(found, steps)
        nested = _nested(offers, found, clause.reading, len(steps))
        steps.extend(nested or folded(found, clause.reading, len(steps)) or spread(found, clause.reading))
    return _without_repeats(steps)[:MOST_CALLS]


def _without_repeats(steps: list[Step]) -> list[Step]:
    """Each step once; references to a step that is dropped go to the one that is kept."""
    kept: list[Step] = []
    place: list[int] = []
    for step in steps:
        arguments = {
            name: Earlier(place[value.step]) if isinstance(value, Earlier) else value
            for name, value in step.arguments.items()
        }
        same = [at for at, one in enumerate(kept) if one.offer.name == step.offer.name and one.arguments == arguments]
        place.append(same[0] if same else len(kept))
        if not same:
            kept.append(replace(step, arguments=arguments))
    return kept


def spread(found: Match, reading: Reading) -> list[Step]:
    """The steps one clause asks for: one, or several calls of its tool."""
    rows = several(found.offer, found.filled, reading)
    return [Step(found.offer, row, tuple(p for p in found.filled.missing if p.name not in row), found) for row in rows]


# --- one call inside another


def _nested(offers: list[Offer], outer: Match, reading: Reading, at: int) -> list[Step]:
    """ "The weather in the capital of France": an argument that is another tool's answer, spoken inside the clause."""
    chosen = outer
    for other in rank([offer for offer in offers if could_fit(offer, reading)], reading):
        if other.score < THRESHOLD or other.offer.name == chosen.offer.name:
            continue
        for outer, inner in ((chosen, other), (other, chosen)):
            parameter = _takes(outer, inner, reading) if not inner.filled.missing else None
            if parameter is not None:
                missing = tuple(p for p in outer.filled.missing if p is not parameter)
                first = spread(inner, reading)
                arguments = (
                    outer.offer.ordered({**outer.filled.arguments, parameter.name: Earlier(at + number)})
                    for number in range(len(first))
                )
                return [*first, *(Step(outer.offer, one, missing, outer) for one in arguments)]
    return []


def _takes(outer: Match, inner: Match, reading: Reading) -> Parameter | None:
    """The parameter of the outer tool that the inner one's words stand for, or None when they are not nested."""
    words = [token.text for token in reading.tokens]
    outside = [at for at, word in enumerate(words) if word in outer.heard and word not in inner.heard]
    inside = [at for at, word in enumerate(words) if word in inner.heard and word not in outer.heard]
    if not outside or not inside:
        return None
    used = inner.filled.used
    if not used:
        return None
    if max(outside) < min(inside):
        between = reading.tokens[max(outside) + 1 : min(inside)]
        own = min(used) > min(inside) or min(inside) - max(used) == 1
    else:
        between = reading.tokens[max(inside) + 1 : min(outside)] if max(inside) < min(outside) else []
        own = max(used) < min(inside) and min(inside) - max(used) == 1
    if not own or any(token.lower in ("and", ",", "then", "or") for token in between):
        return None
    lacking = [p for p in outer.filled.missing if p.kind in ("number", "integer", "string")]
    if len(lacking) == 1:
        return lacking[0]
    # Both would take the same value: it belongs to the words it stands with.
    linked = any(token.lower in ("of", "in", "is", "for", "at") for token in between) or max(inside) < min(outside)
    if lacking or not linked:
        return None
    return next(
        (p for p in outer.offer.required if outer.filled.sources.get(p.name) and outer.filled.sources[p.name] <= used),
        None,
    )


# --- one call after another


def points_back(reading: Reading) -> list[int]:
    """Positions of words that point at an earlier result: "the result", "it", "that", "there"."""
    places = []
    for at, token in enumerate(reading.tokens):
        before = reading.tokens[at - 1].lower if at else ""
        if token.kind == "word" and (
            token.lower in ("it", "that", "this", "them", "there")
            or (token.lower in POINTING and before in ("the", "this", "that", "its"))
        ):
            places.append(at)
    return places


def chained(found: Match, reading: Reading, steps: list[Step]) -> Step | None:
    """A step that takes the result of the one before, when the clause points back and an argument is open."""
    pointing = points_back(reading)
    filled = found.filled
    before = len(steps) - 1
    if not pointing:
        return None
    numbers = [parameter for parameter in found.offer.required if parameter.kind in ("number", "integer")]
    open_ = [parameter for parameter in filled.missing if parameter in numbers]
    if open_ and len(open_) == 1:
        places = {
            name: min(tokens) for name, tokens in filled.sources.items() if tokens and name in {p.name for p in numbers}
        }
        arguments = _placed(numbers, places, open_[0], pointing[-1], filled, Earlier(before), reading)
        return Step(found.offer, arguments, tuple(p for p in filled.missing if p is not open_[0]), found)
    for parameter in found.offer.required:
        taken = filled.sources.get(parameter.name, frozenset())
        weak = filled.scores.get(parameter.name, 0.0) <= 0.3
        if parameter.name not in filled.arguments or (
            parameter.kind in ("string", "array") and weak and taken & set(pointing)
        ):
            rest = tuple(p for p in filled.missing if p is not parameter)
            arguments = found.offer.ordered({**filled.arguments, parameter.name: Earlier(before)})
            return Step(found.offer, arguments, rest, found)
    return None


def _placed(
    numbers: list[Parameter],
    places: dict[str, int],
    open_: Parameter,
    pointing: int,
    filled: Filled,
    earlier: Earlier,
    reading: Reading,
) -> dict[str, Any]:
    """Numbers and the earlier result in the order they are spoken; "subtract 4 from it" turns them round."""
    named = any(filled.scores.get(name, 0.0) >= 1.5 for name in places)
    arguments: dict[str, Any] = {**filled.arguments, open_.name: earlier}
    if not named and len(numbers) == len(places) + 1:
        spoken = sorted(
            [(at, filled.arguments[name]) for name, at in places.items()] + [(pointing, earlier)],
            key=lambda pair: pair[0],
        )
        values = [value for _, value in spoken]
        if len(values) == 2 and any(t.lower == "from" for t in reading.tokens[spoken[0][0] : spoken[1][0]]):
            values.reverse()
        arguments.update({parameter.name: value for parameter, value in zip(numbers, values, strict=True)})
    return filled.offer.ordered(arguments)


def _shared(found: Match, steps: list[Step]) -> Match:
    """Arguments said once for two tools: "the median and the deviation of 2, 4, 5"."""
    filled = found.filled
    lent = {
        parameter.name: step.arguments[parameter.name]
        for step in steps
        for parameter in filled.missing
        if parameter.name in step.arguments and not isinstance(step.arguments[parameter.name], Earlier)
    }
    if not lent:
        return found
    again = replace_arguments(filled, lent)
    return replace(found, filled=again)


def replace_arguments(filled: Filled, more: dict[str, Any]) -> Filled:
    """The same filling with some arguments added."""
    return Filled(
        filled.offer,
        {**filled.arguments, **more},
        [parameter for parameter in filled.missing if parameter.name not in more],
        filled.sources,
        filled.scores,
    )

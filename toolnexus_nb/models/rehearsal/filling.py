"""Arguments for one call: every parameter is held against everything in the prompt, the surest pairs first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from .candidates import candidates
from .cues import respective
from .offers import Offer, Parameter
from .phrases import called, leftovers
from .reading import Reading
from .values import Candidate
from .words import kinship, stem

# An optional parameter is left alone unless something in the prompt speaks for it.
_OPTIONAL_NEEDS = 1.9
_FREE_TEXT = frozenset(("text", "query", "person", ""))


@dataclass
class Filled:
    """The arguments found for one tool, what is still missing, and the tokens each argument came from."""

    offer: Offer
    arguments: dict[str, Any] = field(default_factory=dict)
    missing: list[Parameter] = field(default_factory=list)
    sources: dict[str, frozenset[int]] = field(default_factory=dict)
    scores: dict[str, float] = field(default_factory=dict)

    @property
    def used(self) -> frozenset[int]:
        return frozenset(token for tokens in self.sources.values() for token in tokens)


def fill(offer: Offer, reading: Reading) -> Filled:
    """The arguments of a call to this tool, read from the prompt. Nothing is invented: what is not said is missing."""
    return reading.remembered("fill", offer, _fill)


def _fill(offer: Offer, reading: Reading) -> Filled:
    filled = Filled(offer)
    found: list[Candidate] = []
    for parameter in offer.parameters:
        found.extend(candidates(parameter, reading, offer))
        if parameter.kind == "string" and not parameter.choices and parameter.role in _FREE_TEXT:
            found.extend(called(parameter, reading))
    _assign(filled, _swapped(_respectively(found, offer, reading), offer, reading), offer)
    _objects(filled, offer, reading)
    _free_text(filled, offer, reading)
    _constants(filled, offer)
    filled.missing = [parameter for parameter in offer.required if parameter.name not in filled.arguments]
    filled.arguments = offer.ordered(filled.arguments)
    return filled


def _assign(filled: Filled, found: list[Candidate], offer: Offer) -> None:
    """Greedy: the surest candidate takes its parameter and its tokens. Among equals the order of speaking decides."""
    rank = {parameter.name: at for at, parameter in enumerate(offer.parameters)}
    used: set[int] = set(filled.used)
    while True:
        open_ = [
            one
            for one in found
            if one.parameter.name not in filled.arguments
            and not one.tokens & used
            and (one.score >= 0 if one.parameter.required else one.score >= _OPTIONAL_NEEDS)
        ]
        if not open_:
            return
        best = max(
            open_,
            key=lambda one: (
                round(one.score + (1.5 if one.parameter.required else 0.0), 3),
                -rank[one.parameter.name],
                -min(one.tokens, default=0),
            ),
        )
        filled.arguments[best.parameter.name] = best.value
        filled.sources[best.parameter.name] = best.tokens
        filled.scores[best.parameter.name] = best.score
        used |= best.tokens


def _respectively(found: list[Candidate], offer: Offer, reading: Reading) -> list[Candidate]:
    """Numbers that are listed after the names of their parameters go to them in that order."""
    right = respective(
        reading, [parameter for parameter in offer.parameters if parameter.kind in ("number", "integer")]
    )
    return [
        replace(one, score=one.score + 4) if one.tokens == {right.get(one.parameter.name)} else one for one in found
    ]


def _swapped(found: list[Candidate], offer: Offer, reading: Reading) -> list[Candidate]:
    """ "9 from 40": where a tool takes two numbers a and b as "a - b", the one after "from" comes first."""
    numbers = [
        parameter for parameter in offer.parameters if parameter.kind in ("number", "integer") and parameter.required
    ]
    if len(numbers) != 2:
        return found
    subtracts = any(kinship(s, stem("subtract")) >= 0.7 for s in offer.name_stems)
    # "Subtract b from a.": the description itself says which one is taken away.
    said = re.search(rf"\b({re.escape(numbers[0].name)}|{re.escape(numbers[1].name)})\s+from\b", offer.description)
    if not subtracts and said is None:
        return found
    places = [at for at, token in enumerate(reading.tokens) if token.kind == "number"]
    if len(places) != 2 or not any(token.lower == "from" for token in reading.tokens[places[0] : places[1]]):
        return found
    taken = said[1] if said else numbers[1].name
    rest = next(parameter.name for parameter in numbers if parameter.name != taken)
    right = {taken: places[0], rest: places[1]}
    return [one for one in found if one.parameter.name not in right or one.tokens == {right[one.parameter.name]}]


def _objects(filled: Filled, offer: Offer, reading: Reading) -> None:
    """Nested objects: their properties are filled like parameters, from what is left."""
    for parameter in offer.parameters:
        if parameter.kind != "object" or parameter.name in filled.arguments:
            continue
        for at, token in enumerate(reading.tokens):
            if token.kind == "list" and isinstance(token.value, dict):
                filled.arguments[parameter.name], filled.sources[parameter.name] = token.value, frozenset({at})
        if parameter.name in filled.arguments or not parameter.properties:
            continue
        inner = Filled(Offer(parameter.name, parameter.description, parameter.properties))
        free = [one for nested in parameter.properties for one in candidates(nested, reading, inner.offer)]
        _assign(inner, [one for one in free if not one.tokens & filled.used], inner.offer)
        complete = all(nested.name in inner.arguments for nested in parameter.properties if nested.required)
        if inner.arguments and complete:
            filled.arguments[parameter.name] = inner.arguments
            filled.sources[parameter.name] = inner.used


def _free_text(filled: Filled, offer: Offer, reading: Reading) -> None:
    """What is left of the prompt goes to the required strings that are still empty, in order."""
    for parameter in offer.parameters:
        longer = _longer(parameter, filled, offer, reading)
        if longer is not None:
            filled.arguments[parameter.name], filled.sources[parameter.name] = longer.value, longer.tokens
        if parameter.name in filled.arguments or not parameter.required or parameter.choices:
            continue
        text = parameter.kind == "string" and parameter.role in (*_FREE_TEXT, "place", "country")
        words = (
            parameter.kind == "array"
            and parameter.items is not None
            and parameter.items.kind == "string"
            and not parameter.items.choices
        )
        if not text and not words:
            continue
        # What named a choice may still be part of a text: "toys" is a category, and what is searched for.
        closed = {one.name for one in offer.parameters if one.choices} if parameter.role in ("text", "query") else set()
        taken = frozenset(at for name, tokens in filled.sources.items() if name not in closed for at in tokens)
        runs = leftovers(parameter, offer, reading, taken)
        if not runs and text and parameter.role in ("", "text"):
            numbers = [
                at for at, token in enumerate(reading.tokens) if token.kind == "number" and at not in filled.used
            ]
            runs = [Candidate(parameter, str(reading.tokens[at].value), frozenset({at}), 0.3) for at in numbers]
        if not runs:
            continue
        value: Any = runs[0].value
        if words:
            value = [part for part in re.split(r"\s*,\s*|\s+and\s+", str(value)) if part]
        filled.arguments[parameter.name] = value
        filled.sources[parameter.name] = runs[0].tokens
        filled.scores[parameter.name] = 0.3


def _longer(parameter: Parameter, filled: Filled, offer: Offer, reading: Reading) -> Candidate | None:
    """The phrase around a name that a text took for want of better: "call Ann" for "Ann"."""
    source = filled.sources.get(parameter.name)
    if parameter.role != "text" or not source or filled.scores.get(parameter.name, 9.0) >= 1.0:
        return None
    runs = leftovers(parameter, offer, reading, filled.used - source)
    return next((run for run in runs if source < run.tokens), None)


def _constants(filled: Filled, offer: Offer) -> None:
    """A required parameter with a single choice needs no words."""
    for parameter in offer.required:
        if parameter.name not in filled.arguments and len(parameter.choices) == 1:
            filled.arguments[parameter.name] = parameter.choices[0]


def missing_words(missing: list[Parameter]) -> Iterator[str]:
    """The missing parameters as words for a question: "from_currency" -> "from currency"."""
    for parameter in missing:
        yield " ".join(parameter.words)

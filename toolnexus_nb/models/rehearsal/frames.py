"""Several calls of one tool in one breath: "a circle of radius 5, another of 10", "Oslo on Monday and Rome on Friday".

Two ways to say it: values listed for a parameter (`spread`), or the same parameters filled again and again (`frames`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from .candidates import candidates
from .cues import VALUES, companions
from .filling import Filled, fill
from .lexicon import OPENERS, STOP
from .offers import Offer, Parameter
from .reading import Reading, Token
from .sums import operation
from .words import best_kin, stem

MOST_CALLS = 12
"""Calls planned for one prompt; a longer list is cut."""

LONGEST_LIST = 300
"""Tokens of a text in which repeated parameters are looked for."""
_SEAMS = frozenset(("and", "or", "plus", "then", "while", "another", "also", "but", "again"))


def several(offer: Offer, filled: Filled, reading: Reading) -> list[dict[str, Any]]:
    """The arguments of every call of this tool that the text asks for; one entry in the plain case."""
    rows, used = spread(offer, filled, reading)
    if len(reading.tokens) > LONGEST_LIST or not _idle(offer, reading, used):
        return rows
    return frames(offer, reading) or rows


def _idle(offer: Offer, reading: Reading, used: frozenset[int]) -> list[int]:
    """Values that no call took; names that only speak of the tool ("Present Value") are none."""
    return [
        at
        for at, token in enumerate(reading.tokens)
        if token.kind in VALUES
        and at not in used
        and not _speaks_of(offer, token.lower.split() if token.kind == "name" else [])
    ]


def _speaks_of(offer: Offer, words: list[str]) -> bool:
    return bool(words) and all(best_kin(stem(word), offer.told_stems | offer.parameter_stems) >= 0.7 for word in words)


# --- values listed for a parameter


def spread(offer: Offer, filled: Filled, reading: Reading) -> tuple[list[dict[str, Any]], frozenset[int]]:
    """One row of arguments for each value where several are listed and the tool takes one, and the tokens they took."""
    lists: dict[str, list[Any]] = {}
    used = set(filled.used)
    pairs = _pairs(offer, filled, reading) or _counted(offer, filled, reading) or _listed_texts(offer, filled, reading)
    if pairs is not None:
        return pairs
    for parameter in offer.parameters:
        if parameter.kind in ("array", "object", "boolean") or not filled.sources.get(parameter.name):
            continue
        found = list(_alternatives(parameter, filled, reading))
        if len(found) > 1:
            lists[parameter.name] = [value for value, _ in found]
            used.update(at for _, at in found)
    if not lists:
        return [dict(filled.arguments)], frozenset(used)
    pairwise = "respectively" in reading.lower_words and len({len(values) for values in lists.values()}) == 1
    combined = zip(*lists.values(), strict=True) if pairwise else itertools.product(*lists.values())
    rows = [
        offer.ordered({**filled.arguments, **dict(zip(lists, row, strict=True))})
        for row in itertools.islice(combined, MOST_CALLS)
    ]
    return rows, frozenset(used)


def _pairs(offer: Offer, filled: Filled, reading: Reading) -> tuple[list[dict[str, Any]], frozenset[int]] | None:
    """Values of one list that fill several parameters in turn: "3 and 4, 5 and 12" for a(x, y)."""
    takers = [p.name for p in offer.parameters if p.kind in ("number", "integer") and filled.sources.get(p.name)]
    if len(takers) < 2:
        return None
    first = min(min(filled.sources[name]) for name in takers)
    run = companions(reading, first)
    if (
        len(run) <= len(takers)
        or len(run) % len(takers)
        or not all(filled.sources[name] <= set(run) for name in takers)
    ):
        return None
    order = sorted(takers, key=lambda name: min(filled.sources[name]))
    values = [reading.tokens[at].value for at in run]
    rows = [
        offer.ordered({**filled.arguments, **dict(zip(order, values[at : at + len(order)], strict=True))})
        for at in range(0, len(values), len(order))
    ]
    return rows[:MOST_CALLS], filled.used | set(run)


def _counted(offer: Offer, filled: Filled, reading: Reading) -> tuple[list[dict[str, Any]], frozenset[int]] | None:
    """Things with their numbers: "2 apples and 3 pears" are two orders, and no 3 apples."""
    number = next((p.name for p in offer.parameters if p.kind == "integer" and filled.sources.get(p.name)), "")
    thing = next((p.name for p in offer.required if filled.scores.get(p.name, 1.0) < 0.5), "")
    if not number or not thing:
        return None
    run = companions(reading, min(filled.sources[number]))
    rows, used = [], set(filled.used)
    for at in run if len(run) > 1 else ():
        end = at + 1
        while (
            end < len(reading.tokens) and reading.tokens[end].kind == "word" and reading.tokens[end].lower not in STOP
        ):
            end += 1
        if end == at + 1:
            return None
        said = reading.text[reading.tokens[at + 1].start : reading.tokens[end - 1].end]
        rows.append(offer.ordered({**filled.arguments, number: reading.tokens[at].value, thing: said}))
        used.update(range(at, end))
    return (rows[:MOST_CALLS], frozenset(used)) if rows else None


def _listed_texts(offer: Offer, filled: Filled, reading: Reading) -> tuple[list[dict[str, Any]], frozenset[int]] | None:
    """Short texts in a row: "add milk, eggs and bread to my list" are three tasks."""
    name = next(
        (
            p.name
            for p in offer.required
            if p.role in ("text", "") and not p.choices and p.kind == "string" and filled.scores.get(p.name) == 0.3
        ),
        "",
    )
    source = filled.sources.get(name, frozenset())
    if not source:
        return None
    tokens = reading.tokens
    begin = end = min(source)
    while begin and _in_row(tokens[begin - 1]):
        begin -= 1
    while end < len(tokens) and _in_row(tokens[end]):
        end += 1
    lead = tokens[begin - 1] if begin else None
    if lead is not None and lead.lower in OPENERS - STOP and best_kin(lead.stem, offer.name_stems) < 0.7:
        return None  # "buy milk, eggs and bread" is one thing to do
    parts: list[list[int]] = [[]]
    for at in range(begin, end):
        if tokens[at].text in (",", "and"):
            parts.append([])
        else:
            parts[-1].append(at)
    parts = [part for part in parts if part]
    between = [token.text for token in tokens[begin:end]]
    if len(parts) < 3 or "," not in between or "and" not in between or any(len(part) > 3 for part in parts):
        return None
    rows = [
        offer.ordered({**filled.arguments, name: reading.text[tokens[part[0]].start : tokens[part[-1]].end]})
        for part in parts[:MOST_CALLS]
    ]
    return rows, filled.used | {at for part in parts for at in part}


def _in_row(token: Token) -> bool:
    """Whether a word may stand in a row of short texts: no verb that asks, no preposition."""
    return token.text in (",", "and") or token.kind == "name" or (_is_plain(token) and token.lower not in OPENERS)


def _is_plain(token: Token) -> bool:
    return token.kind == "word" and token.lower not in STOP


def _alternatives(parameter: Parameter, filled: Filled, reading: Reading) -> Iterator[tuple[Any, int]]:
    """The values said in one breath with the chosen one that no other argument took, with their positions."""
    source = filled.sources[parameter.name]
    chosen = filled.arguments[parameter.name]
    if parameter.choices:
        said = {
            one.value: min(one.tokens)
            for one in candidates(parameter, reading, filled.offer)
            if one.tokens and one.score >= 2
        }
        places = sorted((at, value) for value, at in said.items())
        if (
            chosen in said
            and len(said) > 1
            and all(_joined(reading, a, b) for (a, _), (b, _) in itertools.pairwise(places))
        ):
            yield from ((value, at) for at, value in places)
        return
    at = min(source)
    others = filled.used - source
    for position in companions(reading, at):
        if position == at:
            yield chosen, at
        elif position not in others and position not in source and _alike(reading.tokens[at], reading.tokens[position]):
            fitting = [
                one
                for one in candidates(parameter, reading, filled.offer)
                if min(one.tokens, default=-1) == position and one.score >= 0
            ]
            if fitting:
                yield fitting[0].value, position


_SIGNED = frozenset(("percent", "dollar", "euro", "pound_sterling", "yen"))


def _alike(one: Token, other: Token) -> bool:
    """Whether two values of a list measure the same: "5%" and "10" do not, "10, 20 and 30 years" do."""
    return one.unit == other.unit or not {one.unit, other.unit} & _SIGNED


def _joined(reading: Reading, one: int, other: int) -> bool:
    between = reading.tokens[min(one, other) + 1 : max(one, other)]
    return len(between) <= 4 and any(token.lower in ("and", ",", "or") for token in between)


# --- the same parameters filled again


def frames(offer: Offer, reading: Reading) -> list[dict[str, Any]]:
    """One row of arguments for each time the text begins anew with values for parameters that are already filled.

    What a later row does not say is taken from the one before it ("… then repeat with 10 seconds"); what the first does
    not say, from the last ("… all in meters").
    """
    seams = _seams(reading)
    groups: list[tuple[int, int]] = []
    start = 0
    for begin, end in itertools.pairwise(seams):
        if not any(token.kind in VALUES for token in reading.tokens[begin:end]):
            continue
        if begin > start and _begins_anew(offer, reading, start, begin, end):
            groups.append((start, begin))
            start = begin
    groups.append((start, len(reading.tokens)))
    if len(groups) < 2:
        return []
    rows = [_said(fill(offer, reading.slice(begin, end))) for begin, end in groups[:MOST_CALLS]]
    if operation(offer) and any(len(row) < len(offer.required) for row in rows[1:]):
        return []  # "divide 100 by 4, then by 5" goes on with a result; it takes no number from the first
    for before, row in itertools.pairwise(rows):
        row.update({name: value for name, value in before.items() if name not in row})
    for name, value in rows[-1].items():
        rows[0].setdefault(name, value)
    needed = {parameter.name for parameter in offer.required}
    complete = [offer.ordered(row) for row in rows if needed <= set(row)]
    return complete if len(complete) == len(rows) else []


def _seams(reading: Reading) -> list[int]:
    """Positions where one piece may end and the next begin."""
    inside = [
        at
        for at, token in enumerate(reading.tokens)
        if at and ((token.kind == "mark" and token.text in ",;.?!") or (token.kind == "word" and token.lower in _SEAMS))
    ]
    return [0, *inside, len(reading.tokens)]


def _said(filled: Filled) -> dict[str, Any]:
    """The arguments that values support, without left-over words."""
    return {name: value for name, value in filled.arguments.items() if filled.scores.get(name, 1.0) >= 0.5}


def _begins_anew(offer: Offer, reading: Reading, start: int, begin: int, end: int) -> bool:
    """Whether the piece begin..end brings values for what start..begin has filled, and fills nothing that was open."""
    before = _said(fill(offer, reading.slice(start, begin)))
    if not before:
        return False
    after = fill(offer, reading.slice(start, end))
    if set(_said(after)) - set(before):
        return False
    piece = _said(fill(offer, reading.slice(begin, end)))
    changed = any(piece.get(name) != before[name] for name in piece if name in before)
    left_over = len(_idle(offer, reading.slice(start, end), after.used)) - len(
        _idle(offer, reading.slice(start, begin), fill(offer, reading.slice(start, begin)).used)
    )
    return changed and left_over > 0

"""What in a prompt could be the value of one parameter, and how likely: the way in, numbers and lists."""

# ruff: noqa: SIM905  (lists of words read best as text)
from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .choices import booleans, choices
from .cues import assigned, companions, cue, preposition, shared_cue
from .lexicon import STOP, UNITS
from .offers import Offer, Parameter
from .reading import Reading, Token
from .strings import strings
from .values import IMPOSSIBLE, Candidate
from .words import text_words

_MONEY = frozenset(
    (
        "price amount cost budget salary income revenue money payment fee balance investment principal loan "
        "value worth bid bill total spend"
    ).split()
)
_RATES = frozenset("rate ratio probability percentage percent yield discount interest growth tip tax fraction".split())
_PLURALS = frozenset("dice people children men women mice".split())
_COUNTS = frozenset("count limit num number top n max results quantity many size amount".split())


def candidates(parameter: Parameter, reading: Reading, offer: Offer) -> list[Candidate]:
    """Every value in the prompt that this parameter could take."""
    if parameter.choices:
        return list(choices(parameter, reading))
    if parameter.kind in ("integer", "number"):
        found = _numbers(parameter, reading, offer)
    elif parameter.kind == "boolean":
        found = booleans(parameter, reading)
    elif parameter.kind == "array":
        found = _arrays(parameter, reading)
    elif parameter.kind == "object":
        return []
    else:
        found = strings(parameter, reading, offer)
    return [one for one in found if one.score > IMPOSSIBLE / 2]


# --- numbers


def _fits(parameter: Parameter, value: float) -> bool:
    if parameter.kind == "integer" and not float(value).is_integer():
        return False
    if parameter.minimum is not None and value < parameter.minimum:
        return False
    return parameter.maximum is None or value <= parameter.maximum


def _numbers(parameter: Parameter, reading: Reading, offer: Offer) -> Iterator[Candidate]:
    for at, token in enumerate(reading.tokens):
        value = token.value
        if token.kind == "id" and re.fullmatch(r"\d+", str(value)):
            value = int(value)
        elif token.kind != "number":
            continue
        value = _scaled(parameter, token, value, offer)
        if not _fits(parameter, value):
            continue
        score = 0.5 + shared_cue(reading, at, parameter) + 0.7 * preposition(reading, at, parameter)
        if assigned(reading, at, parameter):
            score += 4.0
        score += _counting(parameter, reading, at)
        unit = token.unit
        if unit and unit in parameter.units:
            score += 1.5 if parameter.required or unit == "person" else 1.0
        elif unit in ("dollar", "euro", "pound_sterling", "yen"):
            score += 1.0 if _MONEY & set(parameter.words) else -0.4
        elif unit == "percent":
            score += 1.0 if _RATES & set(parameter.words) else -1.0
        elif unit == "ordinal":
            score -= 0.4
        elif unit and parameter.units:
            score -= 1.0
        if value == int(value):
            value = int(value)
        if parameter.kind == "integer" and set(parameter.words) & {"year"}:
            score += 1.2 if 1000 <= value <= 2200 else -1.5
        elif isinstance(value, int) and 1900 <= value <= 2100 and not unit:
            score -= 0.3
        yield Candidate(parameter, value, frozenset({at}), score)
    clock = {
        "year": ("date", 0),
        "month": ("date", 1),
        "hour": ("time", 0),
        "hours": ("time", 0),
        "minute": ("time", 1),
        "minutes": ("time", 1),
    }
    kind, part = next((clock[word] for word in parameter.words if word in clock), ("", 0))
    for token in reading.of(kind) if kind and parameter.kind == "integer" else ():
        yield Candidate(parameter, int(re.split(r"[-:]", token.value)[part]), frozenset(), 0.6)


def _counting(parameter: Parameter, reading: Reading, at: int) -> float:
    """A number before a plain noun counts things ("ten events"): right for a count, less so for a measure."""
    token = reading.tokens[at]
    after = [one for one in reading.tokens[at + 1 : at + 3] if one.kind == "word"]
    before = reading.tokens[at - 1].lower if at else ""
    things = next(
        (
            one.lower
            for one in after
            if (one.lower.endswith("s") or one.lower in _PLURALS) and one.lower not in STOP and one.lower not in UNITS
        ),
        "",
    )
    numbered = any(word.isdigit() for word in parameter.words)  # num1, num2: operands, not counts
    if _COUNTS & set(parameter.words) and parameter.kind == "integer" and not numbered:
        return (
            1.7 if things or before in ("top", "first", "last", "next") or (after and after[0].lower == "of") else 0.0
        )
    if not things or token.unit or not token.text.isalpha() or things in parameter.words:
        return 0.0
    return (
        -4.0 if any(word + "s" == things for word in parameter.words) else -2.5
    )  # "two charges" says how many, not how large


def _scaled(parameter: Parameter, token: Token, value: float, offer: Offer) -> float:
    """Percent as a fraction where a rate is wanted as a number: "5%" -> 0.05."""
    if token.unit != "percent" or parameter.kind != "number":
        return value
    about = [part for part in offer.description.split(". ") if re.search(rf"\b{re.escape(parameter.name)}\b", part)]
    said = " ".join([parameter.name, parameter.description, *about]).lower()
    if (("percent" in said or "%" in said) and "decimal" not in said) or not _RATES & {
        *parameter.words,
        *text_words(parameter.description),
    }:
        return value
    return round(value / 100, 10)


# --- lists


def _arrays(parameter: Parameter, reading: Reading) -> Iterator[Candidate]:
    item = parameter.items
    kind = item.kind if item else "string"
    for at, token in enumerate(reading.tokens):
        if token.kind == "list" and isinstance(token.value, list):
            yield Candidate(
                parameter, _as_items(token.value, kind), frozenset({at}), 2.0 + cue(reading, at, at + 1, parameter)
            )
    if item is not None and item.choices:
        named = list(choices(item, reading))
        if named:
            tokens = frozenset(position for found in named for position in found.tokens)
            yield Candidate(parameter, [found.value for found in named], tokens, max(found.score for found in named))
        return
    if kind == "array":
        lists = [
            at for at, token in enumerate(reading.tokens) if token.kind == "list" and isinstance(token.value, list)
        ]
        if len(lists) > 1:
            yield Candidate(parameter, [reading.tokens[at].value for at in lists], frozenset(lists), 2.5)
        return
    if kind == "string":
        yield from _listed(parameter, reading)
    seen: set[int] = set()
    for at, token in enumerate(reading.tokens):
        if at in seen or item is None:
            continue
        scored = [found for found in candidates(item, reading.slice(at, at + 1), _NO_OFFER) if found.tokens]
        if not scored or token.kind == "word":
            continue
        run = [
            other for other in companions(reading, at) if candidates(item, reading.slice(other, other + 1), _NO_OFFER)
        ]
        seen.update(run)
        values = [candidates(item, reading.slice(other, other + 1), _NO_OFFER)[0].value for other in run]
        score = scored[0].score + cue(reading, run[0], run[-1] + 1, parameter) + preposition(reading, run[0], parameter)
        yield Candidate(parameter, values, frozenset(run), score + (0.8 if len(run) > 1 else 0.0))


def _as_items(values: list[Any], kind: str) -> list[Any]:
    if kind == "string":
        return [str(value) for value in values]
    return values


_NO_OFFER = Offer("", "", ())


def _listed(parameter: Parameter, reading: Reading) -> Iterator[Candidate]:
    """Words listed after the parameter's name: "tags math and poetry", "ingredients: rice, beans"."""
    for at, token in enumerate(reading.tokens):
        if token.kind != "word" or token.lower not in (*parameter.words, f"{parameter.name.lower()}s"):
            continue
        begin = at + 1
        while begin < len(reading.tokens) and reading.tokens[begin].lower in (":", "are", "=", "like", "of"):
            begin += 1
        parts: list[list[Token]] = [[]]
        end = begin
        for end in range(begin, len(reading.tokens) + 1):
            word = reading.tokens[end] if end < len(reading.tokens) else None
            if (
                word is None
                or (word.kind not in ("word", "name", "quote") and word.text != ",")
                or word.lower in STOP - {"and", "or"}
            ):
                break
            if word.text == "," or word.lower in ("and", "or"):
                parts.append([])
            else:
                parts[-1].append(word)
        values = [" ".join(str(word.value) for word in part) for part in parts if part]
        if values:
            yield Candidate(parameter, values, frozenset(range(begin, end)), 2.4)

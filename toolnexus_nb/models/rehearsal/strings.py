"""Text arguments: what in a prompt could be a city, a name, a date, a unit, an expression."""

# ruff: noqa: SIM905  (lists of words read best as text)
from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .choices import choice_words
from .cues import assigned, cue, direction, preposition
from .dates import WEEKDAY, in_format
from .lexicon import COLORS, OPENERS, ORDINALS, STOP, UNITS
from .offers import Offer, Parameter
from .places import CITIES, COUNTRIES, CURRENCIES, LANGUAGES, PLACES, STATES
from .reading import Reading, Token
from .values import IMPOSSIBLE, Candidate
from .words import best_kin, stem, worth

_CALENDAR = frozenset(
    "january february march april may june july august september october november december"
    " monday tuesday wednesday thursday friday saturday sunday".split()
)
_COUNTED = frozenset(("person", "percent", "dollar", "euro", "yen", "rupee", "word", "page", "bin"))
_LANDMARKS = frozenset(
    (
        "rainforest airport park river island university street district valley beach station mountain lake "
        "desert coast"
    ).split()
)
_SUM = re.compile(
    r"(?<![\w.])[-(]*\d[\d.,]*\)*%?(?:\s*(?:[-+*/×÷^%]|\*\*|of|x|plus|minus|times|divided by)\s*[-(]*\d[\d.,]*\)*%?)+"
)
"""A sum written out: "12 * (3 + 4)", "15% of 80"."""
_MATH = re.compile(
    r"[-+]?(?:\d+(?:\.\d+)?\s*\*?\s*)?[a-z](?:\s*(?:\^|\*\*)\s*\d+)?(?:\s*[-+*/=]\s*(?:\d+(?:\.\d+)?)?\s*\*?\s*(?:[a-z](?![a-z]))?(?:\s*(?:\^|\*\*)\s*\d+)?)*"
)


def strings(parameter: Parameter, reading: Reading, offer: Offer) -> Iterator[Candidate]:
    role = parameter.role
    if role in ("unit", "currency", "language"):
        yield from _dictionary(parameter, reading, role)
    if role == "color":
        for at, token in enumerate(reading.tokens):
            if token.lower in COLORS:
                yield Candidate(parameter, token.text, frozenset({at}), 2.2 + cue(reading, at, at + 1, parameter))
    yield from _exampled(parameter, reading)
    if set(parameter.words) & {"expression", "equation", "formula", "function", "polynomial"}:
        yield from _mathematics(parameter, reading)
    if role == "datetime":
        yield from _date_and_time(parameter, reading)
    for at, token in enumerate(reading.tokens):
        if token.kind in ("word", "mark", "list"):
            continue
        score = _suits(parameter, role, token)
        if score <= IMPOSSIBLE / 2:
            continue
        value, taken = _value(parameter, role, reading, at, offer)
        if assigned(reading, at, parameter):
            score += 2.0
        if token.kind == "name":
            words = token.lower.split()
            if all(best_kin(stem(word), offer.told_stems | offer.parameter_stems) >= 0.7 for word in words):
                score -= 2.5 if role in ("query", "text") else 1.2  # "DNA" of a tool about DNA
            elif set(words) & set(parameter.words):
                score += 1.5  # "Premier League" is a league
        score += cue(reading, at, at + 1, parameter) + preposition(reading, at, parameter)
        yield Candidate(parameter, value, taken, score)


def _exampled(parameter: Parameter, reading: Reading) -> Iterator[Candidate]:
    """Values the description gives as examples, where the prompt says one of them."""
    if parameter.role in ("date", "time", "datetime", "email", "url", "path", "unit"):
        return
    for example in parameter.examples:
        words = choice_words(example)
        if (
            not words
            or all(word in STOP for word in example.lower().split())
            or (len(words) == 1 and worth(example) < 1)
        ):
            continue
        for at in range(len(reading.tokens) - len(words) + 1):
            run = reading.tokens[at : at + len(words)]
            if (
                len(example) > 2
                and [token.stem for token in run] == words
                and all(token.kind in ("word", "name") for token in run)
            ):
                yield Candidate(parameter, example, frozenset(range(at, at + len(words))), 2.2)
                break


def _suits(parameter: Parameter, role: str, token: Token) -> float:
    """How well a kind of thing suits the role of a parameter, before its neighbours are heard."""
    kind = token.kind
    typed = {"email": "email", "url": "url", "path": "path", "date": "date", "time": "time", "id": "id"}
    if kind in typed:
        if (
            kind == "path"
            and {"folder", "directory", "dir"} & set(parameter.words)
            and re.search(r"\.\w{1,5}$", token.text)
        ):
            return IMPOSSIBLE  # notes.txt is no folder
        if role == typed[kind]:
            return 3.0
        if kind == "email" and set(parameter.words) & {"to", "recipient", "recipients", "cc", "bcc"}:
            return 3.0
        if kind == "email" and role == "person":
            return 1.5
        if kind == "id" and role in ("", "text", "query", "phone", "person"):
            return 1.0
        if kind == "date" and role in ("time", "") and not set(parameter.words) & {"start", "end", "location"}:
            return 0.2 if role == "time" else 0.6
        return 0.6 if kind in ("url", "path") and role in ("", "text", "query") else IMPOSSIBLE
    if kind == "number":
        if role in ("id", "phone"):
            return 1.0
        if role == "time" and 0 <= token.value <= 24:
            return 0.1
        return IMPOSSIBLE
    if role in ("email", "url", "date", "time", "datetime", "unit", "currency"):
        return IMPOSSIBLE
    if kind == "quote":
        return {"text": 2.0, "query": 1.8, "path": 1.0, "id": 1.2, "place": 0.6, "country": 0.4, "language": -0.5}.get(
            role, 1.5
        )
    lower = token.lower
    if lower in _CALENDAR or lower in UNITS or len(lower) < 2:
        return IMPOSSIBLE if role in ("place", "country", "person") else -1.0
    if role in ("place", "country") and lower in LANGUAGES:
        return -0.5  # "Chinese food" is no place
    if "/" in lower:
        return 2.0 if {"timezone", "zone", "tz"} & set(parameter.words) else -1.0  # Asia/Tokyo
    known = lower in PLACES or lower.split(" ")[0] in PLACES
    if role == "country":
        return 2.2 if _place_in(token.text, COUNTRIES) else (-0.5 if known else 0.6)
    if role == "place":
        return 1.8 if known or _place_in(token.text, PLACES) else 1.0
    if role == "organization":
        return 0.7 if known else 1.4
    if role == "color":
        return IMPOSSIBLE
    if role == "language":
        return IMPOSSIBLE
    if role == "person":
        return 0.4 if known else 1.6 + 0.3 * (" " in lower)
    if role in ("path", "phone"):
        return IMPOSSIBLE
    return 1.0 if role in ("", "id") else 0.7


def _wants_weekday(parameter: Parameter) -> bool:
    return "week" in parameter.description.lower() or bool(WEEKDAY.search(parameter.description))


def _place_in(name: str, places: frozenset[str]) -> str:
    """The known place inside a name ("King of France" -> "France"), or ""."""
    words = name.split()
    for count in range(len(words), 0, -1):
        for begin in range(len(words) - count + 1):
            part = " ".join(words[begin : begin + count])
            if part.lower() in places:
                return part
    return ""


def _value(parameter: Parameter, role: str, reading: Reading, at: int, offer: Offer) -> tuple[Any, frozenset[int]]:
    """The value at a token as this parameter wants it, and the tokens it takes up."""
    token = reading.tokens[at]
    if token.kind == "date" and _wants_weekday(parameter) and (said := WEEKDAY.search(token.text)):
        return said[0].capitalize(), frozenset({at})
    if token.kind == "date":
        return in_format(token.value, parameter.description), frozenset({at})
    if token.kind == "name" and role in ("place", "country"):
        split = any(
            other.role == "country" or set(other.words) & {"state"}
            for other in offer.parameters
            if other is not parameter
        )
        end = at + 1
        while role == "place" and not split and end + 1 < len(reading.tokens) and _goes_on(reading, at, end):
            end += 2
        if end > at + 1:
            names = ", ".join(reading.tokens[position].text for position in range(at, end, 2))
            return names, frozenset(range(at, end))
        inside = _place_in(token.text, COUNTRIES if role == "country" else PLACES)
        if inside and " of " in token.text:
            return inside, frozenset({at})
    if token.kind == "name" and role in ("", "place", "organization"):
        end = _name_end(reading, at, role, offer)
        if end > at + 1:
            return reading.text[token.start : reading.tokens[end - 1].end], frozenset(range(at, end))
    if token.kind == "number":
        return str(token.value), frozenset({at})
    return token.value, frozenset({at})


def _name_end(reading: Reading, at: int, role: str, offer: Offer) -> int:
    """Where a name ends that goes on in small letters: "ATP synthase", "Amazon rainforest", but not "Tesla stock"."""
    end = at + 1
    while end < len(reading.tokens):
        token = reading.tokens[end]
        plain = (
            token.kind == "word"
            and worth(token.lower) >= 1
            and token.lower not in OPENERS
            and not token.lower.endswith(("ing", "ed"))
        )
        if (
            not plain
            or (role == "place" and token.lower not in _LANDMARKS)
            or best_kin(token.stem, offer.told_stems | offer.parameter_stems) >= 0.7
        ):
            break
        end += 1
    return end


def _goes_on(reading: Reading, at: int, end: int) -> bool:
    """Whether ", NAME" belongs to the place that begins at `at`: a region, or the city after a street."""
    comma, name = reading.tokens[end], reading.tokens[end + 1]
    if comma.text != "," or name.kind != "name":
        return False
    street = reading.tokens[end - 1].text[:1].isdigit()
    return street or (_is_region(name.text, reading.tokens[at].lower) and not _listed(reading, end + 1))


def _is_region(name: str, city: str) -> bool:
    if re.fullmatch(r"[A-Z]{2}", name):
        return True
    return (
        name.lower() in COUNTRIES | STATES
        and city not in COUNTRIES
        and (name.lower() not in CITIES or name.lower() in COUNTRIES)
    )


def _listed(reading: Reading, at: int) -> bool:
    """Whether "and X" follows: then "Oslo, Norway and Rome" is more likely a list."""
    after = reading.tokens[at + 1 : at + 3]
    return len(after) == 2 and after[0].lower == "and" and after[1].kind == "name" and after[1].lower in COUNTRIES


def _dictionary(parameter: Parameter, reading: Reading, role: str) -> Iterator[Candidate]:
    """Units, currencies and languages by their words: "euros" -> EUR where a currency is wanted."""
    for at, token in enumerate(reading.tokens):
        word = token.lower
        before = reading.tokens[at - 1] if at else None
        measured = before is not None and before.kind == "number"
        value: Any = None
        if role == "language" and word in LANGUAGES and token.kind in ("word", "name"):
            value = token.text
        elif role == "currency" and word.split(" ")[-1] in CURRENCIES and token.kind in ("word", "name"):
            value = CURRENCIES[word.split(" ")[-1]]
        elif role == "currency" and token.kind == "number" and token.text[:1] in CURRENCIES:
            value, measured = CURRENCIES[token.text[0]], True
        elif (
            role == "unit"
            and token.kind in ("word", "name")
            and UNITS.get(word) not in _COUNTED
            and (word not in ORDINALS or measured)  # "the second circle"
            and word in UNITS
            and (len(word) > 2 or measured or (before is not None and before.lower in ("to", "in", "into")))
        ):
            value = token.text
        elif (
            role == "unit"
            and token.kind == "number"
            and token.unit
            and token.text[-1:].isalpha()
            and token.text[:1].isdigit()
        ):
            value, measured = re.sub(r"^[\d.,\s]+", "", token.text), True
        if value is None:
            continue
        score = 1.5 + preposition(reading, at, parameter) + 0.4 * cue(reading, at, at + 1, parameter)
        yield Candidate(parameter, value, frozenset({at}), score + direction(reading, at, parameter, measured=measured))


def _mathematics(parameter: Parameter, reading: Reading) -> Iterator[Candidate]:
    said = reading.said
    if not said:
        return
    begin = reading.tokens[0].start if reading.tokens else 0
    for found in (*_MATH.finditer(said.lower()), *_SUM.finditer(said)):
        text = said[found.start() : found.end()].strip()
        if len(text) < 3 or not re.search(r"[-+*/^=]", text):
            continue
        taken = frozenset(
            at
            for at, token in enumerate(reading.tokens)
            if token.start >= begin + found.start() and token.end <= begin + found.end()
        )
        yield Candidate(parameter, text, taken, 5.0)


def _date_and_time(parameter: Parameter, reading: Reading) -> Iterator[Candidate]:
    for at, token in enumerate(reading.tokens):
        if token.kind != "date":
            continue
        near = [
            other
            for other in range(max(at - 3, 0), min(at + 4, len(reading.tokens)))
            if reading.tokens[other].kind == "time"
        ]
        clock = reading.tokens[near[0]].value if near else "00:00"
        taken = frozenset({at, *near[:1]})
        yield Candidate(parameter, f"{token.value}T{clock}:00", taken, 3.0 + cue(reading, at, at + 1, parameter))

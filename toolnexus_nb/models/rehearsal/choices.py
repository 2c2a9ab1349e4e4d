"""Values out of a closed set: booleans and enums, however they are said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .cues import cue, direction, preposition
from .dates import WEEKDAY
from .lexicon import FALSE_WORDS, TRUE_WORDS, UNITS
from .offers import Parameter
from .places import CURRENCIES
from .reading import Reading
from .values import Candidate
from .words import kinship, stem


def booleans(parameter: Parameter, reading: Reading) -> Iterator[Candidate]:
    own = frozenset(
        s
        for s in parameter.name_stems
        if s
        not in {
            stem(w) for w in ("is", "get", "include", "only", "with", "show", "use", "has", "return", "allow", "enable")
        }
    )
    switch = bool(set(parameter.words) & {"on", "enabled", "state", "active", "power", "enable", "off", "status"})
    for at, token in enumerate(reading.tokens):
        if token.kind not in ("word", "name"):
            continue
        before = [other.lower for other in reading.tokens[max(at - 3, 0) : at]]
        if switch and token.lower in ("off", "disable", "deactivate"):
            yield Candidate(parameter, "off" in parameter.words, frozenset({at}), 2.5)
        elif (
            switch
            and token.lower in ("on", "enable", "activate", "up")
            and (
                at == 0
                or reading.tokens[at - 1].lower in ("turn", "switch", "put", "be", "is")
                or token.lower != "on"
                or _turned(reading)
            )
        ):
            yield Candidate(parameter, "off" not in parameter.words, frozenset({at}), 2.0)
        elif any(kinship(token.stem, other) >= 1.0 for other in own):
            denied = any(word in FALSE_WORDS for word in before)
            yield Candidate(parameter, not denied, frozenset({at}), 2.0)
    if not own and not switch:
        for at, token in enumerate(reading.tokens):
            if token.lower in TRUE_WORDS | FALSE_WORDS and token.lower not in ("on", "off", "with", "no", "not"):
                yield Candidate(parameter, token.lower in TRUE_WORDS, frozenset({at}), 1.0)


def _turned(reading: Reading) -> bool:
    return bool({"turn", "switch", "put"} & reading.lower_words)


def choice_words(choice: Any) -> list[str]:
    return [stem(word) for word in re.findall(r"[a-z]+|\d+", str(choice).lower().replace("_", " "))]


def choices(parameter: Parameter, reading: Reading) -> Iterator[Candidate]:
    """Enum values named in the prompt, whatever their case, plural or spaces; a number among them by its value."""
    stems = [token.stem for token in reading.tokens]
    flat = {
        at: [
            stem(part)
            for part in (re.split(r"[\s-]+", token.lower) if token.kind != "date" else WEEKDAY.findall(token.lower))
        ]
        for at, token in enumerate(reading.tokens)
    }
    for choice in parameter.choices:
        if choice is None or isinstance(choice, bool):
            continue
        if isinstance(choice, int | float):
            yield from (
                Candidate(parameter, choice, frozenset({at}), 1.5 + cue(reading, at, at + 1, parameter))
                for at, token in enumerate(reading.tokens)
                if token.kind == "number" and token.value == choice
            )
            continue
        words = choice_words(choice)
        said = False
        for at in range(len(stems)) if words else ():
            here = [part for position in range(at, min(at + len(words), len(stems))) for part in flat[position]]
            if here[: len(words)] == words and (len(str(choice)) > 1 or reading.tokens[at].text == str(choice)):
                taken = frozenset(range(at, at + len(words))) if len(flat[at]) == 1 else frozenset({at})
                measured = at > 0 and reading.tokens[at - 1].kind == "number"
                score = 2.5 + 0.3 * len(words) + direction(reading, at, parameter, measured=measured)
                yield Candidate(parameter, choice, taken, score + 0.5 * preposition(reading, at, parameter))
                said = True
        if not said:
            yield from _aliases(choice, parameter, reading)


def _aliases(choice: Any, parameter: Parameter, reading: Reading) -> Iterator[Candidate]:
    """An enum value said another way: a unit, a currency, a near-synonym, a shared beginning."""
    said = str(choice).lower()
    for at, token in enumerate(reading.tokens):
        word = token.lower
        if token.kind == "number":
            if token.unit and UNITS.get(said) == token.unit:
                score = 2.2 + direction(reading, at, parameter, measured=True)
                yield Candidate(parameter, choice, frozenset(), score)
            continue
        if token.kind not in ("word", "name"):
            continue
        if UNITS.get(said) == UNITS.get(word, "") and (len(word) > 1 or token.text == str(choice)):
            measured = at > 0 and (reading.tokens[at - 1].kind == "number" or reading.tokens[at - 1].lower == "degrees")
            score = 2.2 + direction(reading, at, parameter, measured=measured)
            yield Candidate(parameter, choice, frozenset({at}), score + 0.5 * preposition(reading, at, parameter))
        elif len(word) >= 3 and CURRENCIES.get(word) == said.upper():
            yield Candidate(parameter, choice, frozenset({at}), 2.2 + preposition(reading, at, parameter))
        elif len(word) >= 4 and len(said) >= 3 and (word.startswith(said) or said.startswith(word)):
            yield Candidate(parameter, choice, frozenset({at}), 1.6)
        elif len(word) >= 3 and "_" not in said and kinship(token.stem, stem(said)) >= 0.7:
            yield Candidate(parameter, choice, frozenset(), 1.1)

"""Slips of the pen in words a tool is known by: "wether", "forcast", "calender", "temprature"."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace

from .lexicon import GROUPS, HUBS, OPENERS, STOP, UNITS, WEAK
from .offers import Offer
from .places import PLACES
from .reading import Reading
from .words import split_name, stem, text_words, worth

SHORTEST = 6
"""Letters a word must have to be taken for a slip: among short words too many are neighbours ("price", "prize")."""
_VOWELS = frozenset("aeiou")
_KNOWN = frozenset(
    stem(word) for word in itertools.chain(STOP, OPENERS, WEAK, UNITS, PLACES, *(g.split() for g in (*GROUPS, *HUBS)))
)


def mended(reading: Reading, offers: Iterable[Offer]) -> Reading:
    """The same reading with misspelt words set right, where just one word of the tools is a slip away.

    A slip: one letter left out, doubled or too many, two changed about, or another vowel. Other letters are left
    alone, since they make other words.
    """
    unknown = [
        at
        for at, token in enumerate(reading.tokens)
        if token.kind == "word" and len(token.text) >= SHORTEST and token.text.isalpha() and token.stem not in _KNOWN
    ]
    if not unknown:
        return reading
    words = _vocabulary(offers)
    stems = {stem(word) for word in words}
    tokens = list(reading.tokens)
    for at in unknown:
        said = tokens[at].lower
        meant = {word for word in words if _slip(said, word)} if tokens[at].stem not in stems else set()
        if len({stem(word) for word in meant}) == 1:
            tokens[at] = replace(tokens[at], text=min(meant))
    return Reading(reading.text, tokens) if tokens != reading.tokens else reading


def _vocabulary(offers: Iterable[Offer]) -> set[str]:
    """The words tools are known by: those of their names, descriptions, parameters and choices."""
    texts: list[str] = []
    for offer in offers:
        texts += [*offer.name_words, *text_words(offer.description)]
        for parameter in offer.parameters:
            texts += parameter.words
            for choice in parameter.choices:
                texts += split_name(str(choice))
    return {word for word in texts if len(word) >= SHORTEST - 1 and worth(word) > 0}


def _slip(said: str, word: str) -> bool:
    """Whether one slip makes `said` of `word`. The first letter is right."""
    if said[0] != word[0] or abs(len(said) - len(word)) > 1:
        return False
    at = next((at for at, (one, other) in enumerate(zip(said, word, strict=False)) if one != other), None)
    if at is None:
        return len(said) != len(word) and not said.endswith("s") and not word.endswith("s")
    if len(said) < len(word):
        return said[at:] == word[at + 1 :]
    if len(said) > len(word):
        return said[at + 1 :] == word[at:]
    swapped = said[at : at + 2] == word[at : at + 2][::-1] and said[at + 2 :] == word[at + 2 :]
    return swapped or ({said[at], word[at]} <= _VOWELS and said[at + 1 :] == word[at + 1 :])

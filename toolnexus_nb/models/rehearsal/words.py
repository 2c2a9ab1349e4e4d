"""Words as evidence: stems, near-synonyms, and how much a word is worth."""

# ruff: noqa: E501  (tables read best as tables)
from __future__ import annotations

import re
from functools import lru_cache

from .lexicon import GROUPS, HUBS, NUMBER_WORDS, STOP, WEAK

_SUFFIXES = (
    ("ization", ""), ("isation", ""), ("ational", ""), ("ations", ""), ("ation", ""), ("ators", ""), ("ator", ""), ("ating", ""),
    ("ated", ""), ("ates", ""), ("ate", ""), ("itions", "it"), ("ition", "it"), ("sions", "s"), ("sion", "s"), ("ctions", "ct"),
    ("ction", "ct"), ("tions", "t"), ("tion", "t"), ("ments", ""), ("ment", ""), ("ness", ""), ("ically", ""), ("ical", ""),
    ("ising", ""), ("izing", ""), ("ised", ""), ("ized", ""), ("izer", ""), ("iser", ""), ("ise", ""), ("ize", ""),
    ("ies", "y"), ("ied", "y"), ("ings", ""), ("ing", ""), ("edly", ""), ("ers", ""), ("er", ""), ("ors", ""), ("or", ""),
    ("ed", ""), ("es", ""), ("ly", ""), ("al", ""), ("s", ""), ("e", ""),
)  # fmt: skip
_VOWEL = re.compile(r"[aeiouy]")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """The part two forms of a word share: "calculating", "calculation" -> "calcul". Crude on purpose, and stable."""
    word = word.lower().strip("'’").removesuffix("'s").removesuffix("’s")
    if len(word) <= 3 or not word.isascii() or not word.isalpha():
        return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
    if word.endswith("ss"):
        return word
    if word.endswith("s") and not word.endswith(("us", "is")):
        word = f"{word[:-3]}y" if word.endswith("ies") and len(word) > 4 else word[:-1]
    for suffix, instead in _SUFFIXES:
        if word.endswith(suffix):
            rest = word[: len(word) - len(suffix)] + instead
            if len(rest) >= 3 and _VOWEL.search(rest):
                if len(rest) > 3 and rest[-1] == rest[-2] and rest[-1] not in "lsz":
                    rest = rest[:-1]
                return rest[:-1] + "i" if rest.endswith("y") and len(rest) > 3 else rest
    return word[:-1] + "i" if word.endswith("y") and len(word) > 3 else word


def split_name(name: str) -> list[str]:
    """The words of an identifier: "getWeather_by-city2" -> ["get", "weather", "by", "city", "2"]."""
    return [part.lower() for part in _PART.findall(name)]


def text_words(text: str) -> list[str]:
    """The words of a sentence, lower case."""
    return re.findall(r"[a-z][a-z'’-]*[a-z]|[a-z]", text.lower())


_STOP_STEMS = STOP | frozenset(stem(word) for word in STOP if len(word) > 3)
_WEAK_STEMS = frozenset(stem(word) for word in WEAK)
_GROUPS_OF: dict[str, frozenset[int]] = {}
_PAIRS = [f"{hub.split()[0]} {word}" for hub in HUBS for word in hub.split()[1:]]
for _number, _group in enumerate([*GROUPS, *_PAIRS]):
    for _word in _group.split():
        _GROUPS_OF[stem(_word)] = _GROUPS_OF.get(stem(_word), frozenset()) | {_number}


def worth(word: str) -> float:
    """How much a word says about what is wanted: 0 (stop word), 0.25 (fits every tool), 1."""
    if word.lower() in _STOP_STEMS or word.lower() in NUMBER_WORDS or len(word) < 2:
        return 0.0
    return 0.25 if stem(word) in _WEAK_STEMS else 1.0


@lru_cache(maxsize=65536)
def kinship(one: str, other: str) -> float:
    """How near two stems are: 1 the same, 0.7 near-synonyms, 0.6 one is the beginning of the other, else 0."""
    if one == other:
        return 1.0
    if _GROUPS_OF.get(one, frozenset()) & _GROUPS_OF.get(other, frozenset()):
        return 0.7
    short, long = sorted((one, other), key=len)
    if len(short) >= 5 and long.startswith(short):
        return 0.6
    return 0.0


def best_kin(one: str, others: frozenset[str] | set[str] | list[str]) -> float:
    """The nearest of several stems."""
    if one in others:
        return 1.0
    return max((kinship(one, other) for other in others), default=0.0)

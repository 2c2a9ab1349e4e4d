"""Which tool a clause asks for, and whether it asks for any: a wrong call is worse than none."""

# ruff: noqa: SIM905  (lists of words read best as text)
from __future__ import annotations

import re
from dataclasses import dataclass

from .cues import VALUES
from .filling import Filled, fill
from .lexicon import OPENERS, STOP
from .misfits import SEEKING, asks_for_else, explains, misfit
from .offers import Offer
from .reading import Reading
from .words import best_kin, stem, worth

_GENERAL_VERBS = frozenset("get find calculate compute determine show create generate".split())
_BEING = frozenset("is was are were be it's will would does did going".split())
_SEARCHES = SEEKING | frozenset("web internet wikipedia wiki online bing duckduckgo look up".split())
_UNHEARD = 0.3
"""The most a tool gets when no word of the prompt speaks for it."""
_POINTERS = frozenset(("it", "that", "there", "them", "result"))
_TELLING = frozenset(("language", "currency", "email", "url", "path", "unit"))
THRESHOLD = 0.5
"""A tool is called only from this score on. The parts were weighed on prompts with and without a fitting tool."""


@dataclass(frozen=True)
class Match:
    """How well one tool fits a clause. The parts are shares, 0 to 1.

    named: of its name that is said; told: of its description that is said; covered: of what the clause says that the
    tool
    speaks of; sure: of its required arguments that are found, free text counting less. `heard` are the words that spoke
    for it, as they stand in the prompt.
    """

    offer: Offer
    filled: Filled
    score: float
    named: float
    told: float
    covered: float
    sure: float
    heard: tuple[str, ...]


def match(offer: Offer, reading: Reading) -> Match:
    """Hold one tool against a clause."""
    return reading.remembered("match", offer, _match)


def _match(offer: Offer, reading: Reading) -> Match:
    filled = fill(offer, reading)
    said = reading.stems
    named = _share([(max(worth(word), 0.1), best_kin(stem(word), said)) for word in offer.name_words])
    told = _share(
        [(1.0, best_kin(word, said)) for word in offer.description_stems if worth(word) >= 1], otherwise=named
    )
    explained: list[tuple[float, float]] = []
    heard: list[str] = []
    for at, token in enumerate(reading.tokens):
        if token.kind == "name" and any(
            best_kin(stem(part), offer.told_stems) >= 0.6 for part in token.lower.split() if worth(part) >= 1
        ):
            heard.append(token.text)
        if token.kind != "word" or not worth(token.lower):
            continue
        near = explains(token.stem, offer)
        if at not in filled.used:
            explained.append((worth(token.lower), near))
        strong = worth(token.lower) >= 1 and best_kin(token.stem, offer.told_stems) >= 0.6
        if strong or token.stem in offer.name_stems:
            heard.append(token.text)
    covered = _share(explained, otherwise=0.5)
    evidence = min(sum(weight * near for weight, near in explained), 5.0) / 5
    # A tool that needs nothing could always be called: the words it leaves unexplained speak against it.
    sure = _sureness(filled, reading) if offer.required else 0.5 + 0.5 * covered
    telling = _telling(filled, reading)
    heard += telling
    idle = _idle_share(filled, reading)
    score = (
        0.27 * named
        + 0.27 * told
        + 0.1 * covered
        + 0.12 * evidence
        + 0.3 * sure
        + (0.15 if telling else 0.0)
        - 0.1 * idle
    )
    score += 0.1 * _same_verb(offer, reading) + 0.25 * _general_search(filled, reading)
    score -= misfit(filled, reading)
    if _called_by_name(offer, reading):
        heard.append(offer.name)
        score += 0.3
    elif named < 0.3 and not telling:
        score -= 0.5 * (0.3 - named)  # much of a description fits many tools; a name fits few
    if not heard:
        score = min(score, _UNHEARD)
    return Match(offer, filled, score, named, told, covered, sure, tuple(dict.fromkeys(heard)))


def _share(weighed: list[tuple[float, float]], otherwise: float = 0.0) -> float:
    """The weighted mean of (weight, value) pairs."""
    total = sum(weight for weight, _ in weighed)
    return sum(weight * value for weight, value in weighed) / total if total else otherwise


def _same_verb(offer: Offer, reading: Reading) -> bool:
    """Whether the prompt opens with the very verb the tool's name opens with: "search for toys" and search_products."""
    verb = next(
        (
            token.stem
            for token in reading.tokens
            if token.kind == "word" and token.lower in OPENERS and token.lower not in STOP
        ),
        "",
    )
    return bool(offer.name_words) and verb == stem(offer.name_words[0]) and offer.name_words[0] not in _GENERAL_VERBS


def _general_search(filled: Filled, reading: Reading) -> bool:
    """Whether a tool that searches everything is asked to search: "find articles about jazz", "look up the Nile"."""
    words = set(filled.offer.name_words)
    return (
        words <= _SEARCHES
        and bool(words & SEEKING)
        and bool(reading.lower_words & (SEEKING | {"look", "google"}))
        and not filled.missing
    )


def _called_by_name(offer: Offer, reading: Reading) -> bool:
    """Whether the prompt says the tool's very name: "use get_weather", "call f with 3"."""
    name = re.escape(offer.name)
    asked = rf"\b(?:call|use|run|invoke|execute|apply|try|tool|function)\s+(?:the\s+)?(?:tool\s+|function\s+)?{name}\b"
    spelled = "_" in offer.name and re.search(rf"\b{name}\b", reading.said)
    return bool(spelled or re.search(asked, reading.said))


def _telling(filled: Filled, reading: Reading) -> list[str]:
    """Values of a kind that few tools take: a choice of its own, a language, a currency, an address, a unit."""
    return [
        reading.tokens[min(source)].text
        for parameter in filled.offer.required
        if (parameter.role in _TELLING or parameter.choices)
        and filled.scores.get(parameter.name, 0.0) >= 2
        and (source := filled.sources.get(parameter.name))
    ]


def _idle_share(filled: Filled, reading: Reading) -> float:
    """The share of the prompt's numbers, names, days … that the tool has no use for."""
    values = [at for at, token in enumerate(reading.tokens) if token.kind in VALUES]
    return sum(at not in filled.used for at in values) / len(values) if values else 0.0


def _sureness(filled: Filled, reading: Reading) -> float:
    """The share of the required arguments that is known: free text counts less, and so do "it" and "there"."""
    required = filled.offer.required
    if not required:
        return 1.0
    pointed = len(filled.missing) == 1 and _points(reading)
    sure = 0.0
    for parameter in required:
        if parameter in filled.missing:
            sure += 0.8 if pointed else 0.0
        else:
            sure += 0.7 if filled.scores.get(parameter.name, 1.0) < 0.5 else 1.0
    return sure / len(required)


def _points(reading: Reading) -> bool:
    """Whether a word points back at something said before; the "it" of "is it warm" points at nothing."""
    words = ["", *(token.lower for token in reading.tokens), ""]
    return any(
        word in _POINTERS and not (word in ("it", "that", "there") and {before, after} & _BEING)
        for before, word, after in zip(words, words[1:], words[2:], strict=False)
    )


def rank(offers: list[Offer], reading: Reading) -> list[Match]:
    """All tools held against a clause, the best first."""
    return sorted((match(offer, reading) for offer in offers), key=lambda one: -one.score - 0.1 * _given(one))


def _given(found: Match) -> float:
    """The share of a description that arguments stand for: "for a city" is said by Oslo itself, once it is the city.

    It tells tools apart that are near, but speaks for none of them.
    """
    words = [word for word in found.offer.description_stems if worth(word) >= 1]
    filled = found.filled
    own = {s for p in found.offer.parameters if filled.scores.get(p.name, 0.0) >= 1 for s in p.name_stems}
    return sum(word in own for word in words) / len(words) if words else 0.0


def choose(offers: list[Offer], reading: Reading, least: float = THRESHOLD) -> Match | None:
    """The tool a clause asks for, or None when nothing fits."""
    if least >= _UNHEARD:
        offers = [offer for offer in offers if could_fit(offer, reading)]
    for found in rank(offers, reading):
        if found.score - (0.3 if asks_for_else(found.filled, reading) else 0.0) >= least:
            return found
    return None


def could_fit(offer: Offer, reading: Reading) -> bool:
    """Whether a tool can come to more than `_UNHEARD`, told without filling its arguments: most tools can't."""
    if any(parameter.role in _TELLING or parameter.choices for parameter in offer.required):
        return True
    words = offer.told_stems
    return any(best_kin(word, words) >= 0.6 for word in reading.stems) or _called_by_name(offer, reading)

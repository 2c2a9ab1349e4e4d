"""Which tool a clause asks for, and whether it asks for any: a wrong call is worse than none."""

from __future__ import annotations

from dataclasses import dataclass

from .filling import Filled, fill
from .offers import Offer
from .reading import Reading
from .words import best_kin, stem, worth

# A clause must explain a tool at least this well before the tool is called.
THRESHOLD = 0.5


@dataclass(frozen=True)
class Match:
    """How well one tool fits a clause. score: 0..1; the parts say why."""

    offer: Offer
    filled: Filled
    score: float
    named: float
    covered: float
    evidence: tuple[str, ...]


def match(offer: Offer, reading: Reading) -> Match:
    """Hold one tool against a clause: are its name's words said, and are the clause's words explained by it?"""
    filled = fill(offer, reading)
    said = reading.stems
    name_weight = sum(_name_worth(word) for word in offer.name_words) or 1.0
    named = 0.0
    evidence: list[str] = []
    for word, own in zip(offer.name_words, (stem(word) for word in offer.name_words), strict=True):
        near = best_kin(own, said)
        named += _name_worth(word) * near
        if near >= 0.7 and worth(word) >= 1:
            evidence.append(word)
    named /= name_weight
    total = explained = 0.0
    for at, token in enumerate(reading.tokens):
        if token.kind != "word" or at in filled.used:
            continue
        weight = worth(token.lower)
        if not weight:
            continue
        total += weight
        explained += weight * _explains(token.stem, offer)
    covered = explained / total if total else 0.5
    required = offer.required
    complete = 1.0 if not required else 1 - len(filled.missing) / len(required)
    score = 0.45 * named + 0.4 * covered + 0.15 * complete
    if not evidence and explained < 1:
        score = min(score, 0.3)
    return Match(offer, filled, score, named, covered, tuple(evidence))


def _name_worth(word: str) -> float:
    return max(worth(word), 0.1)


def _explains(word: str, offer: Offer) -> float:
    return max(
        best_kin(word, offer.name_stems),
        0.9 * best_kin(word, offer.description_stems),
        0.8 * best_kin(word, offer.parameter_stems),
        0.6 * best_kin(word, offer.hint_stems),
    )


def rank(offers: list[Offer], reading: Reading) -> list[Match]:
    """All tools held against a clause, the best first."""
    return sorted((match(offer, reading) for offer in offers), key=lambda one: -one.score)


def choose(offers: list[Offer], reading: Reading, least: float = THRESHOLD) -> Match | None:
    """The tool a clause asks for, or None when nothing fits."""
    ranked = rank(offers, reading)
    return ranked[0] if ranked and ranked[0].score >= least else None

"""Signs that a tool is not meant although its words are said: each takes something off its score."""

# ruff: noqa: SIM905  (lists of words read best as text)
from __future__ import annotations

import itertools
import re

from .cues import VALUES
from .filling import Filled
from .lexicon import ACTS, OPENERS, TELLING, VERBS, WISHES
from .offers import Offer
from .reading import Reading
from .words import best_kin, stem, worth

ASKING = frozenset("what which who whom whose when where why how is are was were do does did will would there".split())
SEEKING = frozenset("search find lookup query google".split())
_OPERATIONS = frozenset(
    "multiply multiplied multiplying divide divided dividing subtract subtracted subtracting".split()
)
_OTHERWISE = ASKING | SEEKING | frozenset("show list tell count compare describe explain check look view".split())
"""How a clause begins that asks for something else than an act it does not name."""
_DETERMINERS = frozenset("a an the this that my your his her our their its of in no any some what".split())
_EXPLAINING = frozenset(
    stem(word) for word in "define definition meaning explain dictionary search lookup wiki encyclopedia info".split()
)
_ABOUT = re.compile(
    r"\W*(?:what (?:does|do|did|is meant by) .{1,60}\bmean|define\b|explain (?!the (?:error|code))|"
    r"(?:what is|what's|tell me) the (?:meaning|definition|origin) of\b|"
    r"(?:what is|what's|what are) (?:an? )?[\w-]+\W*$)",
    re.IGNORECASE,
)
"""Questions about a word or a thing as such: "What does pause mean?", "What is a task?"."""


def misfit(filled: Filled, reading: Reading) -> float:
    """How much speaks against a tool, 0 for most."""
    offer = filled.offer
    against = 0.0
    if _foreign_verb(filled, reading) or _foreign_operation(filled, reading):
        against += 0.5
    if _idle_act(offer, reading):
        against += 0.45
    if _tells(reading):
        against += 0.25
    if _about_the_word(offer, reading):
        against += 0.4
    if _other_kind(filled, reading):
        against += 0.3
    return against


def explains(word: str, offer: Offer) -> float:
    """How far a tool's name, description, parameters or choices speak of a word."""
    return max(
        best_kin(word, offer.name_stems),
        0.9 * best_kin(word, offer.description_stems),
        0.8 * best_kin(word, offer.parameter_stems),
        0.6 * best_kin(word, offer.hint_stems),
    )


def _foreign_verb(filled: Filled, reading: Reading) -> bool:
    """Whether the prompt opens with a verb that the tool knows nothing of: "drop the table" is no listing."""
    for at, token in enumerate(reading.tokens[:6]):
        if token.kind != "word":
            return False
        if worth(token.lower) >= 1:
            return at not in filled.used and token.lower in VERBS and explains(token.stem, filled.offer) < 0.6
        if token.lower in ASKING:
            return False
    return False


def _foreign_operation(filled: Filled, reading: Reading) -> bool:
    """Whether the prompt names a kind of reckoning the tool does not do: "multiply" for a tool that adds."""
    if {"squared", "cubed"} & reading.lower_words and "root" in filled.offer.name_words:
        return True
    return any(
        token.kind == "word" and token.lower in _OPERATIONS and explains(token.stem, filled.offer) < 0.6
        for at, token in enumerate(reading.tokens)
        if at not in filled.used
    )


def _idle_act(offer: Offer, reading: Reading) -> bool:
    """Whether a tool that changes something would be called without its work being said, or only as a noun.

    "When was the battle" asks nobody to cancel an event, "in alphabetical order" nobody to order.
    """
    verb = offer.name_words[0] if offer.name_words else ""
    if verb not in ACTS:
        return False
    own = stem(verb)
    things = {stem(word) for word in offer.name_words[1:]}  # "a coin" speaks for the coin, not for flipping it
    words = [(at, t) for at, t in enumerate(reading.tokens) if t.kind == "word" and t.stem not in things]
    if len(offer.name_words) == 1:
        return not any(best_kin(token.stem, [own]) >= 0.6 and _stands_as_verb(reading, at) for at, token in words)
    first = next((token.lower for _, token in words if token.lower != "please"), "")
    return first in _OTHERWISE and not any(best_kin(token.stem, [own]) >= 0.6 for _, token in words)


def _stands_as_verb(reading: Reading, at: int) -> bool:
    """Whether the word before leaves room for a verb: not after "the", "my", or a word that describes it."""
    before = reading.tokens[at - 1] if at else None
    if before is None or before.kind != "word":
        return True
    return before.lower not in _DETERMINERS and (worth(before.lower) < 1 or before.lower in OPENERS)


def _tells(reading: Reading) -> bool:
    """Whether a clause only tells something: "I saw him twice", but not "I need two of them"."""
    words = [token.lower for token in reading.tokens if token.kind == "word"]
    return bool(words) and words[0] in TELLING and not WISHES & set(words) and reading.tokens[-1].text != "?"


def _about_the_word(offer: Offer, reading: Reading) -> bool:
    """Whether the question is what a word means, and the tool is not one that explains."""
    if offer.told_stems & _EXPLAINING or any(token.kind in VALUES - {"name", "quote"} for token in reading.tokens):
        return False
    return bool(_ABOUT.match(reading.said))


def _other_kind(filled: Filled, reading: Reading) -> bool:
    """Whether the thing is said, but of another kind: "the area of a trapezoid" for rectangle_area."""
    words = [stem(word) for word in filled.offer.name_words if worth(word) >= 1]
    if len(words) != 2 or all(best_kin(word, reading.stems) >= 0.6 for word in words):
        return False
    tokens = reading.tokens
    for at in range(len(tokens) - 3):
        if tokens[at].stem not in words or tokens[at + 1].lower != "of" or tokens[at + 2].lower not in ("a", "an"):
            continue
        kinds = list(itertools.takewhile(lambda t: t.kind == "word" and worth(t.lower) > 0, tokens[at + 3 : at + 6]))
        taken = any(position in filled.used for position in range(at + 3, at + 3 + len(kinds)))
        return bool(kinds) and not taken and all(explains(kind.stem, filled.offer) < 0.4 for kind in kinds)
    return False


def asks_for_else(filled: Filled, reading: Reading) -> bool:
    """Whether what is asked for is nothing the tool speaks of: "what is the perimeter of a circle" for its area."""
    said = [token.lower for token in reading.tokens]
    if (said[:1] != ["what's"] and said[:2] not in (["what", "is"], ["what", "was"])) or "of" not in said:
        return False
    at = said.index("of") - 1
    head = reading.tokens[at]
    if head.kind != "word" or worth(head.lower) < 1 or at in filled.used:
        return False
    return explains(head.stem, filled.offer) < 0.4

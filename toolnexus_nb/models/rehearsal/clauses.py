"""Cutting a prompt into clauses that each ask for one tool, never finer than the tools tell apart."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from .choosing import Match, choose, match
from .cues import VALUES
from .lexicon import OPENERS, RESULTS, STOP
from .misfits import ASKING
from .offers import Offer
from .reading import Reading

_AFTERWARDS = frozenset(("then", "afterwards", "afterward", "finally", "next"))
LONGEST_SENTENCE = 150
"""Tokens of a sentence that is cut into clauses; a longer one is a list or a document."""
_SOFT = frozenset(("and", ",", "also", "plus", "but", "while"))


@dataclass(frozen=True)
class Clause:
    """A piece of the prompt and the tool it asks for."""

    reading: Reading
    match: Match


def clauses(offers: list[Offer], reading: Reading) -> list[Clause]:
    """The clauses of a prompt that ask for a tool. What asks for none is read together with its neighbour."""
    pieces = _sentences(reading)
    if not pieces:
        return []
    whole = _clause(offers, reading)
    found: list[Clause] = []
    for piece in pieces:
        found.extend(_split(offers, piece))
    if len({clause.match.offer.name for clause in found}) < 2 and not any(_takes_up(clause) for clause in found[1:]):
        # One tool, however many sentences: `frames` counts its calls.
        return [whole] if whole is not None else found
    return _together(found, reading)


def _together(found: list[Clause], reading: Reading) -> list[Clause]:
    """Neighbours that ask for the same tool as one clause."""
    joined: list[Clause] = []
    for clause in found:
        before = joined[-1] if joined else None
        same = before is not None and before.match.offer.name == clause.match.offer.name
        if before is not None and same and not _takes_up(clause):
            tokens = [
                t
                for t in reading.tokens
                if before.reading.tokens[0].start <= t.start <= clause.reading.tokens[-1].start
            ]
            both = Reading(reading.text, tokens)
            joined[-1] = Clause(both, match(clause.match.offer, both))
        else:
            joined.append(clause)
    return joined


def _takes_up(clause: Clause) -> bool:
    """Whether a clause leaves an argument to an earlier result, in so many words: "double the result"."""
    words = [token.lower for token in clause.reading.tokens]
    said = any(
        word in RESULTS and before in ("the", "this", "that", "its") for before, word in itertools.pairwise(words)
    )
    return said and bool(clause.match.filled.missing)


def _clause(offers: list[Offer], reading: Reading) -> Clause | None:
    found = choose(offers, reading)
    return Clause(reading, found) if found is not None else None


def _sentences(reading: Reading) -> list[Reading]:
    """Pieces between ".", "?", "!", ";", line ends and "then"."""
    pieces: list[Reading] = []
    begin = 0
    tokens = reading.tokens
    for at, token in enumerate(tokens):
        ends = token.kind == "mark" and token.text in ".?!;"
        then = token.kind == "word" and token.lower in _AFTERWARDS and at > begin and _new_order(reading, at)
        if ends or then or (at > begin and "\n" in reading.text[tokens[at - 1].end : token.start]):
            if at > begin:
                pieces.append(reading.slice(begin, at))
            begin = at if not ends and not then else at + 1
    if begin < len(tokens):
        pieces.append(reading.slice(begin, len(tokens)))
    return [piece for piece in pieces if any(token.kind != "mark" for token in piece.tokens)]


def _new_order(reading: Reading, at: int) -> bool:
    after = reading.tokens[at + 1] if at + 1 < len(reading.tokens) else None
    return after is not None and after.kind != "mark"


def _split(offers: list[Offer], reading: Reading) -> list[Clause]:
    """A sentence cut at "and" and commas, as long as both sides ask for a tool of their own."""
    for at in range(1, len(reading.tokens) - 1) if len(reading.tokens) <= LONGEST_SENTENCE else ():
        token = reading.tokens[at]
        if token.lower not in _SOFT or token.kind not in ("word", "mark"):
            continue
        left, right = reading.slice(0, at), reading.slice(at + 1, len(reading.tokens))
        if not _says_something(left) or not _says_something(right):
            continue
        one, other = _clause(offers, left), _clause(offers, right)
        if one is None or other is None or _only_placed(right, other.match):
            continue
        taken = _lent(right, other.match)
        if taken:
            longer = _clause(offers, reading.slice(0, at + 1 + taken))
            if longer is not None and longer.match.offer.name == one.match.offer.name:
                one, right = longer, right.slice(taken + 1, len(right.tokens))
        rest = _split(offers, right)
        nearest = rest[0].match if rest else other.match
        again = one.match.offer.name == nearest.offer.name and not (rest and _takes_up(rest[0]))
        if again and (one.match.filled.missing or nearest.filled.missing):
            continue
        return [one, *(rest or [other])]
    whole = _clause(offers, reading)
    return [whole] if whole is not None else []


def _only_placed(right: Reading, found: Match) -> bool:
    """Whether a piece speaks of its tool only in saying where something goes: "bread to my todo list"."""
    tokens = right.tokens
    heard = [at for at, token in enumerate(tokens) if token.text in found.heard]
    if not heard or any(token.lower in ASKING or token.lower in OPENERS - STOP for token in tokens[: heard[0]]):
        return False
    at = heard[0] - 1
    while at >= 0 and tokens[at].lower in ("my", "the", "our", "your", "a"):
        at -= 1
    return at > 0 and at < heard[0] - 1 and tokens[at].lower in ("to", "on", "onto", "into", "from", "in")


def _lent(right: Reading, found: Match) -> int:
    """How many tokens at the beginning belong to the clause before: "Rome," in "and Rome, and 2 plus 2"."""
    taken = 0
    for at, token in enumerate(right.tokens):
        if token.lower in _SOFT and token.kind in ("word", "mark"):
            taken = at
        elif token.kind not in VALUES or at in found.filled.used:
            break
    return taken


def _says_something(reading: Reading) -> bool:
    return any(token.kind == "word" for token in reading.tokens)

"""Free text as a value: what is left of a prompt when the words that ask for the tool are taken away."""

from __future__ import annotations

from collections.abc import Iterator

from .candidates import Candidate
from .cues import VALUES
from .lexicon import OPENERS, PREPOSITIONS, STOP
from .offers import Offer, Parameter
from .reading import Reading, Token
from .words import best_kin, kinship, worth

# Words that end a phrase when what follows belongs to another parameter.
_ENDS = frozenset("from in at on by until under below over above using via before after during per within due for with near".split())
_LEADS = frozenset("for about of on to regarding concerning titled called named saying that says the a an some any my me us our your please".split())
_CALLED = frozenset("called named titled entitled saying says reading labelled labeled".split())
_WHOLE = frozenset(("text", "query"))


def called(parameter: Parameter, reading: Reading) -> Iterator[Candidate]:
    """What follows "called", "named", "saying", "<parameter>:", when it is not in quotes."""
    for at, token in enumerate(reading.tokens):
        if token.kind != "word":
            continue
        introduces = token.lower in _CALLED and PREPOSITIONS.get(token.lower, frozenset()) & set(parameter.words)
        named = any(kinship(token.stem, own) == 1.0 for own in parameter.name_stems) and worth(token.lower) > 0
        nxt = reading.tokens[at + 1] if at + 1 < len(reading.tokens) else None
        if not introduces and not (named and nxt is not None and nxt.text in (":", "=", "is")):
            continue
        begin = at + 1 if introduces else at + 2
        end = begin
        long = parameter.role in _WHOLE or introduces
        while end < len(reading.tokens) and not _stops(reading, end, long=long):
            end += 1
        if end > begin:
            yield Candidate(parameter, _said(reading, begin, end), frozenset(range(begin, end)), 2.4)


def _stops(reading: Reading, at: int, *, long: bool) -> bool:
    token = reading.tokens[at]
    if token.kind == "mark":
        return token.text in ".,;?!:\n"
    if token.kind in ("date", "time", "email"):
        return True
    return not long and token.lower in _ENDS | {"and", "or", "to"}


def leftovers(parameter: Parameter, offer: Offer, reading: Reading, used: frozenset[int]) -> list[Candidate]:
    """Runs of words that no other parameter took, without the words that asked for the tool; the best first."""
    runs: list[tuple[float, int, int]] = []
    begin = 0
    for at in range(len(reading.tokens) + 1):
        if at < len(reading.tokens) and at not in used and not _breaks(reading.tokens[at]):
            continue
        runs.extend(_trimmed(parameter, offer, reading, begin, at))
        begin = at + 1
    found = [
        Candidate(parameter, _said(reading, start, end), frozenset(range(start, end)), min(2.0, score)) for score, start, end in runs
    ]
    return sorted(found, key=lambda one: -one.score)


def _breaks(token: Token) -> bool:
    return token.kind == "mark" and token.text in ".,;?!:()\n"


def _asks(token: Token, offer: Offer) -> bool:
    """Whether a word only asks for the tool: "search", "please", "the weather"."""
    if token.kind in VALUES:
        return False
    if token.lower in STOP or token.lower in OPENERS:
        return True
    return best_kin(token.stem, offer.name_stems) >= 0.7


def _trimmed(parameter: Parameter, offer: Offer, reading: Reading, begin: int, end: int) -> Iterator[tuple[float, int, int]]:
    """The phrase inside tokens begin..end: from the first word that says something to the last, cut at "in 2024", "under"."""
    tokens = reading.tokens
    start = begin
    while start < end and (_asks(tokens[start], offer) or tokens[start].lower in _LEADS or _names_it(tokens[start], parameter)):
        start += 1
    stop = end
    if parameter.role not in _WHOLE:
        for at in range(start + 1, stop):
            if tokens[at].lower in _ENDS | {"and", "to"}:
                stop = at
                break
    while stop > start and (tokens[stop - 1].kind == "mark" or tokens[stop - 1].lower in STOP | _ENDS | {"please"}):
        stop -= 1
    if stop <= start:
        return
    score = sum(worth(token.lower) if token.kind == "word" else 1.0 for token in tokens[start:stop])
    lead = tokens[start - 1].lower if start else ""
    if lead in ("for", "about", "to", "of", "on", "regarding"):
        score += 0.5
    if score >= 0.5:
        yield score, start, stop


def _names_it(token: Token, parameter: Parameter) -> bool:
    return token.kind == "word" and any(kinship(token.stem, own) == 1.0 for own in parameter.name_stems)


def _said(reading: Reading, begin: int, end: int) -> str:
    tokens = reading.tokens[begin:end]
    if len(tokens) == 1 and tokens[0].kind in ("quote", "name"):
        return str(tokens[0].value)
    return reading.text[tokens[0].start : tokens[-1].end].strip().strip("\"'")

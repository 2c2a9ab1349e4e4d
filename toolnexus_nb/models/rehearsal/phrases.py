"""Free text as a value: what is left of a prompt when the words that ask for the tool are taken away."""

# ruff: noqa: SIM905  (lists of words read best as text)
from __future__ import annotations

from collections.abc import Iterator

from .cues import VALUES
from .lexicon import OPENERS, POINTING, PREPOSITIONS, STOP, VERBS
from .offers import Offer, Parameter
from .reading import Reading, Token
from .values import Candidate
from .words import best_kin, kinship, worth

# Words that part one phrase from the next.
_BORDERS = frozenset(
    "from in at on by until under below over above using via before after during per within due for with "
    "near to into of about"
    " and or that which who whom whose where when while is are was were be been found like related based "
    "between through than"
    " regarding concerning has have had does do did".split()
)
_ENDS = frozenset("under below until due before after within per using via".split())
_LEADS = frozenset(
    (
        "for about of on to regarding concerning titled called named saying that says the a an some any my me us "
        "our your please"
    ).split()
)
_PLACING = frozenset("in at near from to for of around between".split())
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
        given = parameter.role == "text" and nxt is not None and nxt.text == ":" and at + 2 < len(reading.tokens)
        if given and any(kinship(token.stem, own) >= 0.7 for own in parameter.name_stems):
            whole = range(at + 2, len(reading.tokens))  # "the sentence: …" gives it to the end
            yield Candidate(parameter, _said(reading, whole.start, whole.stop), frozenset(whole), 2.6)
            continue
        if not introduces and not (named and nxt is not None and nxt.text in (":", "=", "is")):
            continue
        begin = at + 1 if introduces else at + 2
        end = begin
        long = parameter.role in _WHOLE or introduces
        while end < len(reading.tokens) and not _stops(reading, end, long=bool(long)):
            end += 1
        if end > begin:
            yield Candidate(parameter, _said(reading, begin, end), frozenset(range(begin, end)), 2.4)


def _stops(reading: Reading, at: int, *, long: bool) -> bool:
    token = reading.tokens[at]
    if token.kind == "mark":
        return token.text in ".,;?!:\n"
    if token.kind in ("date", "time", "email"):
        return True
    return not long and token.lower in _BORDERS


def leftovers(parameter: Parameter, offer: Offer, reading: Reading, used: frozenset[int]) -> list[Candidate]:
    """Runs of words that no other parameter took, without the words that asked for the tool; the best first.

    A text or a query may be long; anything else is one phrase, and the one the tool itself does not speak of.
    """
    whole = parameter.role in _WHOLE or parameter.kind == "array"
    found: list[tuple[float, int, int]] = []
    begin = 0
    for at in range(len(reading.tokens) + 1):
        if at < len(reading.tokens) and at not in used and not _breaks(reading.tokens[at]):
            continue
        found.extend(
            _long(parameter, offer, reading, begin, at) if whole else _phrases(parameter, offer, reading, begin, at)
        )
        begin = at + 1
    runs = [
        Candidate(parameter, _said(reading, start, end), frozenset(range(start, end)), min(2.0, score))
        for score, start, end in found
    ]
    return sorted(runs, key=lambda one: (-one.score, min(one.tokens)))


def _breaks(token: Token) -> bool:
    return token.kind == "mark" and token.text in ".,;?!:()\n"


def _asks(token: Token, offer: Offer) -> bool:
    """Whether a word only asks for the tool: "search", "please", "the weather"."""
    if token.kind in VALUES:
        return False
    if token.lower in STOP | OPENERS:
        return True
    return best_kin(token.stem, offer.name_stems) >= 0.7


def _long(
    parameter: Parameter, offer: Offer, reading: Reading, begin: int, end: int
) -> Iterator[tuple[float, int, int]]:
    """The text inside tokens begin..end: from the first word that says something, cut at "under", "until"."""
    tokens = reading.tokens
    start = begin
    if start < end and tokens[start].lower in VERBS:
        start += 1
    while start < end and _leads_in(tokens, start, begin, offer, parameter):
        start += 1
    stop = next((at for at in range(start + 1, end) if tokens[at].lower in _ENDS), end)
    stop = _cut_where(offer, reading, start, stop)
    while stop > start and (tokens[stop - 1].kind == "mark" or tokens[stop - 1].lower in STOP | _ENDS | {"near"}):
        stop -= 1
    score = sum(worth(token.lower) if token.kind == "word" else 1.0 for token in tokens[start:stop])
    lead = tokens[start - 1].lower if start else ""
    if lead in ("for", "about", "to", "of", "on", "regarding"):
        score += 0.5
    if stop > start and score >= 0.5:
        yield score, start, stop


def _leads_in(tokens: list[Token], at: int, begin: int, offer: Offer, parameter: Parameter) -> bool:
    """Whether a word still belongs to the asking. After "to" a verb is what is to be done: "remind me to call Bob"."""
    token = tokens[at]
    if (
        at > begin
        and tokens[at - 1].lower == "to"
        and token.lower in OPENERS
        and best_kin(token.stem, offer.name_stems) < 0.7
    ):
        return False
    return _asks(token, offer) or token.lower in _LEADS or _names_it(token, parameter)


def _cut_where(offer: Offer, reading: Reading, start: int, stop: int) -> int:
    """Cut before "to my calendar", "on the list", "in the mailbox": a place that the tool itself speaks of."""
    tokens = reading.tokens
    for at in range(stop - 1, start, -1):
        if tokens[at].lower not in ("to", "in", "on", "into", "from"):
            continue
        rest = [token for token in tokens[at + 1 : stop] if token.kind == "word" and worth(token.lower) > 0]
        if (
            rest
            and all(best_kin(token.stem, offer.told_stems) >= 0.7 for token in rest)
            and not any(t.kind in VALUES for t in tokens[at:stop])
        ):
            return at
    return stop


def _phrases(
    parameter: Parameter, offer: Offer, reading: Reading, begin: int, end: int
) -> Iterator[tuple[float, int, int]]:
    """The phrases between prepositions inside tokens begin..end, each worth what the tool does not say of itself."""
    tokens = reading.tokens
    start = begin
    for at in range(begin, end + 1):
        if at < end and tokens[at].lower not in _BORDERS:
            continue
        first, last = start, at
        while first < last and (tokens[first].lower in STOP | OPENERS | VERBS or _names_it(tokens[first], parameter)):
            first += 1
        while last > first and (tokens[last - 1].kind == "mark" or tokens[last - 1].lower in STOP):
            last -= 1
        if any(not _told(token, offer) for token in tokens[first:last]):
            while _told(tokens[last - 1], offer) or (last - first > 1 and _names_it(tokens[last - 1], parameter)):
                last -= 1  # "sushi restaurants" for a tool that finds restaurants: sushi
            while _told(tokens[first], offer):
                first += 1
        lead = tokens[start - 1].lower if start else ""
        start = at + 1
        inside = tokens[first:last]
        if not inside or all(token.lower in POINTING for token in inside):
            continue
        if parameter.role in ("place", "country") and lead not in _PLACING:
            continue  # "weather in reykjavik", but not any word that is left
        new = sum(
            (worth(t.lower) if t.kind == "word" else 1.0) for t in inside if best_kin(t.stem, offer.told_stems) < 0.7
        ) / len(inside)
        if new >= 0.2:
            yield min(new, 1.0) + (0.4 if lead in ("of", "for", "about", "like", "in", "on") else 0.0), first, last


def _told(token: Token, offer: Offer) -> bool:
    return token.kind == "word" and best_kin(token.stem, offer.name_stems) >= 1.0


def _names_it(token: Token, parameter: Parameter) -> bool:
    return token.kind == "word" and any(kinship(token.stem, own) == 1.0 for own in parameter.name_stems)


def _said(reading: Reading, begin: int, end: int) -> str:
    tokens = reading.tokens[begin:end]
    if len(tokens) == 1 and tokens[0].kind in ("quote", "name"):
        return str(tokens[0].value)
    return reading.text[tokens[0].start : tokens[-1].end].strip().strip("\"'")

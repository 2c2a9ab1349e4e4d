"""Where a value stands in a prompt, and which parameter its neighbours speak for."""

# ruff: noqa: SIM905  (lists of words read best as text)
from __future__ import annotations

import re

from .lexicon import PREPOSITIONS
from .offers import Parameter
from .reading import Reading, Token
from .words import kinship, worth

VALUES = frozenset(("name", "number", "quote", "date", "time", "email", "url", "path", "list", "id"))

# Words that may stand between a parameter's name and its value without parting them.
_LINKS = frozenset(
    "of is are was be the a an as to = : equal equals equalling being value set at with its about around".split()
)
_NAMING = frozenset(("of", "as", "called", "named", "titled", "entitled", "with"))
_JOINTS = frozenset(("and", "or", "&", "plus", "as", "well"))


def weak(stem_: str) -> bool:
    """A stem that too many parameters share to speak for one of them."""
    return worth(stem_) == 0 or stem_.isdigit()


def _nearness(token: Token, stems: frozenset[str]) -> float:
    words = [token.stem] if token.kind == "word" else []
    return max((kinship(word, other) for word in words for other in stems if not weak(other)), default=0.0)


def cue(reading: Reading, start: int, end: int, parameter: Parameter) -> float:
    """How strongly the words around start..end name the parameter: 3 right before, 2.5 right after, 0 not at all."""
    if start and reading.tokens[start].kind != "number":
        fed = PREPOSITIONS.get(reading.tokens[start - 1].lower)
        if fed and reading.tokens[start - 1].lower not in _NAMING and not fed & set(parameter.words):
            return 0.0  # "a message to Bob": Bob is whom it goes to, not the message
    strong = _beside(reading, start, end, parameter.name_stems)
    hint = _beside(reading, start, end, parameter.hint_stems)
    return max(strong, 0.5 * hint) + 0.2 * min(strong, hint)


_SOURCE = frozenset(("from", "source", "base", "input", "initial"))
_TARGET = frozenset(("to", "target", "into", "output", "destination"))


def direction(reading: Reading, at: int, parameter: Parameter, *, measured: bool) -> float:
    """Whether a unit or currency is the one converted from or to: "25 C in F", "dollars to euros".

    `measured`: it stands with a number, so it is what is converted.
    """
    before = reading.tokens[at - 1].lower if at else ""
    aimed = before in ("to", "into", "in") or ("many" in reading.lower_words and not measured)
    score = 0.0
    if _SOURCE & set(parameter.words):
        score += 1.2 if measured else (-0.6 if aimed else 0.0)
    if _TARGET & set(parameter.words):
        score += -1.2 if measured else (1.0 if aimed else 0.0)
    return score


def assigned(reading: Reading, at: int, parameter: Parameter) -> bool:
    """Whether the prompt says "name = value", "name: value" or "name is value" in so many words."""
    if at < 2 or reading.tokens[at - 1].text.lower() not in ("=", ":", "is", "equals", "as"):
        return False
    return reading.tokens[at - 2].lower.replace("_", "") == parameter.name.lower().replace("_", "")


def shared_cue(reading: Reading, at: int, parameter: Parameter) -> float:
    """The cue of a value, or nearly that of its companions: in "years 300 and 400" both are years."""
    own = cue(reading, at, at + 1, parameter)
    run = companions(reading, at)
    if len(run) == 1:
        return own
    return max(own, 0.95 * max(cue(reading, other, other + 1, parameter) for other in run))


def respective(reading: Reading, parameters: list[Parameter]) -> dict[str, int]:
    """Names said together, then values said together: "its base and height as 6 and 10" -> base 6, height 10."""
    said: dict[str, int] = {}
    for parameter in parameters:
        places = [
            at
            for at, token in enumerate(reading.tokens)
            if token.kind == "word"
            and any(kinship(token.stem, own) == 1 for own in parameter.name_stems if not weak(own))
        ]
        if places:
            said[parameter.name] = places[0]
    names = sorted(said, key=lambda name: said[name])
    if len(names) < 2 or len(set(said.values())) < len(names):
        return {}
    after = [at for at, token in enumerate(reading.tokens) if token.kind == "number" and at > said[names[-1]]]
    if any(reading.tokens[at].kind == "number" for at in range(said[names[0]], said[names[-1]])) or len(after) < len(
        names
    ):
        return {}
    run = [at for at in companions(reading, after[0]) if at >= after[0]]
    return dict(zip(names, run, strict=False)) if len(run) >= len(names) else {}


def _beside(reading: Reading, start: int, end: int, stems: frozenset[str]) -> float:
    if not stems:
        return 0.0
    best, far = 0.0, 0.0
    for at in range(start - 1, max(start - 9, -1), -1):
        token = reading.tokens[at]
        if token.kind in VALUES or token.text in ".;?!" or far > 2:
            break
        if token.lower in _LINKS:
            continue
        near = _nearness(token, stems)
        if near >= 0.7:
            best = 3.0 * near - 0.5 * far
            break
        far += 0.5 if token.kind == "mark" else 1
    far = 0.0
    for at in range(end, min(end + 4, len(reading.tokens))):
        token = reading.tokens[at]
        if (
            token.kind in VALUES
            or token.kind == "mark"
            or token.lower in _JOINTS
            or token.lower in PREPOSITIONS
            or far > 2
        ):
            break
        near = _nearness(token, stems)
        if near >= 0.7:
            return max(best, 2.5 * near - 0.5 * far)
        far += 1
    return best


def preposition(reading: Reading, start: int, parameter: Parameter) -> float:
    """1.5 when the word before the value is one that feeds such parameters ("from Berlin" -> origin), 0.8 by its
    description."""
    at = start - 1
    while at >= 0 and reading.tokens[at].lower in ("the", "a", "an", "my", "our", "city", "country", "named", "called"):
        if reading.tokens[at].lower in ("named", "called"):
            break
        at -= 1
    if at < 0:
        return 0.0
    word = reading.tokens[at].lower
    if word == "and" and any(token.lower == "between" for token in reading.tokens[max(at - 4, 0) : at]):
        word = "and (between)"
    fed = PREPOSITIONS.get(word)
    if not fed:
        return 0.0
    if fed & set(parameter.words):
        return 1.5
    described = set(re.findall(r"[a-z]+", parameter.description.lower()))
    return 0.8 if fed & described else 0.0


def companions(reading: Reading, at: int) -> list[int]:
    """The positions of the values said in one breath with this one: "Oslo, Rome and Paris" -> all three."""
    kind = reading.tokens[at].kind
    run = [at]
    for step in (-1, 1):
        here = at
        while True:
            nxt = here + step
            joined = False
            while 0 <= nxt < len(reading.tokens) and _parts_values(reading, nxt, kind):
                joined = (
                    joined
                    or reading.tokens[nxt].text == ","
                    or reading.tokens[nxt].lower in ("and", "or", "&", "versus", "vs")
                )
                nxt += step
            if (
                not (0 <= nxt < len(reading.tokens))
                or reading.tokens[nxt].kind != kind
                or not joined
                or abs(nxt - here) > 5
            ):
                break
            run.append(nxt)
            here = nxt
    return sorted(run)


def _parts_values(reading: Reading, at: int, kind: str) -> bool:
    token = reading.tokens[at]
    if token.text == "," or token.lower in (
        "and",
        "or",
        "&",
        "as",
        "well",
        "versus",
        "vs",
        "also",
        "then",
        "the",
        "in",
        "of",
        "for",
        "from",
        "at",
        "to",
    ):
        return True
    # "4 seconds and 10 seconds", "five meters, 6 meters"
    return kind == "number" and token.kind == "word" and at > 0 and reading.tokens[at - 1].kind == "number"

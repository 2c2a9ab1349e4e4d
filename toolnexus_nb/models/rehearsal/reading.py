"""Reading a prompt: words, and what in it can become an argument (numbers, names, quotes, days, addresses)."""

# ruff: noqa: SIM905  (lists of words read best as text)
from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import Any, TypeVar

from .dates import moments
from .lexicon import NUMBER_WORDS, OPENERS, ORDINALS, SCALES, STOP, UNITS
from .places import PLACES
from .words import stem

T = TypeVar("T")
R = TypeVar("R")

LONGEST = 6_000
"""Characters of a prompt that are read; what follows is most likely a document that came along."""


@dataclass(frozen=True)
class Token:
    """One word of a prompt, or one thing in it.

    kind: "word" | "name" (capitals, a known place) | "number" | "quote" | "date" | "time" | "email" | "url" | "path"
        | "list" (written in brackets) | "id" (A7731, P-1001) | "mark" (punctuation)
    value: what it stands for (a number, an ISO day, the text inside the quotes); the text itself for words
    unit: of a number: the canonical unit that stands beside it ("meter", "percent", "usd"), or ""
    """

    text: str
    start: int
    end: int
    kind: str
    value: Any = None
    unit: str = ""

    @cached_property
    def lower(self) -> str:
        return self.text.lower()

    @cached_property
    def stem(self) -> str:
        return stem(self.text)


_FIXED = re.compile(
    r"(?P<url>https?://[^\s\"'<>]+[^\s\"'<>.,;:!?)])"
    r"|(?P<email>(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
    r"|(?P<quote>\"[^\"]+\"|“[^”]+”|„[^“”]+[“”]|«[^»]+»|`[^`]+`|‘[^’]+’(?!\w)|(?<![\w'])'[^'\n]+(?:'(?=\w)[^'\n]*)*'(?!\w))"
    r"|(?P<list>\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]|\{\s*[\"'][^{}]*\}|\(\s*-?[\d.]+\s*(?:,\s*-?[\d.]+\s*)+\))"
    r"|(?P<zone>\b(?:Africa|America|Antarctica|Asia|Atlantic|Australia|Europe|Indian|Pacific|Etc)/[A-Z][\w+/-]+)"
    r"|(?P<glob>(?<![\w*])[\w./-]*\*\*?(?:/\*)*\.\w+\b)"
    r"|(?P<path>(?<![\w/])(?:~|\.{1,2})?/[\w.~+-]+(?:/[\w.~+-]*)*|\b[A-Za-z]:[\\/][\w\\/.-]+|\b[\w-]+(?:/[\w.-]+)+\.\w{1,5}\b|\b[A-Za-z][\w-]{2,}/[A-Za-z][\w.-]{2,}\b|\b[\w-]+\.(?:txt|csv|json|md|py|log|pdf|docx?|xlsx?|png|jpe?g|html?|ya?ml|xml|ipynb|toml|ini|sh|js|zip|mp3|mp4|db|sqlite|parquet)\b)"
    r"|(?P<id>#\d+\b|\b(?=[A-Za-z-]*\d)(?=[\d-]*[A-Za-z])[A-Z][A-Z0-9]*(?:-[A-Za-z0-9]+)+\b|"
    r"\b[A-Z]{1,4}\d{2,}\w*\b|\b[a-z]{1,3}\d{3,}\b|\b\d+x\d+\b|\b\d{2,4}/[A-Z]+\d+\b|\b[A-Za-z]+_\w+\b|"
    r"\b\d{3,}-\d{3,}(?:-\d{2,})*\b|\+\d[\d ()-]{6,}\d)"
)
_KINDS = {"zone": "name", "glob": "quote"}
"""Asia/Tokyo is a name, *.csv is meant as it is written."""
_NUMBER = re.compile(
    r"(?P<currency>[$€£¥₹])?\s?(?P<digits>(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+)"
    r"(?:\s?(?P<percent>%)|(?P<ordinal>st|nd|rd|th)\b|(?P<unit>°?[A-Za-z]{1,4}(?:/[a-z]+\^?2?)?(?![\w]))|(?P<degree>°))?"
)
_WORD = re.compile(r"[^\W\d_][\w'’.-]*[\w]|[^\W\d_]|[^\w\s]|\d+\w*|_\w*")
_MATH = {
    "+": "plus",
    "*": "multiplied",
    "×": "multiplied",
    "÷": "divided",
    "/": "divided",
    "^": "power",
    "−": "minus",
    "-": "minus",
}
_SUFFIXES = {"k": 1_000, "K": 1_000, "M": 1_000_000, "B": 1_000_000_000}
_SPOKEN_MATH = {"x": "multiplied", "times": "multiplied", "over": "divided"}


class Reading:
    """A prompt as tokens. Slices of it (clauses) are Readings of the same text, and share what was worked out."""

    def __init__(self, text: str, tokens: list[Token], memo: dict[tuple[Any, ...], Any] | None = None) -> None:
        self.text = text
        self.tokens = tokens
        self._memo = memo if memo is not None else {}

    def remembered(self, kind: str, owner: T, work: Callable[[T, Reading], R]) -> R:
        """`work(owner, self)`, done once for each stretch of the text: tools are held against the same clause often."""
        place = (self.tokens[0].start, self.tokens[-1].start, len(self.tokens)) if self.tokens else ()
        key = (kind, id(owner), *place)
        found = self._memo.get(key)
        if found is None or found[0] is not owner:
            found = self._memo[key] = (owner, work(owner, self))
        result: R = found[1]
        return result

    def __repr__(self) -> str:
        return f"Reading({self.said!r})"

    @property
    def said(self) -> str:
        """The text this reading covers."""
        return self.text[self.tokens[0].start : self.tokens[-1].end] if self.tokens else ""

    def of(self, *kinds: str) -> list[Token]:
        return [token for token in self.tokens if token.kind in kinds]

    @cached_property
    def stems(self) -> frozenset[str]:
        words = {part for token in self.tokens if token.kind in ("word", "name") for part in _parts(token)}
        for token in self.of("path"):  # "what is in /var/log" speaks of a folder, "read a.txt" of a file
            words.add(stem("file") if re.search(r"\.\w{1,5}$", token.text) else stem("directory"))
        if any("/" in token.text for token in self.of("name")):
            words.add(stem("timezone"))
        return frozenset(words)

    @cached_property
    def lower_words(self) -> frozenset[str]:
        return frozenset(
            part for token in self.tokens if token.kind in ("word", "name") for part in token.lower.split()
        )

    def without_lists(self) -> Reading:
        """The same text with "(45, 60)" read as two numbers: for tools that take no list."""
        tokens: list[Token] = []
        for token in self.tokens:
            numbers = token.value if token.kind == "list" and isinstance(token.value, list) else []
            if not numbers or not all(isinstance(one, int | float) for one in numbers):
                tokens.append(token)
                continue
            for at, one in enumerate(numbers):
                comma = [Token(",", token.start, token.start + 1, "mark", ",")] if at else []
                tokens += [*comma, Token(str(one), token.start + at, token.end, "number", one)]
        return Reading(self.text, tokens)

    def slice(self, start: int, end: int) -> Reading:
        """The tokens with positions start..end."""
        return Reading(self.text, self.tokens[start:end], self._memo)


def _parts(token: Token) -> list[str]:
    return [stem(part) for part in re.split(r"[\s-]+", token.lower) if part]


def _literal(text: str) -> Any:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        # Not Python: [a, b, c] is a list of words.
        return [part.strip().strip("\"'") for part in text.strip("[](){}").split(",") if part.strip()]
    return list(value) if isinstance(value, tuple) else value


def number(text: str) -> int | float:
    """ "1,250" -> 1250, "2.50" -> 2.5."""
    plain = text.replace(",", "")
    return int(plain) if re.fullmatch(r"\d+", plain) else float(plain)


def read(text: str, today: date) -> Reading:
    """The tokens of a prompt. `today` makes "tomorrow" a day."""
    text = text[:LONGEST]
    bare = text.strip()
    if len(bare) > 2 and bare[0] in '"“' and bare[-1] in '"”' and not set(bare[1:-1]) & set('"“”'):
        text = bare[1:-1]  # a prompt that is quoted as a whole
    found: list[Token] = []
    for match in _FIXED.finditer(text):
        kind = str(match.lastgroup)
        whole = match.group(0)
        value: Any = whole
        if kind == "quote":
            value = whole[1:-1].strip()
        elif kind == "list":
            value = _literal(whole)
        elif kind == "id":
            value = whole.removeprefix("#")
        found.append(Token(whole, match.start(), match.end(), _KINDS.get(kind, kind), value))
    spans = [(token.start, token.end) for token in found]

    def free(start: int, end: int) -> bool:
        return all(end <= a or start >= b for a, b in spans)

    for moment in moments(text, today):
        if free(moment.start, moment.end):
            found.append(Token(text[moment.start : moment.end], moment.start, moment.end, moment.kind, moment.value))
            spans.append((moment.start, moment.end))
    for match in _NUMBER.finditer(text):
        start = match.start("currency") if match["currency"] else match.start("digits")
        before = text[start - 1] if start else " "
        if not free(start, match.end("digits")) or before.isalnum() or before == "_" or len(match["digits"]) > 40:
            continue
        unit, end = _unit_of(match, text)
        if unit is None:
            continue
        value = number(match["digits"])
        factor = _SUFFIXES.get(text[end : end + 1]) if not text[end + 1 : end + 2].isalnum() else None
        if factor and end == match.end("digits") and (match["currency"] or text[end] == "k"):
            value, end = value * factor, end + 1  # "$1.2M", "5k"
            value = int(value) if float(value).is_integer() else value
        found.append(Token(text[start:end], start, end, "number", value, unit))
        spans.append((start, end))
    for match in _WORD.finditer(text):
        if free(match.start(), match.end()):
            word = match.group(0)
            found.append(Token(word, match.start(), match.end(), "word" if word[0].isalnum() else "mark", word))
    found.sort(key=lambda token: token.start)
    return Reading(text, list(_addresses(list(_names(list(_signs(list(_spoken_numbers(found)))))))))


def _unit_of(match: re.Match[str], text: str) -> tuple[str | None, int]:
    """The unit glued to a number, and where the token ends; None when this is no number (4x4, 3D)."""
    if match["currency"]:
        return UNITS.get(match["currency"], match["currency"]), match.end("digits")
    if match["percent"]:
        return "percent", match.end("percent")
    if match["degree"]:
        return "degree", match.end("degree")
    if match["ordinal"]:
        return "ordinal", match.end("ordinal")
    glued = match["unit"]
    if glued:
        if (match["currency"] and glued in _SUFFIXES) or glued == "k":
            return UNITS.get(match["currency"] or "", ""), match.end("digits")
        if glued.lower() in UNITS:
            return UNITS[glued.lower()], match.end("unit")
        return ("", match.end("digits")) if len(glued) == 1 else (None, 0)
    after = text[match.end("digits") : match.end("digits") + 1]
    return (
        (None, 0)
        if after.isalpha() and not text[match.end("digits") :].startswith(("x", "k "))
        else ("", match.end("digits"))
    )


def _spoken_numbers(tokens: list[Token]) -> Iterator[Token]:
    """Number words become numbers ("twenty-five", "three hundred", "two and a half"), units are noted beside them."""
    at = 0
    while at < len(tokens):
        token = tokens[at]
        words = token.lower.split("-") if token.kind == "word" else []
        value: int | float | None = None
        end = at + 1
        if words and all(word in NUMBER_WORDS for word in words):
            value = sum(NUMBER_WORDS[word] for word in words)
            while end < len(tokens) and tokens[end].kind == "word":
                nxt = tokens[end].lower
                if nxt in NUMBER_WORDS and 20 <= value % 100 < 100 and value % 10 == 0 and NUMBER_WORDS[nxt] < 10:
                    value += NUMBER_WORDS[nxt]
                elif nxt in SCALES:
                    value *= SCALES[nxt]
                elif (
                    nxt == "and"
                    and end + 1 < len(tokens)
                    and tokens[end + 1].lower in NUMBER_WORDS
                    and value >= 100
                    and value % 100 == 0
                ):
                    value += NUMBER_WORDS[tokens[end + 1].lower]
                    end += 1
                elif nxt in NUMBER_WORDS and value >= 100 and value % 100 == 0 and NUMBER_WORDS[nxt] < 100:
                    value += NUMBER_WORDS[nxt]
                else:
                    break
                end += 1
            if tokens[at].lower == "one" and end == at + 1:
                following = tokens[end] if end < len(tokens) else None
                previous = tokens[at - 1].lower if at else ""
                # "the one", "this one", "one of": a pronoun, not a count.
                if (
                    following is None
                    or following.lower in ("of", "more", "another")
                    or previous in ("the", "this", "that", "which", "any", "no")
                ):
                    value = None
        elif (
            token.kind == "word"
            and token.lower in ("a", "half")
            and end < len(tokens)
            and tokens[end].lower in ("hundred", "thousand", "million", "dozen")
        ):
            value = SCALES.get(tokens[end].lower, 12)
            end += 1
        elif token.kind == "number":
            value = token.value
            while end < len(tokens) and tokens[end].lower in SCALES and (tokens[end].kind == "word"):
                scaled = value * SCALES[tokens[end].lower]
                value = int(scaled) if float(scaled).is_integer() else scaled
                end += 1
        elif token.kind == "word" and token.lower in ORDINALS:
            yield replace(token, value=token.text)
            at += 1
            continue
        if value is None:
            if words and words != [token.lower] and all(word in NUMBER_WORDS for word in words):
                yield replace(token, kind="number", value=sum(NUMBER_WORDS[word] for word in words))
            else:
                yield token
            at += 1
            continue
        unit = token.unit
        if not unit and end < len(tokens) and tokens[end].kind == "word":
            unit = UNITS.get(tokens[end].lower, "")
        yield Token(" ".join(t.text for t in tokens[at:end]), token.start, tokens[end - 1].end, "number", value, unit)
        at = end


def _signs(tokens: list[Token]) -> Iterator[Token]:
    """A minus before a number is its sign; an operator between two numbers is the word for it."""
    at = 0
    while at < len(tokens):
        token = tokens[at]
        before = tokens[at - 1] if at else None
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        if token.kind == "mark" and after is not None and after.kind == "number":
            glued = token.end == after.start
            operand = before is not None and (before.kind == "number" or before.text == ")")
            if token.text in "-−" and glued and not (operand and before is not None and before.end == token.start):
                yield replace(after, text=token.text + after.text, start=token.start, value=-after.value)
                at += 2
                continue
            if operand and token.text in _MATH:
                yield replace(token, kind="word", text=_MATH[token.text], value=_MATH[token.text])
                at += 1
                continue
        signs = (
            token.kind == "word"
            and token.lower in ("minus", "negative")
            and (before is None or before.kind != "number")
        )
        if signs and after is not None and after.kind == "number":
            yield replace(after, text=f"{token.text} {after.text}", start=token.start, value=-after.value)
            at += 2
            continue
        between = before is not None and before.kind == "number" and after is not None and after.kind == "number"
        if token.kind == "word" and between and token.lower in _SPOKEN_MATH:
            token = replace(token, value=_SPOKEN_MATH[token.lower], text=_SPOKEN_MATH[token.lower])
        yield token
        at += 1


def _is_capital(token: Token) -> bool:
    return token.kind == "word" and token.text[:1].isupper()


def _opens_sentence(tokens: list[Token], at: int) -> bool:
    return at == 0 or (tokens[at - 1].kind == "mark" and tokens[at - 1].text in ".?!:;\n")


_JOINERS = frozenset("of de da del la le van von der den di du al bin el y st".split())


def _names(tokens: list[Token]) -> Iterator[Token]:
    """Capitalised runs and known places become names: "New York", "Bank of America", "oslo"."""
    at = 0
    while at < len(tokens):
        token = tokens[at]
        place = _place_at(tokens, at)
        if place:
            end = at + place
            while end < len(tokens) and _is_capital(tokens[end]) and tokens[end].lower not in STOP:
                end += 1  # "Rome Airport", "Paris Saint-Germain"
            yield _joined(tokens[at:end], "name")
            at = end
            continue
        titled = (
            token.text == "The"
            and at > 0
            and not _opens_sentence(tokens, at)
            and at + 1 < len(tokens)
            and _is_capital(tokens[at + 1])
        )
        if titled or (_is_capital(token) and not _skips_as_name(tokens, at)):
            end = at + 1 + titled
            while end < len(tokens):
                nxt = tokens[end]
                joined = nxt.start - tokens[end - 1].end <= 1
                if joined and _is_capital(nxt) and nxt.lower not in ("i", "i'm", "i'd", "what", "how"):
                    end += 1
                elif joined and nxt.lower in _JOINERS and end + 1 < len(tokens) and _is_capital(tokens[end + 1]):
                    end += 2
                elif joined and nxt.lower in ("the", "and") and tokens[end - 1].lower in _JOINERS:
                    end += 1
                elif (
                    nxt.kind == "mark"
                    and nxt.text == "."
                    and len(tokens[end - 1].text) <= 2
                    and end + 1 < len(tokens)
                    and _is_capital(tokens[end + 1])
                ):
                    end += 1  # an initial: "J. Smith"
                else:
                    break
            yield _joined(tokens[at:end], "name")
            at = end
            continue
        yield token
        at += 1


_STREETS = frozenset("street st avenue ave road rd lane ln boulevard blvd drive way square court place".split())


def _addresses(tokens: list[Token]) -> Iterator[Token]:
    """A house number and a street are one name: "12 Main Street"."""
    at = 0
    while at < len(tokens):
        token = tokens[at]
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        if (
            after is not None
            and after.kind == "name"
            and after.lower.split()[-1].rstrip(".") in _STREETS
            and re.fullmatch(r"\d+[A-Za-z]?", token.text)
        ):
            yield Token(f"{token.text} {after.text}", token.start, after.end, "name", f"{token.text} {after.text}")
            at += 2
            continue
        yield token
        at += 1


def _skips_as_name(tokens: list[Token], at: int) -> bool:
    token = tokens[at]
    if token.lower in STOP or token.lower in ("i", "i'm", "i'd", "i've"):
        return True
    if not _opens_sentence(tokens, at) or token.lower.endswith(("'s", "’s")):
        return False  # "Tom's grade" opens with a name, too
    followed = at + 1 < len(tokens) and _is_capital(tokens[at + 1]) and tokens[at + 1].lower not in STOP
    if token.lower in OPENERS or stem(token.lower) in {stem(word) for word in ("please", "currently", "also")}:
        return True
    # "Lisbon weather?" is a name; "Vacuum the floor" is not: an unknown first word counts only before another capital.
    return not followed


def _place_at(tokens: list[Token], at: int) -> int:
    """How many tokens at this position spell a known place."""
    for count in (4, 3, 2, 1):
        run = tokens[at : at + count]
        if len(run) == count and all(token.kind == "word" for token in run):
            spelled = " ".join(token.lower.removesuffix("'s").removesuffix("’s") for token in run)
            if spelled in PLACES and (
                run[0].text[0].isupper()
                or spelled
                not in (
                    "us",
                    "nice",
                    "turkey",
                    "china",
                    "jordan",
                    "chad",
                    "georgia",
                    "victoria",
                    "mali",
                    "niger",
                    "florence",
                    "charlotte",
                    "phoenix",
                    "orange",
                    "guinea",
                )
            ):
                return count
    return 0


def _joined(tokens: list[Token], kind: str) -> Token:
    last = tokens[-1].text
    trimmed = len(last) - len(last.removesuffix("'s").removesuffix("’s"))
    if len(tokens) == 1:
        return Token(
            last[: len(last) - trimmed] or last, tokens[0].start, tokens[0].end, kind, last[: len(last) - trimmed]
        )
    text = " ".join(token.text for token in tokens)
    text = text.replace(" . ", ". ")
    text = text[: len(text) - trimmed] if trimmed else text
    return Token(text, tokens[0].start, tokens[-1].end, kind, text)

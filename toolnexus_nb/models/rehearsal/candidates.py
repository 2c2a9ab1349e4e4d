"""What in a prompt could be the value of one parameter, and how likely. One function per kind of parameter."""

# ruff: noqa: SIM905  (lists of words read best as text)
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .cues import assigned, companions, cue, preposition, shared_cue
from .dates import in_format
from .lexicon import COLORS, FALSE_WORDS, OPENERS, STOP, TRUE_WORDS, UNITS
from .offers import Offer, Parameter
from .places import CITIES, COUNTRIES, CURRENCIES, LANGUAGES, PLACES, STATES
from .reading import Reading, Token
from .words import best_kin, kinship, stem, text_words, worth

IMPOSSIBLE = -9.0
_MONEY = frozenset(
    "price amount cost budget salary income revenue money payment fee balance investment principal loan value worth bid".split()
)
_RATES = frozenset("rate ratio probability percentage percent yield discount interest growth tip tax fraction".split())
_COUNTS = frozenset("count limit num number top n max results quantity many size amount".split())
_LANDMARKS = frozenset(
    "rainforest airport park river island university street district valley beach station mountain lake desert coast".split()
)
_MATH = re.compile(
    r"[-+]?(?:\d+(?:\.\d+)?\s*\*?\s*)?[a-z](?:\s*(?:\^|\*\*)\s*\d+)?(?:\s*[-+*/=]\s*(?:\d+(?:\.\d+)?)?\s*\*?\s*(?:[a-z](?![a-z]))?(?:\s*(?:\^|\*\*)\s*\d+)?)*"
)


_WEEKDAY = re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b", re.IGNORECASE)


@dataclass(frozen=True)
class Candidate:
    """A value one parameter could take, the tokens it comes from, and how well it fits (0 hardly, 1 plausible, 3 said in so many words)."""

    parameter: Parameter
    value: Any
    tokens: frozenset[int]
    score: float


def candidates(parameter: Parameter, reading: Reading, offer: Offer) -> list[Candidate]:
    """Every value in the prompt that this parameter could take."""
    if parameter.choices:
        return list(_choices(parameter, reading))
    finder = {"integer": _numbers, "number": _numbers, "boolean": _booleans, "array": _arrays}.get(parameter.kind)
    if finder is not None:
        return [found for found in finder(parameter, reading) if found.score > IMPOSSIBLE / 2]
    if parameter.kind == "object":
        return []
    return [found for found in _strings(parameter, reading, offer) if found.score > IMPOSSIBLE / 2]


# --- numbers


def _fits(parameter: Parameter, value: float) -> bool:
    if parameter.kind == "integer" and not float(value).is_integer():
        return False
    if parameter.minimum is not None and value < parameter.minimum:
        return False
    return parameter.maximum is None or value <= parameter.maximum


def _numbers(parameter: Parameter, reading: Reading) -> Iterator[Candidate]:
    for at, token in enumerate(reading.tokens):
        value = token.value
        if token.kind == "id" and re.fullmatch(r"\d+", str(value)):
            value = int(value)
        elif token.kind != "number":
            continue
        value = _scaled(parameter, token, value)
        if not _fits(parameter, value):
            continue
        score = 0.5 + shared_cue(reading, at, parameter) + 0.7 * preposition(reading, at, parameter)
        if assigned(reading, at, parameter):
            score += 4.0
        score += _counting(parameter, reading, at)
        unit = token.unit
        if unit and unit in parameter.units:
            score += 1.5 if parameter.required else 1.0
        elif unit in ("dollar", "euro", "pound_sterling", "yen"):
            score += 1.0 if _MONEY & set(parameter.words) else -0.4
        elif unit == "percent":
            score += 1.0 if _RATES & set(parameter.words) else -0.4
        elif unit == "ordinal":
            score -= 0.8
        elif unit and parameter.units:
            score -= 1.0
        if value == int(value):
            value = int(value)
        if parameter.kind == "integer" and set(parameter.words) & {"year"}:
            score += 1.2 if 1000 <= value <= 2200 else -1.5
        elif isinstance(value, int) and 1900 <= value <= 2100 and not unit:
            score -= 0.3
        yield Candidate(parameter, value, frozenset({at}), score)
    clock = {
        "year": ("date", 0),
        "month": ("date", 1),
        "hour": ("time", 0),
        "hours": ("time", 0),
        "minute": ("time", 1),
        "minutes": ("time", 1),
    }
    kind, part = next((clock[word] for word in parameter.words if word in clock), ("", 0))
    for token in reading.of(kind) if kind and parameter.kind == "integer" else ():
        yield Candidate(parameter, int(re.split(r"[-:]", token.value)[part]), frozenset(), 0.6)


def _counting(parameter: Parameter, reading: Reading, at: int) -> float:
    """A number before a plain noun counts things ("ten events"): right for a count, less so for a measure."""
    token = reading.tokens[at]
    after = [one for one in reading.tokens[at + 1 : at + 3] if one.kind == "word"]
    before = reading.tokens[at - 1].lower if at else ""
    things = next(
        (one.lower for one in after if one.lower.endswith("s") and one.lower not in STOP and one.lower not in UNITS), ""
    )
    if _COUNTS & set(parameter.words) and parameter.kind == "integer":
        return (
            1.7 if things or before in ("top", "first", "last", "next") or (after and after[0].lower == "of") else 0.0
        )
    if not things or token.unit or not token.text.isalpha() or things in parameter.words:
        return 0.0
    return (
        -4.0 if any(word + "s" == things for word in parameter.words) else -2.5
    )  # "two charges" says how many, not how large


def _scaled(parameter: Parameter, token: Token, value: float) -> float:
    """Percent as a fraction where a rate is wanted as a number: "5%" -> 0.05."""
    if token.unit != "percent" or parameter.kind != "number":
        return value
    said = f"{parameter.name} {parameter.description}".lower()
    if (("percent" in said or "%" in said) and "decimal" not in said) or not _RATES & {
        *parameter.words,
        *text_words(parameter.description),
    }:
        return value
    return round(value / 100, 10)


# --- booleans, enums


def _booleans(parameter: Parameter, reading: Reading) -> Iterator[Candidate]:
    own = frozenset(
        s
        for s in parameter.name_stems
        if s
        not in {
            stem(w) for w in ("is", "get", "include", "only", "with", "show", "use", "has", "return", "allow", "enable")
        }
    )
    switch = bool(set(parameter.words) & {"on", "enabled", "state", "active", "power", "enable", "off", "status"})
    for at, token in enumerate(reading.tokens):
        if token.kind not in ("word", "name"):
            continue
        before = [other.lower for other in reading.tokens[max(at - 3, 0) : at]]
        if switch and token.lower in ("off", "disable", "deactivate"):
            yield Candidate(parameter, "off" in parameter.words, frozenset({at}), 2.5)
        elif (
            switch
            and token.lower in ("on", "enable", "activate", "up")
            and (
                at == 0
                or reading.tokens[at - 1].lower in ("turn", "switch", "put", "be", "is")
                or token.lower != "on"
                or _turned(reading)
            )
        ):
            yield Candidate(parameter, "off" not in parameter.words, frozenset({at}), 2.0)
        elif any(kinship(token.stem, other) >= 1.0 for other in own):
            denied = any(word in FALSE_WORDS for word in before)
            yield Candidate(parameter, not denied, frozenset({at}), 2.0)
    if not own and not switch:
        for at, token in enumerate(reading.tokens):
            if token.lower in TRUE_WORDS | FALSE_WORDS and token.lower not in ("on", "off", "with", "no", "not"):
                yield Candidate(parameter, token.lower in TRUE_WORDS, frozenset({at}), 1.0)


def _turned(reading: Reading) -> bool:
    return bool({"turn", "switch", "put"} & reading.lower_words)


def _choice_words(choice: Any) -> list[str]:
    return [stem(word) for word in re.findall(r"[a-z]+|\d+", str(choice).lower().replace("_", " "))]


def _choices(parameter: Parameter, reading: Reading) -> Iterator[Candidate]:
    """Enum values named in the prompt, whatever their case, plural or spelling of spaces; a number among them by its value."""
    stems = [token.stem for token in reading.tokens]
    flat = {
        at: [
            stem(part)
            for part in (re.split(r"[\s-]+", token.lower) if token.kind != "date" else _WEEKDAY.findall(token.lower))
        ]
        for at, token in enumerate(reading.tokens)
    }
    for choice in parameter.choices:
        if choice is None or isinstance(choice, bool):
            continue
        if isinstance(choice, int | float):
            yield from (
                Candidate(parameter, choice, frozenset({at}), 1.5 + cue(reading, at, at + 1, parameter))
                for at, token in enumerate(reading.tokens)
                if token.kind == "number" and token.value == choice
            )
            continue
        words = _choice_words(choice)
        if not words:
            continue
        for at in range(len(stems)):
            here = [part for position in range(at, min(at + len(words), len(stems))) for part in flat[position]]
            if here[: len(words)] == words and (len(str(choice)) > 1 or reading.tokens[at].text == str(choice)):
                taken = frozenset(range(at, at + len(words))) if len(flat[at]) == 1 else frozenset({at})
                yield Candidate(parameter, choice, taken, 2.5 + 0.3 * len(words))
                break
        else:
            alias = _alias(choice, parameter, reading)
            if alias is not None:
                yield alias


def _alias(choice: Any, parameter: Parameter, reading: Reading) -> Candidate | None:
    """An enum value said another way: a unit ("F" for fahrenheit), a currency, a language, a near-synonym, a shared beginning."""
    said = str(choice).lower()
    for at, token in enumerate(reading.tokens):
        word = token.lower
        unit = token.unit or UNITS.get(word, "")
        if unit and UNITS.get(said) == unit and len(word) > 1 and len(said) > 0:
            return Candidate(parameter, choice, frozenset(), 2.2)
        if token.kind not in ("word", "name") or len(word) < 3:
            continue
        if CURRENCIES.get(word) == said.upper():
            return Candidate(parameter, choice, frozenset({at}), 2.2)
        if len(said) >= 3 and (word.startswith(said) or said.startswith(word)) and len(word) >= 4:
            return Candidate(parameter, choice, frozenset({at}), 1.6)
        if len(said.split("_")) == 1 and kinship(token.stem, stem(said)) >= 0.7:
            return Candidate(parameter, choice, frozenset(), 1.1)
    return None


# --- arrays


def _arrays(parameter: Parameter, reading: Reading) -> Iterator[Candidate]:
    item = parameter.items
    kind = item.kind if item else "string"
    for at, token in enumerate(reading.tokens):
        if token.kind == "list" and isinstance(token.value, list):
            yield Candidate(
                parameter, _as_items(token.value, kind), frozenset({at}), 2.0 + cue(reading, at, at + 1, parameter)
            )
    if item is not None and item.choices:
        named = list(_choices(item, reading))
        if named:
            tokens = frozenset(position for found in named for position in found.tokens)
            yield Candidate(parameter, [found.value for found in named], tokens, max(found.score for found in named))
        return
    if kind == "array":
        lists = [
            at for at, token in enumerate(reading.tokens) if token.kind == "list" and isinstance(token.value, list)
        ]
        if len(lists) > 1:
            yield Candidate(parameter, [reading.tokens[at].value for at in lists], frozenset(lists), 2.5)
        return
    seen: set[int] = set()
    for at, token in enumerate(reading.tokens):
        if at in seen or item is None:
            continue
        scored = [found for found in candidates(item, reading.slice(at, at + 1), _NO_OFFER) if found.tokens]
        if not scored or token.kind == "word":
            continue
        run = [
            other for other in companions(reading, at) if candidates(item, reading.slice(other, other + 1), _NO_OFFER)
        ]
        seen.update(run)
        values = [candidates(item, reading.slice(other, other + 1), _NO_OFFER)[0].value for other in run]
        score = scored[0].score + cue(reading, run[0], run[-1] + 1, parameter) + preposition(reading, run[0], parameter)
        yield Candidate(parameter, values, frozenset(run), score + (0.8 if len(run) > 1 else 0.0))


def _as_items(values: list[Any], kind: str) -> list[Any]:
    if kind == "string":
        return [str(value) for value in values]
    return values


_NO_OFFER = Offer("", "", ())


# --- strings


def _strings(parameter: Parameter, reading: Reading, offer: Offer) -> Iterator[Candidate]:
    role = parameter.role
    if role in ("unit", "currency", "language"):
        yield from _dictionary(parameter, reading, role)
    if role == "color":
        for at, token in enumerate(reading.tokens):
            if token.lower in COLORS:
                yield Candidate(parameter, token.text, frozenset({at}), 2.2 + cue(reading, at, at + 1, parameter))
    yield from _exampled(parameter, reading)
    if set(parameter.words) & {"expression", "equation", "formula", "function", "polynomial"}:
        yield from _mathematics(parameter, reading)
    if role == "datetime":
        yield from _date_and_time(parameter, reading)
    for at, token in enumerate(reading.tokens):
        if token.kind in ("word", "mark", "list"):
            continue
        score = _suits(parameter, role, token)
        if score <= IMPOSSIBLE / 2:
            continue
        value, taken = _value(parameter, role, reading, at, offer)
        if assigned(reading, at, parameter):
            score += 2.0
        if token.kind == "name" and set(token.lower.split()) & set(parameter.words):
            score += 1.5  # "Premier League" is a league
        elif token.kind == "name" and all(
            best_kin(stem(part), offer.told_stems) >= 0.7 for part in token.lower.split()
        ):
            score -= 1.2  # "DNA" of a tool about DNA
        score += cue(reading, at, at + 1, parameter) + preposition(reading, at, parameter)
        yield Candidate(parameter, value, taken, score)


def _exampled(parameter: Parameter, reading: Reading) -> Iterator[Candidate]:
    """Values the description gives as examples, where the prompt says one of them."""
    if parameter.role in ("date", "time", "datetime", "email", "url", "path", "unit"):
        return
    for example in parameter.examples:
        words = _choice_words(example)
        if (
            not words
            or all(word in STOP for word in example.lower().split())
            or (len(words) == 1 and worth(example) < 1)
        ):
            continue
        for at in range(len(reading.tokens) - len(words) + 1):
            run = reading.tokens[at : at + len(words)]
            if (
                len(example) > 2
                and [token.stem for token in run] == words
                and all(token.kind in ("word", "name") for token in run)
            ):
                yield Candidate(parameter, example, frozenset(range(at, at + len(words))), 2.2)
                break


def _suits(parameter: Parameter, role: str, token: Token) -> float:
    """How well a kind of thing suits the role of a parameter, before its neighbours are heard."""
    kind = token.kind
    typed = {"email": "email", "url": "url", "path": "path", "date": "date", "time": "time", "id": "id"}
    if kind in typed:
        if role == typed[kind]:
            return 3.0
        if kind == "id" and role in ("", "text", "query", "phone", "person"):
            return 1.0
        if kind == "date" and role in ("time", "") and not set(parameter.words) & {"start", "end", "location"}:
            return 0.2 if role == "time" else 0.6
        return 0.6 if kind in ("url", "path") and role in ("", "text", "query") else IMPOSSIBLE
    if kind == "number":
        if role in ("id", "phone"):
            return 1.0
        if role == "time" and 0 <= token.value <= 24:
            return 0.1
        return 0.0 if role in ("", "text") and parameter.required else IMPOSSIBLE
    if role in ("email", "url", "date", "time", "datetime", "unit", "currency"):
        return IMPOSSIBLE
    if kind == "quote":
        return {"text": 2.0, "query": 1.8, "path": 1.0, "id": 1.2, "place": 0.6, "country": 0.4, "language": -0.5}.get(
            role, 1.5
        )
    lower = token.lower
    if role in ("place", "country") and lower in LANGUAGES:
        return -0.5  # "Chinese food" is no place
    known = lower in PLACES or lower.split(" ")[0] in PLACES
    if role == "country":
        return 2.2 if _place_in(token.text, COUNTRIES) else (-0.5 if known else 0.6)
    if role == "place":
        return 1.8 if known or _place_in(token.text, PLACES) else 1.0
    if role == "organization":
        return 0.7 if known else 1.4
    if role == "color":
        return IMPOSSIBLE
    if role == "language":
        return IMPOSSIBLE
    if role == "person":
        return 0.4 if known else 1.6 + 0.3 * (" " in lower)
    if role in ("path", "phone"):
        return IMPOSSIBLE
    return 1.0 if role in ("", "id") else 0.7


def _wants_weekday(parameter: Parameter) -> bool:
    return "week" in parameter.description.lower() or bool(_WEEKDAY.search(parameter.description))


def _place_in(name: str, places: frozenset[str]) -> str:
    """The known place inside a name: "King of France" -> "France"; the name itself when it is one; "" when there is none."""
    words = name.split()
    for count in range(len(words), 0, -1):
        for begin in range(len(words) - count + 1):
            part = " ".join(words[begin : begin + count])
            if part.lower() in places:
                return part
    return ""


def _value(parameter: Parameter, role: str, reading: Reading, at: int, offer: Offer) -> tuple[Any, frozenset[int]]:
    """The value at a token as this parameter wants it, and the tokens it takes up."""
    token = reading.tokens[at]
    if token.kind == "date" and _wants_weekday(parameter) and (said := _WEEKDAY.search(token.text)):
        return said[0].capitalize(), frozenset({at})
    if token.kind == "date":
        return in_format(token.value, parameter.description), frozenset({at})
    if token.kind == "name" and role in ("place", "country"):
        after = reading.tokens[at + 1 : at + 3]
        region = len(after) == 2 and after[0].text == "," and after[1].kind == "name"
        split = any(
            other.role == "country" or set(other.words) & {"state"}
            for other in offer.parameters
            if other is not parameter
        )
        if (
            region
            and role == "place"
            and not split
            and (_is_region(after[1].text, token.lower) and not _listed(reading, at + 2))
        ):
            return f"{token.text}, {after[1].text}", frozenset({at, at + 1, at + 2})
        inside = _place_in(token.text, COUNTRIES if role == "country" else PLACES)
        if inside and " of " in token.text:
            return inside, frozenset({at})
    if token.kind == "name" and role in ("", "place", "organization"):
        end = _name_end(reading, at, role, offer)
        if end > at + 1:
            return reading.text[token.start : reading.tokens[end - 1].end], frozenset(range(at, end))
    if token.kind == "number":
        return str(token.value), frozenset({at})
    return token.value, frozenset({at})


def _name_end(reading: Reading, at: int, role: str, offer: Offer) -> int:
    """Where a name ends that goes on in small letters: "ATP synthase", "Amazon rainforest", but not "Tesla stock"."""
    end = at + 1
    while end < len(reading.tokens):
        token = reading.tokens[end]
        plain = (
            token.kind == "word"
            and worth(token.lower) >= 1
            and token.lower not in OPENERS
            and not token.lower.endswith(("ing", "ed"))
        )
        if (
            not plain
            or (role == "place" and token.lower not in _LANDMARKS)
            or best_kin(token.stem, offer.told_stems | offer.parameter_stems) >= 0.7
        ):
            break
        end += 1
    return end


def _is_region(name: str, city: str) -> bool:
    if re.fullmatch(r"[A-Z]{2}", name):
        return True
    return (
        name.lower() in COUNTRIES | STATES
        and city not in COUNTRIES
        and (name.lower() not in CITIES or name.lower() in COUNTRIES)
    )


def _listed(reading: Reading, at: int) -> bool:
    """Whether "and X" follows: then "Oslo, Norway and Rome" is more likely a list."""
    after = reading.tokens[at + 1 : at + 3]
    return len(after) == 2 and after[0].lower == "and" and after[1].kind == "name" and after[1].lower in COUNTRIES


def _dictionary(parameter: Parameter, reading: Reading, role: str) -> Iterator[Candidate]:
    """Units, currencies and languages by their words: "euros" -> EUR where a currency is wanted."""
    source = bool(set(parameter.words) & {"from", "source", "base", "input", "initial"})
    target = bool(set(parameter.words) & {"to", "target", "into", "output", "destination"})
    for at, token in enumerate(reading.tokens):
        word = token.lower
        before = reading.tokens[at - 1] if at else None
        measured = before is not None and before.kind == "number"
        value: Any = None
        if role == "language" and word in LANGUAGES and token.kind in ("word", "name"):
            value = token.text
        elif role == "currency" and word.split(" ")[-1] in CURRENCIES and token.kind in ("word", "name"):
            value = CURRENCIES[word.split(" ")[-1]]
        elif role == "currency" and token.kind == "number" and token.text[:1] in CURRENCIES:
            value, measured = CURRENCIES[token.text[0]], True
        elif (
            role == "unit"
            and token.kind in ("word", "name")
            and word in UNITS
            and (len(word) > 2 or measured or (before is not None and before.lower in ("to", "in", "into")))
        ):
            value = token.text
        elif (
            role == "unit"
            and token.kind == "number"
            and token.unit
            and token.text[-1:].isalpha()
            and token.text[:1].isdigit()
        ):
            value, measured = re.sub(r"^[\d.,\s]+", "", token.text), True
        if value is None:
            continue
        score = 1.5 + preposition(reading, at, parameter) + 0.4 * cue(reading, at, at + 1, parameter)
        aimed = (before is not None and before.lower in ("to", "into", "in")) or (
            "many" in reading.lower_words and not measured
        )
        if source:
            score += 1.2 if measured else (-0.6 if aimed else 0.0)
        if target:
            score += -1.2 if measured else (1.0 if aimed else 0.0)
        if not source and not target and role == "unit" and parameter.required is False and not measured and not aimed:
            score -= 0.4
        yield Candidate(parameter, value, frozenset({at}), score)


def _mathematics(parameter: Parameter, reading: Reading) -> Iterator[Candidate]:
    said = reading.said
    if not said:
        return
    begin = reading.tokens[0].start if reading.tokens else 0
    for found in _MATH.finditer(said.lower()):
        text = said[found.start() : found.end()].strip()
        if len(text) < 3 or not re.search(r"[-+*/^=]", text):
            continue
        taken = frozenset(
            at
            for at, token in enumerate(reading.tokens)
            if token.start >= begin + found.start() and token.end <= begin + found.end()
        )
        yield Candidate(parameter, text, taken, 5.0)


def _date_and_time(parameter: Parameter, reading: Reading) -> Iterator[Candidate]:
    for at, token in enumerate(reading.tokens):
        if token.kind != "date":
            continue
        near = [
            other
            for other in range(max(at - 3, 0), min(at + 4, len(reading.tokens)))
            if reading.tokens[other].kind == "time"
        ]
        clock = reading.tokens[near[0]].value if near else "00:00"
        taken = frozenset({at, *near[:1]})
        yield Candidate(parameter, f"{token.value}T{clock}:00", taken, 3.0 + cue(reading, at, at + 1, parameter))

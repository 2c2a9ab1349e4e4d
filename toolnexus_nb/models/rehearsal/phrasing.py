"""A call and its result as a sentence: "The weather in Oslo: 4 °C, snow.", "17 plus 25 is 42."

Made of the tool's name, its description and its parameters, for any tool. What came back is told word for word.
"""

# ruff: noqa: SIM905  (lists of words read best as text)
from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .conversation import Call, as_json
from .lexicon import ACTS, OPENERS, PREPOSITIONS, STOP, VERBS
from .offers import Offer, Parameter
from .words import split_name, stem

_LONG = 600
"""Characters of a result that are told; the rest is in the call's card."""
_MOST_ITEMS = 12
_OPERATORS = {
    **dict.fromkeys(("add", "plus", "sum"), "plus"),
    **dict.fromkeys(("subtract", "minus"), "minus"),
    **dict.fromkeys(("multiply", "times"), "times"),
    "divide": "divided by",
    "power": "to the power of",
}
_WORD = re.compile(r"[\w'’/+%°:-]{1,30}|[A-Z][\w'’-]*(?: [A-Z][\w'’-]*){1,2}")
"""A result that is one word or name, and reads well after "is"."""
_NUMBERS = frozenset("two numbers number values ints integers floats".split())
_FETCHING = frozenset(
    "get fetch find lookup look up retrieve calculate compute calc determine estimate list show check read what".split()
)
"""Verbs that only say that there is an answer: the rest of the name says which."""
_NOUNS = frozenset(
    """average date day email exchange file group heat image index map mean median name note number order place
    plan price product question rate record report review root sample share sum task text time total
    volume weather word""".split()
)
"""Words that may be verbs, but are things where a tool's name begins with them and nothing tells."""
_MORE_VERBS = frozenset(
    """roll flip pick toss shuffle hash parse split round greet capitalize lowercase uppercase slugify strip enter lend
    pause resume sleep wait replace subtract insert append extract filter fill switch toggle turn apply""".split()
)
_OPENING = (OPENERS | VERBS | ACTS | _MORE_VERBS) - STOP - _NOUNS
_SURE_VERBS = frozenset("get fetch find search create send delete update add convert translate calculate".split())
_DETERMINERS = frozenset("a an the all every each one some new your this two".split())
_LINKS = frozenset("of in for between from to by at on about with".split())
_PLACED = {
    "place": "in",
    "country": "in",
    "person": "of",
    "organization": "of",
    "query": "for",
    "date": "on",
    "time": "at",
}
_BARE = frozenset(
    "place country person organization language currency unit date time datetime id path url email".split()
)
_PLAIN = frozenset(
    """x y n a b i k item items value values number numbers num amount text string name title query data list s word
    words""".split()
)  # fmt: skip
"""Parameter names that say nothing a reader misses."""


def told(call: Call, offer: Offer | None = None) -> str:
    """One result in words. `offer`: the tool as it was offered, when it still is."""
    text = (call.result or "").strip()
    if not text or text in ("null", "None", "(no output)"):
        return f"{call.name} was called and gave nothing back."
    if call.failed:
        return f"{_shown(call)} failed: {_clipped(' '.join(text.split()))}"
    value = as_json(text)
    topic, kind = _topic(call, offer)
    if kind == "question" and isinstance(value, bool):
        return f"{topic} {'Yes' if value else 'No'} ({str(value).lower()})."
    topic = topic.rstrip("?")
    gives = "is" if kind == "thing" else "gives"
    if isinstance(value, bool):
        return f"{topic}: {'yes (true)' if value else 'no (false)'}."
    if isinstance(value, int | float):
        whole = isinstance(value, float) and value.is_integer() and "e" not in text.lower()
        return f"{topic} {gives} {int(value) if whole else text}."
    if isinstance(value, Mapping):
        inside = "; ".join(f"{key}: {_plain(inner)}" for key, inner in list(value.items())[:_MOST_ITEMS])
        return f"{topic}: {_clipped(inside)}"
    if isinstance(value, list):
        items = ", ".join(_plain(item) for item in value[:_MOST_ITEMS])
        more = f" and {len(value) - _MOST_ITEMS} more" if len(value) > _MOST_ITEMS else ""
        if not value:
            return f"{topic}: nothing, an empty list."
        so = " gives" if kind == "deed" else ","
        return f"{topic}{so} {len(value)} item{'' if len(value) == 1 else 's'}: {_clipped(items)}{more}"
    if isinstance(value, str):
        text = value
    if kind == "thing" and _WORD.fullmatch(text):
        return f"{topic} is {text}."
    return f"{topic}:\n\n{_clipped(text)}" if "\n" in text else f"{topic}: {_clipped(text)}"


# --- what the call was about


def _topic(call: Call, offer: Offer | None) -> tuple[str, str]:
    """The call in words, and what kind of words: a "thing" that is, a "deed" that gives, or a "question"."""
    words = [word for word in split_name(call.name.rpartition(".")[2]) if not word.isdigit()]
    parameters = {p.name: p for p in offer.parameters} if offer is not None else {}
    given = [(parameters.get(name) or Parameter(name, "string"), value) for name, value in call.arguments.items()]
    if not words or words[0] in _LINKS or len(given) > 6:
        return _shown(call), "deed"
    words = _without_server(words)
    sum_ = _sum(words, given, offer)
    if sum_:
        return sum_, "thing"
    if words[0] in ("is", "has", "are") and len(words) > 1:
        subject = _listed([_value(parameter, value) for parameter, value in given])
        return f"{words[0].capitalize()} {subject + ' ' if subject else ''}{' '.join(words[1:])}?", "question"
    if len(words) == 3 and words[1] == "to" and len(given) == 1 and isinstance(given[0][1], int | float):
        return f"{given[0][1]} {words[0]} in {words[2]}", "thing"  # kg_to_pounds
    rest = words
    while len(rest) > 1 and rest[0] in _FETCHING:
        rest = rest[1:]
    if rest == words and _is_verb(words, offer):
        return _deed(words, given), "deed"
    article = "" if rest[0] in ("the", "all", "my") else "the "
    head = " ".join(rest)
    if rest[-1] in _LINKS:
        return _capital(f"{article}{head} {_listed([_value(p, v) for p, v in given])}"), "thing"
    return _capital(f"{article}{head}{_said(given, set(rest), 'of')}"), "thing"


def _without_server(words: list[str]) -> list[str]:
    """A name without what stands before its verb: library_find_author is of the library, and finds an author."""
    for at in range(1, min(3, len(words) - 1)):
        if words[at] in _SURE_VERBS and not any(word in _OPENING | _FETCHING | _LINKS for word in words[:at]):
            return words[at:]
    return words


def _sum(words: list[str], given: list[tuple[Parameter, Any]], offer: Offer | None) -> str:
    """Two numbers with their operator between: "17 plus 25"."""
    operator = _OPERATORS.get(words[0]) if set(words[1:]) <= _NUMBERS else None
    numbers = [value for _, value in given if isinstance(value, int | float) and not isinstance(value, bool)]
    if operator is None or len(given) != 2 or len(numbers) != 2:
        return ""
    first = re.escape(given[0][0].name)
    if offer is not None and re.search(rf"\b{first}\s+(?:from|into)\b", offer.description):
        numbers.reverse()  # "Subtract a from b"
    return f"{numbers[0]} {operator} {numbers[1]}"


def _is_verb(words: list[str], offer: Offer | None) -> bool:
    """Whether a name begins with what the tool does; its description may say so ("Lend a book …")."""
    if words[0] in _OPENING:
        return True
    described = re.findall(r"[a-z]+", offer.description.lower())[:2] if offer is not None else []
    return len(described) == 2 and stem(described[0]) == stem(words[0]) and described[1] in _DETERMINERS


def _deed(words: list[str], given: list[tuple[Parameter, Any]]) -> str:
    """ "Converting 42 from km to mile", "Sending email to ann@example.org"."""
    named = {word for parameter, _ in given for word in parameter.words}
    measured = any(len(p.words) > 1 and p.words[0] in ("from", "to") for p, _ in given)
    things = [word for word in words[1:] if word not in named and not measured]
    return _capital(" ".join([_doing(words[0]), *things]) + _said(given, set(words), ""))


def _doing(verb: str) -> str:
    """The -ing form: make -> making, set -> setting, lie -> lying."""
    if verb.endswith("ie"):
        return f"{verb[:-2]}ying"
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")):
        return f"{verb[:-1]}ing"
    if re.fullmatch(r"[^aeiou]*[aeiou][bdgklmnprt]", verb) and not verb.endswith(("w", "x", "y")):
        return f"{verb}{verb[-1]}ing"
    return f"{verb}ing"


def _said(given: list[tuple[Parameter, Any]], name: set[str], link: str) -> str:
    """The arguments after the head: the plain ones in the sentence, the others with their names in brackets."""
    text = ""
    aside: list[str] = []
    direct = sum(isinstance(v, int | float) and not isinstance(v, bool) for _, v in given) > 1
    for parameter, value in given:
        before = _before(parameter, name)
        address = parameter.role in ("path", "url") and isinstance(value, str)
        plain = address or (bool(set(parameter.words) & (_PLAIN | name)) and not isinstance(value, bool))
        if before and isinstance(value, str):
            text += f" {before} {_value(parameter, value)}"
        elif plain and not direct:
            own = [word for word in parameter.words if word in name] if not link and not address else []
            lead = " ".join([*own, "" if address else link]).strip()
            text = f" {lead}".rstrip() + f" {_value(parameter, value)}" + text
            direct = True
        else:
            aside.append(_named(parameter, value))
    return text + (f" ({', '.join(aside)})" if aside else "")


def _named(parameter: Parameter, value: Any) -> str:
    """An argument with its name: "5 days", "priority high", "express", "symbols: no"."""
    name = " ".join(parameter.words)
    if isinstance(value, bool):
        return name if value else "off" if name == "on" else f"{name}: no"
    counts = isinstance(value, int | float) and value != 1 and re.fullmatch(r"[a-z]*[^s\W]s", name)
    return f"{_value(parameter, value)} {name}" if counts else f"{name} {_value(parameter, value)}"


def _before(parameter: Parameter, name: set[str]) -> str:
    """The preposition a parameter goes with: "from_unit" -> from, a city -> in; "" when it has none."""
    first = parameter.words[0] if parameter.words else ""
    if first in ("from", "to", "into", "at", "on", "by", "with"):
        return first
    for preposition in ("from", "to"):
        if first not in _PLAIN and first in PREPOSITIONS[preposition] - {"second", "first", "language"}:
            return preposition
    if parameter.role == "language":
        return "into" if "translate" in name else "in"
    if first in ("author", "artist", "composer", "director"):
        return "by"
    if first in ("room", "folder", "mailbox"):
        return "in"
    if first == "text" and "count" in name:
        return "in"
    return "" if parameter.words[-1:] in (["name"], ["subject"]) else _PLACED.get(parameter.role, "")


def _value(parameter: Parameter, value: Any) -> str:
    """An argument as it is read: names as they are, texts in quotes."""
    if isinstance(value, list):
        return _listed([_value(parameter, one) for one in value[:8]] + (["…"] if len(value) > 8 else []))
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return _short(_plain(value))
    if parameter.choices:
        return value.replace("_", " ")
    if "@" in value and " " not in value:
        return value
    name = value[:1].isupper() and len(value.split()) <= 3 and parameter.role not in ("text", "path", "query")
    return _short(value if name or parameter.role in _BARE else f'"{value}"')


def _listed(values: list[str]) -> str:
    return f"{', '.join(values[:-1])} and {values[-1]}" if len(values) > 1 else "".join(values)


# --- pieces


def _shown(call: Call) -> str:
    """A call as a person writes it: add(17, 25)."""
    values = (f'"{value}"' if isinstance(value, str) else str(value) for value in call.arguments.values())
    return f"{call.name}({', '.join(_short(value) for value in values)})"


def _short(text: str) -> str:
    text = re.sub(r"\s+", " ", text)
    return text if len(text) <= 40 else text[:37] + "…" + text[-1]


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_plain(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_plain(inner) for inner in value) + "]"
    return str(value)


def _clipped(text: str) -> str:
    return text if len(text) <= _LONG else text[:_LONG].rstrip() + " …"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]

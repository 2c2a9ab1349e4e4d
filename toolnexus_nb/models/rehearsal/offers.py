"""The tools of a request, read into what the planner compares with a prompt: words, parameters, their roles."""

# ruff: noqa: E501  (tables read best as tables)
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .lexicon import UNITS
from .words import split_name, stem, text_words, worth

_TYPES = {
    "int": "integer",
    "float": "number",
    "double": "number",
    "str": "string",
    "bool": "boolean",
    "dict": "object",
    "list": "array",
    "tuple": "array",
}

# What a string parameter holds, told by its name or description. The first that fits wins.
_ROLES: tuple[tuple[str, frozenset[str]], ...] = tuple(
    (role, frozenset(words.split()))
    for role, words in (
        ("email", "email mail e-mail"),
        ("url", "url uri link website webpage href"),
        ("path", "path file filename filepath directory folder dir"),
        ("language", "language lang locale"),
        ("currency", "currency"),
        ("country", "country nation"),
        ("place", "city timezone location loc place town state region destination origin address venue area county district neighborhood airport source departure arrival"),
        ("date", "date day deadline due birthday birthdate"),
        ("time", "time hour clock"),
        ("id", "id identifier code sku number reference isbn ticker symbol"),
        ("phone", "phone telephone mobile"),
        ("color", "color colour"),
        ("organization", "company organization organisation team brand manufacturer league store shop school bank employer firm club university"),
        ("person", "person author artist director actor composer customer user employee player recipient attendee sender band singer name musician painter scientist president student patient"),
        ("unit", "unit units"),
        ("query", "query topic keyword keywords search subject question term"),
        ("text", "text body message content sentence description note task todo summary title string input comment prompt phrase expression equation"),
    )
)  # fmt: skip


@dataclass(frozen=True)
class Parameter:
    """One parameter of a tool, in the few words a planner needs of its JSON Schema."""

    name: str
    kind: str
    required: bool = False
    description: str = ""
    choices: tuple[Any, ...] = ()
    format: str = ""
    minimum: float | None = None
    maximum: float | None = None
    items: Parameter | None = None
    properties: tuple[Parameter, ...] = ()
    schema: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def words(self) -> list[str]:
        return split_name(self.name)

    @cached_property
    def name_stems(self) -> frozenset[str]:
        return frozenset(stem(word) for word in self.words)

    @cached_property
    def hint_stems(self) -> frozenset[str]:
        return frozenset(stem(word) for word in text_words(self.description) if worth(word) >= 1) - self.name_stems

    @cached_property
    def units(self) -> frozenset[str]:
        """The units its name or description speaks of ("in meters" -> {"meter"})."""
        words = [word for word in (*self.words, *text_words(self.description)) if len(word) > 1]
        return frozenset(UNITS[word] for word in words if word in UNITS)

    @cached_property
    def role(self) -> str:
        """What a string here stands for; "" when nothing tells."""
        if self.format in ("email", "date", "time", "date-time", "uri", "uri-reference"):
            return {"uri": "url", "uri-reference": "url", "date-time": "datetime"}.get(self.format, self.format)
        own = self.words[:-1] if self.words[-1:] == ["name"] and len(self.words) > 1 else self.words
        for word in reversed(own):  # the last word of a name is its head: departure_date is a date
            for role, known in _ROLES:
                if word in known or word.removesuffix("s") in known:
                    return role
        described = text_words(self.description.split("(")[0].split("e.g")[0])[:8]
        for role, known in _ROLES[:-2]:
            if any(word in known for word in described):
                return role
        return ""

    @cached_property
    def examples(self) -> tuple[str, ...]:
        """Values its description gives as examples: "such as oil, acrylic", "'summary' or 'detailed'"."""
        quoted = re.findall(r"(?<!\w)['\"]([\w][\w &+-]{1,30})['\"](?!\w)", self.description)
        listed = re.search(
            r"(?:e\.?g\.?,?|such as|like|for example|i\.e\.?,?|can be|options?:?|either)\s+([^.()]+)",
            self.description,
            re.IGNORECASE,
        )
        plain = re.split(r",\s*(?:or\s+|and\s+)?|\s+or\s+|\s+and\s+", listed[1]) if listed else []
        named = [part.strip(" '\"") for part in (*quoted, *plain)]
        return tuple(
            dict.fromkeys(
                part for part in named if part and len(part.split()) <= 3 and part.lower() not in ("etc", "etc.")
            )
        )


@dataclass(frozen=True)
class Offer:
    """One tool that may be called."""

    name: str
    description: str
    parameters: tuple[Parameter, ...]

    @property
    def required(self) -> tuple[Parameter, ...]:
        return tuple(parameter for parameter in self.parameters if parameter.required)

    def ordered(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments in the order of the parameters; what is no parameter comes last."""
        order = {parameter.name: at for at, parameter in enumerate(self.parameters)}
        return dict(sorted(arguments.items(), key=lambda item: order.get(item[0], len(order))))

    @cached_property
    def name_words(self) -> list[str]:
        return [word for word in split_name(self.name) if not word.isdigit()]

    @cached_property
    def name_stems(self) -> frozenset[str]:
        return frozenset(stem(word) for word in self.name_words)

    @cached_property
    def description_stems(self) -> frozenset[str]:
        return frozenset(stem(word) for word in text_words(self.description) if worth(word) > 0)

    @cached_property
    def told_stems(self) -> frozenset[str]:
        """What its name and description speak of."""
        return self.name_stems | self.description_stems

    @cached_property
    def parameter_stems(self) -> frozenset[str]:
        return frozenset(s for parameter in self.parameters for s in parameter.name_stems)

    @cached_property
    def hint_stems(self) -> frozenset[str]:
        hints = {s for parameter in self.parameters for s in parameter.hint_stems}
        for parameter in self.parameters:
            for choice in (*parameter.choices, *(parameter.items.choices if parameter.items else ())):
                hints |= {stem(word) for word in text_words(str(choice).replace("_", " "))}
        return frozenset(hints)


def _resolve(schema: Any, root: Mapping[str, Any], depth: int = 0) -> Mapping[str, Any]:
    """The schema behind $ref, allOf of one, and anyOf/oneOf with null. Unknown forms are an empty schema."""
    if not isinstance(schema, Mapping) or depth > 8:
        return {}
    ref = schema.get("$ref")
    if isinstance(ref, str) and ref.startswith("#/"):
        target: Any = root
        for part in ref[2:].split("/"):
            target = target.get(part, {}) if isinstance(target, Mapping) else {}
        return {**_resolve(target, root, depth + 1), **{k: v for k, v in schema.items() if k != "$ref"}}
    for key in ("anyOf", "oneOf", "allOf"):
        options = [
            option for option in schema.get(key, ()) if isinstance(option, Mapping) and option.get("type") != "null"
        ]
        if options:
            return {**_resolve(options[0], root, depth + 1), **{k: v for k, v in schema.items() if k != key}}
    return schema


def _kind(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type")
    if isinstance(kind, Sequence) and not isinstance(kind, str):
        kind = next((one for one in kind if one != "null"), None)
    if kind is None:
        kind = "object" if "properties" in schema else "array" if "items" in schema else "string"
    return _TYPES.get(str(kind).lower(), str(kind).lower())


_DEEPEST = 5
"""How deep schemas are read; a recursive one has no end."""


def read_parameter(name: str, schema: Any, *, required: bool, root: Mapping[str, Any], depth: int = 0) -> Parameter:
    """One property of a JSON Schema as a Parameter."""
    schema = _resolve(schema, root) if depth < _DEEPEST else {}
    choices = schema.get("enum") or ([schema["const"]] if "const" in schema else ())
    nested = schema.get("properties")
    wanted = schema.get("required") or ()
    return Parameter(
        name=name,
        kind=_kind(schema),
        required=required,
        description=str(schema.get("description") or schema.get("title") or ""),
        choices=tuple(choices) if isinstance(choices, Sequence) else (),
        format=str(schema.get("format") or ""),
        minimum=_bound(schema, "minimum", "exclusiveMinimum"),
        maximum=_bound(schema, "maximum", "exclusiveMaximum"),
        items=read_parameter(name, schema.get("items") or {}, required=True, root=root, depth=depth + 1)
        if _kind(schema) == "array"
        else None,
        properties=tuple(
            read_parameter(key, value, required=key in wanted, root=root, depth=depth + 1)
            for key, value in nested.items()
        )
        if isinstance(nested, Mapping)
        else (),
        schema=schema,
    )


def _bound(schema: Mapping[str, Any], *keys: str) -> float | None:
    return next(
        (
            float(schema[key])
            for key in keys
            if isinstance(schema.get(key), int | float) and not isinstance(schema[key], bool)
        ),
        None,
    )


def read_offers(tools: Any) -> list[Offer]:
    """The function tools of a request body, in order; anything else in the list is passed over."""
    offers = []
    for entry in tools or ():
        function = entry.get("function") if isinstance(entry, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            continue
        schema = function.get("parameters") or {}
        properties = schema.get("properties") if isinstance(schema, Mapping) else None
        required = (schema.get("required") or ()) if isinstance(schema, Mapping) else ()
        offers.append(
            Offer(
                name=function["name"],
                description=re.sub(r"\s+", " ", str(function.get("description") or "")),
                parameters=tuple(
                    read_parameter(key, value, required=key in required, root=schema)
                    for key, value in (properties or {}).items()
                ),
            )
        )
    return offers

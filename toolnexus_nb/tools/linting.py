"""Findings about tools before a model or a provider stumbles over them: where, why, and how to mend it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from .adapters import as_definition, each
from .binding import SignatureBinder
from .definition import Tool
from .lint_schema import Remark, malformed_remarks, schema_remarks
from .names import LONGEST, is_wire_name, wire_name
from .portable import Change, for_anthropic, for_gemini, for_openai
from .signature import SignatureError
from .strict import strict_form

Severity = Literal["error", "warning", "hint"]
"""error: a provider refuses it or a call fails; warning: a model is likely to go wrong; hint: could be better."""


@dataclass(frozen=True)
class Finding:
    """One thing to mend. `parameter` is a path like `stops[].city`, None when the tool as a whole is meant."""

    code: str
    severity: Severity
    tool: str
    parameter: str | None
    message: str
    mend: str

    @property
    def where(self) -> str:
        """`get_weather.days`."""
        return f"{self.tool}.{self.parameter}" if self.parameter else self.tool

    def __str__(self) -> str:
        return f"{self.where}: {self.message}. {self.mend}"


_MOST_TOOLS = {"openai": 128, "gemini": 512}
_MANY_TOOLS = 40
_LONGEST_DESCRIPTION = 1024
_MANY_TOKENS = 1_000
_MANY_PARAMETERS = 20
_COMPARED = 150


def lint(tools: Any, provider: str = "openai") -> list[Finding]:
    """Look at a tool, a function, a wire dict, a toolkit or any iterable of them, with one provider's eyes.

    `provider` is "openai", "anthropic" or "gemini"; any other name is taken as OpenAI-compatible. The worst come first
    within each tool. Nothing is sent and nothing is run.
    """
    findings: list[Finding] = []
    known: list[Tool] = []
    for thing in each(tools):
        try:
            known.append(as_definition(thing))
        except (SignatureError, ValueError, TypeError) as error:
            name = (
                getattr(thing, "__name__", None)
                or (thing.get("name") if isinstance(thing, dict) else None)
                or repr(thing)
            )
            findings.append(
                Finding("no-tool", "error", str(name), None, str(error), "Until then it can't be offered to a model.")
            )
    for tool in known:
        findings += sorted(_of_one(tool, provider.lower()), key=lambda one: _ORDER[one.severity])
    return list(dict.fromkeys([*findings, *_of_all(known, provider.lower())]))


_ORDER = {"error": 0, "warning": 1, "hint": 2}


def _of_one(tool: Tool, provider: str) -> Iterator[Finding]:
    schema = tool.input_schema
    by_signature = isinstance(tool.binder, SignatureBinder)
    yield from _name(tool)
    yield from _description(tool, provider)
    for remark in malformed_remarks(tool.malformed):
        yield _finding(tool, remark)
    for remark in schema_remarks(schema, generated=by_signature):
        yield _finding(tool, remark)
    if isinstance(tool.binder, SignatureBinder):
        yield from _signature(tool, tool.binder)
    yield from _provider(tool, provider, schema)
    yield from _size(tool, schema)
    if tool.annotations.get("destructiveHint") is True and not tool.needs_approval:
        yield Finding(
            "destructive",
            "hint",
            tool.name,
            None,
            "says that it destroys things, and runs unasked",
            "Give it needs_approval=True.",
        )


def _finding(tool: Tool, remark: Remark) -> Finding:
    return Finding(remark.code, remark.severity, tool.name, remark.path or None, remark.message, remark.mend)


def _name(tool: Tool) -> Iterator[Finding]:
    name = tool.name
    if len(name) > LONGEST:
        yield Finding(
            "name-too-long",
            "warning",
            name,
            None,
            f"the name has {len(name)} characters, providers take {LONGEST}",
            f"It is sent as {wire_name(name)}; a shorter one reads better.",
        )
    elif not is_wire_name(name):
        yield Finding(
            "name-invalid",
            "warning",
            name,
            None,
            f"the name {name!r} holds characters providers refuse",
            f"It is sent as {wire_name(name)}; use letters, digits, _ and -.",
        )


def _description(tool: Tool, provider: str) -> Iterator[Finding]:
    text = tool.description.strip()
    if not text:
        yield Finding(
            "no-description",
            "warning",
            tool.name,
            None,
            "has no description, so a model can only guess what it does",
            f"Write a docstring into {tool.name}." if isinstance(tool.binder, SignatureBinder) else "Give it one.",
        )
    elif _words(text) <= _words(tool.name):
        yield Finding(
            "empty-description",
            "hint",
            tool.name,
            None,
            "the description says no more than the name",
            "Say what it gives back and when to use it.",
        )
    if len(text) > _LONGEST_DESCRIPTION and provider != "anthropic" and provider != "gemini":
        yield Finding(
            "description-too-long",
            "warning",
            tool.name,
            None,
            f"the description has {len(text)} characters, OpenAI takes {_LONGEST_DESCRIPTION}",
            "It is sent cut; shorten the docstring.",
        )


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.lower()))


_BARE_HEADING = re.compile(r"^(Args|Arguments|Parameters|Params)[ \t]*\n[ \t]+\S", re.MULTILINE)


def _signature(tool: Tool, binder: SignatureBinder) -> Iterator[Finding]:
    if bare := _BARE_HEADING.search(inspect.cleandoc(getattr(tool.function, "__doc__", None) or "")):
        yield Finding(
            "heading-without-colon",
            "hint",
            tool.name,
            None,
            f"{bare[1]!r} in the docstring has no colon, so what stands below it describes no parameter",
            'Write "Args:".',
        )
    if binder.reading.takes_self:
        yield Finding(
            "unbound-method",
            "error",
            tool.name,
            None,
            "is a method that waits for its object",
            "Register it from an object: Toolkit([thing.method]).",
        )
    for said in binder.documented_ghosts():
        yield Finding(
            "documented-ghost",
            "warning",
            tool.name,
            said,
            "the docstring describes it, but the function has no such parameter",
            "Correct the name in the docstring.",
        )
    for slot in binder.slots:
        if slot.default_is_lost:
            yield Finding(
                "default-not-json",
                "hint",
                tool.name,
                slot.key,
                f"its default {slot.parameter.default!r:.60} has no JSON form, so a model does not see it",
                "Say in its description what happens when it is left out.",
            )


def _provider(tool: Tool, provider: str, schema: dict[str, Any]) -> Iterator[Finding]:
    if tool.strict:
        for reason in strict_form(schema)[1]:
            yield Finding(
                "not-strict",
                "error",
                tool.name,
                None,
                f"cannot be strict: {reason}",
                "Mend that, or leave strict=True out.",
            )
    changes: list[Change] = []
    adapt = {"gemini": for_gemini, "anthropic": for_anthropic}.get(provider, for_openai)
    adapt(schema, tool.name, changes)
    for change in changes:
        if change.lossy:
            where = None if change.where == "the arguments" else change.where
            yield Finding(
                f"{provider}-loses",
                "warning",
                tool.name,
                where,
                f"{change.what} for {provider.title()}",
                "Say in the description what the schema can't.",
            )
    if provider == "anthropic":
        for key in schema.get("properties", {}):
            if not re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", key):
                yield Finding(
                    "key-refused",
                    "error",
                    tool.name,
                    key,
                    "Anthropic takes letters, digits, _ . - in a parameter's name, up to 64",
                    "Rename it.",
                )


def _size(tool: Tool, schema: dict[str, Any]) -> Iterator[Finding]:
    from ..openai.tokens import estimate_tool_tokens

    count = len(schema.get("properties", {}))
    if count > _MANY_PARAMETERS:
        yield Finding(
            "many-parameters",
            "hint",
            tool.name,
            None,
            f"has {count} parameters; models forget some of that many",
            "Split it, or group what belongs together in a dataclass.",
        )
    tokens = estimate_tool_tokens(
        {"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": schema}}
    )
    if tokens > _MANY_TOKENS:
        yield Finding(
            "many-tokens",
            "warning",
            tool.name,
            None,
            f"its definition costs about {tokens} tokens in every request",
            "Shorten descriptions, or offer a smaller schema.",
        )


def _of_all(tools: list[Tool], provider: str) -> Iterator[Finding]:
    yield from _same_names(tools)
    yield from _alike(tools)
    most = _MOST_TOOLS.get(provider, 128)
    if len(tools) > most:
        yield Finding(
            "too-many-tools",
            "error",
            "toolkit",
            None,
            f"{len(tools)} tools, and {provider} takes {most}",
            "Offer fewer: toolkit.filter(keep).",
        )
    elif len(tools) > _MANY_TOOLS:
        yield Finding(
            "many-tools",
            "hint",
            "toolkit",
            None,
            f"{len(tools)} tools; models choose worse among that many",
            "Offer what the question needs: toolkit.filter(keep).",
        )


def _same_names(tools: list[Tool]) -> Iterator[Finding]:
    seen: dict[str, Tool] = {}
    for tool in tools:
        wire = wire_name(tool.name)
        if wire in seen and seen[wire] is not tool:
            other = seen[wire].name
            mend = (
                "Give one of them another name=."
                if other == tool.name
                else "One of them is sent with a mark behind its name."
            )
            yield Finding(
                "same-name",
                "error" if other == tool.name else "warning",
                tool.name,
                None,
                f"is called {wire} on the wire, and so is {other}",
                mend,
            )
        seen.setdefault(wire, tool)


def _alike(tools: list[Tool]) -> Iterator[Finding]:
    """Pairs a model can't tell apart: nearly the same words and the same parameters."""
    described = [
        (tool, _words(tool.description), frozenset(tool.input_schema.get("properties", {})))
        for tool in tools[:_COMPARED]
        if tool.description
    ]
    for index, (tool, words, keys) in enumerate(described):
        for other, its_words, its_keys in described[:index]:
            shared = len(words & its_words) / max(len(words | its_words), 1)
            if tool.name != other.name and keys == its_keys and shared >= 0.8:
                yield Finding(
                    "alike",
                    "warning",
                    tool.name,
                    None,
                    f"reads like {other.name}: same parameters, nearly the same description",
                    "Say in both when to use which.",
                )

"""Questions a server asks while it works ("which of these do you mean?"): answered by a policy, or by a form.

Only a spec with `elicitation=` tells a server that it may ask at all, since servers offer and do other things then.
What can be said there: "decline" (always no), "defaults" (the defaults of the form, no if a required field has none),
"form" (a form in the notebook; no where there is nobody to fill it), or a function of an `Elicitation`.

Credentials are never asked for: a form with a field that looks like one is declined before any policy sees it
(specification 2025-11-25, elicitation, security), and nothing opens an address by itself.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from .background import in_thread

Answer = dict[str, Any] | bool | None
"""A dict: accepted, with these values. True: accepted (an address was visited). False, None: declined."""
Policy = str | Callable[["Elicitation"], "Answer | Awaitable[Answer]"] | None

POLICIES = ("decline", "defaults", "form")

_CREDENTIAL = re.compile(
    r"pass(?:word|phrase|code|wd)|secret|credential|bearer|\b(?:pwd|token|pin|cvv|otp)\b|(?:api|private|access)[ _-]?"
    r"key|credit[ _-]?card|card[ _-]?number",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Elicitation:
    """A question: `message`, and either a flat JSON schema of the fields wanted, or an address to visit."""

    server: str
    message: str
    schema: dict[str, Any] = field(default_factory=dict)
    url: str | None = None

    @property
    def fields(self) -> dict[str, dict[str, Any]]:
        """Field name -> its JSON schema."""
        properties = self.schema.get("properties")
        return dict(properties) if isinstance(properties, dict) else {}

    @property
    def required(self) -> tuple[str, ...]:
        return tuple(self.schema.get("required") or ())

    @property
    def credential(self) -> str | None:
        """What in the form looks like a credential: the name of a field, or a word of the message."""
        for name, schema in self.fields.items():
            words = (_spaced(name), str(schema.get("title", "")), *_wishes(str(schema.get("description", ""))))
            if schema.get("format") == "password" or _CREDENTIAL.search(" / ".join(words)):
                return name
        wants_text = any(schema.get("type", "string") == "string" for schema in self.fields.values())
        found = _CREDENTIAL.search(" / ".join(_wishes(self.message)))
        return found[0] if found and wants_text else None


def _spaced(name: str) -> str:
    """apiKey and api_key as the words they are made of."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", name)


def _wishes(text: str) -> list[str]:
    """The clauses that forbid nothing: "a number (do not enter your PIN)" asks for no PIN."""
    return [clause for clause in re.split(r"[.;:()]", text) if not re.search(r"\b(?:not|never|no)\b|n't", clause)]


_ask_by_form: Callable[[Elicitation], Awaitable[Answer]] | None = None


def use_form(ask: Callable[[Elicitation], Awaitable[Answer]] | None) -> None:
    """Say how "form" asks; the notebook does on loading. None: nobody can be asked."""
    global _ask_by_form
    _ask_by_form = ask


async def answer(policy: Policy, question: Elicitation) -> tuple[Answer, str]:
    """(the answer, a remark for the person). Raises whatever a policy function raises."""
    asked = f"{question.server} asked: {question.message!r}"
    if (name := question.credential) is not None:
        return None, f"{asked}; declined, since {name!r} looks like a credential and a form is no place for one"
    if policy == "defaults":
        values = defaults(question)
        how = (
            "declined, since not every required field has a default" if values is None else "answered with the defaults"
        )
        return values, f"{asked}; {how}"
    if policy == "form":
        if _ask_by_form is None:
            return None, f"{asked}; declined, since nobody can be shown a form here"
        given = await _ask_by_form(question)
    elif callable(policy):
        outcome = policy(question) if inspect.iscoroutinefunction(policy) else await in_thread(policy, question)
        given = await outcome if inspect.isawaitable(outcome) else outcome
    else:
        given = None
    return given, f"{asked}; {'declined' if given is None or given is False else 'accepted'}"


def defaults(question: Elicitation) -> dict[str, Any] | None:
    """The default of every field that has one; None (declined) if a required field has none, or for an address."""
    values = {name: schema["default"] for name, schema in question.fields.items() if "default" in schema}
    return values if question.url is None and all(name in values for name in question.required) else None


def checked_policy(policy: Any) -> Policy:
    """The policy, or ValueError that names what can be said."""
    if policy is None or callable(policy) or policy in POLICIES:
        return policy
    words = ", ".join(repr(word) for word in POLICIES)
    raise ValueError(f"elicitation must be one of {words}, a function, or None, not {policy!r}")

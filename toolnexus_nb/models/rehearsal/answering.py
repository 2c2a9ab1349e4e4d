"""What the rehearsal model says: the results, what failed, what is missing, or that nothing fits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .conversation import Call, as_json
from .offers import Offer, Parameter
from .steps import Step

WHO = "I am the rehearsal model: no language model, only a planner that matches the words of a prompt with tools."
TOOLS_WITHHELD = (
    "I was told to call no tool (tool_choice is none), and as the rehearsal model I know nothing by myself."
)
_GREETING = re.compile(r"^\W*(hi|hello|hey|good (morning|evening|afternoon)|greetings)\b", re.IGNORECASE)
_THANKS = re.compile(r"^\W*(thanks|thank you|cheers|great|perfect|bye|goodbye)\b", re.IGNORECASE)
_WHO_ARE_YOU = re.compile(
    r"\b(what (can|could|do) you do|who are you|what are you|how can you help|what tools)\b", re.IGNORECASE
)
_LONG = 600


def nothing_fits(prompt: str, offers: Sequence[Offer]) -> str:
    """An honest sentence when no tool fits."""
    if _THANKS.match(prompt):
        return "You're welcome."
    names = [offer.name for offer in offers]
    if not names:
        return f"{WHO} No tools were offered with this request, so there is nothing I can do with it."
    listed = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    if _WHO_ARE_YOU.search(prompt):
        return f"{WHO} I can call {listed}."
    if _GREETING.match(prompt):
        return f"Hello! {WHO} I can call {listed}."
    one = len(names) == 1
    return (
        f"None of the tools fits that: I was offered {'only ' if one else ''}{listed}. "
        "As the rehearsal model I can pick tools, but I know nothing by myself."
    )


def ask_back(steps: Sequence[Step]) -> str:
    """A question for what a call needs and the prompt does not say."""
    step = steps[0]
    wanted = " and ".join(_wanted(parameter) for parameter in step.missing)
    return f"I would call {step.offer.name}, but the prompt does not say {wanted}. What should I use?"


def _wanted(parameter: Parameter) -> str:
    words = " ".join(parameter.words) or parameter.name
    text = f"the {words}"
    if parameter.choices:
        return f"{text} ({', '.join(str(choice) for choice in parameter.choices[:8])})"
    described = parameter.description.strip().rstrip(".")
    return f"{text} ({described})" if described and described.lower() != words else text


def _shown(call: Call) -> str:
    """A call as a person writes it: add(17, 25)."""
    values = ", ".join(_value(value) for value in call.arguments.values())
    return f"{call.name}({values})"


def _value(value: Any) -> str:
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 40 else text[:37] + "…" + text[-1]


def _told(call: Call) -> str:
    """One result in words."""
    text = (call.result or "").strip()
    if not text or text in ("null", "None", "(no output)"):
        return f"{call.name} was called and gave nothing back."
    if call.failed:
        return f"{_shown(call)} failed: {_clipped(_one_line(text))}"
    value = as_json(text)
    if isinstance(value, dict):
        inside = "; ".join(f"{key}: {_plain(inner)}" for key, inner in list(value.items())[:12])
        return f"{_shown(call)}: {_clipped(inside)}"
    if isinstance(value, list):
        items = ", ".join(_plain(item) for item in value[:12])
        more = f" and {len(value) - 12} more" if len(value) > 12 else ""
        return f"{_shown(call)} gives {len(value)} item{'' if len(value) == 1 else 's'}: {_clipped(items)}{more}"
    if isinstance(value, bool):
        return f"{_shown(call)} says {'yes (true)' if value else 'no (false)'}."
    if isinstance(value, int | float):
        whole = isinstance(value, float) and value.is_integer() and "e" not in text.lower()
        return f"{_shown(call)} is {int(value) if whole else text}."
    if isinstance(value, str):
        text = value
    if "\n" in text:
        return f"{_shown(call)} gives:\n\n{_clipped(text)}"
    return f"{_shown(call)}: {_clipped(text)}"


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_plain(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_plain(inner) for inner in value) + "]"
    return str(value)


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def _clipped(text: str) -> str:
    return text if len(text) <= _LONG else text[:_LONG].rstrip() + " …"


def answer(calls: Sequence[Call], open_steps: Sequence[Step]) -> str:
    """The answer that holds every result, then what is still open."""
    told = [_told(call) for call in calls]
    if not told:
        return ""
    text = _joined(told)
    if open_steps and open_steps[0].missing:
        text += "\n\n" + ask_back(open_steps)
    return text


def _joined(told: list[str]) -> str:
    if len(told) == 1:
        return _sentence(told[0])
    if all("\n" not in one and len(one) < 90 for one in told) and len(told) <= 3:
        return " ".join(_sentence(one) for one in told)
    return "\n".join(f"- {one}" for one in told)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…", "\n")) or "\n" in text else f"{text}."

"""What the rehearsal model says: the results, what failed, what is missing, or that nothing fits."""

from __future__ import annotations

import re
from collections.abc import Sequence

from . import phrasing
from .conversation import Call
from .offers import Offer, Parameter
from .step import Step

WHO = "I am the rehearsal model: no language model, only a planner that matches the words of a prompt with tools."
TOOLS_WITHHELD = (
    "I was told to call no tool (tool_choice is none), and as the rehearsal model I know nothing by myself."
)
_GREETING = re.compile(r"^\W*(hi|hello|hey|good (morning|evening|afternoon)|greetings)\b", re.IGNORECASE)
_THANKS = re.compile(r"^\W*(thanks|thank you|cheers|great|perfect|bye|goodbye)\b", re.IGNORECASE)
_WHO_ARE_YOU = re.compile(
    r"\b(what (can|could|do) you do|who are you|what are you|how can you help|what tools)\b", re.IGNORECASE
)


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
    text = f"the {words}" if len(words) > 1 else words
    if parameter.choices:
        return f"{text} ({', '.join(str(choice) for choice in parameter.choices[:8])})"
    described = parameter.description.strip().rstrip(".")
    return f"{text} ({described})" if described and described.lower() != words else text


def answer(calls: Sequence[Call], open_steps: Sequence[Step], offers: Sequence[Offer] = ()) -> str:
    """The answer that holds every result, then what is still open."""
    by_name = {offer.name: offer for offer in offers}
    told = [phrasing.told(call, by_name.get(call.name) or by_name.get(call.name.rpartition(".")[2])) for call in calls]
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
    return "\n".join(f"- {_sentence(one)}" for one in told)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…", "\n")) or "\n" in text else f"{text}."

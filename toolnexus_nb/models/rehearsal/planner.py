"""One request in, one plan out: what the rehearsal model thinks, says and calls. Pure: same request, same plan.

Each round starts from nothing: the prompt is planned again, the calls that were made are laid over the plan, and
what is left of it is the next move. So the planner keeps no state, and any history it is given can be continued.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from . import answering
from .conversation import Call, Conversation, read_conversation, today_of
from .following import is_request, steps_for
from .forms import formatted
from .mending import mend
from .offers import Offer, read_offers
from .reading import Reading, read
from .resolving import value_from
from .step import Earlier, Step

_UNREAD = re.compile(r"could not be read|not valid JSON|invalid JSON|cut off|parse", re.IGNORECASE)
"""How an error says that arguments never arrived: then the same call is made again."""


@dataclass(frozen=True)
class PlannedCall:
    """A tool to call, with its arguments as a JSON object."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """The next message: thinking aloud, answer text, or calls (text may come with them)."""

    reasoning: str = ""
    text: str = ""
    calls: tuple[PlannedCall, ...] = field(default=())


@dataclass
class _Progress:
    """A step and the calls that were made for it."""

    step: Step
    calls: list[Call] = field(default_factory=list)

    @property
    def last(self) -> Call | None:
        return self.calls[-1] if self.calls else None

    @property
    def succeeded(self) -> Call | None:
        return self.last if self.last is not None and self.last.result is not None and not self.last.failed else None


def plan(request: Mapping[str, Any], today: date | None = None) -> Plan:
    """The next move for a chat-completions request body.

    `today` makes "tomorrow" a day; a system message that says "Today is 2026-11-30" is heard first. Never raises for
    what a request holds.
    """
    conversation = read_conversation(request.get("messages"))
    day = today_of(conversation.system, today or date.today())
    choice = request.get("tool_choice")
    offers = [] if choice == "none" else read_offers(request.get("tools"))
    reading = read(conversation.turn.prompt, day)
    steps = steps_for(
        conversation, offers, reading, day, _insisted(choice, offers) if not conversation.turn.calls else None
    )
    progress = _laid_over(steps, conversation.turn.calls)
    calls, why = _next_calls(progress, reading)
    if request.get("parallel_tool_calls") is False:
        calls = calls[:1]
    if calls:
        return Plan(_thoughts(conversation, progress, why), "", tuple(calls))
    withheld = choice == "none" and bool(request.get("tools")) and not conversation.turn.calls
    text = answering.TOOLS_WITHHELD if withheld else _closing(conversation, progress, offers)
    shaped = formatted(request.get("response_format"), text, reading, conversation.turn.calls)
    return Plan(
        "" if conversation.turn.calls else _thoughts(conversation, progress, why),
        shaped if shaped is not None else text,
    )


def _insisted(choice: Any, offers: list[Offer]) -> list[Offer] | None:
    """The tools one of which must be called, by tool_choice: all of them ("required"), or the one that is named."""
    if choice == "required":
        return offers
    if isinstance(choice, Mapping):
        function = choice.get("function")
        name = function.get("name") if isinstance(function, Mapping) else choice.get("name")
        return [offer for offer in offers if offer.name == name] or None
    return None


def _laid_over(steps: list[Step], made: list[Call]) -> list[_Progress]:
    """Each step with the calls made for it, in order; the same tool again after an error is its second try."""
    progress = [_Progress(step) for step in steps]
    for call in made:
        same = [one for one in progress if _is_for(call, one.step.offer)]
        fresh = [one for one in same if not one.calls]
        failed = [one for one in same if len(one.calls) == 1 and one.calls[0].failed]
        exact = [one for one in fresh if one.step.arguments == call.arguments]
        for one in (*exact[:1], *failed[:1], *fresh[:1])[:1]:
            one.calls.append(call)
    return progress


def _is_for(call: Call, offer: Offer) -> bool:
    """Whether a call was meant for a tool; some endpoints hand names back as "functions.NAME" (row G09)."""
    return call.name == offer.name or call.name.endswith(f".{offer.name}")


def _next_calls(progress: list[_Progress], reading: Reading) -> tuple[list[PlannedCall], list[str]]:
    """The calls that can be made now: first tries whose needs are met, and second tries an error shows the way to."""
    calls: list[PlannedCall] = []
    why: list[str] = []
    for one in progress:
        step = one.step
        if one.last is None:
            arguments = _resolved(step, progress)
            if arguments is None or step.missing:
                continue
            calls.append(PlannedCall(step.offer.name, arguments))
            why.append(_because(step))
        elif one.last.failed and len(one.calls) == 1:
            meant = _resolved(step, progress)
            unread = meant is not None and one.last.arguments != meant and _UNREAD.search(one.last.result or "")
            better = meant if unread else mend(step.offer, one.last, reading)
            if better is not None:
                calls.append(PlannedCall(step.offer.name, better))
                why.append(f"{step.offer.name} failed; the error says how to mend the arguments")
    return calls, why


def _resolved(step: Step, progress: list[_Progress]) -> dict[str, Any] | None:
    """The arguments with earlier results put in; None while one is not there, or is of the wrong kind."""
    arguments = {}
    for parameter in step.offer.parameters:
        if parameter.name not in step.arguments:
            continue
        value = step.arguments[parameter.name]
        if isinstance(value, Earlier):
            done = progress[value.step].succeeded if value.step < len(progress) else None
            value = value_from(done, parameter) if done is not None else None
            if value is None:
                return None
        arguments[parameter.name] = value
    return arguments


def _because(step: Step) -> str:
    found = step.match
    if found is not None and found.heard:
        heard = ", ".join(f'"{word}"' for word in found.heard[:4])
        return f"{heard} {'speak' if len(found.heard) > 1 else 'speaks'} for {step.offer.name}"
    return f"The best fit is {step.offer.name}"


def _thoughts(conversation: Conversation, progress: list[_Progress], why: list[str]) -> str:
    """What is shown as reasoning: why these calls, in one or two sentences."""
    if not progress:
        return "No tool's name or description goes with the words of the prompt."
    text = "; ".join(dict.fromkeys(why))
    waiting = [one.step.offer.name for one in progress if not one.calls and one.step.needs]
    if waiting and not conversation.turn.calls:
        text += f"; {waiting[0]} has to wait for an earlier result"
    missing = next((one.step for one in progress if one.step.missing), None)
    if missing is not None and not why:
        text = f"{missing.offer.name} fits, but not everything it needs was said"
    return f"{text}." if text else ""


def _closing(conversation: Conversation, progress: list[_Progress], offers: list[Offer]) -> str:
    """The text of a round without calls: results, a question, or an honest no."""
    made = conversation.turn.calls
    open_steps = [one.step for one in progress if not one.calls and one.step.missing]
    if not made and open_steps and not is_request(conversation.turn.prompt):
        return answering.nothing_fits(conversation.turn.prompt, offers)
    if made:
        # A first try that was mended is no news, nor is a call of a tool that does not exist, once the right one was
        # made.
        mended = {id(one.calls[0]) for one in progress if len(one.calls) > 1}
        astray = (
            {id(call) for call in made if call.failed and not any(_is_for(call, offer) for offer in offers)}
            if offers
            else set()
        )
        told = [call for call in made if id(call) not in mended | astray] or made
        return answering.answer(told, open_steps, offers)
    if open_steps:
        return answering.ask_back(open_steps)
    return answering.nothing_fits(conversation.turn.prompt, offers)

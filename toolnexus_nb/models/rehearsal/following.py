"""What a prompt means in its conversation: a new request, the answer to a question, or "and in Oslo?"."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date

from .candidates import candidates
from .choosing import choose
from .conversation import Call, Conversation, Turn
from .filling import Filled, fill
from .forms import stand_in
from .lexicon import OPENERS, STOP
from .offers import Offer
from .reading import Reading, read
from .resolving import value_from
from .step import Earlier, Step
from .steps import chained, find_steps, spread
from .sums import goes_on
from .words import worth


def steps_for(
    conversation: Conversation, offers: list[Offer], reading: Reading, today: date, insisted: list[Offer] | None
) -> list[Step]:
    """The calls the last prompt asks for, heard in its conversation. `insisted`: tools one of which must be called."""
    steps = find_steps(offers, reading)
    if not steps and offers:
        steps = _answered(conversation, offers, today) or _again(conversation, offers, reading)
    steps = _from_before(conversation, steps, reading)
    if insisted is not None:
        wanted = [step for step in steps if step.offer in insisted and not step.missing]
        return wanted or _forced(insisted, reading)
    return steps


def _from_before(conversation: Conversation, steps: list[Step], reading: Reading) -> list[Step]:
    """ "Now add 10 to it": what is open in a single step is taken from the last result of an earlier question."""
    made = [call for turn in conversation.earlier for call in turn.calls if call.result and not call.failed]
    if not made or len(steps) != 1 or not steps[0].missing or steps[0].match is None:
        return steps
    last = made[-1]
    step = chained(steps[0].match, reading, steps)
    if step is None and _goes_on(conversation.turn.prompt):
        step = goes_on(steps[0].match, Earlier(0))
    if step is None:
        return [_carried_on(steps[0], made)] if _goes_on(conversation.turn.prompt) else steps
    kinds = {parameter.name: parameter for parameter in step.offer.parameters}
    values = {
        name: value_from(last, kinds[name]) if isinstance(value, Earlier) else value
        for name, value in step.arguments.items()
    }
    return steps if None in values.values() else [replace(step, arguments=values)]


def _goes_on(prompt: str) -> bool:
    """Whether a prompt goes on with the last one: "and the air quality?", "what about there?"."""
    return bool(re.match(r"\W*(and|also|now|then|what about|how about|same)\b", prompt, re.IGNORECASE))


def _carried_on(step: Step, made: list[Call]) -> Step:
    """What is missing as it was said for the calls before: the city that the weather was asked for."""
    before = {name: value for call in made for name, value in call.arguments.items()}
    kept = {p.name: before[p.name] for p in step.missing if p.name in before}
    rest = tuple(p for p in step.missing if p.name not in kept)
    return replace(step, arguments=step.offer.ordered({**step.arguments, **kept}), missing=rest)


def is_request(prompt: str) -> bool:
    """Whether somebody asks, rather than tells: a question mark, or a verb or question word up front."""
    words = [word.strip(".,!:;\"'").lower() for word in prompt.split()]
    first = next(
        (word for word in words if word not in ("please", "ok", "and", "then", "now", "so", "hey", "hi", "hello")), ""
    )
    wants = any(
        f" {phrase} " in f" {' '.join(words)} " for phrase in ("i want", "i need", "i'd like", "please", "i would like")
    )
    told = first in ("i", "i'm", "i've", "my", "it", "it's", "this", "that", "the", "he", "she", "they", "we")
    return "?" in prompt or wants or not told


def _answered(conversation: Conversation, offers: list[Offer], today: date) -> list[Step]:
    """The last turn asked for something that was missing: read its prompt and this one together."""
    if not conversation.earlier or conversation.earlier[-1].calls:
        return []
    before = conversation.earlier[-1]
    if not any(step.missing for step in find_steps(offers, read(before.prompt, today))):
        return []
    together = find_steps(offers, read(f"{before.prompt.rstrip(' .?!')} {conversation.turn.prompt}", today))
    return [step for step in together if not step.missing] or _completed(before, conversation.turn, offers, today)


def _completed(before: Turn, turn: Turn, offers: list[Offer], today: date) -> list[Step]:
    """The earlier step with its missing arguments taken from a bare answer: "Oslo"."""
    completed = []
    reply = read(turn.prompt, today)
    for step in find_steps(offers, read(before.prompt, today)):
        if not step.missing:
            continue
        wanted = replace(step.offer, parameters=tuple(replace(p, required=True) for p in step.missing))
        found = fill(wanted, reply)
        if not found.missing:
            arguments = step.offer.ordered({**step.arguments, **found.arguments})
            completed.append(replace(step, arguments=arguments, missing=()))
    return completed


def _again(conversation: Conversation, offers: list[Offer], reading: Reading) -> list[Step]:
    """ "And in Oslo?": the last call once more, with what is new put in its place."""
    last = next((turn.calls[-1] for turn in reversed(conversation.earlier) if turn.calls), None)
    offer = next((one for one in offers if last is not None and one.name == last.name), None)
    if last is None or offer is None or not _short(reading, offer):
        return []
    return varied(offer, last, reading)


def varied(offer: Offer, last: Call, reading: Reading) -> list[Step]:
    """The steps of an earlier call whose arguments change by what this text says; none when it changes nothing."""
    eager = replace(offer, parameters=tuple(replace(p, required=p.name in last.arguments) for p in offer.parameters))
    filled = _only_said(fill(eager, reading), eager, reading)
    if not filled.arguments or all(last.arguments.get(name) == value for name, value in filled.arguments.items()):
        return []
    found = choose([eager], reading, least=-1.0)
    if found is None:
        return []
    changes = [
        {name: value for name, value in step.arguments.items() if name in filled.arguments}
        for step in spread(replace(found, filled=filled), reading)
    ]
    return [Step(offer, offer.ordered({**last.arguments, **change}), (), found) for change in changes]


def _only_said(filled: Filled, offer: Offer, reading: Reading) -> Filled:
    """Only what real candidates support; left-over words are no argument in a follow-up."""
    solid = {
        parameter.name
        for parameter in offer.parameters
        if parameter.name in filled.arguments
        and any(one.value == filled.arguments[parameter.name] for one in candidates(parameter, reading, offer))
    }
    return Filled(
        offer,
        {name: value for name, value in filled.arguments.items() if name in solid},
        [],
        {name: source for name, source in filled.sources.items() if name in solid},
        filled.scores,
    )


def _short(reading: Reading, offer: Offer) -> bool:
    """Whether a prompt is too short to be a request of its own: hardly a word in it but values."""
    words = [token.lower for token in reading.tokens if token.kind == "word"]
    telling = [word for word in words if worth(word) >= 1 and word not in STOP and word not in OPENERS]
    return len(words) <= 8 and len(telling) <= 1


def _forced(insisted: list[Offer], reading: Reading) -> list[Step]:
    """A call the caller insists on, with plain stand-ins for what was not said."""
    found = choose(insisted, reading, least=-1.0)
    if found is None:
        return []
    return [
        replace(step, arguments={**step.arguments, **{p.name: stand_in(p) for p in step.missing}}, missing=())
        for step in spread(found, reading)
    ]

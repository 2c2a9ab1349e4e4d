"""Replay: the model's side of a run comes from a file, at its pace, while the tools really run.

A request finds its recorded answer by its prompt and round. What differs from the recording (prompt, schema, tool
result,
parameters, order) is told as drift; a request the recording has no answer for is an error that names the round and the
field. It is never sent anywhere.
"""

from __future__ import annotations

import asyncio
import difflib
import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..openai.errors import APIConnectionError, APIError
from ..rounds.client import Client
from ..rounds.setup_error import SetupError
from ..rounds.transport import BytesResponse, TransportRequest
from .faults import round_of
from .recording import Recorded, Recorder, prompt_of, read_recording
from .speaking import JSON_HEADERS, default_pace, model_list

LONGEST_PAUSE = 3.0
"""Seconds between two pieces that a replay waits at most, however long the recorded model thought."""
_NEAR = 0.6
"""How alike an edited prompt must be to the recorded one to be answered by it (difflib's ratio)."""


class ReplayMiss(APIError):
    """The recording has no answer for a request. `.round` and `.field` say where they part."""

    def __init__(self, message: str, *, round: int, field: str) -> None:
        super().__init__(message, code="replay_miss", type="replay_miss")
        self.round = round
        self.field = field

    def _what_happened(self) -> str:
        return self.message


@dataclass(frozen=True)
class Drift:
    """One way in which a request differs from the recorded one."""

    round: int
    field: str
    what: str

    def __str__(self) -> str:
        return f"drift in round {self.round}, {self.field}: {self.what}"


class ReplayTransport:
    """Answers from a recording. `strict`: drift is an error, too. `pace`: 1.0 as recorded, 0 at once."""

    def __init__(
        self, recorded: Sequence[Recorded], name: str, *, pace: float | None = None, strict: bool = False
    ) -> None:
        self.recorded = _last_attempts(recorded)
        self.name = name
        self.pace = pace
        self.strict = strict
        self._next = 0

    async def send(self, request: TransportRequest) -> BytesResponse:
        """The recorded answer, with its drift as notes. Raises ReplayMiss where there is none."""
        if request.method == "GET":
            return BytesResponse(200, JSON_HEADERS, [model_list(sorted({one.model for one in self.recorded}))])
        body = request.json()
        found = self._find(body)
        drift = drift_between(found, body)
        position = self.recorded.index(found)
        if position != self._next and not drift:
            drift = [
                Drift(
                    round_of(body),
                    "order",
                    f"request {found.number} of the recording, where request "
                    f"{self.recorded[self._next].number} was next",
                )
            ]
        self._next = (position + 1) % len(self.recorded)  # at the end it begins again: a notebook may be run twice
        if drift and self.strict:
            first = drift[0]
            raise ReplayMiss(
                f"strict replay of {self.name}: {'; '.join(map(str, drift))}.", round=first.round, field=first.field
            )
        headers = {"content-type": found.content_type or "text/event-stream"}
        return BytesResponse(found.status or 200, headers, self._speak(found), notes=[str(one) for one in drift])

    async def aclose(self) -> None:
        """Nothing is held."""

    def _find(self, body: Mapping[str, Any]) -> Recorded:
        """The recorded request that fits best: the same, else the same prompt and round, else the next near one."""
        now = round_of(body)
        prompt = prompt_of(body.get("messages") or ())
        in_order = self.recorded[self._next :] + self.recorded[: self._next]
        in_round = [one for one in in_order if round_of({"messages": one.messages}) == now]
        for one in in_round:
            if one.messages == body.get("messages"):
                return one
        same = [one for one in in_round if one.prompt == prompt]
        if same:
            return max(same, key=lambda one: _shared_prompts(one, body))
        ahead = [one for one in in_round if one in self.recorded[self._next :]]
        near = [one for one in ahead if _alike(one.prompt, prompt) >= _NEAR]
        if near:
            return max(near, key=lambda one: _alike(one.prompt, prompt))
        raise self._miss(now, prompt, in_round)

    def _miss(self, round_: int, prompt: str, in_round: Sequence[Recorded]) -> ReplayMiss:
        if not self.recorded:
            return ReplayMiss(f"{self.name} holds no request; record it again.", round=round_, field="request")
        known = list(dict.fromkeys(one.prompt for one in self.recorded))
        if prompt in known:
            return ReplayMiss(
                f"the recording {self.name} has no round {round_} for {_short(prompt)}: the model had answered before. "
                "Nothing was sent; record it again to go on.",
                round=round_,
                field="round",
            )
        return ReplayMiss(
            f"round {round_}: the recording {self.name} has no answer for the prompt {_short(prompt)}; "
            f"it holds {'; '.join(_short(one) for one in known[:4])}. Nothing was sent; record it again, or "
            f"ask one of those.",
            round=round_,
            field="prompt",
        )

    async def _speak(self, found: Recorded) -> AsyncIterator[bytes]:
        pace = default_pace() if self.pace is None else self.pace
        before = 0.0
        for at, data in found.events:
            if pace > 0 and at > before:
                await asyncio.sleep(min((at - before), LONGEST_PAUSE) * pace)
            before = at
            yield data
        if found.error:
            raise APIConnectionError(f"as recorded: {found.error}")


def _last_attempts(recorded: Sequence[Recorded]) -> list[Recorded]:
    """The requests without those that failed and were sent again: a replay has nothing to wait for."""
    following = [*recorded[1:], None]
    return [
        one
        for one, after in zip(recorded, following, strict=True)
        if not ((one.status >= 300 or one.error) and after is not None and after.messages == one.messages)
    ]


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return f'"{flat}"' if len(flat) <= 60 else f'"{flat[:57]}…"'


def _alike(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other).ratio()


def _shared_prompts(one: Recorded, body: Mapping[str, Any]) -> int:
    """How many messages from the start are the same: tells two turns with the same prompt apart."""
    count = 0
    for recorded, sent in zip(one.messages, body.get("messages") or (), strict=False):
        count += recorded == sent
    return count


# --- drift


def drift_between(recorded: Recorded, body: Mapping[str, Any]) -> list[Drift]:
    """What a request says otherwise than the recorded one, one entry for each kind."""
    round_ = round_of(body)
    drift: list[Drift] = []
    messages = list(body.get("messages") or ())
    prompt = prompt_of(messages)
    if prompt != recorded.prompt:
        drift.append(Drift(round_, "prompt", f"was {_short(recorded.prompt)}, is {_short(prompt)}"))
    drift.extend(_result_drift(round_, recorded.messages, messages))
    drift.extend(_schema_drift(round_, recorded.tools, list(body.get("tools") or ())))
    given = {
        key: value
        for key, value in body.items()
        if key not in ("messages", "tools", "model", "stream", "stream_options")
    }
    changed = [key for key in sorted({*given, *recorded.parameters}) if given.get(key) != recorded.parameters.get(key)]
    if changed:
        told = ", ".join(
            f"{key} was {json.dumps(recorded.parameters.get(key))}, is {json.dumps(given.get(key))}"
            for key in changed[:4]
        )
        drift.append(Drift(round_, "parameters", told))
    if not drift and [m.get("content") for m in messages if m.get("role") == "system"] != [
        m.get("content") for m in recorded.messages if m.get("role") == "system"
    ]:
        drift.append(Drift(round_, "system", "the system message is another one"))
    return drift


def _result_drift(round_: int, recorded: Sequence[Mapping[str, Any]], sent: Sequence[Mapping[str, Any]]) -> list[Drift]:
    """Tool results of this question that came out differently."""
    names = {
        call.get("id"): (call.get("function") or {}).get("name")
        for message in recorded
        for call in message.get("tool_calls") or ()
    }
    before = {
        message.get("tool_call_id"): message.get("content")
        for message in _since_prompt(recorded)
        if message.get("role") == "tool"
    }
    drift = []
    for message in _since_prompt(sent):
        key = message.get("tool_call_id")
        if message.get("role") == "tool" and key in before and before[key] != message.get("content"):
            was, now = _short(str(before[key])), _short(str(message.get("content")))
            drift.append(Drift(round_, "tool result", f"{names.get(key) or key} gave {was}, gives {now}"))
    return drift


def _since_prompt(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    last = max((at for at, message in enumerate(messages) if message.get("role") == "user"), default=-1)
    return list(messages[last + 1 :])


def _schema_drift(round_: int, recorded: Sequence[Any], sent: Sequence[Any]) -> list[Drift]:
    before, now = _by_name(recorded), _by_name(sent)
    gone, new = sorted(before.keys() - now.keys()), sorted(now.keys() - before.keys())
    changed = sorted(name for name in before.keys() & now.keys() if before[name] != now[name])
    told = [
        f"{what} {', '.join(names)}"
        for what, names in (("missing:", gone), ("new:", new), ("changed:", changed))
        if names
    ]
    return [Drift(round_, "schema", "; ".join(told))] if told else []


def _by_name(tools: Sequence[Any]) -> dict[str, Any]:
    return {str((tool.get("function") or {}).get("name")): tool for tool in tools if isinstance(tool, Mapping)}


# --- the doors


def record(path: str | os.PathLike[str]) -> Recorder:
    """Record every request of this process until `stop()`: `with tn.record("run.jsonl"): ...`. Replaces the file."""
    return Recorder(path)


def connect(
    model: str | None = None,
    argument: str | None = None,
    *,
    pace: float | None = None,
    strict: bool = False,
    **options: Any,
) -> Client:
    """A client that replays the recording `argument`. `pace`: 1.0 as recorded, 0 at once. `strict`: drift is an error.

    Raises SetupError without a file, RecordingError when it can't be read.
    """
    if not argument:
        raise SetupError("recorded needs a file: tn.connect('recorded:run.jsonl'), or %toolnexus replay run.jsonl")
    found = read_recording(argument)
    name = os.path.basename(argument)  # noqa: PTH119
    options.setdefault("retries", 0)
    return Client(
        base_url="http://recorded.invalid/v1",
        model=model or (found[0].model if found else "recorded"),
        api_key="",
        transport=ReplayTransport(found, name, pace=pace, strict=strict),
        label=f"recorded: {name}",
        keyless=True,
        notes_for_display=("the model's side is replayed, the tools really run",),
        **options,
    )

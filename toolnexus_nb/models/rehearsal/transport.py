"""The rehearsal model as a transport: a chat-completions request in, a plan spoken as server-sent events out."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from datetime import date
from typing import Any

from ...rounds.client import Client
from ...rounds.transport import BytesResponse, TransportRequest
from ..speaking import (
    JSON_HEADERS,
    SSE_HEADERS,
    Spoken,
    SpokenCall,
    Voice,
    call_id,
    completion,
    default_pace,
    error_body,
    model_list,
    spoken_bytes,
)
from ..usage import estimated_usage
from .planner import Plan, plan

NAME = "rehearsal"
NOTE = "no language model; a planner picks tools by the words of the prompt"


class RehearsalTransport:
    """Answers like an OpenAI-compatible endpoint, from the planner. No network, no randomness.

    `pace`: 1.0 speaks like a person types, 0 at once, None decides by where it runs. `today` fixes what "tomorrow"
    means.
    """

    def __init__(self, pace: float | None = None, today: date | None = None) -> None:
        self.pace = pace
        self.today = today

    async def send(self, request: TransportRequest) -> BytesResponse:
        """Plan and speak. A body that is no chat-completions request is a 400."""
        if request.method == "GET":
            return BytesResponse(200, JSON_HEADERS, [model_list([NAME])])
        try:
            body = request.json()
        except ValueError as error:
            return BytesResponse(400, JSON_HEADERS, [error_body(f"the body is not JSON: {error}")])
        if not isinstance(body.get("messages"), list):
            return BytesResponse(400, JSON_HEADERS, [error_body("'messages' must be a list")])
        made = plan(body, self.today)
        voice = Voice(
            str(body.get("model") or NAME), default_pace() if self.pace is None else self.pace, created=int(time.time())
        )
        spoken = spoken_plan(made, body, with_usage=_wants_usage(body))
        if body.get("stream"):
            return BytesResponse(200, SSE_HEADERS, spoken_bytes(spoken, voice), notes=(NOTE,))
        return BytesResponse(
            200,
            JSON_HEADERS,
            [json.dumps(completion(spoken, voice), ensure_ascii=False).encode("utf-8", "replace")],
            notes=(NOTE,),
        )

    async def aclose(self) -> None:
        """Nothing is held."""


def _wants_usage(body: Mapping[str, Any]) -> bool:
    options = body.get("stream_options")
    return not body.get("stream") or (isinstance(options, Mapping) and bool(options.get("include_usage")))


def spoken_plan(made: Plan, body: Mapping[str, Any], *, with_usage: bool) -> Spoken:
    """A plan as a message: ids for its calls, arguments as JSON text, usage by the estimator."""
    seed = len(body.get("messages") or ())
    calls = tuple(
        SpokenCall(
            call.name, json.dumps(call.arguments, ensure_ascii=False), call_id(at, seed, call.name, call.arguments)
        )
        for at, call in enumerate(made.calls)
    )
    said = " ".join([made.reasoning, made.text, *(f"{call.name} {call.arguments}" for call in calls)])
    return Spoken(made.text, made.reasoning, calls, estimated_usage(body, said) if with_usage else None)


def connect(
    model: str | None = None,
    argument: str | None = None,
    *,
    pace: float | None = None,
    today: date | None = None,
    **options: Any,
) -> Client:
    """A client whose model is the rehearsal planner. `argument` is not used; `options` are the client's."""
    return Client(
        base_url="http://rehearsal.invalid/v1",
        model=model or NAME,
        api_key="",
        transport=RehearsalTransport(pace, today),
        label=NAME,
        keyless=True,
        notes_for_display=(NOTE,),
        **options,
    )

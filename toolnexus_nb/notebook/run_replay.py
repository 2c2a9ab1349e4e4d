"""A finished run told again: from a RunResult to the RunState that the panel would have had.

So an export, or a run that was asked from Python without a panel, tells the same story by the same code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..rounds import events as ev
from .run_state import RunState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..rounds.result import RunResult


def state_of(result: RunResult, label: str = "", schema_tokens: int = 0) -> RunState:
    """The story of a finished run. `label` names the model and where it is; `schema_tokens` as in RunState."""
    state = RunState(label=label or result.model, schema_tokens=schema_tokens)
    state.prompt = next((one.get_content_as_string() for one in result.messages if one.role == "user"), "")
    for event in replay(result):
        state.apply(event)
    state.seconds = result.seconds
    return state


def replay(result: RunResult) -> Iterator[ev.Event]:
    """The events of a finished run in their order, with whole messages instead of pieces."""
    records = {record.call.id: record for record in result.calls}
    toolkit = result.chat.toolkit if result.chat is not None else None
    number = 0
    for at, message in enumerate(result.messages):
        if message.role != "assistant":
            continue
        number += 1
        usage = result.usages[number - 1] if number <= len(result.usages) else None
        yield ev.RoundStarted(number, result.model, at, 0)
        if thought := message.reasoning_content or message.reasoning:
            yield ev.ReasoningDelta(number, thought)
        if message.refusal:
            yield ev.RefusalDelta(number, message.refusal)
        reason = "tool_calls" if message.tool_calls else result.finish_reason
        yield ev.RoundFinished(number, message, reason, usage, _model_seconds(result, number))
        for call in message.tool_calls:
            record = records.get(call.id)
            tool = toolkit.resolve(call.name) if toolkit is not None else None
            if record is not None:
                yield ev.ToolStarted(number, call, tool)
                yield ev.ToolFinished(number, call, record.result, record.seconds, record.state)
    for note in result.notes:
        yield ev.Note(0, note)
    yield ev.RunFinished(number, result)


def _model_seconds(result: RunResult, number: int) -> float:
    """How long the endpoint took for a round, retries included."""
    return sum(one.ended or 0.0 for one in result.exchanges if one.round == number)

"""Everything that happens in a run, as small frozen values. RunFinished is the last, of a stopped or failed run too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from ..openai.types import Message, ToolCall, Usage
    from ..tools.definition import Tool
    from ..tools.results import ToolResult
    from .result import RunResult

CallState: TypeAlias = Literal["done", "failed", "cancelled", "denied"]


@dataclass(frozen=True, slots=True)
class RoundStarted:
    """A request is about to be sent: to which model, with how many messages and tools."""

    round: int
    model: str
    messages: int
    tools: int


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A new piece of the answer."""

    round: int
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A new piece of what the model thinks aloud, kept apart from the answer."""

    round: int
    text: str


@dataclass(frozen=True, slots=True)
class RefusalDelta:
    """A new piece of a refusal."""

    round: int
    text: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of a tool call as it streams in: `name` as known so far, `arguments` the new piece of JSON text."""

    round: int
    index: int
    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A call is about to run; `tool` is None when the model called what does not exist."""

    round: int
    call: ToolCall
    tool: Tool | None


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """What a running tool reports: how far it is, out of what, and a word about it."""

    round: int
    call_id: str
    progress: float | None
    total: float | None
    message: str | None


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A call has its result. `seconds` is the tool's own time."""

    round: int
    call: ToolCall
    result: ToolResult
    seconds: float
    state: CallState


@dataclass(frozen=True, slots=True)
class ApprovalAsked:
    """A call waits for a decision; `reason` says why it was asked for."""

    round: int
    call: ToolCall
    reason: str


@dataclass(frozen=True, slots=True)
class UsageReported:
    """Tokens of the round, as the endpoint reported them or estimated (`usage.estimated`)."""

    round: int
    usage: Usage


@dataclass(frozen=True, slots=True)
class RetryScheduled:
    """Attempt `attempt` of at most `attempts` failed before its first byte was used; the request is sent again in
    `seconds`. `reason` is a few words; 0 attempts: not known."""

    round: int
    attempt: int
    seconds: float
    reason: str
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class Note:
    """Something the person should know; `warning` when it may change the answer."""

    round: int
    text: str
    kind: Literal["note", "warning"] = "note"


@dataclass(frozen=True, slots=True)
class RoundFinished:
    """The model's message of this round is complete. Its calls, if any, run next."""

    round: int
    message: Message
    finish_reason: str | None
    usage: Usage | None
    seconds: float


@dataclass(frozen=True, slots=True)
class RunFinished:
    """The end of the run, whatever it was: see `result.status`."""

    round: int
    result: RunResult


Event: TypeAlias = (
    RoundStarted
    | TextDelta
    | ReasoningDelta
    | RefusalDelta
    | ToolCallDelta
    | ToolStarted
    | ToolProgress
    | ToolFinished
    | ApprovalAsked
    | UsageReported
    | RetryScheduled
    | Note
    | RoundFinished
    | RunFinished
)

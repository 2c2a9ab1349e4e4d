"""What a run leaves: its answer, its messages, its calls, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..openai.types import Message, ToolCall, Usage
from .events import CallState

if TYPE_CHECKING:
    from ..tools.results import ToolResult
    from .approval import Decision
    from .chat import Chat
    from .tap import Exchange

RunStatus: TypeAlias = Literal["done", "incomplete", "paused", "stopped", "error"]
Limit: TypeAlias = Literal["max_rounds", "timeout", "length", "content_filter", "returns"]


@dataclass(frozen=True, slots=True)
class CallRecord:
    """A call that was answered: the call, its result, the tool's own seconds, and how it went."""

    call: ToolCall
    result: ToolResult
    seconds: float
    state: CallState
    round: int = 1

    def __str__(self) -> str:
        """The call, what became of it if it was not simply done, and its output."""
        state = "" if self.state == "done" else f" {self.state}:"
        return f"{self.call} →{state} {self.result.output}"


@dataclass(frozen=True, slots=True)
class Pending:
    """A call that waits for a decision, and why it was asked for."""

    call: ToolCall
    reason: str


@dataclass(repr=False)
class RunResult:
    """One run of rounds.

    `messages` are this run's own: the prompt, the model's messages, the tools' answers. `status` is

    * `done`: the model answered;
    * `incomplete`: it did not come to an end (`limit` says why: max_rounds, timeout, length, content_filter);
    * `paused`: calls in `pending` wait for a decision (`resume`);
    * `stopped`: Stop or a cancellation;
    * `error`: the endpoint failed (`error` holds the exception).
    """

    text: str = ""
    messages: list[Message] = field(default_factory=list)
    calls: list[CallRecord] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    rounds: int = 0
    finish_reason: str | None = None
    status: RunStatus = "done"
    limit: Limit | None = None
    notes: list[str] = field(default_factory=list)
    pending: list[Pending] = field(default_factory=list)
    caller_calls: list[ToolCall] = field(default_factory=list)
    """Calls of tools that the caller runs, handed back (see `run_rounds(caller_tools=)`)."""
    reasoning: str = ""
    refusal: str | None = None
    value: Any = None
    """What `returns=` asked for, validated."""
    model: str = ""
    usages: list[Usage] = field(default_factory=list)
    """Usage of each round, in order."""
    usages_before: int = field(default=0)
    left_running: list[str] = field(default_factory=list)
    """Labels of tools that were still running in threads when the run had to go on without them."""
    seconds: float = 0.0
    error: BaseException | None = None
    exchanges: list[Exchange] = field(default_factory=list)
    chat: Chat | None = field(default=None, compare=False)
    turn: Any = field(default=None, compare=False)
    """The question as the chat keeps it, so that a paused run goes on as it began."""

    @property
    def tool_calls(self) -> list[ToolCall]:
        """Every call the model made in this run, in order."""
        return [call for message in self.messages for call in message.tool_calls or ()]

    @property
    def new_usage(self) -> Usage:
        """Tokens of this part of the run alone: after `resume`, without what the paused part had used."""
        if not self.usages_before:
            return self.usage
        total = Usage()
        for usage in self.usages[self.usages_before :]:
            total = total + usage
        return total

    @property
    def taken_back(self) -> bool:
        """Whether the question was taken out of the conversation: it was stopped or failed before any tool had run.

        A resumed run stands in the conversation already.
        """
        resumed = self.turn is not None and self.turn.earlier is not None
        nothing_ran = not any(message.role == "tool" for message in self.messages)
        return self.status in ("stopped", "error") and nothing_ran and not resumed

    def wire(self) -> list[Exchange]:
        """What was sent and what came back, request by request, retries included."""
        return list(self.exchanges)

    async def resume(self, decisions: Mapping[str, Decision] | Decision = None, **overrides: Any) -> RunResult:
        """Go on with a paused run.

        `decisions` maps the id of each pending call to "allow", "deny", ("deny", why) or ("edit", arguments); a single
        decision is for all of them. Calls without one stay pending.
        """
        return await self._chat().resume(decisions, result=self, **overrides)

    def resume_sync(self, decisions: Mapping[str, Decision] | Decision = None, **overrides: Any) -> RunResult:
        """Blocking form of `resume`."""
        return self._chat().resume_sync(decisions, result=self, **overrides)

    def _chat(self) -> Chat:
        if self.chat is None:
            raise ValueError("this result belongs to no chat any more; resume it through the chat: chat.resume(...)")
        return self.chat

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        calls = f", {len(self.calls)} call{'s' if len(self.calls) != 1 else ''}" if self.calls else ""
        failed = f": {self.error}" if self.error is not None else ""
        return f"<RunResult {self.status}{calls}{failed} {self.text!r}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text("RunResult(...)" if cycle else self.summary())

    def summary(self) -> str:
        """The run in a few lines of plain text."""
        from .summary import describe_run

        return describe_run(self)


def mark_cancelled(stop: BaseException, result: RunResult) -> BaseException:
    """The same CancelledError, carrying `.result` and `.left_running`, and shown by IPython in one line.

    It stays a plain CancelledError: asyncio.timeout and wait_for (Python 3.11, 3.12) know it by its exact type.
    """
    line = _stopped_line(result.left_running)
    stop.result = result  # type: ignore[attr-defined]
    stop.left_running = list(result.left_running)  # type: ignore[attr-defined]
    stop._render_traceback_ = lambda: [line]  # type: ignore[attr-defined]
    return stop


class RunStopped(KeyboardInterrupt):
    """Stop was pressed (or Ctrl-C); `.result` is what had happened until then.

    A KeyboardInterrupt, so that Run All stops and `except Exception` misses it. IPython shows one line.
    """

    def __init__(self, result: RunResult, left_running: Sequence[str] = ()) -> None:
        super().__init__(_stopped_line(left_running))
        self.result = result
        self.left_running = list(left_running)

    def _render_traceback_(self) -> list[str]:
        return [_stopped_line(self.left_running)]


def _stopped_line(left_running: Sequence[str]) -> str:
    line = "Stopped: the run was cancelled and its tools were told to stop."
    if left_running:
        line += f" Still running in a thread, its result will be dropped: {', '.join(left_running)}."
    return line

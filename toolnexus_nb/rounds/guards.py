"""Two guards of a run: against a tool that says too much, and a model that asks the same again and again."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..openai.types import ToolCall
    from ..tools.results import ToolResult

OUTPUT_LIMIT = 50_000
"""Characters of a tool's output that a model is sent, by default (about 12,000 tokens)."""
SAME_CALLS = 3


def bound_output(result: ToolResult, limit: int | None) -> ToolResult:
    """The result with its output cut in the middle to about `limit` characters, saying how much was left out."""
    if limit is None or len(result.output) <= limit:
        return result
    head, tail = limit * 3 // 4, limit // 4
    left_out = len(result.output) - head - tail
    text = (
        f"{result.output[:head]}\n[… {left_out:,} of {len(result.output):,} characters left out here; "
        f"ask for a smaller part …]\n{result.output[len(result.output) - tail :]}"
    )
    return replace(result, output=text, metadata={**result.metadata, "cut_characters": left_out})


class LoopGuard:
    """Notices the same call with the same arguments and the same outcome in round after round."""

    def __init__(self) -> None:
        self._seen: dict[str, list[tuple[int, str]]] = defaultdict(list)

    def hint(self, call: ToolCall, round: int) -> str | None:
        """What to answer instead of running the call a third time; None while it may run.

        Several equal calls in one round count once (three dice are thrown at once), and only equal outcomes count (a
        state that is polled may change).
        """
        seen = self._seen[_key(call)]
        earlier = [output for at, output in seen if at < round]
        rounds = {at for at, _ in seen if at < round}
        if len(rounds) < SAME_CALLS - 1 or len(set(earlier)) > 1:
            return None
        return (
            f"{call.name} was already called {len(rounds)} times with exactly these arguments and always gave the same "
            "result, which is in the conversation above. It was not run again: use that result, or call it with other "
            "arguments, or answer the question."
        )

    def saw(self, call: ToolCall, round: int, output: str) -> None:
        """Remember how a call went."""
        self._seen[_key(call)].append((round, output))


def _key(call: ToolCall) -> str:
    return f"{call.name} {json.dumps(call.arguments, sort_keys=True, ensure_ascii=False, default=str)}"

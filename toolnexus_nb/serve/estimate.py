"""Usage for endpoints that report none: estimated, and marked as that."""

from __future__ import annotations

from collections.abc import Sequence

from ..openai.tokens import TokenCounter
from ..openai.types import Message, Usage
from ..rounds.result import RunResult


def estimate_usage(prompt: Sequence[Message], answers: Sequence[Message]) -> Usage:
    """What one request with `prompt` and these answers (one for each choice) has cost, by the seed's rule."""
    counter = TokenCounter()
    counter.add_prompt_tokens_from_messages(prompt)
    for answer in answers:
        counter.add_completion_tokens_from_message(answer)
    usage = counter.get_usage()
    usage.estimated = True
    return usage


def usage_of_run(result: RunResult, prompt: Sequence[Message]) -> Usage:
    """The usage of all rounds; a round that reported none is estimated from what was sent and said in it.

    `prompt` is the conversation before the run. The run's messages begin with the last of it.
    """
    history, total = list(prompt), Usage()
    reported = iter(result.usages)
    for message in result.messages[1:]:
        if message.role == "assistant":
            usage = next(reported, Usage())
            total += usage if usage.prompt_tokens or usage.completion_tokens else estimate_usage(history, [message])
        history.append(message)
    return total

"""A run in a few lines of plain text, for a prompt, a log and a terminal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .result import CallRecord, RunResult

_LONGEST = 200
_SIGNS = {"done": "ok", "failed": "failed", "cancelled": "cancelled", "denied": "denied"}


def describe_run(result: RunResult) -> str:
    """Status line, one line per call, the answer."""
    lines = [_status(result)]
    lines += [f"  {describe_call(record)}" for record in result.calls]
    lines += [
        f"  waits for a decision: {p.call.name}({_arguments(p.call.arguments)}): {p.reason}" for p in result.pending
    ]
    lines += [f"  note: {note}" for note in result.notes]
    if result.text:
        lines.append(result.text)
    return "\n".join(lines)


def describe_call(record: CallRecord) -> str:
    """`get_weather(city="Oslo") -> sunny [ok, 0.20 s]`"""
    return (
        f"{record.call.name}({_arguments(record.call.arguments)}) -> {_short(record.result.output)} "
        f"[{_SIGNS[record.state]}, {duration(record.seconds)}]"
    )


def duration(seconds: float | None) -> str:
    """`4 ms`, `0.31 s`, `1.4 s`, `23 s`, `2 min 05 s`; nothing for None."""
    if seconds is None:
        return ""
    if seconds < 0.0005:
        return "under 1 ms"
    if seconds < 0.0995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 0.995:
        return f"{seconds:.2f} s"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"


def _status(result: RunResult) -> str:
    rounds = f"{result.rounds} round{'s' if result.rounds != 1 else ''}"
    limit = f" ({result.limit})" if result.limit else ""
    tokens = f", {result.usage.total_tokens} tokens" if result.usage.total_tokens else ""
    if tokens and result.usage.estimated:
        tokens += " (estimated)"
    failed = f": {result.error}" if result.error is not None else ""
    return f"{result.status}{limit}, {rounds}{tokens}{failed}"


def _arguments(arguments: dict[str, object]) -> str:
    return _short(
        ", ".join(f"{key}={json.dumps(value, ensure_ascii=False, default=str)}" for key, value in arguments.items())
    )


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"

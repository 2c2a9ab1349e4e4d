"""How many tokens a reply cost, as reported or as estimated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import model_validator

from .wire_model import Number, WireModel


def _without_nulls(data: Any) -> Any:
    """Numbers may be null until the last chunk (F02); that is as good as absent."""
    return {key: value for key, value in data.items() if value is not None} if isinstance(data, Mapping) else data


class PromptTokensDetails(WireModel):
    """Parts of `prompt_tokens`."""

    cached_tokens: Number = 0
    audio_tokens: Number = 0

    _drop_nulls = model_validator(mode="before")(_without_nulls)


class CompletionTokensDetails(WireModel):
    """Parts of `completion_tokens`."""

    reasoning_tokens: Number = 0
    audio_tokens: Number = 0
    accepted_prediction_tokens: Number = 0
    rejected_prediction_tokens: Number = 0

    _drop_nulls = model_validator(mode="before")(_without_nulls)


class Usage(WireModel):
    """Tokens of one reply, or with `+` of several. `estimated` marks numbers that no provider reported.

    Other numbers a provider adds (cost, timings) are kept as unknown keys.
    """

    prompt_tokens: Number = 0
    completion_tokens: Number = 0
    total_tokens: Number = 0
    prompt_tokens_details: PromptTokensDetails | None = None
    completion_tokens_details: CompletionTokensDetails | None = None
    estimated: bool = False

    _drop_nulls = model_validator(mode="before")(_without_nulls)

    @property
    def cached_tokens(self) -> Number:
        """Prompt tokens the provider had kept from before."""
        return self.prompt_tokens_details.cached_tokens if self.prompt_tokens_details else 0

    @property
    def reasoning_tokens(self) -> Number:
        """Completion tokens spent on thinking; never added to `completion_tokens` (F06)."""
        return self.completion_tokens_details.reasoning_tokens if self.completion_tokens_details else 0

    def __str__(self) -> str:
        """One readable line, such as `120 tokens (100 prompt + 20 completion), estimated`."""
        parts = f"{self.prompt_tokens:,} prompt + {self.completion_tokens:,} completion"
        return f"{self._total():,} tokens ({parts}){', estimated' if self.estimated else ''}"

    def __add__(self, other: Usage | None) -> Usage:
        """The sum, number by number, details and unknown numbers too; None adds nothing."""
        if other is None:
            return self.model_copy(deep=True)
        if not isinstance(other, Usage):
            return NotImplemented
        total = _sum(self.model_dump(), other.model_dump())
        total["total_tokens"] = self._total() + other._total()
        if self.estimated or other.estimated:
            total["estimated"] = True
        return Usage.read(total)

    def __radd__(self, other: Any) -> Usage:
        """So that `sum(usages)` and `None + usage` work."""
        return self.model_copy(deep=True) if not other else NotImplemented

    def _total(self) -> Number:
        return self.total_tokens or self.prompt_tokens + self.completion_tokens


def _sum(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    total = dict(one)
    for key, value in other.items():
        before = total.get(key)
        if isinstance(value, dict):
            total[key] = _sum(before if isinstance(before, dict) else {}, value)
        elif isinstance(value, int | float) and isinstance(before, int | float) and not isinstance(value, bool):
            total[key] = before + value
        else:
            total[key] = value
    return total

"""One call to make, which may wait for another's result."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .choosing import Match
from .offers import Offer, Parameter


@dataclass(frozen=True)
class Earlier:
    """Stands for the result of an earlier step, by its number."""

    step: int


@dataclass(frozen=True)
class Step:
    """One call to make. `arguments` may hold `Earlier`; `missing` is what the prompt does not say."""

    offer: Offer
    arguments: dict[str, Any]
    missing: tuple[Parameter, ...] = ()
    match: Match | None = field(default=None, compare=False, repr=False)

    @property
    def needs(self) -> frozenset[int]:
        """The steps whose results this one takes."""
        return frozenset(value.step for value in self.arguments.values() if isinstance(value, Earlier))

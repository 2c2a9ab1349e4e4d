"""A value that could be an argument."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .offers import Parameter

IMPOSSIBLE = -9.0
"""The score of what a parameter can never take."""


@dataclass(frozen=True)
class Candidate:
    """A value one parameter could take, the tokens it comes from, and how well it fits.

    score: 0 hardly, 1 plausible, 3 said in so many words; below 0 it is not taken.
    """

    parameter: Parameter
    value: Any
    tokens: frozenset[int]
    score: float

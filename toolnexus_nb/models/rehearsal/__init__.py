"""The rehearsal model: a small readable planner instead of a language model. See docs/rehearsal.md for what it can do.

    words → reading → offers → candidates → filling → choosing → clauses → steps → following → planner → transport

Each room takes what the one before it made; `plan(request)` is the whole, and pure.
"""

from __future__ import annotations

from ..._lazy import lazy

_NAMES = {
    name: module
    for module, names in {"planner": "Plan PlannedCall plan", "transport": "RehearsalTransport connect"}.items()
    for name in names.split()
}

__getattr__, __dir__, __all__ = lazy(__name__, _NAMES)

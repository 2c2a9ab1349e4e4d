"""Names for models: where `connect("ollama")` looks. Light on purpose: nothing is imported until a name is used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Connector:
    """One name that `connect` knows: what it is and what it needs."""

    name: str
    factory: str | Callable[..., Any]
    summary: str
    needs: str


_CONNECTORS: dict[str, Connector] = {}


def register_connector(name: str, factory: str | Callable[..., Any], *, summary: str, needs: str) -> None:
    """Make a name known to `connect`. `factory` is a callable or "module:function", imported on first use."""
    _CONNECTORS[name] = Connector(name, factory, summary, needs)

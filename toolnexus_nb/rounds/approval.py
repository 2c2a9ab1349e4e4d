"""Who may run: the decision about one call, from a policy, from a person, or later."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ..openai.types import ToolCall

Decision: TypeAlias = bool | Literal["allow", "deny"] | tuple[str, Any] | None
"""`"allow"` or True; `"deny"`, False or `("deny", why)`; `("edit", arguments)` runs it with other arguments; None: not
now, the run pauses."""

Approve: TypeAlias = Literal["allow", "deny"] | Callable[[ToolCall], Decision | Awaitable[Decision]] | None
"""`Chat(approve=)`: a policy for everything that needs approval, or a function that is asked call by call, on the
thread that asked the question. None: the run pauses."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A decision in one form: run it (with `arguments` if they were edited), or refuse it (and why), or wait."""

    kind: Literal["allow", "deny", "wait"]
    why: str = ""
    arguments: dict[str, Any] | None = None


def verdict(decision: Decision) -> Verdict:
    """Read a decision. Raises ValueError, with the forms there are, for anything else."""
    if decision is None:
        return Verdict("wait")
    if decision is True or decision == "allow":
        return Verdict("allow")
    if decision is False or decision == "deny":
        return Verdict("deny")
    if isinstance(decision, tuple | list) and len(decision) == 2:
        word, value = decision
        if word == "deny":
            return Verdict("deny", why="" if value is None else str(value))
        if word == "edit" and isinstance(value, Mapping):
            return Verdict("allow", arguments=dict(value))
    raise ValueError(f'a decision is "allow", "deny", ("deny", why), ("edit", {{...}}) or None, not {decision!r}')


def check_approve(approve: Approve) -> Approve:
    """The policy itself. Raises ValueError for a word that is none."""
    if approve is None or callable(approve) or approve in ("allow", "deny"):
        return approve
    raise ValueError(f'approve is "allow", "deny", a function of the call, or None, not {approve!r}')


async def decide(approve: Approve, call: ToolCall, ask: Callable[..., Awaitable[Any]]) -> Verdict:
    """The verdict of a policy; a function is asked through `ask(function, call)`, which knows the right thread."""
    if approve is None:
        return Verdict("wait")
    if callable(approve):
        return verdict(await ask(approve, call))
    return verdict(approve)


async def at_hand(function: Callable[..., Any], *args: Any) -> Any:
    """Call here and now; await what is awaitable."""
    value = function(*args)
    return await value if inspect.isawaitable(value) else value

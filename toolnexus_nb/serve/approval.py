"""What happens to a call of a tool with needs_approval when somebody else's program asks for it."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias

ServedApproval: TypeAlias = Literal["ask", "allow", "deny"] | Callable[[str, dict[str, Any]], bool | Awaitable[bool]]
"""`"ask"` puts it to the caller's person where the protocol can (MCP), and denies it elsewhere. A function, plain or
async, gets the tool's name and the arguments, and says whether the call may run."""


async def may_run(approve: ServedApproval, tool: str, arguments: dict[str, Any]) -> bool | None:
    """What the policy says about one call; None when a person has to be asked. Raises ValueError for no policy."""
    if callable(approve):
        said = approve(tool, arguments)
        return bool(await said if inspect.isawaitable(said) else said)
    if approve not in ("ask", "allow", "deny"):
        raise ValueError(f'approve is "ask", "allow", "deny" or a function of name and arguments, not {approve!r}')
    return None if approve == "ask" else approve == "allow"

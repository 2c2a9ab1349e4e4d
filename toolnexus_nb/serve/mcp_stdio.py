"""The toolkit as an MCP server on standard input and output, the way host applications start local servers."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..tools.toolkit import Toolkit


async def run_stdio(toolkit: Toolkit, **options: Any) -> None:
    """Serve the toolkit until standard input ends, then close it. `options` are those of `create_mcp_server`.

    Meanwhile what tools and their child processes print goes to standard error; standard output is the protocol's.
    """
    from mcp.server.stdio import stdio_server

    from ..tools.background import main_thread_open
    from .mcp_server import create_mcp_server

    server = create_mcp_server(toolkit, **options)
    try:
        # the main thread is kept open for tools that are bound to the thread of their module
        async with stdio_server() as (read, write):
            with main_thread_open(asyncio.get_running_loop()):
                await server.run(read, write, server.create_initialization_options())
    finally:
        await toolkit.close()


@contextmanager
def prints_to_stderr() -> Iterator[None]:
    """While a user's module is imported: what it (or a child process) prints must not come before the protocol."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)

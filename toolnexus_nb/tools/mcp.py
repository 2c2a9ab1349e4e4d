"""MCP servers in a notebook: opened in one cell, called from others, closed in another, or with the kernel.

Who owns what, who may cancel what, and what happens when something ends:

* **A server** (`McpServer`) is what the user holds: a name, how to open it, its tools, what it said, how it went. It
  lives through several **sessions** (`mcp_session.Session`), one after the other. Its methods may be awaited on any
  loop, called from any thread (`x_sync`), and run side by side; all of them hop to the background loop, where the
  sessions live.
* **Each session has one owner task**, which alone enters and leaves the SDK's client. So no cell, and no cancelled
  task, ever leaves a cancel scope that another one entered.
* **Stop during a call** cancels that call: the server is told (`notifications/cancelled`), the session stays. So does a
  call that takes longer than its timeout. A time in which a person is asked something does not count.
* **A server that dies** is noticed when its pipe or connection ends. The call it died in is an error result that says
  so, with its exit code and last words. The next call opens it again, once, within the opening's time limit; after
  three failures in a row calls answer at once, until `reconnect()`.
* **Nothing is left behind**: `close()`, `toolkit.close()`, the extension's unloading and the interpreter's exit end the
  session, and with it the whole process group of the server. A toolkit that is thrown away (a cell run again) takes its
  servers along. If the kernel itself is killed, servers see their stdin end.
* **Opening never takes longer** than its timeout, whatever the server does; then its process is gone too.
* **The list of tools follows the server**: when it says its list changed, the toolkit's tools are replaced, and
  `toolkit.changes` tells how.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .background import hop
from .mcp_config import ServerSpec, make_spec, read_config
from .mcp_elicitation import Elicitation, checked_policy
from .mcp_errors import McpServerError
from .mcp_server import McpServer
from .mcp_status import LogEntry, McpPrompt, McpResource, McpStatus

if TYPE_CHECKING:
    from .toolkit import Toolkit

__all__ = [
    "Elicitation",
    "LogEntry",
    "McpPrompt",
    "McpResource",
    "McpServer",
    "McpServerError",
    "McpStatus",
    "add_config",
    "add_server",
]


async def add_server(toolkit: Toolkit, name: str, **options: Any) -> McpServer:
    """Open a server and register its tools; `options` are those of `mcp_config.make_spec`.

    A server of that name is closed first, so that a cell can be run again. Raises McpServerError; the server is kept
    then as "failed", without tools and without a process, so that its stderr can be read and `reconnect` be tried.
    """
    spec = make_spec(name, **options)
    checked_policy(spec.elicitation)
    _need_mcp()
    return await hop(lambda: _add(toolkit, spec))


async def _add(toolkit: Toolkit, spec: ServerSpec) -> McpServer:
    await _close_old(toolkit, spec.name)
    server = toolkit.servers[spec.name] = McpServer(toolkit, spec)
    try:
        await server._open()
    except McpServerError:
        server._take_list([])  # the tools of the server before it
        raise
    except BaseException:
        await server._remove()
        raise
    return server


async def add_config(toolkit: Toolkit, source: str | os.PathLike[str] | Mapping[str, Any]) -> list[McpServer]:
    """Open the servers of a configuration (see `mcp_config`), all at once, and register their tools in its order.

    Gives every server of it: one that could not be opened has `state` "failed" and its reason in `last_error` and in
    `toolkit.findings`, a disabled one is "disabled". Raises ToolnexusError only when there is no configuration to read.
    """
    specs, findings = read_config(source)
    _need_mcp()
    toolkit.findings.extend(findings)
    return await hop(lambda: _add_all(toolkit, specs))


async def _add_all(toolkit: Toolkit, specs: list[ServerSpec]) -> list[McpServer]:
    await asyncio.gather(*(_close_old(toolkit, spec.name) for spec in specs))
    servers = [McpServer(toolkit, spec) for spec in specs]
    try:
        lists = await asyncio.gather(*(server._open_apart() for server in servers))
        await asyncio.gather(*(_close_old(toolkit, spec.name) for spec in specs))  # what came meanwhile
    except BaseException:
        await asyncio.gather(*(server._remove() for server in servers), return_exceptions=True)
        raise
    for server, listed in zip(servers, lists, strict=True):
        server._take_list(listed)
    toolkit.servers.update({server.name: server for server in servers})
    return servers


async def _close_old(toolkit: Toolkit, name: str) -> None:
    """Close the server that has this name until now. Its tools stay until the new one has brought its own."""
    while (old := toolkit.servers.pop(name, None)) is not None:  # again: another may have come meanwhile
        await old._close()


def _need_mcp() -> None:
    import importlib.util

    if importlib.util.find_spec("mcp") is None:
        raise McpServerError(
            "MCP servers need the package mcp, version 2, which is not installed here: pip install 'mcp>=2,<3'"
        )

"""What other programs see: an OpenAI-compatible endpoint that runs the tools, and the toolkit as an MCP server."""

from __future__ import annotations

from .._lazy import lazy

_NAMES: dict[str, str] = {
    "Activity": "activity",
    "Limits": "limits",
    "Server": "server",
    "create_app": "app",
    "create_mcp_server": "mcp_server",
    "run_stdio": "mcp_stdio",
}

__getattr__, __dir__, __all__ = lazy(__name__, _NAMES)

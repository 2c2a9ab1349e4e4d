"""What a model can call: functions, MCP servers, HTTP endpoints."""

from __future__ import annotations

from .._lazy import lazy

_NAMES: dict[str, str] = {
    # public name -> module that defines it
    "Change": "portable",
    "Finding": "linting",
    "JSONSchema": "schema",
    "Provenance": "provenance",
    "ResultPart": "results",
    "SignatureError": "signature",
    "StrictError": "strict",
    "Tool": "definition",
    "ToolChange": "changes",
    "ToolContext": "context",
    "ToolResult": "results",
    "Toolkit": "toolkit",
    "from_openai": "adapters",
    "http_tool": "http",
    "lint": "linting",
    "native_tool": "definition",
    "to_anthropic": "adapters",
    "to_gemini": "adapters",
    "to_openai": "adapters",
    "tool": "definition",
}

__getattr__, __dir__, __all__ = lazy(__name__, _NAMES)

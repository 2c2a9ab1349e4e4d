"""Tool calling you can see: write a function in a cell, look at its schema, watch a model call it.

    %load_ext toolnexus_nb

    %%toolnexus
    def get_weather(city: str) -> str:
        "Current weather for a city."
        return f"sunny in {city}"

    %%toolnexus ask
    What is the weather in Chennai?

The same from Python: `tn.Chat(tn.connect("rehearsal"), tn.Toolkit([get_weather])).ask_sync(...)`.
Names are imported on first use, so `import toolnexus_nb` stays light.
"""

from __future__ import annotations

import sys
from typing import Any

from ._lazy import lazy
from .rounds.connectors import register_connector as _register

__version__ = "0.1.0"

_NAMES: dict[str, str] = {
    # public name -> module that defines it
    "APIConnectionError": "openai.errors",
    "APIError": "openai.errors",
    "APITimeoutError": "openai.errors",
    "AuthenticationError": "openai.errors",
    "BadRequestError": "openai.errors",
    "Chat": "rounds.chat",
    "Client": "rounds.client",
    "Elicitation": "tools.mcp",
    "EventHandler": "openai.handler",
    "EventPanel": "notebook.panel",
    "Finding": "tools.linting",
    "JSONSchema": "tools.definition",
    "McpServer": "tools.mcp",
    "McpServerError": "tools.mcp",
    "NotFoundError": "openai.errors",
    "PermissionDeniedError": "openai.errors",
    "RateLimitError": "openai.errors",
    "ResultPart": "tools.results",
    "RunResult": "rounds.result",
    "RunStopped": "rounds.result",
    "SchemaView": "notebook.schema_view",
    "ServerError": "openai.errors",
    "SetupError": "rounds.setup_error",
    "SignatureError": "tools.signature",
    "StreamError": "openai.errors",
    "StrictError": "tools.strict",
    "Timeout": "rounds.transport",
    "Tool": "tools.definition",
    "ToolContext": "tools.context",
    "ToolForm": "notebook.tool_form",
    "ToolHandler": "openai.handler",
    "ToolResult": "tools.results",
    "Toolkit": "tools.toolkit",
    "ToolnexusError": "openai.errors",
    "Usage": "openai.types",
    "WireView": "notebook.wire_view",
    "combine_handlers": "openai.handler",
    "connect": "rounds.connectors",
    "create_app": "serve.app",
    "from_openai": "tools.adapters",
    "http_tool": "tools.http",
    "lint": "tools.linting",
    "list_connectors": "rounds.connectors",
    "list_faults": "models.faults",
    "native_tool": "tools.definition",
    "record": "models.recorded",
    "register_connector": "rounds.connectors",
    "session": "notebook.session",
    "to_anthropic": "tools.adapters",
    "to_gemini": "tools.adapters",
    "to_openai": "tools.adapters",
    "tool": "tools.definition",
    "with_tool_handler": "openai.handler",
}

__getattr__, __dir__, __all__ = lazy(__name__, _NAMES)

# The floors below may not know the models above them, so their names are made known here, as text.
_register(
    "rehearsal",
    "toolnexus_nb.models.rehearsal:connect",
    summary="picks tools by words; no language model",
    needs="nothing",
)
_register(
    "recorded",
    "toolnexus_nb.models.recorded:connect",
    summary="replays a recording; the tools really run",
    needs="a recording: recorded:FILE",
)
_register(
    "in_process",
    "toolnexus_nb.models.in_process:connect",
    summary="any Python function as the model",
    needs="a function: tn.connect(function)",
)
_register(
    "local",
    "toolnexus_nb.models.local:connect",
    summary="a small real model on this machine",
    needs="the extra toolnexus-nb[local]",
)
_register(
    "faults",
    "toolnexus_nb.models.faults:with_faults",
    summary="a wrapper, not a model: faults=[...] on any of these",
    needs="names of faults",
)


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext toolnexus_nb`: the `%toolnexus` magic, and a line that says what is connected."""
    from .notebook.magics import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """`%unload_ext toolnexus_nb`: leaves nothing behind in IPython."""
    from .notebook.magics import unload

    unload()


def _show_in_notebooks() -> None:
    """Where a notebook runs, results, tools and toolkits show themselves; IPython is not imported for this."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None:
        from .notebook.displays import register_displays

        register_displays(shell)


_show_in_notebooks()

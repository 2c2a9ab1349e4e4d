"""How objects of the lower floors look in a notebook, registered with IPython by type name.

So a RunResult, a Tool or a Toolkit at the end of a cell shows itself, while its own floor knows of text only.
Importing this file costs nothing; the views are imported when the first object is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _run(result: Any) -> str:
    from .display import static_bundle
    from .run_markup import run_html
    from .run_replay import state_of

    return str(static_bundle(run_html(state_of(result)), "")["text/html"])


def _tool(tool: Any) -> str:
    from .display import static_bundle
    from .schema_view import SchemaView

    return str(static_bundle(SchemaView([tool]).html(), "")["text/html"])


def _toolkit(toolkit: Any) -> str:
    from .display import static_bundle
    from .schema_view import SchemaView

    return str(static_bundle(SchemaView(list(toolkit), toolkit=toolkit).html(), "")["text/html"])


def _result(result: Any) -> str:
    from .display import static_bundle
    from .markup import section
    from .run_markup import call_result, printed
    from .run_state import CallState

    call = CallState("", "", "", status="failed" if result.is_error else "done", result=result)
    return str(static_bundle(section("Tool result", call_result(call), printed(call)), "")["text/html"])


def _mcp_server(server: Any) -> str:
    from .display import static_bundle
    from .mcp_card import card_html

    return str(static_bundle(card_html(server.status()), "")["text/html"])


_HTML: dict[tuple[str, str], Callable[[Any], str]] = {
    ("toolnexus_nb.rounds.result", "RunResult"): _run,
    ("toolnexus_nb.tools.definition", "Tool"): _tool,
    ("toolnexus_nb.tools.toolkit", "Toolkit"): _toolkit,
    ("toolnexus_nb.tools.results", "ToolResult"): _result,
    ("toolnexus_nb.tools.mcp_server", "McpServer"): _mcp_server,
}


def register_displays(shell: Any) -> None:
    """Give IPython the HTML of our types. Doing it twice changes nothing."""
    formatter = shell.display_formatter.formatters["text/html"]
    for (module, name), make in _HTML.items():
        formatter.for_type_by_name(module, name, make)

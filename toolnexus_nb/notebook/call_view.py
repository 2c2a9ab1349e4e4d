"""A tool run by hand from a line or from code, shown as a card that stays."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..tools.background import hop
from .display import Display
from .form_markup import Trial, form_head, trial_html, trial_text
from .markup import section

if TYPE_CHECKING:
    from ..tools.definition import Tool
    from ..tools.results import ToolResult


async def call_and_show(tool: Tool, arguments: Mapping[str, Any] | str) -> ToolResult:
    """Run `tool` with `arguments` (or their JSON text) and show the result as the model and as a person sees it."""
    from ..openai.arguments import parse_arguments

    started = time.perf_counter()
    result = await hop(lambda: tool.execute(arguments))
    state = "failed" if result.is_error else "done"
    seconds = time.perf_counter() - started
    if isinstance(arguments, str):
        parsed = parse_arguments(arguments)
        arguments = parsed.value if parsed.error is None else arguments
    trial = Trial(arguments, result, seconds, state)
    head = form_head(tool.name, tool.description or "")
    card = trial_html(tool.name, trial, tool.input_schema)
    Display().publish(section(f"Call of {tool.name}", head, card), trial_text(tool.name, trial))
    return result

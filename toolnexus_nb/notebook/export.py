"""A run as a file of its own: a page, Markdown, JSON, or the program that asks the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..openai.errors import redact
from .markup import esc
from .run_markup import run_html
from .run_state import RunState
from .run_text import run_markdown
from .stylesheet import styled
from .wire_markup import wire_html
from .wire_story import steps

if TYPE_CHECKING:
    from ..rounds.result import RunResult
    from ..rounds.tap import Exchange


def export_run(state: RunState, result: RunResult, path: str | Path) -> Path:
    """Write the run to `path`; its ending says as what: .html, .md, .json or .py. Gives the path that was written.

    Raises ValueError for another ending, OSError if the file can't be written.
    """
    target = Path(path).expanduser()
    write = _WRITERS.get(target.suffix.lower())
    if write is None:
        raise ValueError(f"{target.name}: the ending says the form; it is one of {', '.join(_WRITERS)}")
    target.write_text(write(state, result), encoding="utf-8")
    return target


def run_page(state: RunState, result: RunResult) -> str:
    """A page that needs nothing else: the run, and below it the wire, light or dark as the reader's system is."""
    body = run_html(state) + wire_html(steps(result.wire()), state.label)
    title = esc(" ".join(state.prompt.split())[:80] or "A tool-calling run")
    return _PAGE.format(title=title, body=styled(body))


# the colours that the stylesheet would find in JupyterLab, for a page that stands alone
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ margin: 0 auto; padding: 24px 16px; max-width: 860px; background: Canvas; color: CanvasText; }}
</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""


def run_json(state: RunState, result: RunResult) -> str:
    """The run as data: prompt, messages as sent, calls with results, usage, and what passed on the wire."""
    told = {
        "prompt": state.prompt,
        "model": state.label,
        "status": result.status,
        "text": result.text,
        "rounds": result.rounds,
        "seconds": round(result.seconds, 3),
        "messages": [message.model_dump_wire() for message in result.messages],
        "calls": [
            {
                "id": record.call.id,
                "name": record.call.name,
                "arguments": record.call.arguments,
                "state": record.state,
                "seconds": round(record.seconds, 3),
                "result": record.result.output,
                "printed": record.result.printed,
            }
            for record in result.calls
        ],
        "usage": result.usage.model_dump(exclude_none=True),
        "notes": list(result.notes),
        "wire": [_exchange(one) for one in result.wire()],
    }
    return json.dumps(told, ensure_ascii=False, indent=2, default=str) + "\n"


def _exchange(one: Exchange) -> dict[str, Any]:
    return {
        "round": one.round,
        "attempt": one.attempt,
        "method": one.request.method,
        "url": one.request.url,
        "headers": dict(one.request.headers),
        "body": one.request.body,
        "status": one.status,
        "error": one.error,
        "reply_headers": dict(one.headers),
        "chunks": [[round(at, 4), data.decode("utf-8", "replace")] for at, data in one.chunks],
    }


def run_program(state: RunState, result: RunResult) -> str:
    """A Python program that asks the same. Raises ValueError when the run belongs to no chat any more."""
    if result.chat is None:
        raise ValueError("this run belongs to no chat any more, so there is no program to write")
    return redact(result.chat.to_script())


_WRITERS: dict[str, Callable[[RunState, RunResult], str]] = {
    ".html": run_page,
    ".md": lambda state, result: run_markdown(state),
    ".json": run_json,
    ".py": run_program,
}

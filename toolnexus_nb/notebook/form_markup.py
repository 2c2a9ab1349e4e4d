"""The parts of the form that are read: its title, the last run, the result as the model and as a person sees it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .markup import (
    definition_list,
    definition_text,
    duration,
    esc,
    fold,
    head,
    heading,
    hint,
    json_text,
    long_text,
    pre,
    printable,
    section,
    shortened,
    tag,
)
from .value_markup import picture_html, value_html, value_text

if TYPE_CHECKING:
    from ..tools.results import ToolResult


@dataclass(frozen=True)
class Trial:
    """One run of a tool by hand: what was given (text, if it was no JSON object), what came back, how long it took.

    state: done, failed or stopped.
    """

    arguments: Mapping[str, Any] | str
    result: ToolResult | None
    seconds: float
    state: str


def form_head(name: str, description: str) -> str:
    first = description.strip().splitlines()[0] if description.strip() else ""
    return head("try " + tag("code", esc(name)), esc(first), status="no model is asked")


def call_line(name: str, arguments: Mapping[str, Any] | str) -> str:
    """The line that makes the same call again."""
    given = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=str)
    return f"%toolnexus call {name} {given}"


def state_words(trial: Trial) -> str:
    return f"{trial.state} in {duration(trial.seconds)}"


def result_parts(result: ToolResult) -> str:
    """A tool's result twice where the two differ: as a person sees it, and as the model reads it."""
    person = _person_html(result)
    model = long_text(result.output) if result.output else hint("nothing: an empty text")
    columns = [tag("div", heading("what the model reads"), model, cls="tnx-sees")]
    if person:
        columns.insert(0, tag("div", heading("what you see"), person, cls="tnx-sees"))
    parts = [tag("div", *columns, cls="tnx-columns")]
    if result.printed:
        parts.append(tag("div", heading("what it printed"), long_text(result.printed), cls="tnx-sees"))
    if result.traceback:
        parts.append(tag("div", fold("traceback", pre(result.traceback)), cls="tnx-sees"))
    return "".join(parts)


def _person_html(result: ToolResult) -> str:
    """Pictures and rich values; nothing where a person would see the very text that the model reads."""
    pictures = [
        picture_html(part.mime_type, part.data, alt=part.name or "picture")
        for part in result.parts
        if part.kind == "image" and part.data
    ]
    if result.value is None or result.is_error:
        return "".join(pictures)
    rich = value_html(result.value)
    if pictures and "<img" in rich:
        return rich
    return "".join(pictures) + ("" if _reads_the_same(result.value, rich, result.output) else rich)


def _reads_the_same(value: Any, rich: str, output: str) -> bool:
    """Whether a person would see the very text that the model reads."""
    if isinstance(value, (str, dict, list, tuple, bool, int, float)):
        return output in (value, value_text(value), json_text(value, None), repr(value))
    return rich == long_text(output, "tnx-value")


def trial_html(name: str, trial: Trial | None, schema: Mapping[str, Any]) -> str:
    """The last run of the form: a card like those of a run."""
    if trial is None:
        return ""
    title = " ".join((tag("code", esc(name)), tag("span", esc(state_words(trial)), cls="tnx-state tnx-end")))
    given = trial.arguments
    body = [pre(given, "tnx-pad") if isinstance(given, str) else definition_list(given, schema)]
    if trial.result is not None:
        body.append(result_parts(trial.result))
    again = pre(call_line(name, trial.arguments), copy="the line that calls it again")
    body.append(tag("div", fold("the same call again", again), cls="tnx-sees"))
    return tag("div", tag("div", title, cls="tnx-trialhead"), *body, cls=f"tnx-trial tnx-is-{trial.state}")


def form_html(name: str, description: str, trial: Trial | None, schema: Mapping[str, Any], table: str) -> str:
    """The static form: what can be given, and the last run."""
    last = trial_html(name, trial, schema)
    body = (
        fold("parameters", table, cls="tnx-pad") + last
        if last
        else table + tag("p", hint("not run yet"), cls="tnx-pad")
    )
    again = f"%toolnexus form {name}"
    note = tag("p", hint("open it again with "), tag("code", esc(again)), cls="tnx-pad")
    return section(f"Form for {name}", form_head(name, description), body, note, cls="tnx-form")


def form_text(name: str, description: str, trial: Trial | None) -> str:
    lines = [f"form for {name}: {description.strip()}".rstrip(": ")]
    if trial is not None:
        lines.append(trial_text(name, trial))
    lines.append(f"(%toolnexus form {name} opens it, %toolnexus call {name} {{…}} runs it)")
    return printable("\n".join(lines))


def trial_text(name: str, trial: Trial) -> str:
    """The call, how it went, what it printed, what came back."""
    given = trial.arguments if isinstance(trial.arguments, str) else definition_text(trial.arguments)
    lines = [f"{name}({given}) {state_words(trial)}"]
    if trial.result is not None:
        lines += [f"  | {line}" for line in shortened(trial.result.printed, 2000).splitlines()]
        lines += [f"  {line}" for line in shortened(trial.result.output, 2000).splitlines()]
    return printable("\n".join(lines))

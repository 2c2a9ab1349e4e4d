"""The parts of the schema view: what a model reads of a tool, what to mend, what it costs, where it came from."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .lens_markup import lens_html
from .markup import (
    SEPARATOR,
    code,
    counted,
    esc,
    fold,
    head,
    hint,
    join,
    json_block,
    json_text,
    printable,
    raw_pre,
    section,
    short_hash,
    table,
    tag,
    tokens,
)
from .schema_facts import Form, ToolFacts
from .type_words import parameters

if TYPE_CHECKING:
    from ..tools.changes import ToolChange
    from ..tools.linting import Finding


def tool_table(schema: Mapping[str, Any]) -> str:
    """Parameters of a tool: name, type in words, whether it must be given, what the model reads about it."""
    rows = [
        (
            tag("code", _breakable(row.path)),
            esc(row.words),
            _required_words(row.required, row.schema),
            esc(row.description) if row.description else hint("no description"),
        )
        for row in parameters(schema)
    ]
    if not rows:
        return tag("p", hint("takes no arguments"), cls="tnx-pad")
    return table(("parameter", "type", "required", "what the model reads"), rows, cls="tnx-params tnx-ptable")


def _breakable(path: str) -> str:
    """A long name may go on in the next line after a dot or an underscore."""
    return esc(path).replace(".", ".<wbr>").replace("_", "_<wbr>")


def _required_words(required: bool, schema: Mapping[str, Any]) -> str:
    if required:
        return "yes"
    default = schema.get("default")
    return "no" if default is None else "no, " + code(json_text(default, None))


def finding_note(finding: Finding) -> str:
    """One finding: how grave, where, what, and how to mend it."""
    grave = tag("b", esc(finding.severity), cls=f"tnx-is-{finding.severity}")
    where = code(finding.parameter) + " " if finding.parameter else ""
    return tag("li", grave, " · ", where, esc(f"{finding.message}. {finding.mend}"))


def findings_block(findings: Sequence[Finding]) -> str:
    if not findings:
        return ""
    title = tag("b", counted(len(findings), "finding"), cls="tnx-warn")
    return tag("div", title, tag("ul", *map(finding_note, findings)), cls="tnx-note tnx-findings")


def change_block(changes: Sequence[ToolChange]) -> str:
    """What the last registration changed; nothing if it changed nothing."""
    if not changes or changes[-1].kind != "changed":
        return ""
    last = changes[-1]
    listed = tag("ul", *(tag("li", esc(difference)) for difference in last.differences))
    lines = fold("line by line", diff_html(schema_diff(last)))
    return tag("div", tag("b", "changed since the last registration"), listed, lines, cls="tnx-note")


def schema_diff(change: ToolChange) -> str:
    """Both registrations' descriptions and schemas as JSON, compared line by line; "" for a first registration."""
    if change.before is None or change.after is None:
        return ""
    old, new = (
        json_text({"description": tool.description, "input_schema": tool.input_schema}).splitlines()
        for tool in (change.before, change.after)
    )
    return "\n".join(list(difflib.unified_diff(old, new, lineterm="", n=2))[2:])


def diff_html(text: str) -> str:
    """Lines of a diff: `+` as inserted, `-` as deleted, the signs kept so that they read without colour."""
    wrapped = {"+": "ins", "-": "del"}
    lines = [tag(wrapped[line[0]], esc(line)) if line[:1] in wrapped else esc(line) for line in text.splitlines()]
    return raw_pre("\n".join(lines), "tnx-diff")


def tabs(panels: Mapping[str, str], summary: str) -> str:
    """Panels that open by their names: `details` that the stylesheet lays out as tabs.

    Opening one closes the others of its group, which is named by its content. Without the stylesheet they are folded
    under one line, `summary`.
    """
    group = "tnx-" + short_hash("".join(panels.values()))
    parts = [
        tag("details", tag("summary", esc(name)), tag("div", body, cls="tnx-tabbody"), name=group)
        for name, body in panels.items()
    ]
    return fold(esc(summary), tag("div", *parts, cls="tnx-tabs"), cls="tnx-more")


def form_panel(provider: str, form: Form) -> str:
    """The definition as that provider takes it, below what had to be changed for it."""
    if form.definition is None:
        return tag("p", esc(form.reason), cls="tnx-hint")
    told = "".join(tag("li", esc(change)) for change in form.changes)
    return (tag("ul", told, cls="tnx-formnotes") if told else "") + json_block(
        form.definition, copy=f"the {provider} form"
    )


def tool_panels(facts: ToolFacts) -> dict[str, str]:
    panels = {provider: form_panel(provider, form) for provider, form in facts.forms.items()}
    if facts.lens is not None:
        panels["where from"] = lens_html(facts.lens)
    return panels


def hint_of_more(name: str) -> str:
    return tag("p", hint("its JSON and where it comes from: "), code(f"%toolnexus schema {name}"), cls="tnx-note")


def tool_title(facts: ToolFacts) -> str:
    """The line that names a tool: name, first line of its description, marks, tokens."""
    description = (facts.tool.description or "").strip()
    first = description.splitlines()[0] if description else ""
    parts = [tag("b", code(facts.tool.name), cls="tnx-title")]
    parts.append(tag("span", esc(first) if first else hint("no description")))
    parts += [tag("span", esc(word), cls="tnx-mark") for word in facts.tags]
    parts.append(tag("span", esc(tokens(facts.token_count, True)) + " a request", cls="tnx-end"))
    return SEPARATOR.join(parts)


def tool_body(facts: ToolFacts, actions: str = "") -> str:
    """What is below the title. `actions` is HTML of buttons for a live pane."""
    _, _, rest = (facts.tool.description or "").strip().partition("\n")
    more = tag("p", esc(rest.strip()), cls="tnx-pad tnx-said", style="white-space:pre-wrap") if rest.strip() else ""
    return "".join(
        (
            more,
            tool_table(facts.tool.input_schema),
            findings_block(facts.findings),
            change_block(facts.changes),
            tabs(panels, "as JSON, and where it came from")
            if (panels := tool_panels(facts))
            else hint_of_more(facts.tool.name),
            tag("div", actions, cls="tnx-actions") if actions else "",
        )
    )


def schema_html(tools: Sequence[ToolFacts], actions: Callable[[str], str] = lambda name: "") -> str:
    """The whole view: one tool spread out, several under one heading, each of them folded when they are many."""
    if not tools:
        return section("Tool schemas", head("no tools"), tag("p", esc(NO_TOOLS), cls="tnx-pad"))
    if len(tools) == 1:
        (facts,) = tools
        title = tag("header", tool_title(facts), cls="tnx-head", style="padding:6px 0")
        return section(
            f"Schema of {facts.tool.name}", title, tool_body(facts, actions(facts.tool.name)), cls="tnx-schema"
        )
    findings = sum(len(facts.findings) for facts in tools)
    top = head(
        counted(len(tools), "tool"),
        counted(findings, "finding") if findings else "",
        status=esc(tokens(sum(facts.token_count for facts in tools), True)) + " a request",
    )
    spread = len(tools) <= 3
    listed = [
        tag(
            "details",
            tag("summary", tool_title(facts)),
            tool_body(facts, actions(facts.tool.name)),
            cls="tnx-tool",
            open=spread,
            data_find=f"{facts.tool.name} {facts.tool.description or ''}".lower() if len(tools) > 4 else None,
        )
        for facts in tools
    ]
    cls = "tnx-tools tnx-filterable" if len(tools) > 4 else "tnx-tools"
    return section("Tool schemas", top, tag("div", *listed, cls=cls), cls="tnx-schema")


def json_section(form: str, definitions: Sequence[Any]) -> str:
    """Definitions in one provider's form."""
    title = head(esc(form), counted(len(definitions), "definition"))
    return section(
        f"Definitions for {form}", title, tag("div", json_block(definitions, copy="the JSON"), cls="tnx-pad")
    )


NO_TOOLS = "No tool is registered yet. Begin a cell with %%toolnexus and define a function in it."


def schema_text(tools: Sequence[ToolFacts]) -> str:
    """The view as plain text."""
    if not tools:
        return NO_TOOLS
    return "\n\n".join(map(tool_text, tools))


def tool_text(facts: ToolFacts) -> str:
    lines = [f"{facts.tool.name} · {tokens(facts.token_count, True)} a request"]
    if facts.tags:
        lines.append(f"  ({join(facts.tags, ', ')})")
    lines += [f"  {line}" for line in (facts.tool.description or "no description").strip().splitlines()]
    for row in parameters(facts.tool.input_schema):
        default = row.schema.get("default")
        need = "required" if row.required else "optional" if default is None else f"default {json_text(default, None)}"
        lines.append(f"    {row.path}: {row.words} ({need})" + (f": {row.description}" if row.description else ""))
    lines += [f"  {finding.severity}: {finding}" for finding in facts.findings]
    return printable("\n".join(lines))

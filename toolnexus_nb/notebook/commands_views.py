"""The words that show something: tools, schema, form, call, wire, usage, history, export."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython.core.magic_arguments import argument, magic_arguments

from .commands import UsageError, command, did_you_mean, tool_names
from .display import Display

if TYPE_CHECKING:
    from ..rounds.result import RunResult
    from ..tools.definition import Tool
    from ..tools.results import ToolResult
    from .schema_view import SchemaView
    from .session import Session
    from .tool_form import ToolForm
    from .wire_view import WireView

_FORMS = ("openai", "strict", "anthropic", "gemini", "mcp")


def _tool(session: Session, name: str) -> Tool:
    tool = session.toolkit.get(name)
    if tool is None:
        near = did_you_mean(name, session.toolkit.names) or (
            ". Tools: " + ", ".join(session.toolkit.names) if session.toolkit.names else ": none is registered yet"
        )
        raise UsageError(f"there is no tool named {name!r}{near}")
    return tool


def _last(session: Session) -> RunResult:
    if session.last is None:
        raise UsageError("nothing was asked yet: %toolnexus ask TEXT")
    return session.last


@command("tools", summary="which tools there are, what they cost, what is to be mended")
def tools(session: Session, args: Namespace, cell: str | None) -> None:
    """List the tools of the notebook."""
    from .listing_markup import tools_html, tools_text
    from .schema_facts import gather

    facts = gather(session.toolkit.tools())
    Display().publish(tools_html(facts), tools_text(facts))


def _schema_words(session: Session, words: Sequence[str]) -> Iterable[str]:
    return _FORMS if words and words[-1] == "--as" else tool_names(session, words)


@command("schema", summary="what a model reads of your tools", complete=_schema_words, shows=True)
@magic_arguments()
@argument("names", nargs="*", help="names of tools; all when none is given")
@argument("--as", dest="form", choices=_FORMS, help="give the definitions in this form instead of showing them")
def schema(session: Session, args: Namespace, cell: str | None) -> SchemaView | list[Any]:
    """Show tables, JSON for every provider, findings, changes, and which line each part came from."""
    from .schema_facts import definitions
    from .schema_view import SchemaView

    chosen = [_tool(session, name) for name in args.names] or session.toolkit.tools()
    if args.form is not None:
        from .schema_markup import json_section

        given = definitions(chosen, args.form)
        Display().publish(json_section(args.form, given), json.dumps(given, ensure_ascii=False, indent=2))
        return given
    view = SchemaView(chosen, session.toolkit)
    view.show()
    return view


@command("form", summary="fill a tool's arguments by hand and run it", complete=tool_names, shows=True)
@magic_arguments()
@argument("name", help="name of the tool")
def form(session: Session, args: Namespace, cell: str | None) -> ToolForm:
    """Open a form for a tool: no model is asked."""
    from .tool_form import ToolForm

    view = ToolForm(_tool(session, args.name), session.toolkit)
    view.show()
    return view


@command("call", summary='run a tool: call NAME {"argument": 1}', complete=tool_names, rest=True, shows=True)
async def call(session: Session, args: Namespace, cell: str | None) -> ToolResult:
    """Run a tool without a model. Arguments are a JSON object, or words like city=Oslo days=3."""
    from .call_view import call_and_show

    name, _, given = args.rest.partition(" ")
    if not name:
        raise UsageError('which tool? %toolnexus call NAME {"argument": 1}')
    return await call_and_show(_tool(session, name), read_arguments(given))


def read_arguments(text: str) -> dict[str, Any] | str:
    """What was typed after the name, as arguments: JSON text as it is, or `city=Oslo days=3` as a dict.

    A value that is JSON is that value, else it is text. Broken JSON is left to the tool, which says where it breaks.
    """
    from .commands import split

    text = text.strip()
    if not text:
        return {}
    if text[0] in "{[":
        return text
    given: dict[str, Any] = {}
    for word in split(text):
        name, equals, value = word.partition("=")
        if not equals:
            raise UsageError(f'{word}: write name=value, or one JSON object: {{"name": value}}')
        try:
            given[name] = json.loads(value)
        except ValueError:
            given[name] = value
    return given


@command("wire", summary="what was really sent and received", shows=True)
@magic_arguments()
@argument("rounds", nargs="*", type=int, help="numbers of rounds; all when none is given")
def wire(session: Session, args: Namespace, cell: str | None) -> WireView:
    """Show requests and replies of the last run, with their times, as JSON, curl and Python. Keys are left out."""
    from .wire_view import WireView

    result = _last(session)
    view = WireView(result.wire(), session.client.label)
    if args.rounds:
        there = {one.round for one in view.exchanges}
        if missing := set(args.rounds) - there:
            raise UsageError(f"the last run has no round {min(missing)}; it has {', '.join(map(str, sorted(there)))}")
        view = view.only(args.rounds)
    view.show()
    return view


@command("usage", summary="tokens of the last run and of the conversation")
def usage(session: Session, args: Namespace, cell: str | None) -> None:
    """Show the tokens of each round, of the conversation, and what the tools' schemas cost."""
    from .listing_markup import usage_html, usage_text
    from .schema_facts import tokens_of

    about = (_last(session), session.chat.usage, tokens_of(session.toolkit.tools()))
    Display().publish(usage_html(*about), usage_text(*about))


@command("history", summary="the conversation; with a name, the registrations of a tool", complete=tool_names)
@magic_arguments()
@argument("name", nargs="?", help="a tool, to see how it changed from one registration to the next")
def history(session: Session, args: Namespace, cell: str | None) -> None:
    """Show the messages of the conversation, or what changed each time a tool was registered."""
    from . import listing_markup as listing

    if args.name is None:
        messages = session.chat.messages
        Display().publish(listing.conversation_html(messages), listing.conversation_text(messages))
        return
    changes = session.toolkit.history(args.name)
    if not changes:
        _tool(session, args.name)  # says what there is instead
        raise UsageError(f"{args.name} has not changed since it was registered")
    shown = listing.registrations_html(args.name, changes), listing.registrations_text(args.name, changes)
    Display().publish(*shown)


@command("export", summary="the last run as a file: run.html, .md, .json or .py")
@magic_arguments()
@argument("path", help="where to write; the ending says the form")
@argument("--overwrite", action="store_true", help="replace a file that is there")
def export(session: Session, args: Namespace, cell: str | None) -> None:
    """Write the last run to a file: a page that stands alone, Markdown, data, or the program that asks the same."""
    from .export import export_run
    from .run_replay import state_of
    from .schema_facts import tokens_of

    result = _last(session)
    if Path(args.path).expanduser().exists() and not args.overwrite:
        raise UsageError(f"{args.path} is there already: --overwrite replaces it")
    state = state_of(result, session.client.label, tokens_of(session.toolkit.tools()))
    try:
        written = export_run(state, result, args.path)
    except (ValueError, OSError) as error:
        raise UsageError(str(error)) from None
    print(f"written: {written}")

"""The words of every day: status, ask, resume, add, remove, undo, reset, nest, help."""

from __future__ import annotations

import json
import re
from argparse import Namespace
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from IPython.core.magic_arguments import argument, magic_arguments

from .commands import UsageError, command, commands, did_you_mean, find, interpolate, tool_names

if TYPE_CHECKING:
    from ..rounds.chat import Chat
    from ..rounds.client import Client
    from ..rounds.result import RunResult
    from ..tools.toolkit import Toolkit
    from .panel import EventPanel
    from .session import Session


# --- looking ----------------------------------------------------------------------------------------------------------


@command("status", summary="what is connected, which tools there are, how long the conversation is")
def status(session: Session, args: Namespace, cell: str | None) -> None:
    """Say what is connected, which tools there are, and how far the conversation is."""
    names = session.toolkit.names
    print(f"model:        {_described(session)}")
    print(f"tools:        {', '.join(names) if names else 'none yet: write functions in a %%toolnexus cell'}")
    turns = len(session.chat.turns) if session.connected else 0
    print(f"conversation: {turns} question{'s' * (turns != 1)}")
    config = session.config
    print(f"settings:     max_rounds {config.max_rounds}, approve {config.approve}  (%config Toolnexus)")


def _described(session: Session) -> str:
    from ..openai.errors import ToolnexusError

    try:
        client = session.client
    except ToolnexusError as error:
        return f"none: {error}"
    return described(client)


def described(client: Client) -> str:
    """Which model it is and what to know of it. To connect sends nothing, so nothing is said of being connected."""
    when = () if client.keyless else ("contacted when you ask",)
    return " · ".join([client.label, *client.notes_for_display, *when])


def _command_names(session: Session, words: Sequence[str]) -> Iterable[str]:
    return () if words else commands()


@command("help", summary="this list; `help NAME` explains one word", complete=_command_names)
@magic_arguments()
@argument("name", nargs="?", help="a word to explain")
def help_(session: Session, args: Namespace, cell: str | None) -> None:
    """List what can be said after %toolnexus, or explain one word."""
    print(overview() if args.name is None else find(args.name).help())


def overview() -> str:
    """What the magic can do, one line for each word."""
    width = max(map(len, commands()))
    words = "\n".join(f"    {name:<{width}}  {entry.summary}" for name, entry in commands().items())
    return (
        "Tool calling in cells.\n\n"
        "    %%toolnexus        the functions of this cell become tools (a leading _ keeps one out)\n"
        "    %%toolnexus ask    the text of this cell is a question\n\n"
        f"%toolnexus WORD:\n\n{words}\n\n"
        "`%toolnexus help WORD` explains one; `%config Toolnexus` shows settings; tn.session() is the same from Python."
    )


# --- asking -----------------------------------------------------------------------------------------------------------


def _ask_words(session: Session, words: Sequence[str]) -> Iterable[str]:
    if words and words[-1] == "--tools":
        return session.toolkit.names
    return ()


@command("ask", summary="ask the model; it may call the tools", cell=True, rest=True, shows=True, complete=_ask_words)
@magic_arguments()
@argument("--into", metavar="NAME", help="keep the result in this variable")
@argument("--tools", metavar="A,B", help="offer only these tools (none: offer no tools)")
@argument("--model", help="another model of the same endpoint")
@argument("--temperature", type=float, help="how freely the model picks words")
@argument("--max-tokens", type=int, help="the most tokens the model may write in a round")
@argument("--tool-choice", metavar="CHOICE", help="auto, none, required, or the name of a tool")
@argument("--max-rounds", type=int, help="the most rounds this question may take")
@argument("--set", action="append", default=[], metavar="NAME=VALUE", help="any other parameter of the request")
@argument("--approve", choices=["ask", "allow", "deny"], help="what to do with tools that need approval")
@argument("--new", action="store_true", help="begin a new conversation")
@argument("--raw", action="store_true", help="leave {name} in the question as it is")
@argument("--panel", choices=["auto", "html", "text", "off"], help="how the run is shown")
async def ask(session: Session, args: Namespace, cell: str | None) -> RunResult:
    """Ask the model a question, in this line or in the cell's text. It may call the tools; each call is shown as it
    goes.

    {name} in the question is the value of that variable. Running the same cell again replaces its question and answer;
    another cell goes on with the conversation. Options come before the question.
    """
    prompt = _prompt(session, args, cell)
    _tell_missed(session, args)
    if args.into is not None and not args.into.isidentifier():
        raise UsageError(f"--into {args.into}: a variable cannot have that name")
    params = _parameters(session, args)
    toolkit = _offered(session, args.tools)
    session.client  # noqa: B018 - raises if there is none, before anything is taken back
    if args.new:
        session.reset()
    chat = _idle(session)
    replaced = session.take_back_own_turns()
    panel = session.new_panel(prompt, toolkit, args.panel)
    if replaced:
        panel.state.replaced(replaced)
    params["max_rounds"] = args.max_rounds or session.config.max_rounds
    params["approve"] = session.approval(panel, args.approve)
    with session.watched(panel, toolkit), session.keeping(args.into) as kept:
        result = kept.result = await chat.ask(prompt, handler=panel, **params)
    _hints(session, args, result)
    return result


def _idle(session: Session) -> Chat:
    """The conversation, if it can take a question now."""
    if session.chat.busy:
        raise UsageError(
            "the conversation is in the middle of another question: wait for it, stop it if a click has resumed it "
            "(%toolnexus stop), or begin a new one (--new)"
        )
    return session.chat


def _prompt(session: Session, args: Namespace, cell: str | None) -> str:
    text = cell or ""
    if text and session.config.interpolate and not args.raw:
        text = interpolate(text, session.namespace, args.missed)
    prompt = f"{args.rest}\n{text}".strip()
    if not prompt:
        raise UsageError("what is the question? %toolnexus ask TEXT, or %%toolnexus ask with the text below it")
    return prompt


def _tell_missed(session: Session, args: Namespace) -> None:
    """Name what stood in braces and is no variable: most likely it is misspelt."""
    for name in dict.fromkeys(args.missed):
        root = re.split(r"[.\[]", name, maxsplit=1)[0]
        variables = [known for known in own_names(session) if not known.startswith("_")]
        near = did_you_mean(root, variables) if root not in variables else ""
        print(f"note: {{{name}}} has no value here, so it is sent as written{near}")


def _parameters(session: Session, args: Namespace) -> dict[str, Any]:
    """The options that go into the request."""
    params: dict[str, Any] = {}
    for name in ("model", "temperature", "max_tokens"):
        if getattr(args, name) is not None:
            params[name] = getattr(args, name)
    if args.tool_choice in ("auto", "none", "required"):
        params["tool_choice"] = args.tool_choice
    elif args.tool_choice is not None:
        _check_known(session, [args.tool_choice])
        name = session.toolkit.wire_name(args.tool_choice)
        params["tool_choice"] = {"type": "function", "function": {"name": name}}
    for setting in args.set:
        name, equals, value = setting.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"--set {setting}: write it as NAME=VALUE, for example --set seed=7")
        try:
            params[name] = json.loads(value)
        except ValueError:
            params[name] = value  # a word that is no JSON is the text itself
    return params


def _offered(session: Session, wanted: str | None) -> Toolkit:
    if wanted is None:
        return session.toolkit
    names = [] if wanted == "none" else [name.strip() for name in wanted.split(",") if name.strip()]
    _check_known(session, names)
    return session.toolkit.filter(lambda name: name in names)


def _hints(session: Session, args: Namespace, result: RunResult) -> None:
    """What a newcomer wants to know next, each once."""
    if args.into is None and session.once("into"):
        print("The result is tn.session().last; --into NAME keeps it in a variable.")
    left_out = [name for name in session.unregistered_tools() if session.once(f"add {name}")]
    if left_out and args.tools is None:
        is_tool = "is a tool but was" if len(left_out) == 1 else "are tools but were"
        print(f"{', '.join(left_out)} {is_tool} not offered: %toolnexus add {' '.join(left_out)}")


def _decision_words(session: Session, words: Sequence[str]) -> Iterable[str]:
    if not words:
        return ("allow", "deny")
    return [pending.call.name for pending in session.last.pending] if session.last is not None else ()


@command("resume", summary="decide about calls that wait: allow or deny", shows=True, complete=_decision_words)
@magic_arguments()
@argument("decision", nargs="?", choices=["allow", "deny"], help="what to do with the calls that wait")
@argument("names", nargs="*", help="only the calls of these tools, or with these ids; the others stay pending")
@argument("--why", help="the reason the model is told when a call is denied")
@argument("--into", metavar="NAME", help="keep the result in this variable")
async def resume(session: Session, args: Namespace, cell: str | None) -> RunResult:
    """Go on with a run that paused for a decision."""
    paused = session.last
    if paused is None or paused.status != "paused":
        raise UsageError("nothing waits for a decision")
    if args.decision is None:
        waiting = ", ".join(pending.call.name for pending in paused.pending)
        raise UsageError(f"allow or deny {waiting}? %toolnexus resume allow, or %toolnexus resume deny")
    _idle(session)
    decision: Any = ("deny", args.why) if args.decision == "deny" and args.why else args.decision
    known = {name for pending in paused.pending for name in (pending.call.name, pending.call.id)}
    unknown = [name for name in args.names if name not in known]
    if unknown:
        raise UsageError(f"no call of {unknown[0]} waits{did_you_mean(unknown[0], known)}")
    chosen = [p.call.id for p in paused.pending if not args.names or {p.call.name, p.call.id} & set(args.names)]
    panel = session.new_panel(paused.messages[0].get_content_as_string() if paused.messages else "")
    panel.state.notes.append(
        ("note", f"goes on after a pause: {args.decision} {', '.join(args.names) or 'what waited'}")
    )
    decisions = dict.fromkeys(chosen, decision)
    with session.watched(panel), session.keeping(args.into or session.kept_as) as kept:
        result = kept.result = await paused.resume(decisions, handler=panel, approve=session.approval(panel))
    return result


async def resume_after_clicks(session: Session, panel: EventPanel, decisions: dict[str, Any]) -> None:
    """The buttons of a paused run were clicked after its cell had ended: go on in the same panel."""
    paused = session.last
    if paused is None or paused.status != "paused":
        panel.freeze()
        return
    with session.watched(panel), session.keeping(session.kept_as) as kept:
        kept.result = await paused.resume(decisions, handler=panel, approve=session.approval(panel))


@command("stop", summary="stop a run that a click on Allow or Deny has let go on")
def stop(session: Session, args: Namespace, cell: str | None) -> None:
    """Stop a run that goes on after its cell has ended. While a cell runs, the Stop button does it."""
    if not session.stop_resumed():
        raise UsageError("no run goes on outside a cell; the Stop button stops a running cell")
    print("stopped")


# --- tools and turns --------------------------------------------------------------------------------------------------


def _addable(session: Session, words: Sequence[str]) -> list[str]:
    import inspect

    names = [n for n in own_names(session) if inspect.isfunction(session.namespace[n]) and not n.startswith("_")]
    return sorted({*names, *session.unregistered_tools()} - set(words))


def own_names(session: Session) -> list[str]:
    """Variables that the person made: what IPython put into the namespace (open, exit, In …) is not among them."""
    hidden = getattr(session.shell, "user_ns_hidden", {})
    return [name for name, value in session.namespace.items() if name not in hidden or hidden[name] is not value]


@command("add", summary="make functions or tools of the notebook known", complete=_addable, shows=True)
@magic_arguments()
@argument("names", nargs="+", help="names of functions or tools in this notebook")
def add(session: Session, args: Namespace, cell: str | None) -> None:
    """Register functions, tools or lists of tools that are defined somewhere in the notebook."""
    from .registering import register_and_show

    values = []
    for name in args.names:
        if name not in own_names(session):
            raise UsageError(_not_addable(session, name))
        values.append((name, session.namespace[name]))
    register_and_show(session, values)


def _not_addable(session: Session, name: str) -> str:
    import builtins

    if hasattr(builtins, name):
        return f"{name} is Python's own and has no types a model could read: write a function with `def` that calls it"
    return f"there is no {name} in this notebook{did_you_mean(name, _addable(session, ()))}"


@command("remove", summary="take tools away", complete=tool_names)
@magic_arguments()
@argument("names", nargs="+", help="names of tools")
def remove(session: Session, args: Namespace, cell: str | None) -> None:
    """Take tools away. The functions stay in the notebook."""
    _check_known(session, args.names)
    for name in args.names:
        session.toolkit.remove(name)
    print(f"removed: {', '.join(args.names)}")


def _check_known(session: Session, names: Sequence[str]) -> None:
    for name in names:
        if name not in session.toolkit:
            known = session.toolkit.names
            near = did_you_mean(name, known) or (f"; there is {', '.join(known)}" if known else "; there are none")
            raise UsageError(f"no tool is called {name}{near}")


@command("undo", summary="take the last question and its answer back")
def undo(session: Session, args: Namespace, cell: str | None) -> None:
    """Take the last question and everything that came of it out of the conversation."""
    chat = session.chat
    if not chat.turns:
        raise UsageError("there is no question to take back")
    prompt = chat.messages[chat.turns[-1]].get_content_as_string()
    chat.undo()
    left = len(chat.turns)
    print(f"taken back: {_shortened(prompt)} ({left} question{'s' * (left != 1)} left)")


def _shortened(text: str, most: int = 70) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


@command("reset", summary="begin a new conversation; --all forgets the tools too")
@magic_arguments()
@argument("--all", action="store_true", help="forget the tools and close their servers as well")
async def reset(session: Session, args: Namespace, cell: str | None) -> None:
    """Begin a new conversation. The tools stay, unless --all is given."""
    turns = session.reset()
    text = f"new conversation ({turns} question{'s' * (turns != 1)} forgotten)"
    if args.all:
        names = list(session.toolkit.names)
        await session.forget_tools()
        text += f"; tools forgotten: {', '.join(names) or 'none'}"
    print(text)


@command("nest", summary="let blocking code wait inside a running loop (nest_asyncio), on request")
def nest(session: Session, args: Namespace, cell: str | None) -> None:
    """Apply nest_asyncio to this kernel, for async tools with main_thread=True called from blocking code, and for cells
    that start their own event loop (asyncio.run). Everything else works without it.
    """
    import nest_asyncio

    try:
        nest_asyncio.apply()
    except (RuntimeError, ValueError) as error:
        raise UsageError(f"nest_asyncio cannot be used here: {error}") from None
    print(
        "nest_asyncio is on for this kernel: asyncio.run works in cells now. What it costs: on ipykernel 7, a cell\n"
        "that runs a nested loop while others are queued (Run All) can lose them, and clicks are not heard meanwhile.\n"
        "Restart the kernel to be rid of it."
    )

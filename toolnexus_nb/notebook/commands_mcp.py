"""`%toolnexus mcp`: open MCP servers, look at them, close them.

    %toolnexus mcp add time -- mcp-server-time --local-timezone Europe/Oslo
    %toolnexus mcp add docs https://example.org/mcp --header "Authorization: Bearer {token}"
    %toolnexus mcp load mcp.json
    %toolnexus mcp                       what is open
    %toolnexus mcp stderr time           what it wrote to stderr

One function for each word after `mcp`, found by `word`; the words themselves are read like the words of `%toolnexus`.
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from IPython.core.magic_arguments import MagicArgumentParser, argument, magic_arguments

from ..tools.mcp_elicitation import use_form
from .commands import UsageError, command, did_you_mean, split
from .markup import code, counted, esc, fold, head, pre, section, table
from .mcp_card import McpCard, McpList
from .mcp_form import ask_by_form

if TYPE_CHECKING:
    from ..tools.mcp import McpServer
    from .session import Session

F = TypeVar("F", bound=Callable[..., Any])

use_form(ask_by_form)

_WORDS: dict[str, tuple[Callable[[Session, Namespace], Any], MagicArgumentParser]] = {}


def word(name: str) -> Callable[[F], F]:
    """Register the decorated function as `%toolnexus mcp NAME`; arguments as in `commands.command`."""

    def register(function: F) -> F:
        parser: MagicArgumentParser = function.parser  # type: ignore[attr-defined]
        parser.prog = f"%toolnexus mcp {name}"
        _WORDS[name] = (function, parser)
        return function

    return register


def _complete(session: Session, words: Sequence[str]) -> Iterable[str]:
    if not words:
        return _WORDS
    takes_server = words[0] not in ("add", "load", "list")
    return session.toolkit.servers if takes_server and len(words) == 1 else ()


@command(
    "mcp", summary="MCP servers: add, load, list, tools, stderr, reconnect, remove …", rest=True, complete=_complete
)
async def mcp(session: Session, args: Namespace, cell: str | None) -> Any:
    """Open MCP servers and look at them.

    add NAME -- COMMAND ARGS…   or   add NAME URL      open one; `%toolnexus mcp help add` lists its options
    load FILE                    open all of an mcp.json
    list                         what is open (also plain `%toolnexus mcp`)
    show NAME                    the card of one: since when, protocol, tools, calls, last error, stderr
    tools NAME                   its tools and what each needs
    stderr NAME    logs NAME     what it wrote, what it logged
    resources NAME [URI]         what it lets read, or one of them
    prompts NAME   prompt NAME PROMPT key=value …      its prompts, or one filled in
    reconnect NAME refresh NAME  open it anew, list its tools anew
    remove NAME                  close it and take its tools away
    """
    line = args.rest
    name, _, rest = line.partition(" ")
    name = name or "list"
    if name == "help":
        return _help(rest.strip())
    if name not in _WORDS:
        near = did_you_mean(name, _WORDS) or f"; it knows {', '.join(_WORDS)}."
        raise UsageError(f"%toolnexus mcp has no {name!r}{near}")
    function, parser = _WORDS[name]
    before, dashes, after = _at_dashes(rest)
    parsed = parser.parse_args(split(before))
    parsed.after = split(after) if dashes else []
    return await function(session, parsed)


def _at_dashes(line: str) -> tuple[str, bool, str]:
    """Split at the first `--` that stands alone: what follows is a command line, with options of its own."""
    before, dashes, after = f" {line} ".partition(" -- ")
    return before, bool(dashes), after


def _help(about: str) -> None:
    if about in _WORDS:
        print(_WORDS[about][1].format_help().replace("::\n\n", "").replace("%%", "%").strip())
        return
    for name, (_, parser) in _WORDS.items():
        print(f"{name:<10} {(parser.description or '').replace('::', '').strip().splitlines()[0]}")
    print("`%toolnexus mcp help WORD` explains one.")


def _server(session: Session, name: str) -> McpServer:
    servers = session.toolkit.servers
    if name in servers:
        return servers[name]
    near = did_you_mean(name, servers)
    known = f"; there are {', '.join(servers)}" if servers else "; add one with `%toolnexus mcp add NAME -- COMMAND`"
    raise UsageError(f"there is no MCP server {name!r}{near or known}")


# --- opening and closing ----------------------------------------------------------------------------------------------


@word("add")
@magic_arguments()
@argument("name", help="what to call it; its tools are NAME_tool")
@argument("url", nargs="?", help="its address, if it is not a command after --")
@argument("--env", action="append", default=[], metavar="NAME=VALUE", help="a variable for its environment")
@argument("--cwd", metavar="FOLDER", help="the folder it runs in")
@argument("--header", action="append", default=[], metavar="'NAME: VALUE'", help="an HTTP header")
@argument("--sse", action="store_true", help="use the older HTTP transport")
@argument("--include", action="append", default=[], metavar="A,B", help="offer only these of its tools")
@argument("--exclude", action="append", default=[], metavar="A,B", help="leave these of its tools out")
@argument("--timeout", type=float, metavar="SECONDS", help="for opening it, and for each call")
@argument("--approval", choices=["all", "none"], help="ask before all calls, or none (else: before destructive ones)")
@argument("--elicitation", choices=["form", "defaults", "decline"], help="let it ask questions, answered in this way")
async def add(session: Session, args: Namespace) -> McpCard:
    """Open a server and register its tools."""
    if bool(args.url) == bool(args.after):
        raise UsageError(
            f"what is {args.name} to be? `%toolnexus mcp add {args.name} -- COMMAND ARGS…` or "
            f"`%toolnexus mcp add {args.name} URL`"
        )
    options: dict[str, Any] = {
        "include": _listed(args.include),
        "exclude": _listed(args.exclude),
        "timeout": args.timeout,
        "needs_approval": {"all": True, "none": False, None: None}[args.approval],
        "elicitation": args.elicitation,
    }
    if args.url:
        options |= {"url": args.url, "headers": _pairs(args.header, ":"), "transport": "sse" if args.sse else None}
    else:
        options |= {"command": args.after, "env": _pairs(args.env, "="), "cwd": args.cwd}
    server = await session.toolkit.add_mcp(args.name, **options)
    return McpCard(server.status())


def _listed(values: Sequence[str]) -> list[str]:
    return [name.strip() for value in values for name in value.split(",") if name.strip()]


def _pairs(values: Sequence[str], separator: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for value in values:
        name, found, text = value.partition(separator)
        if not found or not name.strip():
            raise UsageError(f"write it as NAME{separator}VALUE, not {value!r}")
        pairs[name.strip()] = text.strip()
    return pairs


@word("load")
@magic_arguments()
@argument("file", help="an mcp.json, as host applications write it")
async def load(session: Session, args: Namespace) -> McpList:
    """Open all servers of a configuration file; one that fails is told, and the others work."""
    known = len(session.toolkit.findings)
    servers = await session.toolkit.add_mcp_config(args.file)
    return McpList(
        [server.status() for server in servers], [str(finding) for finding in session.toolkit.findings[known:]]
    )


@word("reconnect")
@magic_arguments()
@argument("name")
async def reconnect(session: Session, args: Namespace) -> McpCard:
    """Close the session and open a new one."""
    server = _server(session, args.name)
    await server.reconnect()
    return McpCard(server.status())


@word("refresh")
@magic_arguments()
@argument("name")
async def refresh(session: Session, args: Namespace) -> McpCard:
    """Read the list of tools again."""
    server = _server(session, args.name)
    await server.refresh()
    return McpCard(server.status())


@word("remove")
@magic_arguments()
@argument("name", nargs="+")
async def remove(session: Session, args: Namespace) -> None:
    """Close servers and take their tools away."""
    for server in [_server(session, name) for name in args.name]:
        tools = len(server.tools)
        await server.remove()
        print(f"closed {server.name}; {counted(tools, 'tool')} taken away")


# --- looking ----------------------------------------------------------------------------------------------------------


@word("list")
@magic_arguments()
async def list_(session: Session, args: Namespace) -> McpList | None:
    """What is open."""
    servers = session.toolkit.servers
    if not servers:
        print("no MCP servers: `%toolnexus mcp add NAME -- COMMAND ARGS…`, or `%toolnexus mcp load mcp.json`")
        return None
    return McpList([server.status() for server in servers.values()])


@word("show")
@magic_arguments()
@argument("name")
async def show(session: Session, args: Namespace) -> McpCard:
    """The card of one server."""
    return McpCard(_server(session, args.name).status())


@word("tools")
@magic_arguments()
@argument("name")
async def tools(session: Session, args: Namespace) -> Any:
    """The tools of a server, as a model gets them."""
    from .schema_view import SchemaView

    server = _server(session, args.name)
    offered = [tool for name in server.tools if (tool := session.toolkit.get(name)) is not None]
    if not offered:
        print(f"{server.name} offers no tools here (state: {server.state})")
        return None
    return SchemaView(offered, toolkit=session.toolkit)


@word("stderr")
@magic_arguments()
@argument("name")
async def stderr(session: Session, args: Namespace) -> None:
    """What a server wrote to stderr."""
    server = _server(session, args.name)
    print("\n".join(server.stderr) or f"{server.name} wrote nothing to stderr")


@word("logs")
@magic_arguments()
@argument("name")
async def logs(session: Session, args: Namespace) -> None:
    """What a server logged through MCP."""
    server = _server(session, args.name)
    print("\n".join(map(str, server.logs)) or f"{server.name} logged nothing")


class _Page:
    """Something with HTML and text."""

    def __init__(self, html: str, text: str) -> None:
        self._html = html
        self._text = text

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        from .display import static_bundle

        return static_bundle(self._html, self._text)

    def __str__(self) -> str:
        return self._text


@word("resources")
@magic_arguments()
@argument("name")
@argument("uri", nargs="?", help="read this one")
async def resources(session: Session, args: Namespace) -> Any:
    """What a server lets read, or what one of them holds."""
    server = _server(session, args.name)
    if args.uri:
        return await server.read(args.uri)
    found = await server.resources()
    if not found:
        print(f"{server.name} has no resources")
        return None
    rows = [(code(r.uri), esc(r.name), esc(r.mime_type), esc(r.description[:200])) for r in found]
    html = section(
        f"resources of {server.name}",
        head("Resources", code(server.name), esc(counted(len(found), "resource"))),
        table(["address", "name", "type", "description"], rows),
    )
    return _Page(html, "\n".join(f"{r.uri}  {r.name}  {r.mime_type}" for r in found))


@word("prompts")
@magic_arguments()
@argument("name")
async def prompts(session: Session, args: Namespace) -> Any:
    """The prompts a server offers."""
    server = _server(session, args.name)
    found = await server.prompts()
    if not found:
        print(f"{server.name} has no prompts")
        return None
    rows = [
        (
            code(p.name),
            esc(", ".join(_argument(n, required) for n, (_, required) in p.arguments.items())),
            esc(p.description),
        )
        for p in found
    ]
    html = section(
        f"prompts of {server.name}",
        head("Prompts", code(server.name), esc(counted(len(found), "prompt"))),
        table(["prompt", "arguments", "description"], rows),
    )
    lines = [
        f"{p.name}({', '.join(_argument(n, r) for n, (_, r) in p.arguments.items())})  {p.description}" for p in found
    ]
    return _Page(html, "\n".join(lines))


def _argument(name: str, required: bool) -> str:
    return name if required else f"[{name}]"


@word("prompt")
@magic_arguments()
@argument("name")
@argument("prompt", help="the prompt's name")
@argument("arguments", nargs="*", metavar="key=value")
async def prompt(session: Session, args: Namespace) -> Any:
    """A prompt filled in: shown, and to be had as messages by `await server.prompt(name, arguments)`."""
    server = _server(session, args.name)
    messages = await server.prompt(args.prompt, _pairs(args.arguments, "="))
    told = [(message.role, message.get_content_as_string()) for message in messages]
    html = section(
        f"prompt {args.prompt}",
        head("Prompt", code(args.prompt), esc(f"of {server.name}")),
        *(fold(esc(role), pre(text), open=True) for role, text in told),
    )
    return _Page(html, "\n".join(f"{role}: {json.dumps(text, ensure_ascii=False)}" for role, text in told))

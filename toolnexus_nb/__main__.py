"""The command line: `python -m toolnexus_nb demo | serve | mcp`.

demo     run the first notebook on the built-in model and print it; `--lab` opens it in JupyterLab
serve    an OpenAI-compatible endpoint, a page and an MCP server for the tools of a module
mcp      the tools of a module as an MCP server on standard input and output
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .rounds.client import Client
    from .tools.toolkit import Toolkit

_KEY_VARIABLE = "TOOLNEXUS_SERVE_KEY"
_TARGET = (
    "module:name or file.py:name; a Toolkit, a tool, a function or a list of them (without a name: the module's own)"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; gives the exit status."""
    parser = _parser()
    args, unknown = parser.parse_known_args(argv)
    if unknown and not getattr(args, "lab", False):
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    args.unknown = unknown
    if args.command is None:
        parser.print_help()
        return 2
    run: Callable[[argparse.Namespace], int] = args.run
    try:
        return run(args)
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    from . import __version__

    parser = argparse.ArgumentParser(prog="toolnexus-nb", description="Tool calling you can see.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", metavar="demo | serve | mcp")

    demo = commands.add_parser("demo", help="run the first notebook on the built-in model and print it")
    demo.add_argument(
        "--lab", action="store_true", help="open it in JupyterLab instead; further options are JupyterLab's"
    )
    demo.set_defaults(run=_demo)

    serve = commands.add_parser("serve", help="an OpenAI-compatible endpoint, a page and an MCP server")
    _add_target(serve)
    option = serve.add_argument
    option(
        "--connect",
        metavar="NAME",
        help="the model: a name of tn.connect or a base URL (default: environment, else rehearsal)",
    )
    option("--model", metavar="NAME", help="the model's name at that endpoint")
    option("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    option(
        "--port",
        type=_whole(0, 65535),
        default=8000,
        help="port to listen on, 0 for any free one (default: %(default)s)",
    )
    option(
        "--key", default=os.environ.get(_KEY_VARIABLE), help=f"key that callers must send (default: ${_KEY_VARIABLE})"
    )
    option(
        "--max-rounds",
        type=_whole(1),
        default=10,
        metavar="N",
        help="rounds that one reply may take (default: %(default)s)",
    )
    option(
        "--allow-host", action="append", default=[], metavar="NAME", help="host name of a proxy in front; repeatable"
    )
    option(
        "--allow-origin", action="append", default=[], metavar="URL", help="origin whose pages may use it; repeatable"
    )
    option("--no-mcp", action="store_true", help="do not offer /mcp")
    serve.set_defaults(run=_serve)

    mcp = commands.add_parser("mcp", help="an MCP server on standard input and output")
    _add_target(mcp)
    mcp.add_argument("--name", default="toolnexus_nb", help="the server's name (default: %(default)s)")
    mcp.set_defaults(run=_mcp)
    return parser


def _whole(least: int, most: int = sys.maxsize) -> Callable[[str], int]:
    """A whole number between two others, for argparse."""

    def number(text: str) -> int:
        if not least <= (value := int(text)) <= most:
            raise ValueError(text)
        return value

    return number


def _add_target(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", help=_TARGET)
    parser.add_argument("--only", action="append", metavar="TOOL", help="offer only this tool; may be repeated")
    parser.add_argument(
        "--approve",
        choices=("ask", "allow", "deny"),
        default="ask",
        help="calls that need approval: ask (the person at an MCP client; else denied), allow or deny (default: ask)",
    )


def _demo(args: argparse.Namespace) -> int:
    from ._demo import open_in_lab, print_demo

    return open_in_lab(args.unknown) if args.lab else print_demo()


def _mcp(args: argparse.Namespace) -> int:
    from .serve.mcp_stdio import prints_to_stderr, run_stdio

    with prints_to_stderr():
        toolkit = _toolkit(args)
    if toolkit is None:
        return 2
    _log_to_stderr()
    asyncio.run(run_stdio(toolkit, name=args.name, approve=args.approve))
    return 0


def _serve(args: argparse.Namespace) -> int:
    from .serve.access import is_loopback

    if not is_loopback(args.host) and not args.key:
        print(
            f"--host {args.host} lets other machines run these tools: give a key with --key or ${_KEY_VARIABLE}",
            file=sys.stderr,
        )
        return 2
    toolkit = _toolkit(args)
    client = _client(args)
    if toolkit is None or client is None:
        return 2
    from .serve.app import create_app

    app = create_app(
        toolkit,
        client,
        api_key=args.key or None,
        max_rounds=args.max_rounds,
        approve=args.approve,
        mcp=not args.no_mcp,
        allowed_hosts=args.allow_host,
        allowed_origins=args.allow_origin,
    )
    return _listen(app, args, toolkit, client)


def _toolkit(args: argparse.Namespace) -> Toolkit | None:
    """The tools of the target; None, with the reason said, when there are none."""
    from .openai.errors import ToolnexusError
    from .serve.target import TargetError, load_toolkit

    try:
        toolkit = load_toolkit(args.target)
    except (TargetError, ToolnexusError, TypeError, ValueError) as error:
        print(f"toolnexus-nb: {error}", file=sys.stderr)
        return None
    unknown = [name for name in args.only or () if name not in toolkit]
    if unknown:
        print(f"toolnexus-nb: no tool {', '.join(unknown)}; there are {', '.join(toolkit.names)}", file=sys.stderr)
        return None
    return toolkit.filter(lambda name: name in args.only) if args.only else toolkit


def _client(args: argparse.Namespace) -> Client | None:
    from .openai.errors import ToolnexusError
    from .rounds.client import Client
    from .rounds.connectors import connect

    try:
        if args.connect is not None:
            return connect(args.connect, model=args.model)
        if any(os.environ.get(name) for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY")):
            return Client.from_env(model=args.model)
        return connect("rehearsal", model=args.model)
    except (ToolnexusError, ValueError, TypeError, OSError) as error:
        print(f"toolnexus-nb: {error}", file=sys.stderr)
        return None


def _listen(app: Any, args: argparse.Namespace, toolkit: Toolkit, client: Client) -> int:
    from .serve.server import serve_here

    _log_to_stderr()

    def ready(url: str) -> None:
        count = "1 tool" if len(toolkit) == 1 else f"{len(toolkit)} tools"
        print(f"{count} ({', '.join(toolkit.names)}) and {client.label}\n")
        print(f"  page    {url}/")
        print(f"  OpenAI  {url}/v1")
        if not args.no_mcp:
            print(f"  MCP     {url}/mcp")
        print("\n  callers need the key\n" if args.key else "")
        print("Ctrl-C stops it.", flush=True)

    try:
        serve_here(app, args.host, args.port, ready)
    except OSError as error:
        print(f"toolnexus-nb: cannot listen on {args.host}:{args.port}: {error.strerror}", file=sys.stderr)
        return 1
    finally:
        toolkit.close_sync()
        client.close_sync()
    return 0


def _log_to_stderr() -> None:
    """Our own log lines; of everybody else the warnings."""
    import logging

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s", datefmt="%H:%M:%S", stream=sys.stderr)
    logging.getLogger("toolnexus_nb").setLevel(logging.INFO)


if __name__ == "__main__":
    sys.exit(main())

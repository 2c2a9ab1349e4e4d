"""`%toolnexus serve`: the notebook's tools and model for other programs, while the kernel lives.

The server runs in a thread of its own and follows the notebook: a tool that a cell defines later is served at once. The
card under the cell shows the address and the last calls, and keeps itself up to date until the server stops.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import time
from argparse import Namespace
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from IPython.core.magic_arguments import argument, magic_arguments

from .commands import UsageError, command
from .display import Display
from .markup import code, counted, duration, esc, foot, head, hint, join, printable, section, table, tag

if TYPE_CHECKING:
    from ..rounds.client import Client
    from ..serve.activity import Activity, ServedCall
    from ..tools.toolkit import Toolkit
    from .session import Session

_SHOWN = 5
_PAUSE = 0.5
"""Seconds between two updates of the card."""


def _port(text: str) -> int:
    """A port number, for argparse."""
    port = int(text)
    if not 0 <= port <= 65535:
        raise ValueError(text)
    return port


_port.__name__ = "port"  # argparse says: invalid port value


def _words(session: Session, words: Sequence[str]) -> Iterable[str]:
    return () if words else ("stop",)


@command("serve", summary="serve the tools and the model to other programs (serve stop)", shows=True, complete=_words)
@magic_arguments()
@argument("what", nargs="?", choices=["stop"], help="stop serving")
@argument("--port", type=_port, default=0, help="port to listen on (default: any free one)")
@argument("--key", nargs="?", const="", help="ask callers for this key; without a value one is made")
@argument("--allow-host", action="append", default=[], metavar="NAME", help="host name that a proxy in front uses")
@argument("--allow-origin", action="append", default=[], metavar="URL", help="origin whose pages may use it")
def serve(session: Session, args: Namespace, cell: str | None) -> None:
    """Serve the notebook's tools and model to other programs: an OpenAI-compatible endpoint, a page, an MCP server.

    It listens on this machine only and runs until `%toolnexus serve stop` or the end of the kernel. Said
    again, it shows its card again; after `%toolnexus connect` it goes on with the new model.
    """
    old = session.server if isinstance(session.server, Served) else None
    if args.what == "stop":
        session.server = None
        print(f"stopped serving at {old.stop()}" if old is not None else "nothing is being served")
        return
    wishes = bool(args.port or args.key is not None or args.allow_host or args.allow_origin)
    if old is None or wishes or old.client is not session.client or old.toolkit is not session.toolkit:
        session.server = _start(session, args, old)
    session.server.show()


def _start(session: Session, args: Namespace, old: Served | None) -> Served:
    """A new server. The old one gives way to it, and hands on its port and its key where nothing else was asked for."""
    from ..tools.background import HAS_THREADS

    if not HAS_THREADS:
        raise UsageError("serving needs threads and sockets, which this browser does not have")
    port = args.port or (old.port if old is not None else 0)
    key = secrets.token_urlsafe(18) if args.key == "" else args.key
    if key is None and old is not None:
        key = old.key
    if old is not None and port == old.port:
        session.server = None
        old.stop()
    try:
        new = Served(session.toolkit, session.client, port, key, args.allow_host, args.allow_origin)
    except OSError as error:
        raise UsageError(f"cannot listen on port {port}: {error.strerror}") from None
    if old is not None:
        old.stop()
    return new


class Served:
    """A server of the notebook: `.url` (without /v1), `.key`, `.activity`, `.stop()`."""

    def __init__(
        self,
        toolkit: Toolkit,
        client: Client,
        port: int = 0,
        key: str | None = None,
        hosts: Sequence[str] = (),
        origins: Sequence[str] = (),
    ) -> None:
        """Start serving. Raises OSError when the port is taken."""
        from ..serve.app import create_app
        from ..serve.server import Server

        # Without a handler Python prints warnings into whatever cell is running; the card says what went wrong.
        for name in ("toolnexus_nb.serve", "uvicorn"):
            log = logging.getLogger(name)
            if not log.handlers:
                log.addHandler(logging.NullHandler())
        self.toolkit = toolkit
        self.client = client
        self.key = key
        # On a hub the kernel is reached through jupyter-server-proxy alone, under the hub's own name, after its login.
        hosts = ["*", *hosts] if _proxy_prefix() else hosts
        app = create_app(toolkit, client, api_key=key, allowed_hosts=hosts, allowed_origins=origins)
        self.activity: Activity = app.state.activity
        self._server = Server(app)
        self.url = self._server.start(port)
        self._main_thread = _open_main_thread()
        self._card: Display | None = None
        self._due = 0.0
        self.activity.watchers.append(self._changed)

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def running(self) -> bool:
        return self._server.running

    def __repr__(self) -> str:
        return f"<served at {self.url}>" if self.running else "<not served any more>"

    def show(self) -> None:
        """Put the card under the running cell; an earlier one stays as it is."""
        self._card = Display()
        self._card.publish(*self._card_now())

    def stop(self) -> str:
        """Stop serving; gives the address it had."""
        self.activity.watchers.clear()
        self._main_thread.close()
        self._server.stop()
        if self._card is not None:
            self._card.update(*self._card_now())
        return self.url

    def _card_now(self) -> tuple[str, str]:
        facts = (self.url, self.client.label, list(self.toolkit.names), self.activity, bool(self.key), self.running)
        return card_html(*facts), card_text(*facts)

    def _changed(self) -> None:
        """Called on the server's loop after each change: the card follows, at most twice a second."""
        now = time.monotonic()
        if self._card is None or self._due > now:
            return
        self._due = now + _PAUSE
        asyncio.get_running_loop().call_later(_PAUSE, self._update)

    def _update(self) -> None:
        if self._card is not None and self.running:
            self._card.update(*self._card_now())


def _open_main_thread() -> ExitStack:
    """Between cells the kernel's loop runs tools that are bound to its thread (`main_thread=True`) for the server."""
    from ..tools.background import main_thread_open

    stack = ExitStack()
    try:
        stack.enter_context(main_thread_open(asyncio.get_running_loop()))
    except RuntimeError:  # no loop in this thread (a terminal): such a tool says that nobody waits for it
        stack.close()
    return stack


def _proxy_prefix() -> str:
    """The path of this kernel's server on a JupyterHub (Binder too), or ""."""
    return os.environ.get("JUPYTERHUB_SERVICE_PREFIX", "")


def _places(url: str) -> list[tuple[str, str]]:
    """What is where: (what, address)."""
    prefix = _proxy_prefix()
    page = f"{prefix}proxy/{url.rpartition(':')[2]}/" if prefix else f"{url}/"
    return [("page", page), ("OpenAI", f"{url}/v1"), ("MCP", f"{url}/mcp")]


_KEY_IS_IN = "tn.session().server.key"  # never the key itself: the card is saved with the notebook


def card_html(url: str, model: str, tools: Sequence[str], activity: Activity, keyed: bool, running: bool) -> str:
    """The card: what is served where, how it is used, the last calls."""
    status = _counts(activity)
    parts = [head(esc(model), esc(_tools_in_words(tools)), status=esc(status if running else f"stopped · {status}"))]
    rows = [
        [esc(what), _link(address) if running and what == "page" else code(address)] for what, address in _places(url)
    ]
    if running and keyed:
        rows.append(["key", code(_KEY_IS_IN)])
    parts.append(table(["for", "address" if running else "address it had"], rows))
    calls = list(activity.calls)[-_SHOWN:][::-1]
    if calls:
        columns = ["last calls", "state", "time", "through"]
        parts.append(table(columns, [[code(call.tool), *map(esc, _call_in_words(call))] for call in calls]))
    if activity.problem:
        parts.append(tag("p", tag("b", "last failure"), " · ", esc(activity.problem), cls="tnx-note"))
    if running:
        who = "reached through the hub, after its login" if _proxy_prefix() else "only this machine can reach it"
        parts.append(foot(hint(who), end=code("%toolnexus serve stop")))
    return section("Server", *parts)


def card_text(url: str, model: str, tools: Sequence[str], activity: Activity, keyed: bool, running: bool) -> str:
    """The card for pages without HTML."""
    lines = [f"{'serving' if running else 'served'} {model} with {_tools_in_words(tools)}"]
    lines += [f"  {what:<7} {address}" for what, address in _places(url)]
    if running and keyed:
        lines.append(f"  key     {_KEY_IS_IN}")
    lines.append(f"  {_counts(activity)}" + ("" if running else " · stopped"))
    for call in list(activity.calls)[-_SHOWN:][::-1]:
        lines.append(f"  {call.tool}: {', '.join(filter(None, _call_in_words(call)))}")
    if activity.problem:
        lines.append(f"  last failure: {printable(activity.problem)}")
    return "\n".join(lines)


def _counts(activity: Activity) -> str:
    counts = {"running": activity.running, "failed": activity.failed}
    return join(
        [counted(activity.requests, "request"), *(f"{count} {word}" for word, count in counts.items() if count)]
    )


def _tools_in_words(tools: Sequence[str]) -> str:
    if not tools:
        return "no tools"
    return f"{counted(len(tools), 'tool')}: {', '.join(tools[:8])}{' …' if len(tools) > 8 else ''}"


def _call_in_words(call: ServedCall) -> list[str]:
    return [call.state, "" if call.state == "denied" else duration(call.seconds), call.through]


def _link(address: str) -> str:
    return tag("a", esc(address), href=address, target="_blank", rel="noopener")

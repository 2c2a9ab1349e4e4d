"""Words about the model: connect, record, replay, faults."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from IPython.core.magic_arguments import argument, magic_arguments

from .commands import UsageError, command
from .commands_core import described

if TYPE_CHECKING:
    from ..models.recording import Recorder
    from ..rounds.client import Client
    from .session import Session

_recorders: dict[int, Recorder] = {}
"""The recorder that is on, by the id of its session (there is one session in a kernel)."""


# --- connect ----------------------------------------------------------------------------------------------------------


def _connector_names(session: Session, words: Sequence[str]) -> Iterable[str]:
    from ..rounds.connectors import list_connectors

    return () if words else [connector.name for connector in list_connectors() if connector.name != "faults"]


@command("connect", summary="choose the model: a name, an address, a recording", complete=_connector_names)
@magic_arguments()
@argument(
    "target", nargs="?", help="a name (bare `connect` lists them), an address, recorded:FILE, or a function's name"
)
@argument("--model", help="the model to ask")
@argument("--ask-key", action="store_true", help="type the key into a hidden field; it is not kept in the notebook")
@argument("--pace", type=float, help="how fast a model without a key speaks: 1 like a person, 0 at once")
@argument("--faults", metavar="A,B", help="let it misbehave (%%toolnexus faults lists how)")
@argument("--timeout", type=float, help="seconds of silence to wait")
def connect(session: Session, args: Namespace, cell: str | None) -> None:
    """Choose the model that is asked from now on; the tools and the conversation stay. Nothing is sent yet.

    Without a name it lists every name and what each needs.
    """
    from ..rounds.connectors import connect as make

    if args.target is None:
        if args.model is None:
            print(connector_table(session))
            return
        _tell(session.connect(session.client.with_model(args.model)))
        return
    options: dict[str, Any] = {}
    for name in ("pace", "faults", "timeout"):
        if getattr(args, name) is not None:
            options[name] = getattr(args, name)
    if args.ask_key:
        options["api_key"] = "ask"
    _tell(session.connect(make(_target(session, args.target), model=args.model, **options)))


def _target(session: Session, text: str) -> Any:
    """A function of the notebook by its name, else the text as it is."""
    from ..rounds.connectors import list_connectors

    found = session.namespace.get(text) if text.isidentifier() else None
    known = {connector.name for connector in list_connectors()}
    return found if callable(found) and text not in known else text


def connector_table(session: Session) -> str:
    """Every name `connect` knows, what it is and what it needs; the one in use is marked."""
    from ..rounds.connectors import list_connectors

    rows = [connector for connector in list_connectors() if connector.name != "faults"]
    width = max(len(row.name) for row in rows)
    about = max(len(row.summary) for row in rows)
    lines = [f"    {row.name:<{width}}  {row.summary:<{about}}  needs {row.needs}" for row in rows]
    now = described(session.client) if session.connected else "none chosen yet"
    return (
        f"model: {now}\n\n%toolnexus connect NAME [--model MODEL], where NAME is\n\n"
        + "\n".join(lines)
        + "\n\nor an address (http://localhost:8000/v1 --model NAME), or the name of a function in this notebook."
    )


def _tell(client: Client) -> None:
    print(f"model: {described(client)}")


# --- record and replay ------------------------------------------------------------------------------------------------


@command("record", summary="keep what is asked and answered in a file; --stop ends it")
@magic_arguments()
@argument("file", nargs="?", help="where to write (JSON lines; replaced if it is there)")
@argument("--stop", action="store_true", help="record no more")
def record(session: Session, args: Namespace, cell: str | None) -> None:
    """Record every request from now on: what was sent, what came back and when. Keys are left out.

    `%toolnexus replay FILE` plays the model's side back later, without a key.
    """
    from ..models.recorded import record as start

    now = _recorders.get(id(session))
    if args.stop:
        if now is None:
            raise UsageError("nothing is being recorded; %toolnexus record FILE begins")
        print(_stopped(session))
        return
    if args.file is None:
        if now is None:
            raise UsageError("where to? %toolnexus record FILE")
        print(f"recording into {now.path}: {_count(now.requests)} so far; %toolnexus record --stop ends it")
        return
    if now is not None:
        print(_stopped(session))
    _recorders[id(session)] = start(args.file)
    print(f"recording into {args.file}; %toolnexus record --stop ends it")


def _stopped(session: Session) -> str:
    recorder = _recorders.pop(id(session))
    recorder.stop()
    return f"recorded {_count(recorder.requests)} in {recorder.path}; %toolnexus replay {recorder.path} plays it back"


def _count(requests: int) -> str:
    return f"{requests} request{'s' * (requests != 1)}"


@command("replay", summary="answer from a recording, while the tools really run")
@magic_arguments()
@argument("file", help="what %%toolnexus record wrote")
@argument("--pace", type=float, help="1 as recorded, 0 at once")
@argument("--strict", action="store_true", help="a difference from the recording fails the cell")
def replay(session: Session, args: Namespace, cell: str | None) -> None:
    """Let a recording answer from now on. Differences (prompt, schema, tool result, parameters, order) are told as
    drift; a question that was not recorded is an error, never a request to anybody.
    """
    from ..models.recorded import connect as make

    if id(session) in _recorders:
        print(_stopped(session))
    options = {} if args.pace is None else {"pace": args.pace}
    _tell(session.connect(make(argument=args.file, strict=args.strict, **options)))


# --- faults -----------------------------------------------------------------------------------------------------------


def _fault_names(session: Session, words: Sequence[str]) -> Iterable[str]:
    from ..models.faults import FAULTS

    return [name for name in ("off", *FAULTS) if name not in words]


@command("faults", summary="let the model misbehave as real endpoints do", complete=_fault_names)
@magic_arguments()
@argument("names", nargs="*", help="names of faults, NAME@2 for the second round; off ends them; none lists them")
def faults(session: Session, args: Namespace, cell: str | None) -> None:
    """Make the connected model misbehave, whatever it is, to see what a client must cope with. `off` ends it."""
    from ..models.faults import planned_faults, with_faults

    if not args.names:
        print(fault_table(session))
        return
    if "off" in args.names and len(args.names) > 1:
        raise UsageError("`off` stands alone: %toolnexus faults off")
    client = session.connect(with_faults(session.client, None if args.names == ["off"] else " ".join(args.names)))
    planned = planned_faults(client)
    if not planned:
        print(f"faults are off; {client.label} behaves")
    for one in planned:
        where = "every round" if one.round is None else f"round {one.round}"
        print(f"{one.fault.name} ({where}): {one.fault.summary}")


def fault_table(session: Session) -> str:
    """Every fault with one line; those that are on are marked."""
    from ..models.faults import list_faults, planned_faults

    on = {one.fault.name for one in planned_faults(session.client)} if session.connected else set()
    rows = list_faults()
    width = max(len(row.name) for row in rows)
    lines = [f"  {'*' if row.name in on else ' '} {row.name:<{width}}  {row.summary}" for row in rows]
    state = f"on: {', '.join(sorted(on))}" if on else "none is on"
    return f"%toolnexus faults NAME ... ({state}; NAME@2 is for the second round, off ends them)\n\n" + "\n".join(lines)

"""Names for models: what `connect("ollama")` looks up. Light on purpose: nothing is imported until a name is used."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .client import Client


@dataclass(frozen=True)
class Connector:
    """One name that `connect` knows: what it is, what it needs, and whether it was tried against the real thing."""

    name: str
    factory: str | Callable[..., Any]
    summary: str
    needs: str
    base_url: str = ""
    key_variable: str = ""
    tested: bool = True


_CONNECTORS: dict[str, Connector] = {}


def register_connector(name: str, factory: str | Callable[..., Client], *, summary: str, needs: str) -> None:
    """Make a name known to `connect`.

    `factory(model=..., argument=<text after "name:">, **options)` gives a Client without I/O; it may be written as
    "module:function", which is imported on first use.
    """
    _CONNECTORS[name] = Connector(name, factory, summary, needs)


def connect(target: str | Callable[..., Any], model: str | None = None, **options: Any) -> Client:
    """A client for a name ("ollama", "openai", "rehearsal", "recorded:FILE" …), an address, or a Python function.

    Never does I/O. `options` are the client's (`api_key=`, `headers=`, `timeout=`, `retries=`, `extra_body=`) or the
    named model's own. `api_key=` may be the key, or "ask" to be asked for it without it being shown.

    Raises SetupError for an unknown name or a key that is not set: the message says what to set.
    """
    if not isinstance(target, str):
        if not callable(target):
            raise TypeError(f"connect takes a name, an address or a function, not {type(target).__name__}")
        return _build(_CONNECTORS["in_process"], model=model, argument=target, **options)
    name, _, argument = target.strip().partition(":")
    if name in _CONNECTORS:
        return _build(_CONNECTORS[name], model=model, argument=argument or None, **options)
    from .presets import connect_preset, connect_url, looks_like_address

    if "://" not in target and (client := connect_preset(name, model=model, argument=argument, **options)) is not None:
        return client
    if looks_like_address(target):
        return connect_url(target, model=model, **options)
    raise _unknown(name)


def list_connectors() -> list[Connector]:
    """Every name `connect` knows: models without a key first, then the presets of `profiles.py`."""
    from .profiles import PRESETS

    presets = [
        Connector(
            profile.name,
            "toolnexus_nb.rounds.presets:connect_preset",
            profile.summary,
            f"the variable {profile.key_variables[0]}" if profile.key_variables else "the server running",
            profile.base_url,
            profile.key_variables[0] if profile.key_variables else "",
            profile.tested,
        )
        for profile in PRESETS.values()
    ]
    return [*_CONNECTORS.values(), *presets]


def _build(connector: Connector, **options: Any) -> Client:
    factory = connector.factory
    if isinstance(factory, str):
        module, _, function = factory.partition(":")
        factory = getattr(import_module(module), function)
    faults = options.pop("faults", None)
    client: Client = factory(**options)
    return client if faults is None else with_faults(client, faults)


def with_faults(client: Client, faults: Any) -> Client:
    """The client with its transport misbehaving as told (`models.faults`, through the registered name "faults")."""
    connector = _CONNECTORS.get("faults")
    if connector is None:
        from .setup_error import SetupError

        raise SetupError("faults= needs toolnexus_nb.models; import toolnexus_nb first")
    factory = connector.factory
    if isinstance(factory, str):
        module, _, function = factory.partition(":")
        factory = getattr(import_module(module), function)
    wrapped: Client = factory(client, faults)
    return wrapped


def _unknown(name: str) -> Exception:
    from .setup_error import SetupError

    known = [connector.name for connector in list_connectors()]
    near = difflib.get_close_matches(name, known, n=1)
    guess = f' Did you mean "{near[0]}"?' if near else ""
    return SetupError(
        f'no model is called "{name}".{guess} Known names: {", ".join(known)}; or give an address such as '
        "http://localhost:8000/v1"
    )

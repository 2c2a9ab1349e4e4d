"""Clients for the presets of `profiles.py` and for plain addresses."""

from __future__ import annotations

import os
import re
from typing import Any

from .client import Client, tidy_base_url
from .connectors import with_faults
from .profiles import PRESETS, Profile
from .setup_error import SetupError

_ADDRESS = re.compile(r"^(https?://|localhost\b|[\w.-]+:\d+|\[[0-9a-fA-F:]+\]|[\w-]+(\.[\w-]+)+(/|:|$))")


def looks_like_address(text: str) -> bool:
    """Whether `connect(text)` means an address: with a scheme, a port, or a dotted host."""
    return bool(_ADDRESS.match(text.strip()))


def connect_url(url: str, *, model: str | None = None, api_key: str | None = None, **options: Any) -> Client:
    """A client for an address."""
    faults = options.pop("faults", None)
    client = Client(url, model, _asked(api_key, tidy_base_url(url)), **options)
    return client if faults is None else with_faults(client, faults)


def connect_preset(
    name: str, *, model: str | None = None, argument: str | None = None, api_key: str | None = None, **options: Any
) -> Client | None:
    """A client for a preset's name, None if there is no such preset. Raises SetupError when its key is not set."""
    profile = PRESETS.get(name.lower())
    if profile is None:
        return None
    base_url = options.pop("base_url", None) or _base_url(profile, argument)
    if model is None and argument and profile.name != "azure":
        model = argument
    key = _asked(api_key, profile.name)
    if key is None:
        key = next((value for variable in profile.key_variables if (value := os.environ.get(variable))), None)
    if key is None and profile.key_needed:
        raise SetupError(
            f"{profile.name} needs a key: set {' or '.join(profile.key_variables)} before the notebook starts, or "
            'connect with api_key="ask" and type it unseen'
        )
    if model is None and profile.name == "openai":
        model = os.environ.get("OPENAI_MODEL")
    faults = options.pop("faults", None)
    client = Client(base_url, model, key or "", profile=profile, **options)
    return client if faults is None else with_faults(client, faults)


def _base_url(profile: Profile, argument: str | None) -> str:
    if profile.name == "openai":
        return os.environ.get("OPENAI_BASE_URL") or profile.base_url
    if profile.name != "azure":
        return profile.base_url
    if argument:
        return f"https://{argument}.openai.azure.com/openai/v1"
    endpoint = os.environ.get("AZURE_OPENAI_ENDPOINT", "").rstrip("/")
    if not endpoint:
        raise SetupError("azure needs to know your resource: connect('azure:RESOURCE'), or set AZURE_OPENAI_ENDPOINT")
    return endpoint if endpoint.endswith("/v1") else f"{endpoint}/openai/v1"


def _asked(api_key: str | None, place: str) -> str | None:
    """The key as given; "ask" reads it from the keyboard without showing it."""
    if api_key != "ask":
        return api_key
    import getpass

    return getpass.getpass(f"API key for {place}: ").strip()

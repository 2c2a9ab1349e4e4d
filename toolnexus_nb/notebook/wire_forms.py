"""A request as something to run elsewhere: a `curl` line and a small Python program. Keys are environment variables."""

from __future__ import annotations

import json
import pprint
import shlex
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from ..rounds.secrets import HIDDEN

NO_ADDRESS = "This model runs inside the notebook's own process, so there is no address that another program could ask."

#: Where a reader keeps the key that is hidden here.
KEY = "OPENAI_API_KEY"

_OWN = ("host", "content-length", "connection", "accept-encoding", "user-agent", "transfer-encoding")


def has_address(url: str) -> bool:
    """Whether another program could ask there. Models of this process have addresses that end in `.invalid`."""
    parts = urlsplit(url)
    return parts.scheme in ("http", "https") and not (parts.hostname or "").endswith(".invalid")


def _kept_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that matter, without those a client sets by itself."""
    return {name: value for name, value in headers.items() if name.lower() not in _OWN}


def _with_key(name: str, value: str) -> str:
    """A hidden header's value as a template with the key's variable in it."""
    return f"{'Bearer ' if name.lower() == 'authorization' else ''}${KEY}" if HIDDEN in value else value


def as_curl(method: str, url: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> str:
    """The request as a shell command. The body is a here-document, so the shell reads nothing in it."""
    lines = [f"curl -N -X {shlex.quote(method)} {_shell(url, hidden=HIDDEN in url)}"]
    for name, value in _kept_headers(headers).items():
        written = f"{name}: {_with_key(name, value)}"
        lines.append(f"  -H {_shell(written, hidden=HIDDEN in value)}")
    if not body:
        return " \\\n".join(lines)
    # a JSON text holds no raw line break inside a string, so no line of it can be the closing word alone
    text = json.dumps(body, ensure_ascii=False, indent=2)
    return " \\\n".join([*lines, "  --data-binary @- <<'END_OF_JSON'"]) + f"\n{text}\nEND_OF_JSON"


def _shell(text: str, hidden: bool) -> str:
    """One shell word; with a hidden key in it, a word in which the key's variable alone is read by the shell."""
    if not hidden:
        return shlex.quote(text)
    variable = f"${KEY}"
    pieces = [shlex.quote(piece) if piece else "" for piece in text.replace(HIDDEN, variable).split(variable)]
    return f'"{variable}"'.join(pieces)


def as_python(method: str, url: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> str:
    """The request as a Python program that needs httpx and prints what comes back."""
    shown = "{\n" + "".join(
        f"    {name!r}: {_python_value(name, value)},\n" for name, value in _kept_headers(headers).items()
    )
    call = [repr(method), _python_url(url), "headers=headers"] + (["json=body"] if body else []) + ["timeout=120"]
    lines = ["import os", "", "import httpx", "", f"headers = {shown}}}"]
    if body:
        lines.append(f"body = {pprint.pformat(dict(body), width=100, sort_dicts=False)}")
    lines += [
        f"with httpx.stream({', '.join(call)}) as reply:",
        "    for line in reply.iter_lines():",
        "        print(line)",
    ]
    return "\n".join(lines) + "\n"


def _python_value(name: str, value: str) -> str:
    if HIDDEN not in value:
        return repr(value)
    key = f'os.environ["{KEY}"]'
    return f'"Bearer " + {key}' if name.lower() == "authorization" else key


def _python_url(url: str) -> str:
    if HIDDEN not in url:
        return repr(url)
    return f' + os.environ["{KEY}"] + '.join(repr(piece) for piece in url.split(HIDDEN))

"""What it takes to open an MCP server (`ServerSpec`), and the reader of the `mcp.json` that host applications write.

The reader takes what is in use: the servers under `mcpServers`, `servers`, `mcp` or at the top; `command` as text with
`args` or as one list; `env` or `environment`; `url` (also `serverUrl`, `httpUrl`); `type` or `transport`; `disabled` or
`enabled`; `timeout`; a filter per tool; `${NAME}`, `${env:NAME}` and `${NAME:-default}`; comments and trailing commas.
Nothing in a file stops the other servers of that file: what is wrong with one is a finding that names it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from ..openai.errors import ToolnexusError

Transport = Literal["stdio", "http", "sse", "in process"]
NeedsApproval = bool | Collection[str] | Callable[[dict[str, Any]], "bool | str"] | None
"""None: what the server marks as destructive. True, False: all, none. Names: those tools. A function of the
arguments."""

OPEN_TIMEOUT = 30.0
"""Seconds a server gets from its start to its list of tools."""
CALL_TIMEOUT = 120.0
"""Seconds a call gets; Stop ends one sooner."""

_WRAPPERS = ("mcpServers", "servers", "mcp")
_NOT_SERVERS = {"builtins", "agents", "a2a", "mcpServer", "inputs", "$schema"}
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z0-9_]+)(?::-([^}]*))?\}")
_OTHER_VARIABLE = re.compile(r"\$\{(?:input:[^}]*|workspaceFolder)\}")

_SECRET_NAME = re.compile("key|token|secret|passw|credential|auth|cookie", re.IGNORECASE)

_INHERITED = (
    "APPDATA HOMEDRIVE HOMEPATH LOCALAPPDATA PATH PATHEXT PROCESSOR_ARCHITECTURE SYSTEMDRIVE SYSTEMROOT TEMP TMP "
    "USERNAME USERPROFILE"
    if sys.platform == "win32"
    else "HOME LANG LC_ALL LC_CTYPE LOGNAME PATH SHELL TERM TMPDIR TZ USER"
).split()


@dataclass(frozen=True)
class ServerSpec:
    """How to open one server, and which of its tools to offer. Exactly one of `command`, `url` and `server` is set.

    `timeout` (seconds) bounds the opening and each call; None means `OPEN_TIMEOUT` and `CALL_TIMEOUT`.
    `include` and `exclude` hold the server's own tool names; an empty `include` offers all.
    """

    name: str
    command: tuple[str, ...] = ()
    url: str = ""
    server: Any = None
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    auth: Any = field(default=None, repr=False)
    transport: Transport = "stdio"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    timeout: float | None = None
    needs_approval: NeedsApproval = None
    elicitation: Any = None
    log_level: str | None = None
    disabled: bool = False
    unset: tuple[str, ...] = ()
    """Variables a configuration file named and the environment did not have."""

    @property
    def open_timeout(self) -> float:
        return self.timeout if self.timeout is not None else OPEN_TIMEOUT

    @property
    def call_timeout(self) -> float:
        return self.timeout if self.timeout is not None else CALL_TIMEOUT

    @property
    def secrets(self) -> tuple[str, ...]:
        """Configured values that no message may repeat: those of `env` and `headers` whose names speak of keys."""
        named = [*self.env.items(), *self.headers.items()]
        values = [value for name, value in named if _SECRET_NAME.search(name)]
        return (*values, *(value.split(" ", 1)[1] for value in values if " " in value))  # "Bearer KEY": the KEY too

    @property
    def target(self) -> str:
        """What is opened, for people: the command line, the address, or the object's class.

        Notebooks keep it and other people open them, so this machine's Python is `python` and its home folder `~`.
        """
        if self.command:
            words = (_shown_program(self.command[0]), *map(_shown_path, self.command[1:]))
            return " ".join(map(_quoted, words))
        return re.sub(r"//[^/@]*@", "//", self.url) or f"{type(self.server).__name__} in this process"

    def child_environment(self) -> dict[str, str]:
        """What a child process gets: little of ours (no key of the kernel), and what is configured.

        A value that starts with `()` is a shell function some shells export; it is not handed on.
        """
        own = {key: os.environ[key] for key in _INHERITED if not os.environ.get(key, "()").startswith("()")}
        return own | dict(self.env)


def _quoted(word: str) -> str:
    """A word as one would type it in a shell; `shlex.quote` is unreadable for a word with a quotation mark in it."""
    if word.startswith("~") and not re.search(r"[^\w~./-]", word):
        return word
    return f'"{word}"' if "'" in word and not re.search(r'["$`\\!]', word) else shlex.quote(word)


def _shown_program(program: str) -> str:
    if program == sys.executable:
        return "python"
    beside_python = os.path.dirname(program) == os.path.dirname(sys.executable)  # noqa: PTH120 - compared as text
    return os.path.basename(program) if beside_python else _shown_path(program)  # noqa: PTH119


def _shown_path(word: str) -> str:
    home = os.path.expanduser("~")  # noqa: PTH111 - compared as text
    return "~" + word[len(home) :] if word == home or word.startswith(home + os.sep) else word


def make_spec(
    name: str,
    *,
    command: str | Sequence[str] | None = None,
    args: Sequence[str] = (),
    url: str | None = None,
    server: Any = None,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    headers: Mapping[str, str] | None = None,
    auth: Any = None,
    transport: str | None = None,
    include: Collection[str] | str = (),
    exclude: Collection[str] | str = (),
    timeout: float | None = None,
    needs_approval: NeedsApproval = None,
    elicitation: Any = None,
    log_level: str | None = None,
) -> ServerSpec:
    """Check the arguments of `toolkit.add_mcp` and make a spec of them.

    `command` is a list (program and arguments) or text as one writes it in a shell. Raises ToolnexusError when it is
    not clear what to open.
    """
    if not name or not isinstance(name, str):
        raise ToolnexusError("an MCP server needs a name: add_mcp('time', command=['mcp-server-time'])")
    offers = {"command": bool(command), "url": bool(url), "server": server is not None}
    given = [word for word, there in offers.items() if there]
    if len(given) != 1:
        what = f"got {' and '.join(given)}" if given else "got none"
        raise ToolnexusError(f"MCP server {name!r} needs exactly one of command=, url= and server=; {what}")
    if timeout is not None and not timeout > 0:
        raise ToolnexusError(f"MCP server {name!r}: timeout must be a number of seconds above 0, not {timeout!r}")
    spec = ServerSpec(
        name=name,
        env=_texts(env),
        cwd=str(Path(cwd).expanduser()) if cwd is not None else None,
        include=_names(include),
        exclude=_names(exclude),
        timeout=timeout,
        needs_approval=needs_approval,
        elicitation=elicitation,
        log_level=log_level,
    )
    if server is not None:
        return replace(spec, server=server, transport="in process")
    if url:
        if not re.match(r"https?://[^/]", url):
            raise ToolnexusError(f"MCP server {name!r}: {url!r} is no http:// or https:// address")
        return replace(spec, url=url, headers=_texts(headers), auth=auth, transport=_remote(name, transport))
    words = shlex.split(command) if isinstance(command, str) and not args else command
    program = [words] if isinstance(words, str) else [os.fspath(word) for word in words or ()]
    if not program:
        raise ToolnexusError(f"MCP server {name!r}: the command is empty")
    program[0] = os.path.expanduser(program[0])  # noqa: PTH111 - a bare program name must stay bare
    return replace(spec, command=(*program, *(str(arg) for arg in args)))


def _texts(values: Mapping[str, Any] | None) -> dict[str, str]:
    """Variables or headers as text, true and false as JSON writes them; one that is None is left out."""
    given = ((str(key), value) for key, value in (values or {}).items() if value is not None)
    return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in given}


def _names(names: Collection[str] | str) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _remote(name: str, transport: str | None) -> Transport:
    if transport is None:
        return "http"
    kind = {"sse": "sse", "http": "http", "streamablehttp": "http", "remote": "http"}.get(
        re.sub("[-_ ]", "", transport.lower())
    )
    if kind is None:
        raise ToolnexusError(f"MCP server {name!r}: transport {transport!r} is not known; use 'http' or 'sse'")
    return "sse" if kind == "sse" else "http"


# --- configuration files ----------------------------------------------------------------------------------------------


def read_config(source: str | os.PathLike[str] | Mapping[str, Any]) -> tuple[list[ServerSpec], list[str]]:
    """The servers of a configuration (a path, or what is in it), in its order, and what is wrong with it, as sentences.

    Disabled servers are among the specs, marked. Raises ToolnexusError when there is no configuration to read.
    """
    data = source if isinstance(source, Mapping) else _load(Path(source).expanduser())
    if not isinstance(data, Mapping):
        raise ToolnexusError(f"{_called(source)} holds no JSON object; an MCP configuration looks like " + _EXAMPLE)
    entries = next((data[word] for word in _WRAPPERS if isinstance(data.get(word), Mapping)), None)
    if entries is None:
        entries = {name: entry for name, entry in data.items() if name not in _NOT_SERVERS}
    specs: list[ServerSpec] = []
    findings: list[str] = []
    for name, entry in entries.items():
        try:
            spec, remarks = _read_entry(str(name), entry)
        except (ToolnexusError, TypeError, ValueError) as error:
            findings.append(f"MCP server {name!r} is left out: {error}")
            continue
        specs.append(spec)
        findings += remarks
    if not specs and not findings:
        findings.append(f"{_called(source)} names no MCP server; it should look like {_EXAMPLE}")
    return specs, findings


_EXAMPLE = '{"mcpServers": {"time": {"command": "mcp-server-time", "args": []}}}'


def _called(source: object) -> str:
    return "the MCP configuration" if isinstance(source, Mapping) else str(source)


def _load(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ToolnexusError(f"the MCP configuration {path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ToolnexusError(f"the MCP configuration {path} cannot be read: save it as UTF-8") from error
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        pass  # some editors allow comments and trailing commas in this file
    try:
        return json.loads(_without_comments(text))
    except json.JSONDecodeError as error:
        raise ToolnexusError(f"{path} is not JSON: {error.msg} in line {error.lineno}, column {error.colno}") from error
    except RecursionError as error:
        raise ToolnexusError(f"{path} holds no MCP configuration: it is nested too deep") from error


_JSON_PIECE = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/|,(?=(?:\s|//[^\n]*|/\*.*?\*/)*[}\]])', re.DOTALL)


def _without_comments(text: str) -> str:
    """Blank comments and trailing commas outside strings; line breaks stay, so that error positions are right."""
    return _JSON_PIECE.sub(lambda m: m[0] if m[0][0] == '"' else re.sub(r"[^\n]", " ", m[0]), text)


_LISTS = ["args", "include", "includeTools", "exclude", "excludeTools", "disabledTools", "alwaysAllow", "autoApprove"]
_SHAPES: dict[str, tuple[tuple[type, ...], str]] = {
    "command": ((str, list, tuple), "text or a list"),
    **dict.fromkeys(["url", "serverUrl", "httpUrl", "cwd", "type", "transport"], ((str, os.PathLike), "text")),
    **dict.fromkeys(_LISTS, ((list, tuple), "a list")),
    **dict.fromkeys(("env", "environment", "headers"), ((Mapping,), "an object of names and values")),
}
"""What an entry's fields are; `timeout` and `tools` are looked at where they are read."""


def _read_entry(name: str, entry: Any) -> tuple[ServerSpec, list[str]]:
    """One server of a configuration file, and remarks about it. Raises ToolnexusError when it cannot be opened at
    all."""
    if not isinstance(entry, Mapping):
        raise ToolnexusError(
            f"its entry is {json.dumps(entry, default=str)[:60]}, not an object with a command or a url"
        )
    for key, (kinds, words) in _SHAPES.items():
        if entry.get(key) is not None and not isinstance(entry[key], kinds):
            raise ToolnexusError(f"{key} must be {words}, not {json.dumps(entry[key], default=str)[:60]}")
    unset: list[str] = []
    entry = _expand(entry, unset)
    kind = str(entry.get("type") or entry.get("transport") or "").lower()
    url = next((entry[key] for key in ("url", "serverUrl", "httpUrl") if entry.get(key)), None)
    local = kind == "local" or (kind != "remote" and not url)
    include, exclude, remarks = _tool_filter(name, entry)
    common: dict[str, Any] = {"include": include, "exclude": exclude, "timeout": _timeout(entry.get("timeout"))}
    disabled = entry.get("disabled") is True or (entry.get("disabled") is None and entry.get("enabled") is False)
    if local:
        environment = entry.get("env") or entry.get("environment") or {}
        spec = make_spec(
            name,
            command=entry.get("command"),
            args=entry.get("args") or (),
            env=environment,
            cwd=entry.get("cwd"),
            **common,
        )
    else:
        transport = kind if kind not in ("", "local", "stdio") else None
        spec = make_spec(name, url=url, headers=entry.get("headers"), transport=transport, **common)
    free = {str(tool) for key in ("alwaysAllow", "autoApprove") for tool in entry.get(key) or ()}
    for variable in dict.fromkeys(unset):
        remarks.append(f"MCP server {name!r}: ${{{variable}}} is not set in the environment, so it is empty")
    unset_names = tuple(dict.fromkeys(unset))
    approval: NeedsApproval = _AllBut(free) if free else None
    return replace(spec, disabled=disabled, unset=unset_names, needs_approval=approval), remarks


class _AllBut(frozenset[str]):
    """Names a configuration file allows without asking; for the others the server's own hints decide."""


def allowed_without_asking(needs_approval: NeedsApproval) -> frozenset[str]:
    """The tools a configuration file's `alwaysAllow` or `autoApprove` names."""
    return needs_approval if isinstance(needs_approval, _AllBut) else frozenset()


def _expand(value: Any, unset: list[str]) -> Any:
    """Put environment variables into every text of `value`; what is not set becomes empty and is added to `unset`."""
    if isinstance(value, str):

        def put(match: re.Match[str]) -> str:
            name, default = match[1], match[2]
            found = os.environ.get(name)
            if found or (found is not None and default is None):
                return found
            if default is None:
                unset.append(name)
            return default or ""

        def miss(match: re.Match[str]) -> str:
            unset.append(match[0][2:-1])
            return ""

        return _OTHER_VARIABLE.sub(miss, _VARIABLE.sub(put, value))
    if isinstance(value, Mapping):
        return {key: _expand(item, unset) for key, item in value.items()}
    if isinstance(value, list):
        return [_expand(item, unset) for item in value]
    return value


def _tool_filter(name: str, entry: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...], list[str]]:
    """(include, exclude, remarks). `tools` maps names to true or false, or lists names; any true makes it an allow
    list."""
    tools = entry.get("tools")
    include = [str(tool) for key in ("includeTools", "include") for tool in entry.get(key) or ()]
    exclude = [str(tool) for key in ("excludeTools", "exclude", "disabledTools") for tool in entry.get(key) or ()]
    remarks: list[str] = []
    if isinstance(tools, Mapping):
        include += [tool for tool, wanted in tools.items() if wanted is True]
        exclude += [tool for tool, wanted in tools.items() if wanted is False]
        odd = [tool for tool, wanted in tools.items() if not isinstance(wanted, bool)]
        remarks += [
            f"MCP server {name!r}: tools[{tool!r}] is neither true nor false, so it is not used" for tool in odd
        ]
    elif isinstance(tools, list):
        include += [str(tool) for tool in tools if tool != "*"]
    elif tools is not None:
        remarks.append(f"MCP server {name!r}: tools must map names to true or false")
    return tuple(dict.fromkeys(include)), tuple(dict.fromkeys(exclude)), remarks


def _timeout(value: Any) -> float | None:
    """Seconds. Host applications write milliseconds or seconds: 1000 and more is read as milliseconds."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise ToolnexusError(f"timeout must be a number above 0, not {json.dumps(value, default=str)}")
    return value / 1000 if value >= 1000 else float(value)


def unknown_names(spec: ServerSpec, offered: Collection[str]) -> Iterator[str]:
    """Names in the filter that the server does not offer."""
    return (name for name in dict.fromkeys((*spec.include, *spec.exclude)) if name not in offered)

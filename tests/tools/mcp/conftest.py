"""Servers to talk to, a toolkit that closes itself, and the check that nothing is left behind."""

from __future__ import annotations

import http.server
import importlib.util
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from toolnexus_nb.tools.toolkit import Toolkit

SERVERS = Path(__file__).parents[2] / "servers"


@pytest.fixture
def raw() -> Callable[..., list[str]]:
    """`raw("--mute")`: the command of a server without an SDK that misbehaves as told."""
    return lambda *flags: [sys.executable, str(SERVERS / "raw.py"), *flags]


@pytest.fixture
def module() -> Any:
    """The server on the SDK (`awkward.py`) as a fresh module of this process."""
    spec = importlib.util.spec_from_file_location("awkward_server", SERVERS / "awkward.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def kit() -> Iterator[Toolkit]:
    """A toolkit; afterwards it is closed, and no process of this test and no thread that waits for one is left."""
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    toolkit = Toolkit()
    yield toolkit
    toolkit.close_sync()
    assert not [child for child in living_children() if child.pid not in before]
    assert wait_until(lambda: not [thread for thread in threading.enumerate() if "waitpid" in thread.name])


def living_children() -> list[psutil.Process]:
    """Child processes that run (a zombie is only waiting to be looked at)."""
    return [child for child in psutil.Process().children(recursive=True) if is_running(child.pid)]


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture
def running() -> Callable[[int], bool]:
    """Whether a process still runs, asked for up to two seconds."""

    def ask(pid: int) -> bool:
        return not wait_until(lambda: not is_running(pid), 2)

    return ask


@pytest.fixture
def until() -> Callable[..., bool]:
    return wait_until


def wait_until(condition: Callable[[], Any], seconds: float = 5) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


class QuietHandler(http.server.BaseHTTPRequestHandler):
    """A handler that answers shortly and writes no log."""

    def answer(self, status: int, body: bytes = b"", kind: str = "text/plain", **headers: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def web() -> Iterator[Callable[..., str]]:
    """`web(do_POST=function, do_GET=function)`: the address of a web server; each gets the handler."""
    servers: list[http.server.ThreadingHTTPServer] = []

    def serve(**methods: Callable[[Any], None]) -> str:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (QuietHandler,), methods))
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


class HttpPeer:
    """A server process behind an address, which can be killed and started again at the same port."""

    def __init__(self, kind: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.kind = kind
        self.url = f"http://127.0.0.1:{self.port}/{'mcp' if kind == 'http' else 'sse'}"
        self.start()

    def start(self) -> None:
        command = [sys.executable, str(SERVERS / "awkward.py"), self.kind, str(self.port)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert wait_until(self._listens, 20)

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def http_peer() -> Iterator[Callable[[str], HttpPeer]]:
    """`http_peer("http")` or `http_peer("sse")`."""
    peers: list[HttpPeer] = []

    def start(kind: str) -> HttpPeer:
        peers.append(HttpPeer(kind))
        return peers[-1]

    yield start
    for peer in peers:
        peer.kill()

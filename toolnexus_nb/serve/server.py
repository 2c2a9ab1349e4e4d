"""The app in a thread of its own, with a loop of its own: it answers while cells run, and goes with the process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import uvicorn
    from starlette.types import ASGIApp


class Server:
    """Serves an ASGI app from a thread.

        server = Server(create_app(toolkit, client))
        url = server.start()        # http://127.0.0.1:49152
        server.stop()

    Also a context manager. It can be started again after a stop. The thread is a daemon: it ends with the interpreter.
    """

    def __init__(self, app: ASGIApp, *, host: str = "127.0.0.1") -> None:
        self.app = app
        self.host = host
        self.url: str | None = None
        self._thread: threading.Thread | None = None
        self._uvicorn: uvicorn.Server | None = None

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self, port: int = 0) -> str:
        """Serve on `port` (0: any free one) and give the address.

        Raises OSError when the port is taken, RuntimeError when it runs already or does not come up in 15 s.
        """
        if self.running:
            raise RuntimeError(f"the server is running already, at {self.url}")
        import uvicorn

        listening = _listen(self.host, port)
        self._uvicorn = uvicorn.Server(_config(self.app))
        ready = threading.Event()
        self._thread = threading.Thread(
            target=_serve, args=(self._uvicorn, listening, ready), name="toolnexus-serve", daemon=True
        )
        self._thread.start()
        if not ready.wait(15) or not self._uvicorn.started:
            self.stop()
            raise RuntimeError("the server did not start; its log says why")
        self.url = _address(self.host, listening)
        return self.url

    def stop(self) -> None:
        """Stop serving: rounds in progress are cancelled after a short grace. Does nothing when it does not run."""
        if self._uvicorn is not None:
            self._uvicorn.should_exit = True
        if self._thread is not None:
            self._thread.join(10)
        self._thread = self._uvicorn = self.url = None

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


def serve_here(app: ASGIApp, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve in this thread until Ctrl-C; `ready` is called with the address once it answers.

    Raises OSError when the port is taken.
    """
    import uvicorn

    from ..tools.background import main_thread_open

    listening = _listen(host, port)
    server = uvicorn.Server(_config(app))

    async def main() -> None:
        with main_thread_open(asyncio.get_running_loop()):  # for tools that are bound to the thread of their module
            await _serving(server, listening, lambda: ready(_address(host, listening)))

    with contextlib.suppress(KeyboardInterrupt):  # uvicorn has stopped gracefully and raises it again
        asyncio.run(main())


async def _serving(server: uvicorn.Server, listening: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until told to stop; `ready` is called once it answers."""
    serving = asyncio.ensure_future(server.serve(sockets=[listening]))
    while not (server.started or serving.done()):  # noqa: ASYNC110 - uvicorn tells it by an attribute
        await asyncio.sleep(0.01)
    if server.started:
        ready()
    await serving


def _config(app: ASGIApp) -> uvicorn.Config:
    import uvicorn

    return uvicorn.Config(
        app,
        log_config=None,  # whoever serves says where uvicorn's warnings go; its own way is into the running cell
        log_level="warning",
        access_log=False,
        lifespan="auto",
        timeout_graceful_shutdown=2,
        ws="none",
    )


def _address(host: str, listening: socket.socket) -> str:
    return f"http://{_in_url(host)}:{listening.getsockname()[1]}"


def _listen(host: str, port: int) -> socket.socket:
    """A listening socket, bound here so that a taken port is the caller's OSError and not a line in a thread's log."""
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        if os.name != "nt":  # there it would let another program take the port over
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(512)
    except OSError:
        listening.close()
        raise
    return listening


def _in_url(host: str) -> str:
    if host in ("0.0.0.0", "::"):
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def _serve(server: uvicorn.Server, listening: socket.socket, ready: threading.Event) -> None:
    try:
        asyncio.run(_serving(server, listening, ready.set))
    finally:
        ready.set()
        listening.close()

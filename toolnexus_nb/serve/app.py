"""The app: an OpenAI-compatible endpoint that runs the tools, a page to watch it, and the toolkit as an MCP server.

POST /v1/chat/completions   completions.py
GET  /v1/models             the served model, and the tools it may call
GET  /health                open to everybody: {"status": "ok"}
GET  /                      the page (page/), which holds nothing secret and asks for the key itself
     /mcp                   mcp_http.py
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from .access import Access, AccessMiddleware
from .activity import Activity
from .chat_wire import dump
from .completions import Completions
from .limits import Limits
from .mcp_http import McpEndpoint
from .problems import Problem, upstream_problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.lowlevel import Server

    from ..rounds.client import Client
    from ..tools.toolkit import Toolkit
    from .approval import ServedApproval

_PAGE = {
    "index.html": "text/html; charset=utf-8",
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "markdown.js": "text/javascript; charset=utf-8",
    "tool-events.js": "text/javascript; charset=utf-8",
}
_OPEN = frozenset({"/", "/health", "/favicon.ico", *(f"/page/{name}" for name in _PAGE)})


def create_app(
    toolkit: Toolkit,
    client: Client,
    *,
    api_key: str | None = None,
    max_rounds: int = 10,
    limits: Limits | None = None,
    approve: ServedApproval = "ask",
    mcp: bool = True,
    keep: Callable[[str], bool] | None = None,
    allowed_hosts: Sequence[str] = (),
    allowed_origins: Sequence[str] = (),
) -> Starlette:
    """Serve `toolkit` and the model behind `client` to other programs. Run it with uvicorn, or with `Server`.

    api_key           asked of every caller as `Authorization: Bearer KEY`; None lets in who passes the host check
    max_rounds        how often the model may be asked for one reply
    limits            sizes, times, and how many replies at once: see `Limits`
    approve           what happens to calls that need approval: "ask" lets an MCP client's person decide and denies the
                      rest, "allow", "deny", or a function of the tool's name and arguments
    mcp               whether `/mcp` is offered
    keep              a filter by name for the tools that are offered: `tools_by_name("add")`
    allowed_hosts     host names the server answers to besides the local ones, for a proxy in front: "hub.example.org",
                      "*.mybinder.org", "*"
    allowed_origins   origins whose pages may use it besides local ones: "https://chat.example.org", "*"

    `app.state.activity` counts requests and keeps the last calls.
    """
    limits = limits or Limits()
    activity = Activity()
    completions = Completions(toolkit, client, activity, limits, max_rounds=max_rounds, approve=approve, keep=keep)

    def make_mcp() -> Server[Any]:
        from .mcp_server import create_mcp_server

        return create_mcp_server(
            toolkit, keep=keep, approve=approve, seconds=limits.seconds, on_call=activity.called_directly
        )

    endpoint = McpEndpoint(make_mcp, body_bytes=limits.body_bytes)
    started = int(time.time())

    async def models(request: Request) -> Response:
        tools = [{"name": name, "description": tool.description} for name, tool in completions.offered().items()]
        model = {
            "id": client.model or client.label,
            "object": "model",
            "created": started,
            "owned_by": "toolnexus_nb",
            "served_by": client.label,
            "tools": tools,
        }
        wanted = request.path_params.get("model")
        return _json(model if wanted is not None else {"object": "list", "data": [model]})

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await endpoint.stop()

    routes = [
        Route("/", _page_file("index.html", allowed_origins)),
        *(Route(f"/page/{name}", _page_file(name, allowed_origins)) for name in _PAGE),
        Route("/health", _health),
    ]
    for base in ("/v1", ""):  # a base URL without /v1 is what people type, and means the same
        routes += [
            Route(f"{base}/models", models),
            Route(f"{base}/models/{{model:path}}", models),
            Route(f"{base}/chat/completions", completions, methods=["POST"]),
        ]
    if mcp:
        routes.append(Route("/mcp", endpoint, methods=["GET", "POST", "DELETE"]))
    access = Access(api_key, _several(allowed_hosts), _several(allowed_origins), _OPEN)
    app = Starlette(
        routes=routes,
        middleware=[Middleware(AccessMiddleware, access=access)],
        exception_handlers={HTTPException: _http_problem, Exception: _bug},
        lifespan=lifespan,
    )
    app.state.activity = activity
    return app


async def _health(_: Request) -> Response:
    return _json({"status": "ok"})


def _json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(dump(value), status, headers, "application/json")


async def _http_problem(request: Request, error: Exception) -> Response:
    """Starlette's own 404 and 405, in the OpenAI shape."""
    assert isinstance(error, HTTPException)
    words = {
        404: f"there is nothing at {request.url.path}; the endpoint is /v1/chat/completions",
        405: f"{request.method} is not for {request.url.path}",
    }
    problem = Problem(error.status_code, words.get(error.status_code, error.detail), headers=error.headers)
    return _json(problem.body(), problem.status, problem.headers)


async def _bug(_: Request, error: Exception) -> Response:
    """Anything unforeseen; Starlette raises it again for the log."""
    problem = upstream_problem(error)
    return _json(problem.body(), problem.status)


def _several(names: Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


@cache
def _read(name: str) -> bytes:
    return files(__package__).joinpath("page", name).read_bytes()


def _page_file(name: str, origins: Sequence[str]) -> Callable[[Request], Any]:
    """One of the page's own files. The policy lets in nothing that is not one of them."""
    framers = [
        "'self'",
        "http://localhost:*",
        "http://127.0.0.1:*",
        *(origin for origin in _several(origins) if origin != "*"),
    ]
    headers = {
        "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        f"img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors {' '.join(framers)}",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-cache",
    }

    async def answer(_: Request) -> Response:
        return Response(_read(name), media_type=_PAGE[name], headers=headers)

    return answer

"""Who may talk to the server: hosts, origins, preflights, the key."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from toolnexus_nb.serve.access import Access, AccessMiddleware, is_loopback


def ask(
    access: Access, method: str = "POST", path: str = "/v1/x", host: str = "127.0.0.1:8000", **headers: str
) -> httpx.Response:
    async def reached(_: Any) -> JSONResponse:
        return JSONResponse({"reached": True})

    app = AccessMiddleware(Starlette(routes=[Route(path, reached, methods=["GET", "POST"])]), access)

    async def go() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:8000") as client:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            return await client.request(method, path, headers={"host": host, **named})

    return asyncio.run(go())


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.0.0.1:8000", "localhost:1", "LOCALHOST", "a.localhost:80", "[::1]:8000", "10.0.0.7:80", "web"],
)  # fmt: skip
def test_local_names_addresses_and_names_without_a_dot_are_answered(host: str) -> None:
    assert ask(Access(), host=host).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "localhost.evil.example", "a@localhost", ""]
)
def test_a_name_that_a_stranger_can_own_is_refused(host: str) -> None:
    response = ask(Access(), host=host)
    assert response.status_code == 421
    assert response.json()["error"]["code"] == "host_not_allowed"


@pytest.mark.parametrize(
    ("pattern", "host", "fits"),
    [
        ("hub.example.org", "hub.example.org", True),
        ("hub.example.org", "hub.example.org:443", True),
        ("hub.example.org", "evilhub.example.org", False),
        ("*.mybinder.org", "hub.2i2c.mybinder.org", True),
        ("*.mybinder.org", "mybinder.org.evil.example", False),
        ("*.mybinder.org", "evilmybinder.org", False),
        ("*", "anything.example", True),
    ],
)
def test_hosts_of_a_proxy_are_named(pattern: str, host: str, fits: bool) -> None:
    assert Access(hosts=[pattern]).host_allowed(host) is fits


@pytest.mark.parametrize(
    "origin", ["http://localhost:5173", "http://127.0.0.1:3000", "https://localhost", "http://[::1]:9"]
)
def test_local_pages_may_read_the_answer(origin: str) -> None:
    response = ask(Access(), origin=origin)
    assert response.status_code == 200
    assert response.headers["access-control-allow-origin"] == origin
    assert response.headers["vary"] == "origin"


@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "null", "http://localhost.evil.example", "file://", "chrome-extension://x", "http://[::1"],
)
def test_foreign_pages_do_not_even_reach_the_app(origin: str) -> None:
    response = ask(Access(), origin=origin)
    assert response.status_code == 403
    assert "access-control-allow-origin" not in response.headers
    assert response.json()["error"]["code"] == "origin_not_allowed"


def test_the_servers_own_page_may_use_it_under_any_allowed_name() -> None:
    assert (
        ask(Access(hosts=["hub.example.org"]), host="hub.example.org", origin="https://hub.example.org").status_code
        == 200
    )
    assert ask(Access(), host="192.168.1.7:8000", origin="http://192.168.1.7:8000").status_code == 200
    assert ask(Access(), host="192.168.1.7:8000", origin="http://192.168.1.8:8000").status_code == 403


def test_other_origins_are_named() -> None:
    assert ask(Access(origins=["https://chat.example.org"]), origin="https://chat.example.org").status_code == 200
    assert ask(Access(origins=["https://chat.example.org"]), origin="http://chat.example.org").status_code == 403
    assert ask(Access(origins=["https://Chat.example.org/"]), origin="https://chat.example.org").status_code == 200
    assert ask(Access(origins=["*"]), origin="null").status_code == 200


def test_a_preflight_needs_no_key_and_allows_what_it_asks_for() -> None:
    response = ask(
        Access(key="secret"), "OPTIONS", origin="http://localhost:5173",
        access_control_request_method="POST", access_control_request_headers="authorization,x-stainless-os",
    )  # fmt: skip
    assert response.status_code == 204
    assert response.headers["access-control-allow-headers"] == "authorization,x-stainless-os"
    assert "POST" in response.headers["access-control-allow-methods"]


def test_a_foreign_preflight_gets_no_permission() -> None:
    response = ask(Access(), "OPTIONS", origin="https://evil.example", access_control_request_method="POST")
    assert response.status_code == 403
    assert not [name for name in response.headers if name.startswith("access-control")]


def test_a_refusal_for_the_key_can_be_read_by_a_local_page() -> None:
    response = ask(Access(key="secret"), origin="http://localhost:5173")
    assert response.status_code == 401
    assert response.headers["access-control-allow-origin"] == "http://localhost:5173"


@pytest.mark.parametrize(
    "given", [None, "secret", "Bearer", "Bearer ", "Bearer wrong", "Basic secret", "Bearer secret2", "Bearer SECRET"]
)
def test_a_wrong_key_is_a_401_in_the_openai_shape(given: str | None) -> None:
    response = ask(Access(key="secret"), **({} if given is None else {"authorization": given}))
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    error = response.json()["error"]
    assert (error["type"], error["code"], error["param"]) == ("authentication_error", "invalid_api_key", None)
    assert "Bearer" in error["message"]
    assert "secret" not in response.text


@pytest.mark.parametrize("given", ["Bearer schlüssel ☃", "bearer schlüssel ☃"])
def test_the_right_key_opens_whatever_characters_it_has(given: str) -> None:
    assert Access(key="schlüssel ☃").key_fits(given)


def test_open_paths_need_no_key() -> None:
    access = Access(key="secret", open_paths=frozenset({"/health"}))
    assert ask(access, "GET", "/health").status_code == 200
    assert ask(access, "GET", "/healthy").status_code == 401


def test_loopback_names() -> None:
    assert all(map(is_loopback, ["localhost", "a.localhost", "127.0.0.1", "127.9.9.9", "::1", "localhost."]))
    assert not any(map(is_loopback, ["0.0.0.0", "10.0.0.1", "localhost.example", "example"]))

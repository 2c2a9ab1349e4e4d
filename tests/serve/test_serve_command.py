"""`%toolnexus serve` in a notebook: a card, a running server that follows the notebook, and an end."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from IPython.core.error import UsageError

import toolnexus_nb as tn
from toolnexus_nb.notebook.commands import find, parse
from toolnexus_nb.notebook.commands_serve import Served, card_html, card_text
from toolnexus_nb.notebook.session import Session
from toolnexus_nb.serve.activity import Activity, ServedCall

HI = {"messages": [{"role": "user", "content": "hi"}]}


@tn.tool
def get_weather(city: str) -> str:
    """Current weather for a city."""
    return f"sunny in {city}"


@pytest.fixture
def notebook(scripted: Callable[..., Any]) -> Iterator[Session]:
    session = Session()
    session.connect(scripted(lambda body, number: {"text": "hello"}))
    session.toolkit.register(get_weather)
    yield session
    if session.server:
        session.server.stop()


def say(session: Session, line: str = "") -> None:
    entry = find("serve")
    entry.run(session, parse(entry, line, None), None)


def content(url: str, **headers: str) -> str:
    response = httpx.post(url + "/v1/chat/completions", json=HI, headers=headers, timeout=20)
    return str(response.json()["choices"][0]["message"]["content"])


def test_it_serves_until_it_is_stopped(notebook: Session, capsys: pytest.CaptureFixture[str]) -> None:
    say(notebook)
    assert notebook.server
    url = notebook.server.url
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", url)
    shown = capsys.readouterr().out
    assert f"{url}/v1" in shown and "get_weather" in shown
    assert content(url) == "hello"
    say(notebook, "stop")
    assert f"stopped serving at {url}" in capsys.readouterr().out
    assert not notebook.server
    with pytest.raises(httpx.ConnectError):
        httpx.get(url + "/health")
    say(notebook, "stop")
    assert "nothing is being served" in capsys.readouterr().out


def test_said_again_it_is_the_same_server_and_a_new_tool_is_served(notebook: Session) -> None:
    say(notebook)
    first = notebook.server
    say(notebook)
    assert first is not None and notebook.server is first

    @tn.tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    notebook.toolkit.register(add)
    assert [tool["name"] for tool in httpx.get(first.url + "/v1/models").json()["data"][0]["tools"]] == [
        "get_weather",
        "add",
    ]


def test_after_connect_it_goes_on_with_the_new_model_at_the_same_address(
    notebook: Session, scripted: Callable[..., Any]
) -> None:
    say(notebook, "--key secret-of-mine")
    assert notebook.server
    url = notebook.server.url
    notebook.connect(scripted(lambda body, number: {"text": "other"}))
    say(notebook)
    assert notebook.server.url == url
    assert httpx.post(url + "/v1/chat/completions", json=HI).status_code == 401
    assert content(url, authorization="Bearer secret-of-mine") == "other"


def test_a_key_is_made_and_never_shown(notebook: Session, capsys: pytest.CaptureFixture[str]) -> None:
    say(notebook, "--key")
    assert notebook.server
    key = notebook.server.key
    assert key is not None and len(key) >= 20
    assert key not in capsys.readouterr().out
    assert content(notebook.server.url, authorization=f"Bearer {key}") == "hello"


def test_a_port_that_cannot_be_had_is_a_persons_mistake_and_the_server_goes_on(notebook: Session) -> None:
    say(notebook)
    assert notebook.server
    other = Served(notebook.toolkit, notebook.client)
    try:
        with pytest.raises(UsageError, match="cannot listen on port"):
            say(notebook, f"--port {other.port}")
        with pytest.raises(UsageError, match="invalid port value"):
            say(notebook, "--port 99999")
        assert content(notebook.server.url) == "hello"
    finally:
        other.stop()


def test_between_cells_the_server_may_use_tools_that_are_bound_to_the_kernels_thread(
    scripted: Callable[..., Any],
) -> None:
    @tn.tool(main_thread=True)
    def where() -> str:
        """Where it runs."""
        return threading.current_thread().name

    def answer(body: dict[str, Any], number: int) -> dict[str, Any]:
        last = body["messages"][-1]
        return {"text": last["content"]} if last["role"] == "tool" else {"calls": [("c1", "where", "{}")]}

    async def kernel() -> str:
        served = Served(tn.Toolkit([where]), scripted(answer))
        try:
            return await asyncio.to_thread(content, served.url)
        finally:
            served.stop()

    assert asyncio.run(kernel()) == "MainThread"


def test_on_a_hub_the_page_is_reached_through_its_proxy(notebook: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTERHUB_SERVICE_PREFIX", "/user/x/")
    served = Served(notebook.toolkit, notebook.client)
    try:
        assert f'href="/user/x/proxy/{served.port}/"' in served._card_now()[0]
        local = {"host": "hub.mybinder.org", "origin": "https://hub.mybinder.org"}
        assert httpx.get(served.url + "/v1/models", headers=local).status_code == 200
        foreign = {"host": "hub.mybinder.org", "origin": "https://evil.example"}
        assert httpx.get(served.url + "/v1/models", headers=foreign).status_code == 403
    finally:
        served.stop()


def test_the_card_follows_what_happens(notebook: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    served = Served(notebook.toolkit, notebook.client)
    try:
        served.show()
        seen: list[str] = []
        assert served._card is not None
        monkeypatch.setattr(served._card, "update", lambda html, text: seen.append(text))
        for _ in range(5):
            content(served.url)
        end = time.monotonic() + 3
        while time.monotonic() < end and not any("5 requests" in text for text in seen):
            time.sleep(0.02)
        assert "5 requests" in seen[-1]
        assert len(seen) <= 3
    finally:
        served.stop()
    assert "stopped" in seen[-1]


def test_a_bad_request_prints_nothing_into_cells(notebook: Session, capsys: pytest.CaptureFixture[str]) -> None:
    say(notebook)
    assert notebook.server
    capsys.readouterr()
    assert httpx.post(notebook.server.url + "/v1/chat/completions", json={"messages": []}).status_code == 400
    time.sleep(0.1)
    with socket.create_connection(("127.0.0.1", notebook.server.port)) as stranger:
        stranger.sendall(b"\x16\x03\x01 no HTTP\r\n\r\n")
        stranger.recv(100)
    said = capsys.readouterr()
    assert said.err == ""
    assert notebook.server.activity.problem.startswith("400 messages")


def test_the_card_tells_the_last_calls_and_escapes_them() -> None:
    activity = Activity(requests=3)
    for i in range(9):
        activity.called(ServedCall(f"tool_{i}<b>", 0.25, "failed" if i == 8 else "done", "mcp"))
    activity.began()
    activity.ended("400 messages <b>must</b>")
    facts = ("http://127.0.0.1:9", "model <x>", ["a<script>"], activity, True, True)
    html, text = card_html(*facts), card_text(*facts)
    assert "<script>" not in html and "<b>model" not in html and "model &lt;x&gt;" in html
    assert "tool_8&lt;b&gt;" in html and "tool_3" not in html
    assert text.index("tool_8") < text.index("tool_7")
    assert "tool_8<b>: failed, 0.25 s, mcp" in text
    assert "messages &lt;b&gt;must" in html and "1 failed" in html and "last failure: 400 messages <b>must</b>" in text
    assert "tn.session().server.key" in html and "tn.session().server.key" in text


def test_a_stopped_card_keeps_its_address(notebook: Session, capsys: pytest.CaptureFixture[str]) -> None:
    say(notebook)
    served = notebook.server
    assert isinstance(served, Served)
    url = served.stop()
    notebook.server = None
    html, text = served._card_now()
    assert "address it had" in html and f"{url}/v1" in html and "href" not in html
    assert f"{url}/v1" in text and "stopped" in text

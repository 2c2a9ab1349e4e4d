"""The server card and the list: what they say, and that nothing a server said becomes HTML."""

from __future__ import annotations

from toolnexus_nb.notebook.mcp_card import McpCard, McpList, card_html, card_text, list_html, list_text
from toolnexus_nb.tools.mcp import McpStatus

EVIL = "<script>alert(1)</script>"
OPEN = McpStatus(
    name="time",
    state="open",
    transport="stdio",
    target="mcp-server-time",
    server_name="mcp-time",
    version="1.2",
    protocol="2025-11-25",
    since=0.0,
    pid=7,
    tools=("time_now", "time_convert"),
    hidden=("secret",),
    calls=4,
    failed=1,
    seconds=2.0,
    reopened=1,
)


def test_a_card_says_how_a_server_is():
    for card in (card_html(OPEN), card_text(OPEN)):
        for words in ("mcp-time 1.2", "MCP 2025-11-25", "time_convert", "4, 1 failed, 0.50 s", "opened again 1 time"):
            assert words in card
    assert "process 7" in card_html(OPEN) and "1 left out by the filter" in card_html(OPEN)


def test_a_failed_server_shows_why():
    failed = McpStatus(
        "x", "failed", "stdio", "x", last_error="it went wrong", stderr=("first", "last"), notes=("a note",)
    )
    for card in (card_html(failed), card_text(failed)):
        for words in ("could not be opened", "it went wrong", "last", "a note"):
            assert words in card


def test_what_a_server_says_is_escaped():
    evil = McpStatus(
        EVIL, EVIL, "http", EVIL, EVIL, EVIL, EVIL, EVIL, tools=(EVIL,), last_error=EVIL, stderr=(EVIL,), notes=(EVIL,)
    )
    assert "<script" not in card_html(evil) and "<script" not in list_html([evil], [EVIL])


def test_a_list_has_a_line_for_each_server_and_what_is_wrong():
    lines = list_text([OPEN, McpStatus("x", "failed", "stdio", "x")], ["x is not there"]).splitlines()
    assert lines[0].startswith("time  open") and "2 tools" in lines[0] and lines[2] == "! x is not there"
    assert list_html([OPEN]).count("<tr>") == 2


def test_cards_show_themselves_in_html_and_in_text():
    for shown in (McpCard(OPEN), McpList([OPEN])):
        bundle = shown._repr_mimebundle_()
        assert "<section" in bundle["text/html"] and "time" in bundle["text/plain"] and "time" in str(shown)

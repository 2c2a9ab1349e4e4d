"""The wire view: what passed, what was new in it, how the time went, the same request elsewhere; keys are nowhere."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from typing import Any

import pytest

from toolnexus_nb.notebook.wire_forms import as_curl, as_python
from toolnexus_nb.notebook.wire_markup import chunks_html, wire_html, wire_text
from toolnexus_nb.notebook.wire_story import first_token_at, segments, steps
from toolnexus_nb.notebook.wire_view import WireView
from toolnexus_nb.rounds.secrets import HIDDEN
from toolnexus_nb.rounds.tap import Exchange, WireRequest

HOSTILE = "<img src=x onerror='window.HIT=1'></pre><script>window.HIT=1</script>"
HEADERS = {"Authorization": HIDDEN, "Content-Type": "application/json", "User-Agent": "x"}
URL = "https://models.example/v1/chat/completions"


def sse(**delta: Any) -> bytes:
    reason = delta.pop("finish_reason", None)
    return (
        b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}).encode() + b"\n\n"
    )


def exchange(messages: list[dict[str, Any]], chunks: list[tuple[float, bytes]], **more: Any) -> Exchange:
    body = {"model": "m", "messages": messages, **more.pop("body", {})}
    one = Exchange(
        WireRequest("POST", more.pop("url", URL), HEADERS, body), sent_at=more.pop("sent_at", 100.0), round=1
    )
    one.status, one.chunks = 200, chunks
    one.first_byte = chunks[0][0] if chunks else None
    one.ended = chunks[-1][0] if chunks else None
    for name, value in more.items():
        setattr(one, name, value)
    return one


USER = {"role": "user", "content": "weather in Oslo?"}
CALL = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}


@pytest.fixture
def run() -> list[Exchange]:
    """Two rounds: a call that was run in 0.5 s, and an answer."""
    asked = [
        (0.4, b": connected\n\n"),
        (0.9, sse(role="assistant", content="")),
        (1.0, sse(tool_calls=[{"index": 0, **CALL}])),
        (1.2, sse(finish_reason="tool_calls") + b"data: [DONE]\n\n"),
    ]
    told = [
        *[USER],
        {"role": "assistant", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": "3 °C"},
    ]
    answered = [(0.2, sse(content="Cold: 3 °C")), (0.5, sse(finish_reason="stop") + b"data: [DONE]\n\n")]
    return [
        exchange([USER], asked, body={"tools": [{"type": "function", "function": {"name": "get_weather"}}]}),
        exchange(told, answered, sent_at=101.7, round=2, body={"temperature": 0}),
    ]


def test_time_is_told_apart(run: list[Exchange]) -> None:
    names = dict(segments(run[0], run[1]))
    assert {name: round(seconds, 2) for name, seconds in names.items()} == {
        "waiting": 0.4,
        "first token": 0.6,
        "streaming": 0.2,
        "tools": 0.5,
    }


def test_the_first_token_is_the_first_piece_of_the_answer_not_the_first_byte(run: list[Exchange]) -> None:
    assert first_token_at(run[0]) == 1.0
    assert first_token_at(exchange([USER], [(0.1, b": hello\n\n")])) is None


def test_a_first_token_cut_between_two_chunks_counts_when_it_is_whole() -> None:
    data = sse(content="hi")
    assert first_token_at(exchange([USER], [(0.1, data[:30]), (0.2, data[30:])])) == 0.2


def test_the_wait_before_a_retry_is_no_tool_time() -> None:
    failed = exchange([USER], [(0.1, b'{"error": {"message": "slow down"}}')], status=429)
    again = exchange([USER], [(0.1, sse(content="x"))], sent_at=102.0, attempt=2)
    assert [name for name, _ in segments(failed, again)][-1] == "wait before retry"


def test_what_is_new_since_the_request_before(run: list[Exchange]) -> None:
    first, second = steps(run)
    assert (first.kept_messages, second.kept_messages) == (0, 1)
    assert set(second.changed) == {"- tools", "+ temperature"}
    html = wire_html([first, second])
    assert "1 message as in the request before" in html
    assert html.count("<mark>new</mark>") == 3  # two messages and a parameter
    assert "left out now" in html


def test_a_changed_message_is_new_from_there_on(run: list[Exchange]) -> None:
    run[1].request.body["messages"][0] = {**USER, "content": "other"}  # type: ignore[index]
    assert steps(run)[1].kept_messages == 0


def test_replies_are_put_together(run: list[Exchange]) -> None:
    first, second = steps(run)
    assert first.reply.message.tool_calls[0].arguments == {"city": "Oslo"}  # type: ignore[union-attr]
    assert second.reply.message.content == "Cold: 3 °C"  # type: ignore[union-attr]
    assert second.reply.finish_reason == "stop"


def test_a_reply_that_breaks_off_shows_what_had_come() -> None:
    step = steps([exchange([USER], [(0.1, sse(content="half an ans"))])])[0]
    assert step.reply.message.content == "half an ans"  # type: ignore[union-attr]
    assert step.reply.problem


def test_a_reply_that_was_stopped_is_no_failure_of_the_endpoint() -> None:
    told = steps(
        [exchange([USER], [(0.1, sse(content="half an ans"))], stopped="stopped by you", error="CancelledError")]
    )
    assert told[0].reply.message.content == "half an ans"  # type: ignore[union-attr]
    text = wire_text(told)
    assert "stopped by you before the answer was complete" in text and "broke off" not in text
    assert "tnx-bad" not in wire_html(told)


def test_errors_are_told(run: list[Exchange]) -> None:
    refused = exchange([USER], [(0.1, b'{"error": {"message": "no such model"}}')], status=404)
    silent = exchange([USER], [], status=None, error="APIConnectionError: no one answers", ended=2.0)
    text = wire_text(steps([refused, silent]))
    assert "no such model" in text and "no one answers" in text
    assert "404" in wire_html(steps([refused]))


def test_an_exchange_that_is_still_going_on_has_a_view() -> None:
    going = exchange([USER], [(0.1, sse(content="x"))], ended=None)
    assert "no reply yet" in wire_html(steps([exchange([USER], [], status=None)]))
    assert wire_html(steps([going]))


def test_text_says_the_same(run: list[Exchange]) -> None:
    text = wire_text(steps(run))
    assert "> calls get_weather(" in text  # sent back to the model in the second request, as a call and not as JSON
    assert 'calls get_weather({"city": "Oslo"})' in text
    assert "> user: weather in Oslo?" in text and "< assistant: Cold: 3 °C" in text
    assert "tools 0.50 s" in text
    assert "Nothing has passed" in wire_text([])


def test_keys_are_variables_in_every_form(run: list[Exchange]) -> None:
    parts = ("POST", URL + f"?key={HIDDEN}", HEADERS, run[0].request.body)
    for text in (as_curl(*parts), as_python(*parts)):
        assert HIDDEN not in text and "OPENAI_API_KEY" in text


def test_curl_is_read_by_a_shell_as_it_is_meant() -> None:
    body = {"messages": [{"role": "user", "content": 'it\'s $HOME `id` \\ "q"\nEND_OF_JSON\nx'}]}
    script = as_curl("POST", URL + f"?a=b c&key={HIDDEN}", HEADERS, body).replace("curl ", "printf '%s\\n' ", 1)
    shown = subprocess.run(
        ["bash", "-c", f"{script.replace('--data-binary @- ', '')}"],
        capture_output=True,
        text=True,
        env={"OPENAI_API_KEY": "SECRET VALUE", "PATH": "/bin:/usr/bin"},
        check=True,
    ).stdout
    assert "Authorization: Bearer SECRET VALUE" in shown
    assert "?a=b c&key=SECRET VALUE" in shown
    document = as_curl("POST", URL, HEADERS, body).split("<<'END_OF_JSON'\n")[1].rsplit("\nEND_OF_JSON", 1)[0]
    assert json.loads(document) == body


def test_curl_words_are_whole() -> None:
    line = as_curl("GET", "https://models.example/v1/models", {"Accept": "text/plain; x='1'"}, {})
    assert shlex.split(line.replace("\\\n", ""))[-1] == "Accept: text/plain; x='1'"


def test_the_python_form_is_a_program(run: list[Exchange]) -> None:
    hostile = {"messages": [{"role": "user", "content": HOSTILE + "\"\"\" ''' \\ {x}"}], "stream": True}
    program = as_python("POST", URL + f"?key={HIDDEN}", HEADERS, hostile)
    faked = (
        "import sys, types, contextlib\n"
        "seen = []\n"
        "@contextlib.contextmanager\n"
        "def stream(method, url, **kw):\n"
        "    seen.append((method, url, kw)); yield types.SimpleNamespace(iter_lines=lambda: ['line'])\n"
        "sys.modules['httpx'] = types.SimpleNamespace(stream=stream)\n"
    )
    check = f"{faked}{program}\nimport json; print(json.dumps(seen[0]))"
    done = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, env={"OPENAI_API_KEY": "K"}, check=True
    ).stdout
    method, url, options = json.loads(done.splitlines()[-1])
    assert (method, url) == ("POST", URL + "?key=K")
    assert options["json"] == hostile and options["headers"]["Authorization"] == "Bearer K"


@pytest.mark.parametrize("url", ["rehearsal:", "http://rehearsal.invalid/v1/chat/completions"])
def test_a_model_in_this_process_has_no_curl(url: str) -> None:
    html = wire_html(steps([exchange([USER], [(0.1, sse(content="x"))], url=url)]))
    assert "runs inside" in html and "curl -N" not in html


def test_a_character_cut_between_two_chunks_is_not_lost() -> None:
    data = "é".encode()
    html = chunks_html([(0.1, b"a" + data[:1]), (0.2, data[1:] + b"b")])
    assert "éb" in html and "\ufffd" not in html


def test_many_chunks_stay_bounded() -> None:
    html = chunks_html([(at / 1000, sse(content="word " * 20)) for at in range(20_000)])
    assert len(html) < 150_000 and "19,800 chunks left out here" in html


@pytest.mark.parametrize("where", ["content", "arguments", "header", "error", "url", "note", "reply", "tool"])
def test_hostile_text_on_the_wire_is_text(where: str) -> None:
    one = exchange([{**USER, "content": HOSTILE}], [(0.1, sse(content=HOSTILE, tool_calls=[{"index": 0, **CALL}]))])
    one.request.body["messages"].append(  # type: ignore[attr-defined]
        {"role": HOSTILE, "tool_calls": [{"id": HOSTILE, "function": {"name": HOSTILE, "arguments": HOSTILE}}, 3]}
    )
    one.request.body["tools"] = [{"function": {"name": HOSTILE}}, HOSTILE]  # type: ignore[index]
    one.request.body[HOSTILE] = HOSTILE  # type: ignore[index]
    one.headers = {HOSTILE: HOSTILE}
    one.error, one.notes = HOSTILE, [HOSTILE]
    html = wire_html(steps([one, one]), HOSTILE)
    assert "<script" not in html and "<img" not in html


def test_a_body_that_is_no_chat_request_has_a_view() -> None:
    one = exchange([], [(0.1, b"{}")])
    one.request = WireRequest("GET", "https://models.example/v1/models", HEADERS, {})  # type: ignore[misc]
    assert "GET" in wire_html(steps([one]))
    odd = exchange([], [(0.1, b"x")], body={"messages": "no list", "tools": "no list"})
    assert wire_html(steps([odd]))


def test_the_view_takes_a_result_or_its_exchanges(run: list[Exchange]) -> None:
    class Result:
        model = "m"

        def wire(self) -> list[Exchange]:
            return run

    view = WireView(Result())
    assert view.exchanges == run and view.label == "m"
    assert [one.round for one in view.only([2]).exchanges] == [2]
    assert "round 1" in view.text() and "round 1" in view.html()

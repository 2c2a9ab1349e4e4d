"""An endpoint as a tool, against a real server on loopback."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

import toolnexus_nb as tn


class Echo(BaseHTTPRequestHandler):
    """Answers with what it was asked, or misbehaves where the path says so."""

    def log_message(self, *args: Any) -> None:
        return

    def answer(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        asked = {
            "method": self.command,
            "path": self.path,
            "type": self.headers.get("content-type"),
            "key": self.headers.get("x-key"),
            "body": self.rfile.read(length).decode(),
        }
        if self.path.startswith("/slow"):
            time.sleep(1)
        status = 404 if self.path.startswith("/missing") else 201 if self.path.startswith("/made") else 200
        if self.path.startswith("/to/"):
            self.send_response(307)
            self.send_header("location", f"http://{self.path[4:]}:{self.server.server_port}/there")  # type: ignore[attr-defined]
            self.send_header("content-length", "0")
            self.end_headers()
            return
        kind, data = "application/json", json.dumps(asked).encode()
        if self.path.startswith("/words"):
            kind, data = "text/plain", b"not json"
        if self.path.startswith("/large"):
            kind, data = "text/plain", b"x" * 5000
        if self.path.startswith("/picture"):
            kind, data = "image/png", b"\x89PNG"
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the tool had read enough
                self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = answer


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def anything(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {key: {} for key in properties or "xyz"}}


def asked(tool: tn.Tool, arguments: dict[str, Any]) -> dict[str, Any]:
    result = tool.execute_sync(arguments)
    assert not result.is_error, result.output
    value: dict[str, Any] = result.value
    return value


def make(url: str, **options: Any) -> tn.Tool:
    return tn.http_tool(name="fetch", description="Fetch it.", url=url, **options)


def test_placeholders_are_encoded_and_the_rest_is_the_query(base):
    tool = make(base + "/p/{id}", input_schema={"type": "object", "properties": {"id": {}, "q": {}, "z": {}}})
    assert asked(tool, {"id": "a b/c", "q": "x y", "z": 1})["path"] == "/p/a%20b%2Fc?q=x+y&z=1"


def test_a_missing_placeholder_is_an_error_that_names_it(base):
    tool = make(base + "/p/{id}", input_schema={"type": "object", "properties": {"id": {}, "q": {}}})
    result = tool.execute_sync({"q": 1})
    assert result.is_error
    assert "id is missing" in result.output
    assert "id is missing" in make(base + "/p/{id}").execute_sync({}).output


def test_query_values_null_lists_and_booleans(base):
    tool = make(base + "/q?fixed=1", input_schema={"type": "object", "properties": {"q": {}, "l": {}, "b": {}}})
    assert asked(tool, {"q": None, "l": [1, 2], "b": True})["path"] == "/q?fixed=1&l=1&l=2&b=true"


def test_bodies_as_json_form_and_raw(base):
    schema = {"type": "object", "properties": {"a": {}, "body": {}, "page": {}}}
    as_json = make(base + "/j", method="post", input_schema=schema, query=["page"])
    got = asked(as_json, {"a": {"n": "é"}, "page": 2})
    assert (got["path"], got["type"], json.loads(got["body"])) == ("/j?page=2", "application/json", {"a": {"n": "é"}})
    form = asked(make(base + "/f", method="PUT", body="form", input_schema=schema), {"a": [1, 2]})
    assert (form["type"], form["body"]) == ("application/x-www-form-urlencoded", "a=1&a=2")
    raw = asked(make(base + "/r", method="POST", body="raw", input_schema=schema), {"body": "plain words"})
    assert (raw["type"].startswith("text/plain"), raw["body"]) == (True, "plain words")


def test_without_arguments_there_is_no_body_and_no_type(base):
    got = asked(make(base + "/j", method="POST", input_schema=anything()), {})
    assert (got["type"], got["body"]) == (None, "")


def test_headers_read_the_environment_and_an_unset_one_is_an_error(base, monkeypatch):
    tool = make(base + "/", headers={"X-Key": "Bearer ${TOOLNEXUS_TEST_KEY}"})
    monkeypatch.delenv("TOOLNEXUS_TEST_KEY", raising=False)
    result = tool.execute_sync()
    assert result.is_error
    assert "the header X-Key needs the environment variable TOOLNEXUS_TEST_KEY, which is not set" in result.output
    monkeypatch.setenv("TOOLNEXUS_TEST_KEY", "k1")
    assert asked(tool, {})["key"] == "Bearer k1"


def test_an_error_status_is_an_error_with_the_body(base):
    result = make(base + "/missing").execute_sync()
    assert (result.is_error, result.metadata["status"]) == (True, 404)
    assert result.output.startswith('HTTP 404: {"method": "GET"')


def test_result_modes(base):
    assert make(base + "/made", result_mode="status+text").execute_sync().output.startswith("201\n{")
    assert make(base + "/words", result_mode="json").execute_sync().output == '"not json"'
    assert json.loads(make(base + "/x", result_mode="json").execute_sync().output)["path"] == "/x"
    picture = make(base + "/picture").execute_sync()
    assert [(part.kind, part.data) for part in picture.parts] == [("image", b"\x89PNG")]


def test_time_and_size_are_bounded(base):
    late = make(base + "/slow", timeout=0.1).execute_sync()
    assert (late.is_error, "no answer within 0.1 seconds" in late.output) == (True, True)
    large = make(base + "/large", max_bytes=100).execute_sync()
    assert large.output == "x" * 100 + "\n… (cut after 100 bytes)"


def test_a_server_that_is_not_there_is_an_error_without_the_query():
    result = make("http://127.0.0.1:9/x?secret=1").execute_sync()
    assert result.is_error
    assert "could not be reached" in result.output
    assert "secret" not in result.output


def test_the_schema_comes_from_the_placeholders():
    tool = make("http://127.0.0.1/{a}/{b}")
    assert tool.input_schema == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "required": ["a", "b"],
        "additionalProperties": False,
    }
    assert tool.source == "http"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"url": "ftp://x"}, "must begin with http"),
        ({"url": "http://x", "method": "FETCH"}, "method 'FETCH' is unknown"),
        ({"url": "http://x", "body": "xml"}, 'body is "json"'),
        ({"url": "http://x", "result_mode": "xml"}, 'result_mode is "text"'),
        ({"url": "http://x/{id}", "input_schema": {"type": "object", "properties": {}}}, "no such property"),
    ],
)
def test_what_can_not_work_is_refused_when_the_tool_is_made(options, says):
    with pytest.raises(ValueError, match=says):
        tn.http_tool(name="f", **options)


def test_a_step_in_the_path_is_no_argument(base: str) -> None:
    tool = tn.http_tool(name="read", url=f"{base}/files/{{name}}")
    result = tool.execute_sync({"name": ".."})
    assert result.is_error
    assert "name must not be ..: it would change the address" in result.output


def test_the_address_may_need_the_environment_too(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tn.http_tool(name="find", url=f"{base}/find/{{word}}?key=${{FIND_KEY}}")
    assert list(tool.input_schema["properties"]) == ["word"]
    assert "FIND_KEY, which is not set" in tool.execute_sync({"word": "a"}).output
    monkeypatch.setenv("FIND_KEY", "k-1\n")
    assert json.loads(tool.execute_sync({"word": "a"}).output)["path"] == "/find/a?key=k-1"


def test_a_key_that_no_header_can_carry_is_not_shown(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIND_KEY", "zebra\ncrossing")
    result = tn.http_tool(name="find", url=base, headers={"X-Key": "${FIND_KEY}"}).execute_sync({})
    assert result.is_error
    assert "FIND_KEY" in result.output
    assert "zebra" not in result.output + result.traceback


@pytest.mark.parametrize(("host", "key"), [("127.0.0.1", "k-1"), ("localhost", None)])
def test_a_redirect_takes_no_key_to_another_host(base: str, host: str, key: str | None) -> None:
    tool = tn.http_tool(
        name="post",
        url=f"{base}/to/{host}",
        method="POST",
        headers={"X-Key": "k-1"},
        input_schema={"type": "object", "properties": {"a": {"type": "integer"}}},
    )
    answer = json.loads(tool.execute_sync({"a": 1}).output)
    assert (answer["path"], answer["body"], answer["key"]) == ("/there", '{"a": 1}', key)
    assert answer["type"] == "application/json"

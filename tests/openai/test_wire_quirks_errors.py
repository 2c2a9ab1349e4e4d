"""Rows E01 to E14 and K01 to K05 of the quirks: every shape of an error, told in one way, never with a key in it."""

from __future__ import annotations

import copy
import json
import pickle
from datetime import UTC, datetime
from typing import Any

import pytest

from toolnexus_nb.openai import (
    APIConnectionError,
    APIError,
    APITimeoutError,
    AuthenticationError,
    BadRequestError,
    NotFoundError,
    PermissionDeniedError,
    RateLimitError,
    ServerError,
    StreamError,
    ToolnexusError,
    api_error,
    parse_response,
    redact,
)
from toolnexus_nb.openai.errors import redact_value, retry_after

TEXT = {"choices": [{"index": 0, "delta": {"content": "so far"}}]}


def in_stream(wire: Any, event: Any, *after: Any) -> APIError:
    """The error of a stream that said something before."""
    with pytest.raises(APIError) as caught:
        wire.hear(wire.sse(TEXT, event, *after))
    assert caught.value.partial.content == "so far"
    return caught.value


def answered(body: Any, status: int = 200) -> APIError:
    """The error of a reply that was not streamed."""
    with pytest.raises(APIError) as caught:
        parse_response(body if isinstance(body, bytes) else json.dumps(body).encode(), status, endpoint="host")
    assert caught.value.raw_body
    return caught.value


def test_E01_an_error_beside_choices(wire: Any) -> None:
    choice = {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}
    event = {"id": "g", "error": {"code": 502, "message": "Provider disconnected"}, "choices": [choice]}
    error = in_stream(wire, event)
    assert type(error) is ServerError
    assert (error.status, error.code, error.message) == (502, "502", "Provider disconnected")


@pytest.mark.parametrize(
    "event", [{"error": {"message": "boom", "type": "server_error", "code": None}}, {"error": "boom"}]
)
def test_E02_an_error_without_a_status(wire: Any, event: Any) -> None:
    error = in_stream(wire, event)
    assert type(error) is StreamError
    assert (error.message, error.status, error.code) == ("boom", None, None)


def test_E02_an_error_in_place_of_an_answer_is_told_as_one(wire: Any) -> None:
    for read in (wire.hear, parse_response):
        with pytest.raises(APIError) as caught:
            read(b'{"error": "Unexpected endpoint"}')
        assert str(caught.value) == "The endpoint answered 200: Unexpected endpoint."


def test_E02_the_chunks_before_the_error_come_first(wire: Any) -> None:
    from toolnexus_nb.openai import ChatStream

    stream = ChatStream.from_bytes([wire.sse(TEXT, TEXT, {"error": "boom"})])
    seen = []
    with pytest.raises(StreamError):
        for chunk in stream:
            seen.append(chunk.choices[0].delta.content)
    assert seen == ["so far", "so far"]


def test_E03_an_error_inside_a_200() -> None:
    metadata = {"raw": "model overloaded", "provider_name": "X"}
    error = answered({"error": {"message": "Provider returned error", "code": 429, "metadata": metadata}})
    assert type(error) is RateLimitError and error.status == 429 and error.retryable
    assert error.details["metadata"] == metadata and "model overloaded" in str(error)


def test_E03_a_null_error_beside_choices_is_none() -> None:
    body = {"error": None, "choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}
    assert parse_response(json.dumps(body).encode()).message.content == "x"


@pytest.mark.parametrize("code", ["tool_use_failed", "tool_call_validation_failed"])
def test_E04_E05_what_the_model_wrote_is_there_to_see(code: str) -> None:
    said = '<function=f>{"a":1}'
    error = answered({"error": {"message": "Failed to call a function.", "code": code, "failed_generation": said}}, 400)
    assert (type(error), error.code, error.failed_generation) == (BadRequestError, code, said)


def test_E06_a_list() -> None:
    error = answered(
        [{"error": {"code": 400, "message": "bad field", "status": "INVALID_ARGUMENT", "details": [1]}}], 400
    )
    assert (error.message, error.code, error.type, error.details["details"]) == (
        "bad field",
        "400",
        "INVALID_ARGUMENT",
        [1],
    )


@pytest.mark.parametrize("encode", [lambda value: value, json.dumps])
def test_E07_a_message_at_the_top_level(encode: Any) -> None:
    plain = answered(
        {"object": "error", "message": "id was x", "type": "invalid_request_error", "param": None, "code": "3280"}, 400
    )
    assert (plain.message, plain.code, plain.type) == ("id was x", "3280", "invalid_request_error")
    details = {"detail": [{"loc": ["body", "messages", 1], "msg": "Extra inputs are not permitted"}]}
    nested = answered({"object": "error", "message": encode(details)}, 422)
    assert nested.message == "body.messages.1: Extra inputs are not permitted"
    assert answered({"detail": "Invalid API Key"}, 401).message == "Invalid API Key"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"detail": "Not Found"}, "Not Found"),
        ({"detail": [{"loc": ["body", "tools"], "msg": "field required"}]}, "body.tools: field required"),
        ({"error": "Input validation error", "error_type": "validation"}, "Input validation error"),
        ({"code": "x", "message": "top", "type": "t"}, "top"),
        ({"errors": ["first", "second"]}, '["first","second"]'),
        ({"error": {"message": "", "type": "internal_server_error"}}, "internal_server_error"),
        ({}, "Bad Request"),
        ([], "Bad Request"),
        (None, "Bad Request"),
    ],
)
def test_E08_any_shape_has_a_message(body: Any, message: str) -> None:
    assert api_error(400, {}, json.dumps(body)).message.startswith(message)
    assert api_error(400, None, body if body is not None else b"").message.startswith(message)


def test_E09_an_error_that_is_a_text() -> None:
    assert (
        answered({"error": "Invalid tool_choice type: 'object'."}, 400).message == "Invalid tool_choice type: 'object'."
    )
    assert answered({"error": "Unexpected endpoint or method."}).message == "Unexpected endpoint or method."


def test_E10_error_code() -> None:
    error = answered({"error_code": "INVALID_PARAMETER_VALUE", "message": "no"}, 400)
    assert (error.code, error.message) == ("INVALID_PARAMETER_VALUE", "no")


@pytest.mark.parametrize(
    ("page", "shown"),
    [
        (
            b"<html><head><style>b{}</style><title>502</title></head><body><h1>Bad Gateway</h1></body></html>",
            "502 Bad Gateway",
        ),
        (b"upstream connect error", "upstream connect error"),
        (b"", "Bad Gateway"),
        (b"\xff\xfe", "\ufffd"),
    ],
)
def test_E11_a_page_is_shown_as_its_words(page: bytes, shown: str) -> None:
    error = api_error(502, {}, page)
    assert type(error) is ServerError and error.message.startswith(shown) and "<" not in str(error)


def test_E12_the_reason_of_a_filter_is_kept() -> None:
    inner = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {"hate": {"filtered": True}}}
    body = {
        "error": {
            "message": "filtered",
            "type": None,
            "param": "prompt",
            "code": "content_filter",
            "status": 400,
            "innererror": inner,
        }
    }
    error = answered(body, 400)
    assert (error.type, error.param, error.details["innererror"]) == (None, "prompt", inner)


@pytest.mark.parametrize(
    ("status", "code", "seen"), [(200, "400", 400), (500, "400", 500), (200, "x", 200), (200, "503", 503)]
)
def test_E13_an_error_in_an_error_and_a_number_as_text(status: int, code: str, seen: int) -> None:
    assert answered({"error": {"error": {"message": "deep"}}}).message == "deep"
    assert api_error(status, {}, {"error": {"message": "m", "code": code}}).status == seen


def test_E14_an_error_as_plain_text(wire: Any) -> None:
    assert in_stream(wire, b"data: error: out of memory\n\n").message == "error: out of memory"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, BadRequestError),
        (401, AuthenticationError),
        (403, PermissionDeniedError),
        (404, NotFoundError),
        (408, APITimeoutError),
        (413, BadRequestError),
        (422, BadRequestError),
        (429, RateLimitError),
        (500, ServerError),
        (529, ServerError),
    ],
)
def test_every_status_has_its_class(status: int, kind: type[APIError]) -> None:
    error = api_error(status, {}, b"")
    assert type(error) is kind and error.status == status and isinstance(error, ToolnexusError)


def test_an_error_is_told_in_a_sentence_that_names_the_endpoint_and_what_to_do() -> None:
    error = api_error(401, {}, {"error": {"message": "Incorrect API key"}}, endpoint="api.example.org")
    assert str(error) == "api.example.org answered 401: Incorrect API key. Check the API key."
    assert str(APIConnectionError("Connection refused", endpoint="localhost:11434")).startswith(
        "localhost:11434 could not be reached: Connection refused."
    )
    assert str(APITimeoutError(endpoint="x")) == "x did not answer in time. Ask again, or allow more time."
    assert len(str(api_error(400, {}, "x" * 10_000))) < 800


def test_errors_can_be_copied_and_pickled() -> None:
    error = api_error(429, {"Retry-After": "2"}, {"error": {"message": "slow down", "code": "rate"}})
    for twin in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (type(twin), str(twin), twin.code, twin.retry_after) == (RateLimitError, str(error), "rate", 2.0)


NOW = datetime(2026, 10, 21, 7, 27, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "20"}, 20),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, 60),
        ({"retry-after": "Wed, 21 Oct 2020 07:28:00 GMT"}, 0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "x", "retry-after": "9"}, 9),
        ({"retry-after": ""}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1.57s"}, 1.57),
        ({"retry-after": "6m0s"}, 360),
        ({"retry-after": "120ms"}, 0.12),
        ({}, None),
    ],
)
def test_K01_K03_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("status", "headers", "code", "may"),
    [
        (429, {}, None, True),
        (429, {}, "insufficient_quota", False),
        (503, {}, None, True),
        (408, {}, None, True),
        (409, {}, None, True),
        (400, {}, None, False),
        (401, {}, None, False),
        (503, {"X-Should-Retry": "false"}, None, False),
        (400, {"x-should-retry": "true"}, None, True),
    ],
)
def test_K03_K04_K05_what_may_be_asked_again(status: int, headers: dict[str, str], code: str | None, may: bool) -> None:
    assert api_error(status, headers, {"error": {"message": "m", "code": code}}).retryable is may
    assert APIConnectionError("x").retryable and APITimeoutError("x").retryable


SECRET = "Q7w8Zr0TnY2UxI4PkD"


@pytest.mark.parametrize(
    "text",
    [
        f"Incorrect API key provided: sk-proj-{SECRET}.",
        f"https://host/v1?key={SECRET}&x=1",
        f"https://host/v1?api_key={SECRET}",
        f"Authorization: Bearer {SECRET}",
        f"{{'x-api-key': '{SECRET}'}}",
        f'"api_key": "{SECRET}"',
        f"sk-proj-Q7w8****{SECRET[-4:]} is wrong",
        f"the tail is {SECRET[5:]}",
        f"AIza{SECRET}{SECRET}",
        f"http://me:{SECRET}@host/v1",
    ],
)
def test_keys_are_blanked_whole(text: str) -> None:
    shown = redact(text, [f"sk-proj-{SECRET}"])
    assert "[redacted]" in shown
    assert not any(SECRET[i : i + 6] in shown for i in range(len(SECRET) - 5))
    assert "****" not in shown
    if "tail" not in text:
        shown = redact(text)
        assert not any(SECRET[i : i + 6] in shown for i in range(len(SECRET) - 5))


@pytest.mark.parametrize(
    "text",
    [
        "Bearer authentication is missing",
        "import sk-learn-contrib",
        "api_key=None",
        "the token limit is 4096",
        "Authorization: none",
        'api_key=os.environ["OPENAI_API_KEY"]',
        "ollama answered",
        "https://host/v1?model=gpt-4",
        "hf_model is loaded",
        "task-1234567890",
    ],
)
def test_what_is_no_key_stays(text: str) -> None:
    assert redact(text, ["ollama", "none", ""]) == text


def test_an_error_holds_no_key_anywhere() -> None:
    body = json.dumps({"error": {"message": f"wrong key {SECRET}", "seen": [{"k": SECRET}]}}).encode()
    error = api_error(401, {"X-Echo": SECRET}, body, secrets=[SECRET])
    told = f"{error} {error!r} {error.message} {error.body} {error.raw_body} {error.headers} {error.args}"
    assert SECRET[:6] not in told and error.headers == {"x-echo": "[redacted]"}


def test_values_under_a_keys_name_are_blanked() -> None:
    shown = redact_value(
        {"API_Key": "plain", "headers": {"Authorization": "Basic x"}, "token": "a word", "n": [1, None]}
    )
    hidden = "[redacted]"
    assert shown == {"API_Key": hidden, "headers": {"Authorization": hidden}, "token": "a word", "n": [1, None]}


def test_an_error_in_a_stream_holds_no_key(wire: Any) -> None:
    with pytest.raises(StreamError) as caught:
        wire.hear(wire.sse(TEXT, {"error": {"message": f"wrong key {SECRET}"}}), secrets=[SECRET])
    assert SECRET[:6] not in f"{caught.value} {caught.value.body} {caught.value.raw_body}"

"""Asking one endpoint once: addresses, keys, retries, time limits, and errors that say what to do."""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys
import threading
import time
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

import toolnexus_nb as tn
from toolnexus_nb.openai.errors import (
    APIConnectionError,
    APIError,
    APITimeoutError,
    AuthenticationError,
    BadRequestError,
    NotFoundError,
    RateLimitError,
    ServerError,
    StreamError,
)
from toolnexus_nb.rounds.client import Client
from toolnexus_nb.rounds.connectors import connect, list_connectors
from toolnexus_nb.rounds.retry import in_few_words
from toolnexus_nb.rounds.setup_error import SetupError
from toolnexus_nb.rounds.tap import Exchange, on_exchange
from toolnexus_nb.rounds.transport import BytesResponse, Timeout, TransportRequest

KEY = "sk-proj-Q7w8Zr0TnY2UxI4PkD"
PIECES = [KEY[i : i + 6] for i in range(8, len(KEY) - 5)]


def text_of(client: Client, **params: Any) -> str:
    stream = client.stream("hello", **params)
    for _ in stream:
        pass
    return stream.message.get_content_as_string()


@pytest.mark.parametrize("form", ["", "/", "/chat/completions", "/chat/completions/"])
def test_every_usual_form_of_the_address_is_understood(endpoint: Any, wire: Any, form: str) -> None:
    endpoint.acts = [wire.sse("hi")]
    assert text_of(Client(endpoint.url + form, "m", retries=0)) == "hi"
    assert endpoint.seen[0].path == "/v1/chat/completions"


def test_an_address_without_its_path_is_explained(endpoint: Any, wire: Any) -> None:
    endpoint.acts = [wire.Act([b'{"detail":"Not Found"}'], 404)]
    with pytest.raises(NotFoundError, match=r"/chat/completions.*404.*/v1"):
        text_of(Client(endpoint.url.removesuffix("/v1"), "m", retries=0))


def test_no_scheme_means_http(endpoint: Any, wire: Any) -> None:
    endpoint.acts = [wire.sse("hi")]
    assert text_of(connect(endpoint.url.removeprefix("http://"), model="m")) == "hi"


def test_a_query_in_the_address_is_kept(endpoint: Any, wire: Any) -> None:
    endpoint.acts = [wire.sse("hi")]
    client = Client(f"{endpoint.url}?api-version=1&key={KEY}", "m")
    text_of(client)
    assert endpoint.seen[0].path == f"/v1/chat/completions?api-version=1&key={KEY}"
    assert "api-version=1" in client.base_url
    assert KEY not in client.base_url


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_what_may_pass_is_tried_again(endpoint: Any, wire: Any, status: int, streamed: bool) -> None:
    fine = wire.sse("hi") if streamed else wire.Act([wire.whole("hi")])
    endpoint.acts = [
        wire.error(status, "later", {"retry-after": "0"}),
        wire.error(status, "later", {"retry-after-ms": "1"}),
        fine,
    ]
    told: list[tuple[int, float, str]] = []
    client = Client(endpoint.url, "m", retries=2)
    if streamed:
        assert text_of(client, on_retry=lambda *what: told.append(what)) == "hi"
    else:
        response = client.complete_sync("hello", on_retry=lambda *what: told.append(what))
        assert response.message.get_content_as_string() == "hi"
    assert [(attempt, seconds) for attempt, seconds, _ in told] == [(1, 0.0), (2, 0.001)]
    assert {reason for *_, reason in told} == {f"{status} later"}


def test_why_an_attempt_failed_is_told_in_a_few_words() -> None:
    said = in_few_words(APIConnectionError("All connection attempts failed", endpoint="http://127.0.0.1:9/v1"))
    assert said == "no connection"
    assert in_few_words(APITimeoutError("nothing came for 60 s")) == "no answer in time"
    assert in_few_words(StreamError("it ended before it began")) == "the answer broke off"
    assert len(in_few_words(RateLimitError("wait " * 100, status=429))) < 120


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, BadRequestError),
        (401, AuthenticationError),
        (404, NotFoundError),
        (422, BadRequestError),
        (501, ServerError),
    ],
)
def test_what_will_not_pass_is_asked_once(endpoint: Any, wire: Any, status: int, kind: type[APIError]) -> None:
    endpoint.acts = [wire.error(status, "no such thing")]
    with pytest.raises(kind, match="no such thing"):
        text_of(Client(endpoint.url, "m"))
    assert len(endpoint.seen) == 1


def test_a_used_up_quota_is_not_a_rate(endpoint: Any, wire: Any) -> None:
    endpoint.acts = [wire.error(429, "You exceeded your current quota", code="insufficient_quota")]
    with pytest.raises(RateLimitError, match="quota"):
        text_of(Client(endpoint.url, "m"))
    assert len(endpoint.seen) == 1


def test_the_endpoint_may_say_whether_to_retry(endpoint: Any, wire: Any) -> None:
    endpoint.acts = [wire.error(500, "broken for good", {"x-should-retry": "false"})]
    with pytest.raises(ServerError):
        text_of(Client(endpoint.url, "m"))
    assert len(endpoint.seen) == 1


def test_a_wait_of_an_hour_is_not_waited(endpoint: Any, wire: Any) -> None:
    endpoint.acts = [wire.error(429, "slow down", {"retry-after": "3600"})]
    started = time.monotonic()
    with pytest.raises(RateLimitError) as caught:
        text_of(Client(endpoint.url, "m"))
    assert time.monotonic() - started < 2
    assert caught.value.retry_after == 3600


@pytest.mark.parametrize("value", ["", "soon", "-1", "²", "9" * 400])
def test_a_retry_after_that_cannot_be_read_falls_back_to_waiting_a_little(endpoint: Any, wire: Any, value: str) -> None:
    endpoint.acts = [wire.error(503, "busy", {"retry-after": value.encode().decode("latin-1")}), wire.sse("hi")]
    assert text_of(Client(endpoint.url, "m")) == "hi"
    assert 0.3 < endpoint.seen[1].at - endpoint.seen[0].at < 1.5


def test_a_date_to_retry_at_is_read(endpoint: Any, wire: Any) -> None:
    past = format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)
    endpoint.acts = [wire.error(429, "later", {"retry-after": past}), wire.sse("hi")]
    assert text_of(Client(endpoint.url, "m")) == "hi"
    assert endpoint.seen[1].at - endpoint.seen[0].at < 0.3


def test_the_words_of_the_message_may_name_the_wait(endpoint: Any, wire: Any) -> None:
    endpoint.acts = [wire.error(429, "Rate limit reached. Please try again in 120ms."), wire.sse("hi")]
    text_of(Client(endpoint.url, "m"))
    assert 0.1 < endpoint.seen[1].at - endpoint.seen[0].at < 0.4


def test_an_error_inside_a_200_is_an_error_and_is_tried_again(endpoint: Any, wire: Any) -> None:
    refused = b'data: {"error":{"message":"Provider returned error","code":429}}\n\n'
    endpoint.acts = [[refused, wire.DONE], wire.sse("hi")]
    assert text_of(Client(endpoint.url, "m")) == "hi"
    endpoint.acts = [wire.Act([b'{"error":{"message":"out of tea","code":503}}'])]
    with pytest.raises(ServerError, match="out of tea"):
        Client(endpoint.url, "m", retries=0).complete_sync("hello")


def test_a_connection_that_breaks_before_the_first_event_is_tried_again(endpoint: Any, wire: Any) -> None:
    endpoint.acts = [[b": thinking\n\n", "reset"], wire.sse("hi")]
    assert text_of(Client(endpoint.url, "m")) == "hi"


def test_a_connection_that_breaks_later_is_not_and_keeps_what_came(endpoint: Any, wire: Any) -> None:
    endpoint.acts = [[wire.chunk({"content": "half an ans"}), 0.05, "reset"], wire.sse("never asked")]
    with pytest.raises(APIError) as caught:
        text_of(Client(endpoint.url, "m"))
    assert caught.value.partial is not None
    assert caught.value.partial.get_content_as_string() == "half an ans"
    assert len(endpoint.seen) == 1


def test_a_cut_off_answer_is_an_error(endpoint: Any, wire: Any) -> None:
    endpoint.acts = [[wire.chunk({"content": "half"})]]
    with pytest.raises(StreamError) as caught:
        text_of(Client(endpoint.url, "m"))
    assert caught.value.partial is not None and caught.value.partial.get_content_as_string() == "half"


def test_garbage_is_quoted(endpoint: Any, wire: Any) -> None:
    endpoint.acts = [[b"<html><h1>It works!</h1></html>"]]
    with pytest.raises(APIError, match="It works"):
        text_of(Client(endpoint.url, "m", retries=0))


def test_silence_is_a_timeout_and_slow_bytes_are_none(endpoint: Any, wire: Any) -> None:
    endpoint.acts = [["hang"]]
    started = time.monotonic()
    with pytest.raises(APITimeoutError, match=r"0\.2 s"):
        text_of(Client(endpoint.url, "m", retries=0, timeout=Timeout(read=0.2)))
    assert time.monotonic() - started < 1.5
    slow = [piece for event in wire.sse("slow but fine") for piece in (b": still here\n\n", 0.03, event)]
    endpoint.acts = [slow]
    assert text_of(Client(endpoint.url, "m", retries=0, timeout=Timeout(read=0.2))) == "slow but fine"
    with pytest.raises(APITimeoutError, match="total"):
        text_of(Client(endpoint.url, "m", retries=0, timeout=Timeout(read=0.2, total=0.1)))


def test_nobody_listening_is_a_connection_error_with_the_address() -> None:
    with pytest.raises(APIConnectionError, match=r"127\.0\.0\.1:9.*running"):
        text_of(Client("http://127.0.0.1:9/v1", "m", retries=0))


def test_stream_options_are_dropped_once_and_for_all_where_they_are_refused(endpoint: Any, wire: Any) -> None:
    endpoint.acts = [wire.error(400, "Unknown parameter: 'stream_options'"), wire.sse("hi")]
    client = Client(endpoint.url, "m", retries=0)
    assert text_of(client) == "hi"
    assert text_of(client) == "hi"
    assert ["stream_options" in body for body in endpoint.bodies] == [True, False, False]


def test_parameters_pass_and_extra_body_comes_last(endpoint: Any, wire: Any) -> None:
    endpoint.acts = [wire.sse("hi")]
    client = Client(endpoint.url, "m", headers={"X-Title": "class"}, extra_body={"provider": {"sort": "price"}})
    text_of(client, temperature=0, seed=7, extra_body={"top_k": 3})
    body = endpoint.bodies[0]
    assert (body["temperature"], body["seed"], body["top_k"], body["provider"]) == (0, 7, 3, {"sort": "price"})
    assert endpoint.seen[0].headers["x-title"] == "class"
    assert "tools" not in body and "tool_choice" not in body


@pytest.mark.parametrize("name", ["messages", "stream"])
def test_what_is_made_here_cannot_be_a_parameter(endpoint: Any, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        Client(endpoint.url, "m", extra_body={name: []})


def test_models_are_listed(endpoint: Any, wire: Any) -> None:
    endpoint.acts = [wire.Act([b'{"object":"list","data":[{"id":"small"},{"id":"large"}]}'])]
    assert [model.id for model in Client(endpoint.url).models_sync().data] == ["small", "large"]
    assert endpoint.seen[0].method == "GET"


def test_no_model_says_what_to_set_and_guesses_nothing(endpoint: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SetupError, match="model"):
        text_of(Client(endpoint.url))
    assert not endpoint.seen
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(SetupError, match="OPENAI_MODEL"):
        Client.from_env()
    with pytest.raises(SetupError, match="OPENAI_MODEL"):
        tn.Chat()


def test_from_env(endpoint: Any, wire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint.acts = [wire.sse("hi")]
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_MODEL", "small")
    assert text_of(Client.from_env()) == "hi"
    assert endpoint.seen[0].headers["authorization"] == f"Bearer {KEY}"
    assert endpoint.bodies[0]["model"] == "small"


def test_a_key_of_the_environment_goes_only_where_it_belongs(
    endpoint: Any, wire: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint.acts = [wire.sse("hi")]
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    text_of(Client(endpoint.url, "m"))
    assert "authorization" not in endpoint.seen[0].headers


# --- keys stay out of sight -------------------------------------------------------------------------------------------


def test_no_text_shows_the_key(endpoint: Any, wire: Any) -> None:
    def echo(seen: Any) -> Any:
        return wire.error(401, f"Incorrect API key provided: {seen.headers['authorization'].removeprefix('Bearer ')}.")

    endpoint.acts = [echo]
    exchanges: list[Exchange] = []
    undo = on_exchange(exchanges.append)
    client = Client(f"{endpoint.url}?key={KEY}", "m", KEY, headers={"x-api-key": KEY}, retries=0)
    try:
        text_of(client)
    except AuthenticationError as error:
        shown = [str(error), repr(error), error.message, repr(error.body), error.raw_body, repr(error.headers)]
        shown += traceback.format_exception(error)
        shown += [
            repr(frame.f_locals)
            for frame, _ in traceback.walk_tb(error.__traceback__)
            if "rounds" in frame.f_code.co_filename
        ]
    undo()
    shown += [repr(client), str(client), client.base_url, client.label, repr(vars(client)), repr(exchanges)]
    assert len(exchanges) == 1 and exchanges[0].status == 401
    for text in shown:
        assert not any(piece in text for piece in PIECES), text


def test_a_client_is_not_pickled_with_its_key() -> None:
    with pytest.raises(TypeError, match="key"):
        pickle.dumps(Client("http://h/v1", "m", KEY)._key)


# --- names ------------------------------------------------------------------------------------------------------------


def test_presets_know_their_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    with pytest.raises(SetupError, match="GROQ_API_KEY"):
        connect("groq", model="m")
    monkeypatch.setenv("GROQ_API_KEY", KEY)
    client = connect("groq", model="m")
    assert client.base_url == "https://api.groq.com/openai/v1"
    assert KEY in client.secrets


def test_a_key_can_be_typed_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getpass", lambda prompt: KEY)
    assert KEY in connect("mistral", model="m", api_key="ask").secrets


def test_every_promised_name_is_known() -> None:
    names = {connector.name for connector in list_connectors()}
    assert names >= {
        "rehearsal", "recorded", "local", "openai", "openrouter", "groq", "together", "mistral", "deepseek", "gemini",
        "fireworks", "xai", "azure", "ollama", "lmstudio", "vllm", "llama.cpp",
    }  # fmt: skip


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(SetupError, match='Did you mean "ollama"'):
        connect("olama")


def test_azure_is_its_resource(monkeypatch: pytest.MonkeyPatch) -> None:
    client = connect("azure:teaching", model="gpt", api_key=KEY)
    assert client.base_url == "https://teaching.openai.azure.com/openai/v1"
    assert dict(client._headers_for(True))["api-key"] == KEY
    with pytest.raises(SetupError, match="AZURE_OPENAI_ENDPOINT"):
        connect("azure", model="gpt", api_key=KEY)


# --- transports and threads -------------------------------------------------------------------------------------------


class Canned:
    """A transport without a network."""

    def __init__(self, chunks: list[bytes]) -> None:
        self.chunks = chunks
        self.requests: list[TransportRequest] = []
        self.threads: list[str] = []

    async def send(self, request: TransportRequest) -> BytesResponse:
        self.requests.append(request)
        self.threads.append(threading.current_thread().name)
        return BytesResponse(200, {"Content-Type": "text/event-stream"}, self.chunks)

    async def aclose(self) -> None: ...


def test_any_transport_will_do_and_runs_on_the_background_loop(wire: Any) -> None:
    canned = Canned(wire.sse("from nowhere"))
    client = Client(model="m", transport=canned)
    assert text_of(client) == "from nowhere"

    async def awaited() -> str:
        stream = client.stream("hello")
        async for _ in stream:
            pass
        return stream.message.get_content_as_string()

    assert asyncio.run(awaited()) == "from nowhere"
    assert set(canned.threads) == {"toolnexus-loop"}
    assert canned.requests[0].json()["messages"] == [{"role": "user", "content": "hello"}]


def test_wrapping_a_transport_leaves_the_first_client_alone(wire: Any) -> None:
    inner, outer = Canned(wire.sse("inner")), Canned(wire.sse("outer"))
    client = Client(model="m", transport=inner)
    assert text_of(client.with_transport(lambda transport: outer)) == "outer"
    assert text_of(client) == "inner"


def test_lone_surrogates_are_sent_as_replacement_characters(wire: Any) -> None:
    canned = Canned(wire.sse("ok"))
    text_of(Client(model="m", transport=canned), user="a\ud800b")
    assert canned.requests[0].json()["user"] == "a�b"


def test_leaving_the_loop_over_a_stream_closes_the_connection(endpoint: Any, wire: Any) -> None:
    endpoint.acts = [[wire.chunk({"content": "one"}), wire.chunk({"content": "two"}), "hang"]]

    async def leave() -> None:
        async with Client(endpoint.url, "m").stream("hello") as stream:
            async for _ in stream:
                break
        assert stream.message.get_content_as_string() == "one"

    asyncio.run(leave())
    deadline = time.monotonic() + 2
    while endpoint.seen[0].closed_at is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert endpoint.seen[0].closed_at is not None


def test_one_connection_serves_many_requests(endpoint: Any, wire: Any) -> None:
    endpoint.acts = [wire.sse("hi")]
    client = Client(endpoint.url, "m")
    for _ in range(5):
        text_of(client)
    assert endpoint.connections == 1


def test_a_server_that_stays_silent_after_done_is_not_waited_for(endpoint: Any, wire: Any) -> None:
    endpoint.acts = [[*wire.sse("hi"), "hang"]]
    started = time.monotonic()
    assert text_of(Client(endpoint.url, "m")) == "hi"
    assert time.monotonic() - started < 0.5


@pytest.mark.parametrize("key", ["sk-abc…defghij", "sk-abcdefgh\nijklmn"])
def test_a_key_that_cannot_be_sent_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(SetupError, match="copied whole") as caught:
        Client("http://h/v1", "m", key)
    assert "sk-abc" not in str(caught.value)
    with pytest.raises(SetupError, match="x-api-key"):
        Client("http://h/v1", "m", headers={"x-api-key": key})
    assert Client("http://h/v1", "m", " sk-abcdefgh \n").secrets == ("sk-abcdefgh",)


def test_the_rounds_are_imported_without_a_network_library() -> None:
    code = "import sys, toolnexus_nb.rounds.chat; print(sorted({'httpx', 'mcp', 'IPython'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60).stdout == "[]\n"


def test_a_redirect_is_not_followed_but_told(endpoint: Any, wire: Any) -> None:
    endpoint.acts = [wire.Act([b"<html>"], 307, {"location": "http://elsewhere.example/v1/chat/completions?key=abcd1"})]
    with pytest.raises(APIError, match=r"redirects to http://elsewhere.example/v1/chat/completions.*base_url") as told:
        Client(endpoint.url, "m", "secret-key").complete_sync("hi")
    assert "abcd1" not in str(told.value)


def test_the_list_of_models_is_asked_for_again_and_its_errors_name_its_address(endpoint: Any, wire: Any) -> None:
    ready = wire.Act([b'{"object": "list", "data": [{"id": "a"}]}'], 200, {"content-type": "application/json"})
    endpoint.acts = [wire.error(503, "loading", {"retry-after": "0"}), ready, wire.error(404, "no such path")]
    client = Client(endpoint.url, "m")
    assert [model.id for model in client.models_sync().data] == ["a"]
    with pytest.raises(APIError, match=r"/v1/models answered 404"):
        client.models_sync()
    endpoint.acts = [wire.Act([b"<html>"])]
    with pytest.raises(APIError, match="no list of models"):
        client.models_sync()


@pytest.mark.parametrize("url", ["http://localhost:abc/v1", "http://[::1/v1"])
def test_an_address_that_is_none_is_a_setup_error(url: str) -> None:
    with pytest.raises(SetupError, match="is not an address"):
        Client(url, "m")


def test_headers_may_be_numbers_and_none_leaves_one_out(endpoint: Any, wire: Any) -> None:
    endpoint.acts = [[wire.whole("hi")]]
    Client(endpoint.url, "m", headers={"x-number": 3, "x-none": None}).complete_sync("hi")  # type: ignore[dict-item]
    assert endpoint.seen[0].headers["x-number"] == "3"
    assert "x-none" not in endpoint.seen[0].headers


def test_a_parameter_that_is_none_is_not_sent() -> None:
    body = Client("http://x/v1", "m").body("hi", params={"temperature": None, "stream_options": None}, stream=True)
    assert set(body) == {"model", "messages", "stream"}


@pytest.mark.parametrize(("name", "value"), [("HTTPS_PROXY", "nonsense://x"), ("SSL_CERT_FILE", "/no/such.pem")])
def test_an_environment_that_httpx_refuses_is_a_setup_error(
    endpoint: Any, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SetupError, match=name):
        Client(endpoint.url, "m").complete_sync("hi")


async def _both(client: Client) -> None:
    await asyncio.gather(client.complete("one"), client.complete("two"))


def test_two_first_requests_at_once_share_one_pool(endpoint: Any, wire: Any) -> None:
    endpoint.acts = [[wire.whole("hi")]]
    client = Client(endpoint.url, "m")
    asyncio.run(_both(client))
    asyncio.run(_both(client))
    assert endpoint.connections == 2

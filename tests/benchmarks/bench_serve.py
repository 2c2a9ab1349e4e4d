"""Many streams at once: this server with two rounds each on the rehearsal model, beside a bare Starlette streaming app.

    python tests/benchmarks/bench_serve.py [--streams 200] [--waves 5] [--json FILE]

Every stream asks for a sum of its own and must end with it: nothing lost, none mixed up. The bare app sends the bytes
of one such reply, chunk by chunk, and does nothing else; both run in a process of their own, asked by the same client.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass
class Wave:
    """`streams` replies at once: seconds for all, and for each until its first byte and its last."""

    seconds: float
    first: list[float]
    last: list[float]
    wrong: int
    rss_mib: float


def rss_mib(pid: int) -> float:
    """Resident memory of a process; 0 where /proc is missing."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def body_of(i: int) -> bytes:
    question = f"What is {i} plus {7 * i + 1}?"
    return json.dumps({"model": "x", "stream": True, "messages": [{"role": "user", "content": question}]}).encode()


async def one(port: int, i: int, began: float, check: Callable[[int, bytes], bool]) -> tuple[float, float, bool]:
    """One stream over a connection of its own, read to its end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = body_of(i)
    head = "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
    writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
    seen = await reader.read(65536)
    first = time.perf_counter() - began
    while piece := await reader.read(65536):
        seen += piece
    writer.close()
    return first, time.perf_counter() - began, check(i, seen)


async def wave(port: int, pid: int, streams: int, check: Callable[[int, bytes], bool]) -> Wave:
    began = time.perf_counter()
    answers = await asyncio.gather(*(one(port, i, began, check) for i in range(streams)))
    return Wave(
        seconds=time.perf_counter() - began,
        first=[answer[0] for answer in answers],
        last=[answer[1] for answer in answers],
        wrong=sum(not answer[2] for answer in answers),
        rss_mib=rss_mib(pid),
    )


def ours_is_right(i: int, seen: bytes) -> bool:
    """Complete, both rounds, the right tool's result, the right sum in the words."""
    total = str(i + 7 * i + 1)
    said = "".join(
        choice["delta"].get("content") or ""
        for line in seen.decode().splitlines()
        if line.startswith("data: {")
        for choice in json.loads(line[6:]).get("choices", ())
    )
    return b"data: [DONE]" in seen and f'"result":"{total}"'.encode() in seen and total in said


def bare_is_right(i: int, seen: bytes) -> bool:
    return b"data: [DONE]" in seen


# --- the two servers --------------------------------------------------------------------------------------------------


def serve(app: Any) -> None:
    from toolnexus_nb.serve.server import serve_here

    serve_here(app, "127.0.0.1", 0, lambda url: print(url.rpartition(":")[2], flush=True))


def serve_ours() -> None:
    import toolnexus_nb as tn
    from toolnexus_nb.serve import create_app

    @tn.tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    serve(create_app(tn.Toolkit([add]), tn.connect("rehearsal", pace=0)))


def serve_bare() -> None:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route

    events = [event + b"\n\n" for event in Path(os.environ["BENCH_REPLY"]).read_bytes().split(b"\n\n") if event]

    async def answer(request: Request) -> Response:
        await request.json()

        async def stream() -> Any:
            for event in events:
                yield event
                await asyncio.sleep(0)

        return StreamingResponse(stream(), media_type="text/event-stream")

    serve(Starlette(routes=[Route("/v1/chat/completions", answer, methods=["POST"])]))


def start(which: str, reply: Path) -> tuple[subprocess.Popen[str], int]:
    environment = {**os.environ, "BENCH_REPLY": str(reply), "TOOLNEXUS_PACE": "0"}
    process = subprocess.Popen(
        [sys.executable, __file__, "--server", which], env=environment, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def reply_of(port: int, path: Path) -> int:
    """Keep one reply of ours for the bare app; gives how many events it has."""
    import httpx

    text = httpx.post(f"http://127.0.0.1:{port}/v1/chat/completions", content=body_of(17), timeout=30).content
    path.write_bytes(text)
    return text.count(b"\n\n")


# --- the run ----------------------------------------------------------------------------------------------------------


def told(name: str, waves: list[Wave], streams: int) -> dict[str, Any]:
    """A line for the terminal and the numbers for a file. The first wave warms up and is not counted."""
    counted = waves[1:] or waves
    rate = streams * len(counted) / sum(one.seconds for one in counted)
    last = sorted(seconds for one in counted for seconds in one.last)
    first = sorted(seconds for one in counted for seconds in one.first)
    numbers = {
        "name": name,
        "streams": streams,
        "waves": len(counted),
        "replies_per_second": round(rate, 1),
        "first_byte_median_ms": round(statistics.median(first) * 1000),
        "done_median_ms": round(statistics.median(last) * 1000),
        "done_p95_ms": round(last[int(len(last) * 0.95)] * 1000),
        "wrong": sum(one.wrong for one in waves),
        "rss_mib": [round(one.rss_mib, 1) for one in waves],
    }
    print(
        f"{name:<18}{rate:>8.0f} replies/s   first byte {numbers['first_byte_median_ms']:>5} ms   "
        f"done {numbers['done_median_ms']:>5} ms (p95 {numbers['done_p95_ms']} ms)   wrong {numbers['wrong']}   "
        f"RSS {numbers['rss_mib'][0]:.0f} → {numbers['rss_mib'][-1]:.0f} MiB"
    )
    return numbers


def run(streams: int, waves: int) -> list[dict[str, Any]]:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        reply = Path(folder) / "reply.sse"
        results = []
        for which, name, check in (("ours", "toolnexus_nb", ours_is_right), ("bare", "bare Starlette", bare_is_right)):
            process, port = start(which, reply)
            try:
                if which == "ours":
                    print(f"{streams} streams at once, {waves} waves, {reply_of(port, reply)} events a reply")
                ran = [asyncio.run(wave(port, process.pid, streams, check)) for _ in range(waves)]
            finally:
                process.kill()
                process.wait()
            results.append(told(name, ran, streams))
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--waves", type=int, default=5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--server", choices=["ours", "bare"], help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.server is not None:
        serve_ours() if args.server == "ours" else serve_bare()
        return 0
    results = run(args.streams, args.waves)
    if args.json is not None:
        args.json.write_text(json.dumps([asdict(one) if isinstance(one, Wave) else one for one in results], indent=1))
    return 1 if any(one["wrong"] for one in results) else 0


if __name__ == "__main__":
    sys.exit(main())

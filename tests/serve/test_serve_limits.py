"""Bodies have a size and a time; only so many replies are made at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from toolnexus_nb.serve.asgi import ClientGone, while_connected
from toolnexus_nb.serve.limits import Gate, Limits, read_body
from toolnexus_nb.serve.problems import Problem


def read(messages: list[Any], limits: Limits, declared: bytes | None = None) -> bytes:
    scope = {"type": "http", "headers": [] if declared is None else [(b"content-length", declared)]}
    waiting = list(messages)

    async def receive() -> Any:
        if not waiting:
            await asyncio.sleep(60)
        return waiting.pop(0)

    return asyncio.run(read_body(scope, receive, limits))


def part(body: bytes, more: bool = True) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


def test_a_body_in_pieces_is_one() -> None:
    assert read([part(b"ab"), part(b"c"), part(b"", more=False)], Limits()) == b"abc"


def test_a_declared_size_is_refused_before_it_arrives() -> None:
    with pytest.raises(Problem) as caught:
        read([], Limits(body_bytes=10), declared=b"11")
    assert caught.value.status == 413


@pytest.mark.parametrize("declared", [None, b"3", b"nonsense", b"-1"])
def test_a_size_that_was_not_told_is_refused_while_it_arrives(declared: bytes | None) -> None:
    with pytest.raises(Problem) as caught:
        read([part(b"x" * 6), part(b"x" * 6)], Limits(body_bytes=10), declared)
    assert caught.value.status == 413


def test_a_body_that_does_not_arrive_is_a_408() -> None:
    with pytest.raises(Problem) as caught:
        read([part(b"x")], Limits(body_seconds=0.05))
    assert caught.value.status == 408


def test_a_client_that_goes_while_it_sends() -> None:
    with pytest.raises(ClientGone):
        read([part(b"x"), {"type": "http.disconnect"}], Limits())


def test_the_gate_lets_so_many_in_and_no_more() -> None:
    gate = Gate(1)
    with gate.enter():
        with pytest.raises(Problem) as caught, gate.enter():
            pass
        assert caught.value.status == 429 and caught.value.headers["retry-after"] == "1"
    with gate.enter():
        assert gate.inside == 1
    assert gate.inside == 0


def test_work_ends_when_its_client_is_gone() -> None:
    cleaned: list[bool] = []

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            cleaned.append(True)

    async def receive() -> Any:
        await asyncio.sleep(0.02)
        return {"type": "http.disconnect"}

    with pytest.raises(ClientGone):
        asyncio.run(while_connected(receive, work()))
    assert cleaned == [True]


def test_work_that_ends_first_gives_its_value_or_its_error() -> None:
    async def receive() -> Any:
        await asyncio.sleep(60)

    async def value() -> int:
        return 7

    async def error() -> int:
        raise ValueError("boom")

    assert asyncio.run(while_connected(receive, value())) == 7
    with pytest.raises(ValueError, match="boom"):
        asyncio.run(while_connected(receive, error()))

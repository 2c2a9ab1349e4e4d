"""An iterator of the background loop is read from another: whole, in order, bounded, cancelled with its reader."""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import AsyncIterator

import pytest

from toolnexus_nb.serve.crossing import crossing
from toolnexus_nb.tools.background import background_loop

name: contextvars.ContextVar[str] = contextvars.ContextVar("name", default="nobody")


async def numbers(count: int, pause: float = 0.0) -> AsyncIterator[int]:
    for i in range(count):
        if pause:
            await asyncio.sleep(pause)
        yield i


def test_everything_arrives_in_order_in_batches() -> None:
    async def go() -> tuple[list[int], int]:
        got: list[int] = []
        batches = 0
        async with crossing(lambda: numbers(5000)) as across:
            async for batch in across.batches():
                got += batch
                batches += 1
        return got, batches

    got, batches = asyncio.run(go())
    assert got == list(range(5000))
    assert batches < 2500


def test_many_at_once_are_not_mixed_up() -> None:
    async def one(size: int) -> int:
        total = 0
        async with crossing(lambda: numbers(size)) as across:
            async for batch in across.batches():
                total += sum(batch)
        return total

    async def go() -> list[int]:
        return list(await asyncio.gather(*(one(size) for size in range(200))))

    assert asyncio.run(go()) == [sum(range(size)) for size in range(200)]


def test_it_runs_on_the_background_loop_in_the_callers_context() -> None:
    async def where() -> AsyncIterator[tuple[bool, str]]:
        yield asyncio.get_running_loop() is background_loop(), name.get()

    async def go() -> list[tuple[bool, str]]:
        name.set("me")
        async with crossing(where) as across:
            return [item async for batch in across.batches() for item in batch]

    assert asyncio.run(go()) == [(True, "me")]


def test_an_exception_comes_after_the_items_before_it() -> None:
    async def failing() -> AsyncIterator[int]:
        yield 1
        yield 2
        raise ValueError("boom")

    async def go() -> list[int]:
        got: list[int] = []
        with pytest.raises(ValueError, match="boom"):
            async with crossing(failing) as across:
                async for batch in across.batches():
                    got += batch
        return got

    assert asyncio.run(go()) == [1, 2]


def test_a_slow_reader_holds_the_work_up() -> None:
    made = 0

    async def eager() -> AsyncIterator[int]:
        nonlocal made
        while True:
            made += 1
            yield made

    async def go() -> None:
        async with crossing(eager) as across:
            batches = across.batches()
            await anext(batches)
            await asyncio.sleep(0.2)
            first = made
            await asyncio.sleep(0.2)
            assert made == first
            assert len(await anext(batches)) <= 256
            await asyncio.sleep(0.1)
            assert made > first

    asyncio.run(go())


def test_silence_gives_an_empty_batch() -> None:
    async def go() -> list[list[int]]:
        async with crossing(lambda: numbers(1, pause=0.25)) as across:
            return [batch async for batch in across.batches(heartbeat=0.1)]

    batches = asyncio.run(go())
    assert batches[-1] == [0]
    assert batches[:-1] == [[]] * len(batches[:-1]) and len(batches) >= 2


def test_leaving_cancels_the_work_and_waits_for_its_clean_up() -> None:
    cleaned = False

    async def endless() -> AsyncIterator[int]:
        nonlocal cleaned
        try:
            yield 1
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.05)
            cleaned = True

    async def go() -> float:
        async with crossing(endless) as across:
            assert await anext(across.batches()) == [1]
        began = time.perf_counter()
        return time.perf_counter() - began

    asyncio.run(go())
    assert cleaned


def test_work_that_will_not_end_is_left_after_a_moment() -> None:
    async def stubborn() -> AsyncIterator[int]:
        yield 1
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            try:
                await asyncio.sleep(0.1)
            except asyncio.CancelledError:
                continue

    async def go() -> float:
        began = time.perf_counter()
        async with crossing(stubborn) as across:
            await anext(across.batches())
        return time.perf_counter() - began

    assert asyncio.run(go()) < 1.0

"""The benchmark compares like with like; its times are printed, never tested, since a busy machine has its own."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

PATH = Path(__file__).parents[1] / "benchmarks" / "bench_wire_stream.py"


@pytest.fixture(scope="module")
def bench() -> Any:
    """The benchmark as a module."""
    spec = importlib.util.spec_from_file_location("bench_wire_stream", PATH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_as_many_chunks_and_the_same_message_as_the_openai_package(bench: Any) -> None:
    pytest.importorskip("openai")
    pieces = bench.events(300)
    _, seen, message = bench.measure(bench.ours_async, pieces, 1)
    _, their_count, their_message = bench.measure(bench.sdk_stream, pieces, 1)
    assert (seen, message) == (their_count, their_message)

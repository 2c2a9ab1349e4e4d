"""Two hundred streams at once, two rounds each, in a server of its own: none lost, none mixed up, memory flat."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def bench() -> Any:
    path = Path(__file__).parent.parent / "benchmarks" / "bench_serve.py"
    spec = importlib.util.spec_from_file_location("bench_serve", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench_serve"] = module
    spec.loader.exec_module(module)
    return module


def test_two_hundred_streams_are_all_answered_and_nothing_piles_up(bench: Any) -> None:
    ours, bare = bench.run(streams=200, waves=2)
    assert ours["wrong"] == 0
    assert bare["wrong"] == 0
    if ours["rss_mib"][0]:
        assert ours["rss_mib"][-1] - ours["rss_mib"][0] < 20

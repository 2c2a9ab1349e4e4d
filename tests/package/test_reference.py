"""The reference page is made from the code, and is today's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_reference_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / ".ci" / "build_reference.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr

"""Write toolnexus_nb/__init__.pyi, what the front door offers lazily, for editors and type checkers."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import toolnexus_nb as tn

STUB = Path(tn.__file__).with_suffix(".pyi")


def stub() -> str:
    homes: dict[str, list[str]] = defaultdict(list)
    for name, module in tn._NAMES.items():
        homes[module].append(name)
    lines = [
        "# Made by `python .ci/build_stub.py` from the table of names in __init__.py; do not edit.",
        "from typing import Any",
        "",
    ]
    floors = ("checks", "models", "notebook", "openai", "rounds", "serve", "tools")
    lines += [f"from . import {floor} as {floor}" for floor in floors]
    for module in sorted(homes):
        lines += [f"from .{module} import {name} as {name}" for name in sorted(homes[module])]
    lines += ["", "__version__: str", ""]
    lines += [f"def {verb}_ipython_extension(shell: Any) -> None: ..." for verb in ("load", "unload")]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")

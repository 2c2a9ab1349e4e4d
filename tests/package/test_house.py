"""The house keeps its floors apart, and opening the front door costs little."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import toolnexus_nb as tn

PACKAGE = Path(tn.__file__).parent
FLOORS = {name: height for height, name in enumerate(("openai", "tools", "rounds", "models", "serve", "notebook"))}
SOURCES = sorted(PACKAGE.rglob("*.py"))


def _inner_imports(path: Path) -> list[tuple[int, str]]:
    """(line, module below toolnexus_nb) for each import of the package itself."""
    inside = path.relative_to(PACKAGE).parts[:-1]
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            if node.level:
                base = inside[: len(inside) - node.level + 1]
                names = [node.module] if node.module else [alias.name for alias in node.names]
                found += [(node.lineno, ".".join([*base, str(name)])) for name in names]
            elif (node.module or "").split(".")[0] == "toolnexus_nb":
                tail = (node.module or "").split(".")[1:]
                found += [(node.lineno, ".".join(tail) or alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [(node.lineno, a.name.split(".", 1)[1]) for a in node.names if a.name.startswith("toolnexus_nb.")]
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_down_only(path: Path) -> None:
    floor = path.relative_to(PACKAGE).parts[0]
    if floor not in FLOORS:
        pytest.skip("above all floors")
    wrong = [
        f"line {line}: {module}"
        for line, module in _inner_imports(path)
        if (top := module.split(".")[0]) != floor and FLOORS.get(top, -1) >= FLOORS[floor]
    ]
    assert not wrong


def _loaded_by(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nimport json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    ("statement", "forbidden"),
    [
        ("import toolnexus_nb", {"pydantic", "httpx", "mcp", "IPython", "ipywidgets", "griffe", "starlette"}),
        ("import toolnexus_nb.openai", {"httpx", "mcp", "IPython", "ipywidgets", "griffe", "starlette", "jsonschema"}),
        (
            "import toolnexus_nb as tn; tn.Toolkit, tn.tool, tn.Chat, tn.connect('rehearsal')",
            {"httpx", "mcp", "ipywidgets", "starlette"},
        ),
    ],
)
def test_a_door_loads_only_its_own_rooms(statement: str, forbidden: set[str]) -> None:
    assert not forbidden & _loaded_by(statement)


def test_every_public_name_can_be_used() -> None:
    for name in tn.__all__:
        assert getattr(tn, name) is not None
    assert set(tn.__all__) <= set(dir(tn))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        tn.no_such_name


def test_no_file_holds_more_than_one_room() -> None:
    lengths = {str(path.relative_to(PACKAGE)): path.read_text(encoding="utf-8").count("\n") for path in SOURCES}
    assert not {name: lines for name, lines in lengths.items() if lines > 520}


def test_the_stub_names_what_the_front_door_offers() -> None:
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    told = {
        alias.asname: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom) and node.level and node.module
        for alias in node.names
    }
    assert told == tn._NAMES

"""Build a JupyterLite site that holds everything it needs: no CDN, no server but static files.

    python .ci/build_lite.py PYODIDE_FOLDER OUT

PYODIDE_FOLDER is the npm package `pyodide` (the runtime without Python packages); the pure wheels its lock names come
from PyPI, and so does the WebAssembly build of pydantic-core. Needs jupyterlite-core, jupyterlite-pyodide-kernel and
hatchling.

What cannot be had this way: `jsonschema` needs `rpds-py`, whose WebAssembly build is only on Pyodide's own CDN. So the
notebooks of the site install without it; hand-written schemas are the one thing that does not work here.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import nbformat

ROOT = Path(__file__).parents[1]
RUNTIME = (
    "pyodide.mjs",
    "pyodide.js",
    "pyodide.asm.mjs",
    "pyodide.asm.wasm",
    "python_stdlib.zip",
    "pyodide-lock.json",
    "package.json",
)
KERNEL_NEEDS = ("micropip", "packaging", "ipython", "traitlets", "pydantic", "typing-extensions", "tzdata")
WITH_PYDANTIC = ("typing-extensions", "typing-inspection", "annotated-types")  # the newest, as pydantic is
WE_NEED = (
    "ipywidgets",
    "anywidget",
    "psygnal",
    "jupyterlab-widgets",
    "widgetsnbextension",
    "griffelib",
    "markdown-it-py",
    "mdurl",
    "comm",
)
INSTALL = f"""\
import piplite
await piplite.install({["toolnexus-nb", *WE_NEED]!r}, deps=False)
await piplite.install("pydantic")"""
NOTEBOOKS = ("01_first_tool", "02_what_the_model_sees", "04_parallel_and_chained")

PURE = ["--platform", "any", "--python-version", "314", "--implementation", "py", "--abi", "none"]
WASM = [
    "--platform",
    "pyemscripten_2026_0_wasm32",
    "--python-version",
    "314",
    "--implementation",
    "cp",
    "--abi",
    "cp314",
    "--abi",
    "abi3",
]


def download(requirement: str, target: list[str], folder: Path) -> Path | None:
    """The wheel of a requirement for a platform, or None where PyPI has none."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--only-binary",
            ":all:",
            "-d",
            folder,
            *target,
            requirement,
        ],
        capture_output=True,
        check=False,
    )
    return next(folder.glob("*.whl"), None)


def closure(lock: dict[str, Any], names: tuple[str, ...]) -> list[str]:
    """The locked packages that these need, themselves included."""
    found: list[str] = []
    todo = list(names)
    while todo:
        name = todo.pop().replace("_", "-").lower()
        if name not in found and name in lock["packages"]:
            found.append(name)
            todo += lock["packages"][name]["depends"]
    return found


def pinned_core(pydantic: Path) -> str:
    """The version of pydantic-core that a pydantic wheel insists on."""
    with zipfile.ZipFile(pydantic) as wheel:
        metadata = wheel.read(next(n for n in wheel.namelist() if n.endswith("METADATA"))).decode()
    return next(
        line.split("==")[1] for line in metadata.splitlines() if line.startswith("Requires-Dist: pydantic-core==")
    )


def put(entry: dict[str, Any], wheel: Path, folder: Path) -> None:
    """Make the lock's entry name this wheel."""
    shutil.copy(wheel, folder / wheel.name)
    entry.update(
        file_name=wheel.name, version=wheel.name.split("-")[1], sha256=hashlib.sha256(wheel.read_bytes()).hexdigest()
    )


def fill_runtime(pyodide: Path, out: Path) -> None:
    """Copy the runtime and complete it with the wheels its lock names."""
    target = out / "static" / "pyodide"
    target.mkdir(parents=True)
    for name in RUNTIME:
        shutil.copy(pyodide / name, target / name)
    lock = json.loads((target / "pyodide-lock.json").read_text())
    missing = []
    for name in closure(lock, KERNEL_NEEDS):
        entry = lock["packages"][name]
        if name in ("pydantic", "pydantic-core"):
            continue
        version = "" if name in WITH_PYDANTIC else f"=={entry['version']}"
        wheel = download(entry["name"] + version, PURE, out / "wheels" / name)
        if wheel:
            put(entry, wheel, target)
        else:
            missing.append(name)
    pydantic = download("pydantic", PURE, out / "wheels" / "pydantic")
    core = pydantic and download(f"pydantic-core=={pinned_core(pydantic)}", WASM, out / "wheels" / "pydantic-core")
    if not pydantic or not core:
        sys.exit("PyPI has no WebAssembly build of pydantic-core that fits the newest pydantic")
    put(lock["packages"]["pydantic"], pydantic, target)
    put(lock["packages"]["pydantic-core"], core, target)
    (target / "pyodide-lock.json").write_text(json.dumps(lock))
    if missing:
        print("not on PyPI, so not in the site:", ", ".join(missing))


def write_contents(folder: Path) -> None:
    """The notebooks that work here, each with a first cell that installs the package from the site itself."""
    folder.mkdir()
    for name in NOTEBOOKS:
        notebook = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
        notebook.cells.insert(0, nbformat.v4.new_code_cell(INSTALL, id="install"))
        notebook.metadata["kernelspec"] = {"name": "python", "display_name": "Python (Pyodide)", "language": "python"}
        nbformat.write(notebook, folder / f"{name}.ipynb")


def main(pyodide: Path, out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    fill_runtime(pyodide, out)
    wheels = out / "wheels" / "ours"
    wheels.mkdir(parents=True)
    subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", wheels, ROOT], check=True)
    for name in WE_NEED:
        wheel = download(name, PURE, out / "wheels" / name)
        if wheel is None:
            sys.exit(f"PyPI has no pure wheel of {name}")
        shutil.copy(wheel, wheels)
    write_contents(out / "content")
    command = [
        sys.executable,
        "-m",
        "jupyter",
        "lite",
        "build",
        "--lite-dir",
        out,
        "--output-dir",
        out / "site",
        "--contents",
        out / "content",
    ]
    for wheel in sorted(wheels.glob("*.whl")):
        command += ["--piplite-wheels", wheel]
    done = subprocess.run(command, cwd=out, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"jupyter lite build failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    print("site:", out / "site")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())

"""`python -m toolnexus_nb demo`: the first notebook, run on the built-in model and printed, or opened in JupyterLab."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

NOTEBOOK = "01_first_tool.ipynb"
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_INSTALL = "pip install 'toolnexus-nb[lab]'"


def notebook_path() -> Path:
    """The first notebook: inside the installed package, or beside it in a source tree. Raises FileNotFoundError."""
    here = Path(__file__).resolve().parent
    for path in (here / "notebooks" / NOTEBOOK, here.parent / "notebooks" / NOTEBOOK):
        if path.is_file():
            return path
    raise FileNotFoundError(f"{NOTEBOOK} is missing from this installation")


def print_demo() -> int:
    """Run the notebook in a fresh kernel and print cells and outputs as they finish; gives the exit status."""
    if not _installed("nbclient", "ipykernel"):
        return 1
    try:
        good = asyncio.run(_run(notebook_path()))
    except FileNotFoundError as error:
        print(f"toolnexus-nb: {error}", file=sys.stderr)
        return 1
    _say("")
    if good:
        _say("That was a notebook, run with no key and no network.")
        _say(f"To open it and play:  {_this_python()} -m toolnexus_nb demo --lab")
    return 0 if good else 1


def _this_python() -> str:
    """The running interpreter as one would type it here: below this folder relative to it, else `python` if that is it.

    `sys.executable` and not what it links to: a virtual environment is known by that name.
    """
    here, python = Path.cwd(), Path(sys.executable)
    if python.is_relative_to(here):
        return shlex.quote(str(python.relative_to(here)))
    for name in ("python", "python3"):
        found = shutil.which(name)
        if found is not None and Path(found) == python:
            return name
    return shlex.quote(str(python))


def open_in_lab(options: Sequence[str] = ()) -> int:
    """Open JupyterLab on the first notebook, with these options for it; gives its exit status.

    Inside a source tree that is the notebook itself; elsewhere a copy in this folder, where an earlier copy is kept.
    """
    if not _installed("jupyterlab", "ipykernel"):
        return 1
    try:
        notebook = _notebook_to_open()
    except FileNotFoundError as error:
        print(f"toolnexus-nb: {error}", file=sys.stderr)
        return 1
    # As root, which is what one is in a container, JupyterLab starts only when told to.
    root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    return subprocess.call([sys.executable, "-m", "jupyterlab", *root, *options, str(notebook)])


def _notebook_to_open() -> Path:
    """The notebook to work in, and a line that says where it is."""
    source = notebook_path()
    tree = Path(__file__).resolve().parent.parent
    if source.parent == tree / "notebooks" and Path.cwd().resolve().is_relative_to(tree):
        print(f"opening {source}")
        return source
    folder = Path.cwd() if os.access(Path.cwd(), os.W_OK) else Path(tempfile.mkdtemp(prefix="toolnexus-"))
    copy = folder / NOTEBOOK
    if copy.exists():
        print(f"opening {copy}, which is there already")
    else:
        shutil.copyfile(source, copy)
        print(f"opening {copy}, a copy that is yours to change")
    return copy


def _installed(*modules: str) -> bool:
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        print(f"toolnexus-nb: the demo needs {' and '.join(missing)}: {_INSTALL}", file=sys.stderr)
    return not missing


async def _run(path: Path) -> bool:
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, DeadKernelError

    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory(prefix="toolnexus-") as folder:
        environment = {**os.environ, "TOOLNEXUS_PACE": "0", "PYTHONUNBUFFERED": "1"}
        client = NotebookClient(
            notebook, km=_kernel(Path(folder)), timeout=120, resources={"metadata": {"path": folder}}
        )
        async with client.async_setup_kernel(env=environment, cleanup_kc=True):
            for index, cell in enumerate(notebook.cells):
                if cell.cell_type != "code":
                    _print_text(cell.source)
                    continue
                try:
                    await client.async_execute_cell(cell, index)
                except (CellExecutionError, DeadKernelError):
                    _print_code(cell)
                    return False
                _print_code(cell)
    return True


def _kernel(folder: Path) -> Any:
    """A kernel of this very Python, whatever kernels are registered on the machine."""
    from jupyter_client import AsyncKernelManager
    from jupyter_client.kernelspec import KernelSpecManager

    spec = {
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=40"],
        "display_name": "toolnexus_nb demo",
        "language": "python",
    }
    (folder / "kernels" / "demo").mkdir(parents=True)
    (folder / "kernels" / "demo" / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
    specs = KernelSpecManager(kernel_dirs=[str(folder / "kernels")], ensure_native_kernel=False)
    return AsyncKernelManager(kernel_name="demo", kernel_spec_manager=specs)


# --- the transcript --------------------------------------------------------------------------------------------------


def _print_text(source: str) -> None:
    """Markdown, wrapped for the terminal; headings stand out, code blocks stay as they are."""
    fenced = False
    for block in source.split("\n"):
        if block.startswith("```"):
            fenced = not fenced
        elif fenced or not block.strip():
            _say(f"    {block}" if fenced else "")
        elif block.startswith("#"):
            _say(f"\n{_styled(block.lstrip('# '), '1')}")
        else:
            lead = re.match(r"\s*(?:[-*] |\d+\. )?", block)
            indent = " " * len(lead.group()) if lead else ""
            _say(textwrap.fill(_plain(block), _width(), subsequent_indent=indent))
    _say("")


def _print_code(cell: Any) -> None:
    for i, line in enumerate(cell.source.split("\n")):
        mark = f"In [{cell.execution_count or ' '}]" if i == 0 else ""
        _say(f"{_styled(mark.ljust(8), '36')}{line}".rstrip())
    shown = "\n".join(text for output in cell.outputs if (text := _output_text(output)))
    for line in shown.split("\n") if shown else ():
        _say(_styled("  │ ", "2") + line)
    _say("")


def _output_text(output: Any) -> str:
    if output.output_type == "stream":
        return _ANSI.sub("", output.text).rstrip("\n")
    if output.output_type == "error":
        return _ANSI.sub("", "\n".join(output.traceback))
    return str(output.data.get("text/plain", "")).rstrip("\n")


def _plain(text: str) -> str:
    """Markdown's marks for emphasis and links taken away."""
    text = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", text)
    return re.sub(r"\*\*([^*]+)\*\*|(?<!\w)\*([^*]+)\*(?!\w)", lambda match: match.group(1) or match.group(2), text)


def _styled(text: str, code: str) -> str:
    plain = not sys.stdout.isatty() or os.environ.get("NO_COLOR") or not text.strip()
    return text if plain else f"\x1b[{code}m{text}\x1b[0m"


def _width() -> int:
    return max(40, min(100, shutil.get_terminal_size().columns))


def _say(text: str) -> None:
    """Print; a terminal that cannot show a character gets a question mark for it."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "replace").decode(encoding), flush=True)

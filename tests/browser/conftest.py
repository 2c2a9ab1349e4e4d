"""A real JupyterLab in Debian's Chromium: one server and one browser for each test worker, in folders of their own.

    def test_something(lab):
        page = lab.open("%load_ext toolnexus_nb", "%%toolnexus ask\\nhi")
        page.run(0)
        page.wait_text(1, "done")

Tests here carry `pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]`, so that xdist keeps them on
one worker. Without Chromium they skip with the line that installs it (see the `require` fixture).
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
KERNEL = {
    "kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"},
    "language_info": {"name": "python"},
}
_NOTIFICATIONS = "@jupyterlab/apputils-extension/notification"
_THEMES = "@jupyterlab/apputils-extension/themes"


class JupyterServer:
    """`jupyter lab` (or `notebook`) on 127.0.0.1 with no token, its settings and runtime in a folder of its own."""

    def __init__(self, folder: Path, app: str = "lab", env: Mapping[str, str] | None = None) -> None:
        self.notebooks = folder / "notebooks"
        self.notebooks.mkdir(parents=True)
        self._settings = folder / "user-settings"
        self._log = folder / "server.log"
        self._set(_NOTIFICATIONS, {"fetchNews": "false", "checkForUpdates": False})
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.base = f"http://127.0.0.1:{port}"
        places = {
            "JUPYTER_CONFIG_DIR": "config",
            "JUPYTER_DATA_DIR": "data",
            "JUPYTER_RUNTIME_DIR": "run",
            "IPYTHONDIR": "ipython",
            "JUPYTERLAB_SETTINGS_DIR": "user-settings",
            "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        }
        environment = {**os.environ, **{name: str(folder / place) for name, place in places.items()}, **(env or {})}
        for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"):
            environment.pop(name, None)
        command = [sys.executable, "-m", "jupyter", app, "--allow-root", "--no-browser", "--ip=127.0.0.1"]
        command += [
            f"--port={port}",
            "--ServerApp.port_retries=0",
            "--IdentityProvider.token=",
            "--ServerApp.password=",
        ]
        command += [f"--ServerApp.root_dir={self.notebooks}", "--LabApp.extension_manager=readonly"]
        command += ["--ServerApp.disable_check_xsrf=True"]  # kernels are ended through the API between tests
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=self.notebooks)
        self._wait_up()

    def _set(self, plugin: str, values: Mapping[str, Any]) -> None:
        file = self._settings / f"{plugin}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))

    def theme(self, name: str) -> None:
        """The theme of pages that are opened from now on: "JupyterLab Light" or "JupyterLab Dark"."""
        self._set(_THEMES, {"theme": name})

    def write(self, *cells: str) -> Path:
        """A new notebook file with these code cells."""
        import nbformat

        path = self.notebooks / f"n{len(list(self.notebooks.iterdir())) + 1}.ipynb"
        made = nbformat.v4.new_notebook(metadata=KERNEL, cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        nbformat.write(made, path)
        return path

    def _wait_up(self, seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and self._process.poll() is None:
            try:
                urllib.request.urlopen(self.base + "/api", timeout=2).close()
            except urllib.error.HTTPError:
                return
            except OSError:
                time.sleep(0.1)
            else:
                return
        raise RuntimeError("the Jupyter server did not come up:\n" + self._log.read_text()[-3000:])

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class LabPage:
    """A notebook open in JupyterLab. Cells are counted from 0; `.page` is Playwright's."""

    def __init__(self, page: Any, path: Path) -> None:
        self.page = page
        self.path = path
        self.problems: list[str] = []
        page.on("pageerror", lambda error: self.problems.append(str(error)))

    def cell(self, index: int) -> Any:
        return self.page.locator(".jp-Notebook .jp-Cell").nth(index)

    def output(self, index: int) -> Any:
        """The output area of a cell: its source holds the same words."""
        return self.cell(index).locator(".jp-OutputArea")

    def run(self, index: int) -> None:
        """Run one cell; does not wait for its end."""
        self.cell(index).locator(".jp-InputArea-prompt").first.click()
        self.page.keyboard.press("Shift+Enter")

    def run_all(self) -> None:
        self.page.evaluate("document.querySelector('.jp-Notebook').focus()")
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_text("Run All Cells", exact=True).click()

    def done(self, index: int, timeout: float = 30_000) -> None:
        """Wait until the cell has ended: its prompt shows a number."""
        self.page.wait_for_function(
            "i => /\\[\\d+\\]/.test(document.querySelectorAll('.jp-Notebook .jp-Cell')[i]"
            ".querySelector('.jp-InputArea-prompt').innerText)",
            arg=index,
            timeout=timeout,
        )

    def run_and_wait(self, index: int, timeout: float = 30_000) -> None:
        self.run(index)
        self.done(index, timeout)

    def wait_text(self, index: int, text: str, timeout: float = 30_000) -> None:
        """Wait until a cell's output holds the text."""
        self.page.wait_for_function(
            "([i, text]) => [...document.querySelectorAll('.jp-Notebook .jp-Cell')[i]"
            ".querySelectorAll('.jp-OutputArea')].some(o => o.textContent.includes(text))",
            arg=[index, text],
            timeout=timeout,
        )

    def text(self, index: int) -> str:
        return "\n".join(self.output(index).all_inner_texts())

    def stop_button(self) -> Any:
        return self.page.locator('[data-command="notebook:interrupt-kernel"]').first

    def save(self) -> dict[str, Any]:
        """Save as a person does, and give the file."""
        before = self.path.stat().st_mtime_ns
        self.page.keyboard.press("Control+s")
        end = time.monotonic() + 10
        while self.path.stat().st_mtime_ns == before and time.monotonic() < end:
            self.page.wait_for_timeout(50)
        return dict(json.loads(self.path.read_text()))


class Lab:
    """Opens notebooks in one browser against one server; closes the pages it has opened."""

    def __init__(self, server: JupyterServer, browser: Any) -> None:
        self.server = server
        self._browser = browser
        self._contexts: list[Any] = []

    def open(
        self, *cells: str, path: Path | None = None, dark: bool = False, width: int = 1280, height: int = 900
    ) -> LabPage:
        """Open a notebook with these cells (or the file at `path`) and wait until its kernel is idle."""
        self.server.theme("JupyterLab Dark" if dark else "JupyterLab Light")
        path = path or self.server.write(*cells)
        context = self._browser.new_context(viewport={"width": width, "height": height})
        self._contexts.append(context)
        page = context.new_page()
        page.goto(f"{self.server.base}/lab/tree/{path.name}?reset", wait_until="domcontentloaded")
        page.wait_for_selector(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook .jp-Cell", timeout=60_000)
        page.get_by_text("| Idle", exact=False).first.wait_for(timeout=60_000)
        return LabPage(page, path)

    def close(self) -> None:
        for context in self._contexts:
            context.close()
        for name in ("sessions", "kernels"):  # kernels of closed pages would go on
            with urllib.request.urlopen(f"{self.server.base}/api/{name}") as reply:
                for each in json.loads(reply.read()):
                    self._delete(f"{self.server.base}/api/{name}/{each['id']}")

    @staticmethod
    def _delete(url: str) -> None:
        try:
            urllib.request.urlopen(urllib.request.Request(url, method="DELETE")).close()
        except urllib.error.HTTPError as gone:
            if gone.code != 404:  # its session took it along
                raise


@pytest.fixture(scope="session")
def chromium(require) -> Iterator[Any]:
    """Debian's Chromium, driven by Playwright."""
    executable = require("browser")
    sync_api = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(executable), headless=True, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def lab_server(tmp_path_factory: pytest.TempPathFactory, require) -> Iterator[JupyterServer]:
    """One JupyterLab for each worker. The rehearsal model streams at a human pace in it, as a person would see it."""
    require("browser")
    folder = tmp_path_factory.mktemp("lab")
    server = JupyterServer(folder, env={"TOOLNEXUS_PACE": "1"})
    yield server
    server.stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def notebook7_server(tmp_path: Path, require) -> Iterator[JupyterServer]:
    """Jupyter Notebook 7, for the tests that need it."""
    require("browser")
    server = JupyterServer(tmp_path / "notebook7", app="notebook", env={"TOOLNEXUS_PACE": "1"})
    yield server
    server.stop()


@pytest.fixture
def lab(lab_server: JupyterServer, chromium: Any) -> Iterator[Lab]:
    """Opens notebooks; closes pages and kernels after the test."""
    made = Lab(lab_server, chromium)
    yield made
    made.close()

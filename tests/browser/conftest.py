"""A real JupyterLab in Debian's Chromium: one server and one browser for each test worker, in folders of their own.

    def test_something(lab):
        page = lab.open("%load_ext toolnexus_nb", "%%toolnexus ask\\nhi")
        page.run(0)
        page.wait_text(1, "done")

One JupyterLab page serves the tests one after the other: `open` puts a new notebook into it, on a kernel of its own
that was started while the test before ran. `open(..., fresh=True)` loads JupyterLab anew.

TOOLNEXUS_BROWSER_PYTHON names the Python whose Jupyter and kernel are tried (this one, unless set): the same tests for
Binder's JupyterLab, for an older ipykernel.

Tests here carry `pytestmark = pytest.mark.browser`. Without Chromium they skip with the line that installs it (see the
`require` fixture).
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
from concurrent.futures import Future, ThreadPoolExecutor
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
_PYTHON = os.environ.get("TOOLNEXUS_BROWSER_PYTHON") or sys.executable
_APPS = {"lab": "jupyterlab", "notebook": "notebook"}
_CLASSES = {"lab": "LabApp", "notebook": "JupyterNotebookApp"}
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
        command = [_PYTHON, "-m", _APPS[app], "--allow-root", "--no-browser", "--ip=127.0.0.1"]
        command += [
            f"--port={port}",
            "--ServerApp.port_retries=0",
            "--IdentityProvider.token=",
            "--ServerApp.password=",
        ]
        command += [f"--ServerApp.root_dir={self.notebooks}", "--LabApp.extension_manager=readonly"]
        command += [
            f"--{_CLASSES[app]}.expose_app_in_browser=True"
        ]  # notebooks are opened in a page that is already there
        command += ["--ServerApp.disable_check_xsrf=True"]  # kernels are ended through the API between tests
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=self.notebooks)
        self._background = ThreadPoolExecutor(1)
        self._spare: Future[Any] | None = None
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

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """One request to the server's API; None for an empty reply and for what is not there (any more)."""
        data = json.dumps(body).encode() if body is not None else None
        asked = urllib.request.Request(f"{self.base}/api/{path}", data, method=method)
        try:
            with urllib.request.urlopen(asked, timeout=60) as reply:
                return json.loads(reply.read() or "null")
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise

    def spare_kernel(self) -> None:
        """Start a kernel for the notebook that is opened next, while something else goes on."""
        if self._spare is None:
            self._spare = self._background.submit(self.ask, "POST", "kernels", {"name": "python3"})

    def give_kernel(self, notebook: str) -> str:
        """Connect the spare kernel to a notebook that is about to be opened; gives its id."""
        self.spare_kernel()
        assert self._spare is not None
        kernel, self._spare = self._spare.result(), None
        about = {"path": notebook, "name": notebook, "type": "notebook", "kernel": {"id": kernel["id"]}}
        self.ask("POST", "sessions", about)
        return str(kernel["id"])

    def end_kernels(self) -> None:
        """End every kernel but the spare one."""
        spare = self._spare.result()["id"] if self._spare is not None else None
        for session in self.ask("GET", "sessions"):
            self.ask("DELETE", f"sessions/{session['id']}")
        for kernel in self.ask("GET", "kernels"):
            if kernel["id"] != spare:
                self.ask("DELETE", f"kernels/{kernel['id']}")

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
        self._background.shutdown()
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
        page.on("pageerror", self._hear)

    def _hear(self, error: Any) -> None:
        """Keep errors of the page, but not those that JupyterLab makes all by itself."""
        places = [line for line in str(error.stack).splitlines() if "://" in line or "blob:" in line]
        if not places or not all("/static/lab/" in line for line in places):
            self.problems.append(f"{error}\n{error.stack}")

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
        while time.monotonic() < end:
            self.page.wait_for_timeout(50)
            text = self.path.read_text()
            if self.path.stat().st_mtime_ns != before and text.endswith("}\n"):  # not while it is being written
                break
        return dict(json.loads(self.path.read_text()))


class Lab:
    """Opens notebooks in one browser against one server. One page is kept and used again; `end_test` tidies it."""

    def __init__(self, server: JupyterServer, browser: Any) -> None:
        self.server = server
        self._browser = browser
        self._kept: Any = None
        self._others: list[Any] = []

    def open(
        self,
        *cells: str,
        path: Path | None = None,
        dark: bool = False,
        width: int = 1280,
        height: int = 900,
        fresh: bool = False,
    ) -> LabPage:
        """Open a notebook with these cells (or the file at `path`) on a kernel of its own and wait until it is ready.

        fresh   load JupyterLab anew in a browser context of its own: nothing is left of the pages before, and the test
                may go elsewhere with it
        """
        path = path or self.server.write(*cells)
        theme = "JupyterLab Dark" if dark else "JupyterLab Light"
        for session in self.server.ask("GET", "sessions"):
            if session["path"] == path.name:  # a page that is read again has no memory of its kernel
                self.server.ask("DELETE", f"sessions/{session['id']}")
        self.server.give_kernel(path.name)
        page = self._page(theme, fresh)
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate(_OPEN, [path.name, theme])
        self.server.spare_kernel()
        return LabPage(page, path)

    def _page(self, theme: str, fresh: bool) -> Any:
        if self._kept is not None and not fresh:
            return self._kept
        self.server.theme(theme)
        context = self._browser.new_context()
        page = context.new_page()
        page.goto(f"{self.server.base}/lab?reset", wait_until="domcontentloaded")
        page.wait_for_function("() => window.jupyterapp?.shell?.isAttached", timeout=60_000)
        if fresh:
            self._others.append(context)
        else:
            self._kept = page
        return page

    def end_test(self) -> None:
        for context in self._others:
            context.close()
        self._others.clear()
        if self._kept is not None:
            self._kept.evaluate("for (const w of [...jupyterapp.shell.widgets('main')]) w.dispose()")
        self.server.end_kernels()


_OPEN = """async ([path, theme]) => {
    const app = window.jupyterapp;
    await app.restored;
    await app.commands.execute('apputils:change-theme', {theme});
    app.shell.collapseLeft();  // the file browser leaves no room on narrow pages
    for (const w of [...app.shell.widgets('main')]) w.dispose();
    const widget = await app.commands.execute('docmanager:open', {path, factory: 'Notebook'});
    await widget.context.ready;
    await widget.revealed;
    await widget.sessionContext.ready;
    await widget.sessionContext.session.kernel.info;
}"""


@pytest.fixture(scope="module")
def chromium(require) -> Iterator[Any]:
    """Debian's Chromium, driven by Playwright, whose loop runs in this thread: no other test's may, so it ends here."""
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


@pytest.fixture(scope="session")
def notebook7_server(tmp_path_factory: pytest.TempPathFactory, require) -> Iterator[JupyterServer]:
    """Jupyter Notebook 7, for the tests that need it."""
    require("browser")
    folder = tmp_path_factory.mktemp("notebook7")
    server = JupyterServer(folder, app="notebook", env={"TOOLNEXUS_PACE": "1"})
    yield server
    server.stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def lab_browser(lab_server: JupyterServer, chromium: Any) -> Lab:
    return Lab(lab_server, chromium)


@pytest.fixture
def lab(lab_browser: Lab) -> Iterator[Lab]:
    """Opens notebooks; closes them and their kernels after the test."""
    yield lab_browser
    lab_browser.end_test()

"""The first notebooks run in the browser alone: JupyterLite on Pyodide, with every address but 127.0.0.1 blocked.

The site is built by `.ci/build_lite.py`; TOOLNEXUS_LITE names its folder.
"""

from __future__ import annotations

import functools
import http.server
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
SITE = os.environ.get("TOOLNEXUS_LITE", "")
MISSING = "no JupyterLite site: python .ci/build_lite.py PYODIDE_FOLDER OUT, then TOOLNEXUS_LITE=OUT/site"


class _Files(http.server.SimpleHTTPRequestHandler):
    extensions_map = {
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".wasm": "application/wasm",
        ".mjs": "text/javascript",
        ".whl": "application/octet-stream",
    }

    def log_message(self, *args: Any) -> None:
        pass  # a test's output is no place for requests


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    if not (Path(SITE) / "lab" / "index.html").is_file():
        if "lite" in os.environ.get("TOOLNEXUS_REQUIRE", ""):
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Files, directory=SITE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.mark.parametrize("name", ["01_first_tool", "02_what_the_model_sees", "04_parallel_and_chained"])
def test_a_notebook_runs_in_the_browser_alone(site: str, chromium: Any, name: str) -> None:
    context = chromium.new_context(viewport={"width": 1200, "height": 900})
    context.route("**/*", lambda route: route.continue_() if "//127.0.0.1" in route.request.url else route.abort())
    page = context.new_page()
    try:
        page.goto(f"{site}/lab/index.html?path={name}.ipynb", wait_until="domcontentloaded")
        page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=90_000)
        page.get_by_text("| Idle").first.wait_for(timeout=90_000)
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_text("Run All Cells", exact=True).click()
        last = page.locator(".jp-Notebook .jp-CodeCell").last
        last.locator(".jp-OutputArea-output").wait_for(timeout=120_000)
        errors = page.locator('.jp-OutputArea-output[data-mime-type*="stderr"]').all_inner_texts()
        assert not [text for text in errors if "Error" in text], errors
        assert "✓" in last.locator(".jp-OutputArea").inner_text()
    finally:
        context.close()

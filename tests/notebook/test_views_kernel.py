"""The views in a real kernel: live until the next cell, then static; no comm and no widget is left behind.

The page's side is played here: what JupyterLab sends along with a cell, and what its widgets answer.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jupyter_client")
pytest.importorskip("ipykernel")

WIDGET = "application/vnd.jupyter.widget-view+json"
WEATHER = '''%%toolnexus
def get_weather(city: str) -> str:
    """Current weather for a city.

    Args:
        city: Name of the city.
    """
    return f"sunny in {city}"
'''


@dataclass
class Ran:
    """What a cell sent: `shown` and `updated` are mimebundles by display id."""

    shown: dict[str, dict[str, Any]] = field(default_factory=dict)
    updated: dict[str, dict[str, Any]] = field(default_factory=dict)
    plain: list[dict[str, Any]] = field(default_factory=list)
    text: str = ""
    errors: list[str] = field(default_factory=list)


class Page:
    """A kernel and the front end that talks to it."""

    def __init__(self, folder: Path) -> None:
        from jupyter_client.manager import start_new_kernel

        self._manager, self._client = start_new_kernel(kernel_name="python3", cwd=str(folder))

    def run(self, code: str, *, cell_id: str | None = "cell-1") -> Ran:
        """Run a cell. With `cell_id` as JupyterLab does, without as nbclient does."""
        message = self._client.session.msg(
            "execute_request",
            {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False},
            metadata={"cellId": cell_id} if cell_id else {},
        )
        self._client.shell_channel.send(message)
        ran = Ran()
        while True:
            got = self._client.get_iopub_msg(timeout=30)
            if got["parent_header"].get("msg_id") != message["header"]["msg_id"]:
                continue
            if self._take(ran, got["msg_type"], got["content"]):
                return ran

    @staticmethod
    def _take(ran: Ran, kind: str, content: dict[str, Any]) -> bool:
        display_id = content.get("transient", {}).get("display_id")
        if kind in ("display_data", "execute_result"):
            ran.plain.append(content["data"])
            if display_id:
                ran.shown[display_id] = content["data"]
        elif kind == "update_display_data":
            ran.updated[display_id] = content["data"]
        elif kind == "stream":
            ran.text += content["text"]
        elif kind == "error":
            ran.errors.append("\n".join(content["traceback"]))
        return kind == "status" and content["execution_state"] == "idle"

    def later(self, seconds: float) -> Ran:
        """What the kernel sends between cells."""
        ran, end = Ran(), time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                got = self._client.get_iopub_msg(timeout=left)
            except Exception:  # queue.Empty: nothing more came
                break
            self._take(ran, got["msg_type"], got["content"])
        return ran

    def comms(self) -> int:
        return int(self.run("import comm; print(len(comm.get_comm_manager().comms))").text.split()[-1])

    def close(self) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    made = Page(tmp_path_factory.mktemp("kernel"))
    loaded = made.run("%load_ext toolnexus_nb\n%toolnexus connect rehearsal")
    assert not loaded.errors, loaded.errors
    yield made
    made.close()


def only(bundles: dict[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    assert len(bundles) == 1, bundles.keys()
    return next(iter(bundles.items()))


def test_a_registration_shows_a_live_view_that_the_next_cell_freezes(page: Page) -> None:
    shown = page.run(WEATHER)
    assert not shown.errors, shown.errors
    display_id, live = only(shown.shown)
    assert WIDGET in live and "get_weather" in live["text/html"] and "get_weather" in live["text/plain"]
    assert shown.updated == {}
    frozen_id, frozen = only(page.run("1 + 1", cell_id="cell-2").updated)
    assert frozen_id == display_id
    assert WIDGET not in frozen and frozen["text/html"] == live["text/html"]


def test_a_nested_run_in_the_same_cell_freezes_nothing(page: Page) -> None:
    shown = page.run("%toolnexus schema\nget_ipython().run_cell('1 + 1')")
    assert not shown.errors, shown.errors
    assert shown.updated == {}


def test_running_a_cell_again_and_again_leaves_no_comm(page: Page) -> None:
    page.run(WEATHER)
    before = page.comms()
    for _ in range(3):
        page.run("%toolnexus schema")
        page.run("%toolnexus form get_weather")
        page.run("import toolnexus_nb as tn\ntn.ToolForm('get_weather', tn.session().toolkit)")
    assert page.comms() == before


def test_without_a_page_views_are_static_from_the_start(page: Page) -> None:
    page.run(WEATHER, cell_id=None)
    for line in ("%toolnexus schema", "%toolnexus form get_weather"):
        ran = page.run(line, cell_id=None)
        assert not ran.errors, ran.errors
        _, bundle = only(ran.shown)
        assert WIDGET not in bundle and "get_weather" in bundle["text/html"]


def test_a_silent_page_gets_the_static_form(page: Page) -> None:
    page.run("from toolnexus_nb.notebook import live_view\nlive_view.ANSWER_WITHIN = 0.2")
    try:
        display_id, live = only(page.run("%toolnexus schema").shown)
        assert WIDGET in live
        frozen_id, frozen = only(page.later(3).updated)
        assert frozen_id == display_id and WIDGET not in frozen
    finally:
        page.run("live_view.ANSWER_WITHIN = 6.0")


def test_views_open_again(page: Page) -> None:
    page.run(WEATHER)
    page.run("import toolnexus_nb as tn\nview = tn.SchemaView(tn.session().toolkit)\nview")
    again = page.run("view")
    assert len(again.shown) == 1 and WIDGET in only(again.shown)[1]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("%toolnexus tools", "get_weather"),
        ("%toolnexus schema get_weather", "Name of the city"),
        ("%toolnexus schema --as anthropic", "input_schema"),
        ('%toolnexus call get_weather {"city": "Oslo"}', "sunny in Oslo"),
        ("%toolnexus call get_weather city=Rome", "sunny in Rome"),
        ('%toolnexus call get_weather {"city": ', "failed"),
        ("%toolnexus history get_weather", "registered"),
        ("%toolnexus form get_weather", "get_weather"),
    ],
)
def test_what_each_word_shows(page: Page, line: str, words: str) -> None:
    page.run(WEATHER, cell_id=None)
    ran = page.run(line, cell_id=None)
    assert not ran.errors, ran.errors
    bundle = ran.plain[0]
    assert words in bundle["text/html"] or words in bundle["text/plain"]
    assert bundle["text/plain"]


def test_after_a_question_the_run_can_be_looked_at(page: Page) -> None:
    page.run(WEATHER, cell_id=None)
    asked = page.run("%toolnexus ask What is the weather in Oslo?", cell_id=None)
    assert not asked.errors, asked.errors
    for line, words in (
        ("%toolnexus wire", "chat/completions"),
        ("%toolnexus wire 1", "round 1"),
        ("%toolnexus usage", "this run"),
        ("%toolnexus history", "weather in Oslo"),
    ):
        ran = page.run(line, cell_id=None)
        assert not ran.errors, ran.errors
        assert words in ran.plain[0]["text/html"] and ran.plain[0]["text/plain"]
    ran = page.run(
        "for ending in ('html', 'md', 'json', 'py'):\n"
        "    get_ipython().run_line_magic('toolnexus', f'export run.{ending}')\n"
        "print(sum(len(open(f'run.{e}').read()) > 100 for e in ('html', 'md', 'json', 'py')))",
        cell_id=None,
    )
    assert not ran.errors, ran.errors
    assert ran.text.split()[-1] == "4"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("%toolnexus schema get_wether", "did you mean get_weather?"),
        ("%toolnexus form nothing", "there is no tool named 'nothing'"),
        ("%toolnexus call", "which tool?"),
        ("%toolnexus call get_weather Oslo", "name=value"),
        ("%toolnexus wire 99", "has no round 99"),
        ("%toolnexus export run.docx", "the ending says the form"),
    ],
)
def test_a_mistake_gets_one_line(page: Page, line: str, words: str) -> None:
    page.run(WEATHER, cell_id=None)
    if page.run("print(__import__('toolnexus_nb').session().last is None)", cell_id=None).text.strip() == "True":
        page.run("%toolnexus ask What is the weather in Oslo?", cell_id=None)
    ran = page.run(line, cell_id=None)
    said = ran.text + "".join(ran.errors)
    assert words in said
    assert said.count("\n") < 6


def test_a_run_that_the_next_cell_stops_says_so_where_it_stood(page: Page) -> None:
    started = page.run(
        "import asyncio, toolnexus_nb as tn\n"
        "async def slow(seconds: float) -> str:\n"
        "    'Wait.'\n"
        "    await asyncio.sleep(seconds)\n"
        "    return 'done'\n"
        "form = tn.ToolForm(slow).fill(seconds=30)\n"
        "form.show()\n"
        "form.page.run.click()\n"
        "await asyncio.sleep(0.2)"
    )
    assert not started.errors, started.errors
    display_id, _ = only(started.shown)
    after = page.run("1 + 1")
    later = page.later(1.5)
    frozen = later.updated.get(display_id) or after.updated[display_id]
    assert "stopped in" in frozen["text/plain"] and WIDGET not in frozen

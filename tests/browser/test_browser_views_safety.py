"""Everybody can read the views (axe-core); nobody can make them run anything: live, reopened, as nbconvert's page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

AXE_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
RUN = '''%load_ext toolnexus_nb
%toolnexus connect rehearsal
import toolnexus_nb as tn
from typing import Literal

def get_weather(city: str, unit: Literal["C", "F"] = "C", fast: bool = False, days: int = 3) -> str:
    """Current weather for a city.

    Args:
        city: Name of the city, in English.
    """
    return f"sunny in {city}"

def add(a: float, b: float) -> float:
    return a + b

tn.session().toolkit.register(get_weather, add)
tn.session().chat.ask_sync("What is 17 plus 25, and what is the weather in Oslo?")
None'''

EVIL = r"""%load_ext toolnexus_nb
%toolnexus connect rehearsal
import toolnexus_nb as tn
from toolnexus_nb.notebook.display import Display
from toolnexus_nb.notebook.call_view import call_and_show
EVIL = [
    "<img src=x onerror='window.HIT=1'>",
    "<script>window.HIT=1</script>",
    "</pre></code></details><svg onload='window.HIT=1'><iframe srcdoc='<script>parent.HIT=1</script>'>",
    "\"><a href=\"javascript:window.HIT=1\" autofocus onfocus='window.HIT=1'>x</a>",
    "${window.HIT=1}", "]]><!--<img src=x onerror=window.HIT=1>-->",
]
evil = " ".join(EVIL)

class Rich:
    def _repr_html_(self):
        return evil
    def _repr_svg_(self):
        return None

class Drawing:
    def _repr_svg_(self):
        return "<svg xmlns='http://www.w3.org/2000/svg' onload='window.HIT=1'><script>window.HIT=1</script></svg>"

properties = {one: {"type": "string", "description": evil, "enum": [one], "default": one} for one in EVIL}
inner = {"type": "object", "properties": {evil: {"type": "string", "format": evil}}}
properties["nested"] = {"type": "array", "items": inner}
tool = tn.native_tool("evil", evil, {"type": "object", "properties": properties}, lambda arguments: Rich())
drawing = tn.native_tool("drawing", evil, {"type": "object", "properties": properties}, lambda arguments: Drawing())

def fails(arguments):
    print(evil)
    raise RuntimeError(evil)
failing = tn.native_tool("failing", evil, {"type": "object", "properties": {}}, fails)
tn.session().toolkit.register(tool, drawing, failing)
for each in (tool, drawing, failing):
    await call_and_show(each, {evil: evil} if each is not failing else {})
    await call_and_show(each, {})

def model(messages, tools):
    if messages[-1]["role"] == "tool":
        said = evil + " [link](javascript:window.HIT=1) ![x](https://evil.example/x.png)"
        return {"content": said, "reasoning": evil}
    return {"content": evil, "tool_calls": [{"id": evil, "function": {"name": "failing", "arguments": {}}}]}
answer = tn.Chat(tn.connect(model), tn.session().toolkit).ask_sync(evil)
tn.session().chat.last
None"""
EVIL_VIEWS = (
    "tn.SchemaView(tn.session().toolkit)",
    "form = tn.ToolForm(tool)\nform",
    "tn.WireView(answer, label=evil)",
    "answer",
    "%toolnexus tools",
)


@pytest.fixture(scope="session")
def axe(require) -> str:
    file = Path(str(require("node"))) / "axe-core" / "axe.min.js"
    if not file.is_file():
        pytest.skip("axe-core is missing; install it with: npm install axe-core")
    return file.read_text(encoding="utf-8")


def violations(page: Any, axe: str) -> list[str]:
    """What axe-core finds in the views: rule and element. JupyterLab's body has no height, which hides contrast."""
    page.evaluate(axe)
    page.add_style_tag(content="body { overflow: visible !important; height: auto !important; }")
    found = page.evaluate(
        """async rules => {
            const views = [...document.querySelectorAll('.tnx, .tnx-formbox')].filter(v => v.offsetParent);
            for (const details of document.querySelectorAll('.tnx details')) details.open = true;
            const result = await axe.run({ include: views }, { runOnly: rules, resultTypes: ['violations'] });
            return result.violations.flatMap(v => v.nodes.map(n => `${v.id}: ${n.html.slice(0, 160)}`));
        }""",
        AXE_RULES,
    )
    return list(found)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_in_the_views(lab, axe: str, dark: bool) -> None:
    views = (
        "%toolnexus schema",
        "%toolnexus form get_weather",
        "%toolnexus wire",
        "tn.session().last",
        "%toolnexus tools",
    )
    page = lab.open(RUN, *views, dark=dark, height=4000)
    page.run_and_wait(0)
    for index in range(1, len(views) + 1):
        page.run_and_wait(index)
        page.page.wait_for_timeout(800)
        if index == 1:
            page.output(1).get_by_role("button", name="try it: get_weather").click()
            page.output(1).get_by_role("button", name="Run", exact=True).click()
            page.page.wait_for_timeout(800)
        assert "\n".join(violations(page.page, axe)) == ""


def test_axe_finds_nothing_in_a_page_that_stands_alone(lab, axe: str) -> None:
    cells = ("%toolnexus export run.html", "print(open('run.html').read()[:15])")
    page = lab.open(RUN, *cells, fresh=True)
    for index in range(3):
        page.run_and_wait(index)
    page.wait_text(2, "<!doctype html>")
    for scheme in ("light", "dark"):
        page.page.emulate_media(color_scheme=scheme)
        page.page.goto((lab.server.notebooks / "run.html").as_uri())
        assert violations(page.page, axe) == []


def test_hostile_words_run_nothing_live_reopened_or_converted(lab) -> None:
    page = lab.open(EVIL, *EVIL_VIEWS, height=9000)  # JupyterLab draws only the cells that are in sight
    asked: list[str] = []
    page.page.on("request", lambda request: asked.append(request.url))
    for index in range(len(EVIL_VIEWS) + 1):
        page.run_and_wait(index)
        page.wait_text(index, "onerror")  # the words are there to be read
        page.page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
        page.page.wait_for_timeout(300)
        if index == 2:
            page.output(2).get_by_role("button", name="Run", exact=True).click()
            page.page.wait_for_timeout(600)
        assert page.page.evaluate("window.HIT") is None, f"cell {index}"
    page.save()

    again = lab.open(path=page.path, height=9000, fresh=True)
    again.page.on("request", lambda request: asked.append(request.url))
    again.page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
    again.page.wait_for_timeout(500)
    again.wait_text(0, "onerror")
    assert again.page.evaluate("window.HIT") is None

    converted = _converted(page.path)
    again.page.goto(converted.as_uri())
    again.page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
    again.page.wait_for_timeout(500)
    assert again.page.evaluate("window.HIT") is None
    assert not [url for url in asked if "evil.example" in url]


def _converted(path: Path) -> Path:
    exporter = pytest.importorskip("nbconvert").HTMLExporter()
    body, _ = exporter.from_filename(str(path))
    target = path.with_suffix(".html")
    target.write_text(body, encoding="utf-8")
    return target

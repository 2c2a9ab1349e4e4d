"""The page in a browser: questions, calls, errors, Stop, the key; keyboard, dark, narrow; nothing is taken for HTML."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import toolnexus_nb as tn
from toolnexus_nb.serve import create_app

pytestmark = pytest.mark.browser

ARGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
]  # fmt: skip
EVIL = '<img src=x onerror="window.hurt=1"><script>window.hurt=1</script>'

proceed = threading.Event()


@tn.tool
def get_weather(city: str) -> str:
    """Current weather for a city."""
    if city == "Nowhere":
        raise ValueError("no such station")
    return f"sunny in {city} {EVIL}"


@tn.tool
def archive(context: tn.ToolContext, days: int) -> str:
    """Takes its time."""
    context.report(18, 30, "day 18 of 30")
    while not (proceed.is_set() or context.cancelled):
        proceed.wait(0.05)
    return "archived"


def answer(body: dict[str, Any], number: int) -> dict[str, Any]:
    last = body["messages"][-1]
    if last["role"] == "tool":
        return {"texts": ["All ", f"done: {EVIL}"]}
    if "slow" in last["content"]:
        return {"calls": [("c1", "archive", '{"days":30}')]}
    if "fail" in last["content"]:
        return {"status": 503, "body": {"error": {"message": "overloaded"}}}
    if "break" in last["content"]:
        return {"texts": ["half ", "an ", "answer"], "break_after": 2}
    return {
        "reasoning": ["I should look."],
        "text": "Let me look both up.",
        "calls": [("c1", "get_weather", '{"city":"Zürich 那"}'), ("c2", "get_weather", '{"city":"Nowhere"}')],
    }


@pytest.fixture(scope="module")
def browser(require: Callable[[str], Any]) -> Iterator[Any]:
    path = require("browser")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=str(path), headless=True, args=ARGS)
        yield launched
        launched.close()


@pytest.fixture
def open_page(browser: Any, serving: Callable[..., str], scripted: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """`open_page(width=, dark=, key=, fragment=)`: the page, with all that went wrong on it in `page.problems`."""
    contexts: list[Any] = []
    proceed.clear()

    def make(width: int = 900, dark: bool = False, key: str | None = None, fragment: str = "") -> Any:
        url = serving(create_app(tn.Toolkit([get_weather, archive]), scripted(answer), api_key=key))
        context = browser.new_context(
            viewport={"width": width, "height": 800}, color_scheme="dark" if dark else "light"
        )
        contexts.append(context)
        page = context.new_page()
        page.problems = []
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on("console", lambda said: page.problems.append(said.text) if "Content Security" in said.text else None)
        page.on(
            "request",
            lambda asked: page.problems.append(asked.url) if not asked.url.startswith((url, "data:")) else None,
        )
        page.goto(url + "/" + fragment)
        page.set_default_timeout(10_000)
        return page

    yield make
    proceed.set()
    for context in contexts:
        context.close()


def ask(page: Any, question: str) -> None:
    page.wait_for_selector("#tools li", state="attached")
    page.keyboard.type(question)
    page.keyboard.press("Enter")


def test_a_question_shows_words_calls_results_and_cost(open_page: Callable[..., Any]) -> None:
    page = open_page()
    page.wait_for_selector("#tools li")
    assert page.locator("#model").inner_text() == "scripted"
    assert page.locator("#tools code").all_inner_texts() == ["get_weather", "archive"]
    ask(page, "What is the weather?")
    page.wait_for_selector(".foot")
    good, bad = page.locator(".call").all()
    assert good.locator("summary code").inner_text() == "get_weather"
    assert "done in" in good.locator(".state").inner_text()
    assert good.locator("dl").inner_text().split() == ["city", '"Zürich', '那"']
    assert EVIL in good.locator(".result").inner_text()
    assert "failed in" in bad.locator(".state").inner_text()
    assert "no such station" in bad.locator(".result").inner_text()
    assert page.locator(".words").all_inner_texts() == ["Let me look both up.", f"All done: {EVIL}"]
    assert page.locator(".thought summary").inner_text() == "Reasoning"
    assert "20 + 10 tokens" in page.locator(".foot").inner_text()
    assert page.locator("#status").inner_text() == "done"
    assert page.evaluate("window.hurt") is None
    assert page.problems == []


def test_progress_and_stop(open_page: Callable[..., Any]) -> None:
    page = open_page()
    ask(page, "something slow")
    page.wait_for_selector("text=day 18 of 30")
    assert page.locator(".call progress").evaluate("bar => [bar.value, bar.max]") == [18, 30]
    assert page.locator("#status").inner_text() == "running archive"
    assert page.locator("#stop").is_visible() and not page.locator("#send").is_visible()
    page.keyboard.press("Escape")
    page.wait_for_selector(".foot")
    assert page.locator(".call .state").inner_text() == "stopped"
    assert "stopped" in page.locator(".foot").inner_text()
    assert page.locator("#send").is_visible()
    assert page.locator("#prompt").input_value() == "something slow"
    assert page.problems == []


def test_a_failure_is_said_and_the_question_can_be_asked_again(open_page: Callable[..., Any]) -> None:
    page = open_page()
    ask(page, "fail")
    page.wait_for_selector(".problem")
    assert "overloaded" in page.locator(".problem").inner_text()
    assert page.locator("#prompt").input_value() == "fail"
    page.locator("#prompt").fill("break")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=broke")
    assert page.locator(".words").inner_text() == "half "


def test_the_conversation_goes_on_and_can_begin_anew(open_page: Callable[..., Any]) -> None:
    page = open_page()
    ask(page, "one")
    page.wait_for_selector(".foot")
    with page.expect_request("**/v1/chat/completions") as sent:
        ask(page, "two")
    roles = [message["role"] for message in sent.value.post_data_json["messages"]]
    assert roles == ["user", "assistant", "user"]
    page.wait_for_selector(".turn:nth-of-type(3) .foot")
    page.click("#fresh")
    assert page.locator(".turn").count() == 0
    with page.expect_request("**/v1/chat/completions") as sent:
        ask(page, "three")
    assert len(sent.value.post_data_json["messages"]) == 1


def test_the_key_is_asked_for_or_comes_behind_the_address(open_page: Callable[..., Any]) -> None:
    page = open_page(key="k3y")
    page.wait_for_selector("#key-form:not([hidden])")
    page.locator("#key").fill("wrong")
    page.keyboard.press("Enter")
    page.wait_for_timeout(200)
    assert page.locator("#key-form").is_visible()
    page.locator("#key").fill("k3y")
    page.keyboard.press("Enter")
    page.wait_for_selector("#tools li")
    assert not page.locator("#key-form").is_visible()

    page = open_page(key="k3y", fragment="#key=k3y")
    page.wait_for_selector("#tools li")
    assert "k3y" not in page.url


@pytest.mark.parametrize("width", [320, 900])
def test_nothing_runs_over_the_edge(open_page: Callable[..., Any], width: int) -> None:
    page = open_page(width=width)
    ask(page, "What is the weather? " + "x" * 300)
    page.wait_for_selector(".foot")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_dark_is_dark_and_readable(open_page: Callable[..., Any]) -> None:
    page = open_page(dark=True)
    ask(page, "What is the weather?")
    page.wait_for_selector(".foot")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(17, 17, 17)"
    assert page.evaluate("getComputedStyle(document.querySelector('.words')).color").startswith("rgba(255, 255, 255")


def test_it_works_with_the_keyboard_alone(open_page: Callable[..., Any]) -> None:
    page = open_page()
    page.wait_for_selector("#tools li")
    page.keyboard.type("one")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("two")
    assert page.locator("#prompt").input_value() == "one\ntwo"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "send"
    page.keyboard.press("Enter")
    page.wait_for_selector(".foot")
    page.locator(".call summary").first.focus()
    page.keyboard.press("Enter")
    assert page.locator(".call").first.get_attribute("open") is None


def test_it_has_no_accessibility_faults(open_page: Callable[..., Any], require: Callable[[str], Any]) -> None:
    axe = require("node") / "axe-core" / "axe.min.js"
    page = open_page()
    ask(page, "What is the weather?")
    page.wait_for_selector(".foot")
    page.evaluate(axe.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run().then(result => result.violations.map(v => v.id + ': ' + v.nodes[0].html))")
    assert found == []


def test_the_page_works_below_a_proxys_path(
    browser: Any, scripted: Callable[..., Any], serving: Callable[..., str]
) -> None:
    from starlette.applications import Starlette
    from starlette.routing import Mount

    app = create_app(tn.Toolkit([get_weather]), scripted(answer))
    url = serving(Starlette(routes=[Mount("/user/x/proxy/8000", app)]))
    page = browser.new_page()
    page.goto(url + "/user/x/proxy/8000/")
    ask(page, "What is the weather?")
    page.wait_for_selector(".foot")
    assert page.locator(".call").count() == 2
    page.close()


def test_the_reader_works_in_the_browser_byte_by_byte(
    browser: Any, serving: Callable[..., str], scripted: Callable[..., Any]
) -> None:
    page = browser.new_page()
    page.goto(serving(create_app(tn.Toolkit(), scripted(answer))) + "/")
    raw = ':tool_end:{"tool_call_id":"1","result":"☀ 那"}\r\n\r\ndata: {"id":"ä"}\r\n\r\ndata: [DONE]\r\n\r\n'
    items = page.evaluate(
        """async raw => {
            const { readToolEvents } = await import("./page/tool-events.js");
            const bytes = new TextEncoder().encode(raw), items = [];
            const start = c => { for (const b of bytes) c.enqueue(Uint8Array.of(b)); c.close(); };
            const stream = new ReadableStream({ start });
            for await (const item of readToolEvents(stream)) items.push(item);
            return items;
        }""",
        raw,
    )
    assert items == [
        {"kind": "tool", "type": "tool_end", "event": {"tool_call_id": "1", "result": "☀ 那"}},
        {"kind": "chunk", "chunk": {"id": "ä"}},
        {"kind": "done"},
    ]
    page.close()


MARKDOWN = r"""# Title
A **bold** and *soft* `code <b>` line,
snake_case_name and 2 * 3 * 4, [a link](https://example.org/x) and [no](javascript:alert(1)).

1. one
2. two
   - inner <script>window.hurt=1</script>

- first

- second
> said <img src=x onerror=window.hurt=1>

```python
if a < b:
    print("**not bold**")
```
| a | b |
|---|--:|
| 1 | `x` |
---
end"""


def test_the_marks_of_an_answer_become_elements_and_nothing_else_does(
    browser: Any, serving: Callable[..., str], scripted: Callable[..., Any]
) -> None:
    page = browser.new_page()
    page.goto(serving(create_app(tn.Toolkit(), scripted(answer))) + "/")
    html = page.evaluate(
        """async text => {
            const { renderMarkdown } = await import("./page/markdown.js");
            const box = document.createElement("div");
            box.append(renderMarkdown(text));
            document.body.append(box);
            return box.innerHTML;
        }""",
        MARKDOWN,
    )
    assert page.evaluate("window.hurt") is None
    page.close()
    for part in (
        "<h3>Title</h3>",
        "<p>A <strong>bold</strong> and <em>soft</em> <code>code &lt;b&gt;</code> line,\nsnake_case_name and 2 * 3 * 4",
        '<a href="https://example.org/x" target="_blank" rel="noopener noreferrer"',
        "[no](javascript:alert(1)).</p>",
        "<ol><li>one</li><li>two<ul><li>inner &lt;script&gt;",
        "<ul><li>first</li><li>second</li></ul>",
        "<blockquote><p>said &lt;img src=x",
        '<code>if a &lt; b:\n    print("**not bold**")</code></pre>',
        "<table><thead><tr><th>a</th><th>b</th></tr></thead>",
        "<tbody><tr><td>1</td><td><code>x</code></td></tr></tbody></table>",
        "<hr><p>end</p>",
    ):
        assert part in html

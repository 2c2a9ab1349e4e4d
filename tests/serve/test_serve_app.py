"""What the app offers beside the endpoint: models, health, keys, paths, the page's files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import toolnexus_nb as tn
from toolnexus_nb.serve import create_app

Ask = Callable[..., Any]
HI = [{"role": "user", "content": "hi"}]


@tn.tool
def get_weather(city: str) -> str:
    """Current weather for a city."""
    return f"sunny in {city}"


def two_rounds(body: dict[str, Any], number: int) -> dict[str, Any]:
    """The weather in Oslo, then what the tool said about it."""
    if body["messages"][-1]["role"] == "tool":
        return {"reasoning": ["hm"], "texts": ["It is ", body["messages"][-1]["content"]]}
    return {"text": "Let me look.", "calls": [("c1", "get_weather", '{"city":"Oslo"}')]}


def test_models_tells_the_served_model_and_its_tools(ask: Ask, scripted: Callable[..., Any]) -> None:
    app = create_app(tn.Toolkit([get_weather]), scripted(two_rounds))
    (model,) = ask(app, path="/v1/models").json()["data"]
    assert (model["id"], model["object"]) == ("scripted", "model")
    assert model["tools"] == [{"name": "get_weather", "description": "Current weather for a city."}]
    assert ask(app, path="/v1/models/org/any").json()["id"] == "scripted"


def test_tools_of_a_kind_that_only_the_model_knows_reach_it(ask: Ask, scripted: Callable[..., Any]) -> None:
    client = scripted(lambda body, n: {"text": "x"})
    custom = {"type": "custom", "custom": {"name": "grep", "format": {"type": "text"}}}
    for stream in (False, True):
        response = ask(create_app(tn.Toolkit(), client), {"messages": HI, "tools": [custom], "stream": stream})
        assert response.status_code == 200
        assert client.script.requests[-1]["tools"] == [custom]


def test_a_base_url_without_v1_means_the_same(ask: Ask, scripted: Callable[..., Any]) -> None:
    app = create_app(tn.Toolkit([get_weather]), scripted(two_rounds))
    assert ask(app, path="/models").json() == ask(app, path="/v1/models").json()
    assert ask(app, {"messages": HI}, path="/chat/completions").status_code == 200


def test_parameters_cannot_reach_what_is_not_theirs(ask: Ask, scripted: Callable[..., Any]) -> None:
    client = scripted(lambda body, n: {"text": "x"})
    odd = {"on_retry": "x", "self": 1, "tool_names": [], "messages_": [], "round": 7, "timeout": 0}
    for tools in ([], [get_weather]):
        assert ask(create_app(tn.Toolkit(tools), client), {"messages": HI, **odd}).status_code == 200
        assert client.script.requests[-1]["round"] == 7


def test_health_is_open_and_everything_else_asks_for_the_key(ask: Ask, scripted: Callable[..., Any]) -> None:
    app = create_app(tn.Toolkit([get_weather]), scripted(two_rounds), api_key="k3y")
    assert ask(app, path="/health").json() == {"status": "ok"}
    assert ask(app, path="/").status_code == 200
    assert ask(app, path="/v1/models").status_code == 401
    assert ask(app, {"messages": HI}).status_code == 401
    assert ask(app, {"messages": HI}, path="/mcp").status_code == 401
    assert ask(app, {"messages": HI}, authorization="Bearer k3y").status_code == 200


def test_other_paths_and_methods_are_told_in_the_openai_shape(ask: Ask, scripted: Callable[..., Any]) -> None:
    app = create_app(tn.Toolkit(), scripted(two_rounds))
    assert ask(app, path="/v1/nothing").json()["error"]["type"] == "not_found_error"
    wrong = ask(app, path="/v1/chat/completions")
    assert wrong.status_code == 405 and wrong.json()["error"]["message"]


def test_a_tool_that_is_defined_again_is_served_at_once(ask: Ask, scripted: Callable[..., Any]) -> None:
    toolkit = tn.Toolkit([get_weather])
    app = create_app(toolkit, scripted(two_rounds))

    @tn.tool(name="get_weather")
    def other(city: str) -> str:
        """Weather."""
        return "rain"

    toolkit.register(other)
    assert ask(app, {"messages": HI}).json()["choices"][0]["message"]["content"] == "It is rain"


def test_a_filter_offers_some_of_the_tools(ask: Ask, scripted: Callable[..., Any]) -> None:
    from toolnexus_nb.openai import exclude_tools

    @tn.tool
    def delete() -> str:
        """Delete."""
        return ""

    client = scripted(two_rounds)
    app = create_app(tn.Toolkit([get_weather, delete]), client, keep=exclude_tools("delete"))
    assert ask(app, {"messages": HI}).status_code == 200
    assert [tool["function"]["name"] for tool in client.script.requests[0]["tools"]] == ["get_weather"]


def test_the_files_of_the_page_say_what_they_may_load(ask: Ask, scripted: Callable[..., Any]) -> None:
    app = create_app(tn.Toolkit(), scripted(two_rounds), allowed_origins=["https://course.example.org"])
    for path in ("/", "/page/page.css", "/page/page.js", "/page/markdown.js", "/page/tool-events.js"):
        response = ask(app, path=path)
        policy = response.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "https://course.example.org" in policy
        assert response.headers["x-content-type-options"] == "nosniff"
        assert "http://" not in response.text and "https://" not in response.text


def test_half_a_surrogate_in_a_description_costs_no_listing(ask: Ask, scripted: Callable[..., Any]) -> None:
    odd = tn.native_tool("odd", "half \ud83d of one", {"type": "object"}, lambda arguments: "")
    response = ask(create_app(tn.Toolkit([odd]), scripted(two_rounds)), path="/v1/models")
    assert response.json()["data"][0]["tools"][0]["description"] == "half ? of one"

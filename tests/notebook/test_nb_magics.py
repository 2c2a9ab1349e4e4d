"""The magics in an IPython without a kernel: what a person types, what they read, what stays as it was."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

import toolnexus_nb as tn
from toolnexus_nb.notebook import session as session_module

TOOLS = (
    '%%toolnexus\ndef weather(city: str) -> str:\n    "Current weather for a city."\n    return f"sunny in {city}"\n'
)


class Notebook:
    """Runs cells one after another; `.text` is what the last one printed, errors included."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell
        self.text = ""
        self.asked: list[list[dict[str, Any]]] = []

    def run(self, cell: str, cell_id: str | None = None) -> Any:
        with capture_output() as kept:
            result = self.shell.run_cell(cell, store_history=True, cell_id=cell_id)
        self.text = kept.stdout + kept.stderr
        return result

    def says(self, cell: str) -> str:
        self.run(cell)
        return self.text

    @property
    def session(self) -> Any:
        return tn.session()

    def prompts(self) -> list[str]:
        """The questions of the last request, in order."""
        return [message["content"] for message in self.asked[-1] if message["role"] == "user"]


@pytest.fixture
def nb(monkeypatch: pytest.MonkeyPatch) -> Iterator[Notebook]:
    """A fresh IPython with the extension loaded and a model that calls `weather` where it is offered and asked for."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(session_module, "_the_session", None)
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    made = Notebook(shell)
    made.run("%load_ext toolnexus_nb")

    def model(messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None) -> Any:
        made.asked.append(messages)
        last = messages[-1]
        if last["role"] == "tool":
            return f"It says: {last['content']}"
        if tools and "weather" in last["content"]:
            return ("weather", {"city": "Oslo"})
        return f"no tools for: {last['content']}"

    tn.session().connect(tn.connect(model))
    yield made
    made.run("%unload_ext toolnexus_nb")
    InteractiveShell.clear_instance()


def test_loading_says_in_one_line_what_is_connected(nb: Notebook) -> None:
    nb.run("%unload_ext toolnexus_nb")
    session_module._the_session = None
    assert nb.says("%load_ext toolnexus_nb").strip().splitlines() == [
        "toolnexus: connected to rehearsal (no key needed; %toolnexus connect NAME for a real model)"
    ]


def test_a_key_without_a_model_says_what_to_set(nb: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-proj-secretsecret")
    nb.run("%unload_ext toolnexus_nb")
    session_module._the_session = None
    said = nb.says("%load_ext toolnexus_nb")
    assert "OPENAI_MODEL" in said
    assert "secret" not in said
    assert "OPENAI_MODEL" in nb.says("%toolnexus ask hello")
    assert nb.session.connected is False


def test_a_cell_of_functions_becomes_tools_and_stays_functions(nb: Notebook) -> None:
    assert "registered: weather (a leading _ keeps one out)" in nb.says(TOOLS)
    assert nb.session.toolkit.names == ["weather"]
    assert nb.shell.user_ns["weather"]("Rome") == "sunny in Rome"
    assert "(a leading" not in nb.says(TOOLS)  # told once


def test_a_question_streams_calls_and_answers(nb: Notebook) -> None:
    nb.run(TOOLS)
    said = nb.says("%%toolnexus ask --into answer\nwhat is the weather?")
    assert '→ weather(city="Oslo")' in said
    assert "It says: sunny in Oslo" in said
    answer = nb.shell.user_ns["answer"]
    assert isinstance(answer, tn.RunResult)
    assert (answer.status, answer.rounds) == ("done", 2)
    assert nb.session.last is answer


def test_the_hint_about_the_result_is_given_once(nb: Notebook) -> None:
    assert "tn.session().last" in nb.says("%toolnexus ask hello")
    assert "tn.session().last" not in nb.says("%toolnexus ask hello")


def test_a_statement_shows_no_value_and_an_assignment_has_it(nb: Notebook) -> None:
    assert nb.run("%toolnexus ask hello?").result is None
    nb.run("answer = %toolnexus ask hello?")
    assert nb.shell.user_ns["answer"].text == "no tools for: hello?"


def test_a_tool_in_an_ordinary_cell_is_pointed_at(nb: Notebook) -> None:
    nb.run('import toolnexus_nb as tn\n@tn.tool\ndef weather(city: str) -> str:\n    "Weather."\n    return city\n')
    assert "weather is a tool but was not offered: %toolnexus add weather" in nb.says("%toolnexus ask the weather")
    assert "registered: weather" in nb.says("%toolnexus add weather")
    assert nb.session.toolkit.names == ["weather"]
    assert "not offered" not in nb.says("%toolnexus ask the weather")


def test_only_functions_of_the_cell_are_registered(nb: Notebook) -> None:
    nb.run(
        "%%toolnexus\nfrom math import sqrt\nclass Point: ...\ndef _helper(x: int) -> int:\n    return x\n"
        'other = _helper\ndef visible(x: int) -> int:\n    "Doubles."\n    return _helper(x) * 2\n'
    )
    assert nb.session.toolkit.names == ["visible"]


def test_a_decorator_that_hides_the_functions_name_does_not_hide_the_tool(nb: Notebook) -> None:
    nb.run(
        "%%toolnexus\ndef loud(f):\n    def wrapper(x: int) -> int:\n        'Loud.'\n        return f(x)\n"
        "    return wrapper\n@loud\ndef double(x: int) -> int:\n    return 2 * x\n"
    )
    assert "double" in nb.session.toolkit.names


def test_tools_that_a_cell_makes_without_def_are_registered(nb: Notebook) -> None:
    nb.run(
        "%%toolnexus\nimport toolnexus_nb as tn\ndef _double(x: int) -> int:\n    'Doubles.'\n    return 2 * x\n"
        "double = tn.tool(name='double')(_double)\nalias = print\n"
    )
    assert nb.session.toolkit.names == ["double"]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("x = 1\n", "defines no function"),
        ("def f(:\n    pass\n", "SyntaxError"),
        ("def later(x: int) -> int:\n    return x\n1/0\n", "ZeroDivisionError"),
        ("def odd(x: 'Unknown') -> int:\n    return x\n", "odd"),
    ],
)
def test_a_cell_that_fails_leaves_the_registry_as_it_was(nb: Notebook, body: str, says: str) -> None:
    nb.run(TOOLS)
    said = nb.says("%%toolnexus\n" + body)
    assert says in said
    assert nb.session.toolkit.names == ["weather"]


def test_one_impossible_function_keeps_its_neighbours_out_too(nb: Notebook) -> None:
    said = nb.says(
        '%%toolnexus\ndef good(x: int) -> int:\n    "Good."\n    return x\n'
        "def bad(x: 'Unknown') -> int:\n    'Bad.'\n    return 1\n"
    )
    assert "bad" in said
    assert nb.session.toolkit.names == []
    assert len(said.strip().splitlines()) <= 3


def test_running_a_tools_cell_again_without_a_function_takes_it_away(nb: Notebook) -> None:
    two = TOOLS + 'def news() -> str:\n    "News."\n    return "none"\n'
    nb.run(two, cell_id="a")
    assert nb.session.toolkit.names == ["weather", "news"]
    nb.run(TOOLS, cell_id="a")
    assert "removed: news" in nb.text
    assert nb.session.toolkit.names == ["weather"]


def test_running_the_last_question_again_replaces_it(nb: Notebook) -> None:
    nb.run("%%toolnexus ask\nfirst", cell_id="a")
    nb.run("%%toolnexus ask\nsecond", cell_id="b")
    assert nb.prompts() == ["first", "second"]
    nb.run("%%toolnexus ask\nsecond, better", cell_id="b")
    assert nb.prompts() == ["first", "second, better"]
    nb.run("%%toolnexus ask\nfirst again", cell_id="a")  # not the last one: the conversation goes on
    assert nb.prompts() == ["first", "second, better", "first again"]


def test_a_cell_that_asks_twice_is_replaced_whole(nb: Notebook) -> None:
    for _ in range(2):
        nb.run("for q in ('one', 'two'):\n    %toolnexus ask {q}\n", cell_id="a")
    assert nb.prompts() == ["one", "two"]


def test_a_question_that_failed_is_not_in_the_way_of_its_next_try(nb: Notebook) -> None:
    nb.run("%%toolnexus ask\nfirst", cell_id="a")
    good = nb.session.client
    nb.session.connect(tn.connect("http://127.0.0.1:9/v1", model="m", retries=0))
    said = nb.run("%%toolnexus ask\nsecond", cell_id="b") and nb.text
    assert "could not be reached" in said
    nb.session.connect(good)
    nb.run("%%toolnexus ask\nsecond", cell_id="b")
    assert nb.prompts() == ["first", "second"]


def test_options_reach_the_request(nb: Notebook) -> None:
    bodies: list[dict[str, Any]] = []

    def model(messages: Any, tools: Any, body: dict[str, Any]) -> str:
        bodies.append(body)
        return "ok"

    nb.session.connect(tn.connect(model))
    nb.run(TOOLS)
    nb.run("%toolnexus ask --temperature 0.5 --max-tokens 7 --set seed=3 --set user=ada --tool-choice weather hello")
    body = bodies[-1]
    assert (body["temperature"], body["max_tokens"], body["seed"], body["user"]) == (0.5, 7, 3, "ada")
    assert body["tool_choice"]["function"]["name"] == "weather"
    nb.run("%toolnexus ask --tools none hello")
    assert not bodies[-1].get("tools")
    nb.run("%toolnexus ask hello")
    assert len(bodies[-1]["tools"]) == 1  # the others were only left out of that question


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("%toolnexus aks hello", "did you mean ask?"),
        ("%toolnexus ask", "what is the question?"),
        ("%%toolnexus ask\n\n", "what is the question?"),
        ("%%toolnexus ask", "what is the question?"),
        ("%toolnexus ask --intoo x hello", "did you mean --into?"),
        ("%toolnexus ask --into 3x hello", "cannot have that name"),
        ("%toolnexus ask --set seed hello", "NAME=VALUE"),
        ("%toolnexus ask --tools wether hello", "did you mean weather?"),
        ("%toolnexus ask --tool-choice wether hello", "did you mean weather?"),
        ("%toolnexus remove nothing", "no tool is called nothing; there is weather"),
        ("%toolnexus add nothing", "there is no nothing in this notebook"),
        ("%toolnexus resume allow", "nothing waits"),
        ("%toolnexus undo", "no question to take back"),
        ("%%toolnexus status\nx", "takes no text below it"),
        ("%%toolnexus --strict\ndef f(): ...", "takes no options"),
    ],
)
def test_mistakes_are_told_in_one_line_and_change_nothing(nb: Notebook, line: str, says: str) -> None:
    nb.run(TOOLS)
    said = nb.says(line)
    assert "UsageError" in said
    assert says in said
    assert len(said.strip().splitlines()) == 1
    assert nb.session.toolkit.names == ["weather"]
    assert nb.session.chat.messages == []


def test_status_undo_reset_remove(nb: Notebook) -> None:
    nb.run(TOOLS)
    nb.run("%toolnexus ask one")
    nb.run("%toolnexus ask two")
    said = nb.says("%toolnexus")
    assert "weather" in said
    assert "2 questions" in said
    assert "taken back: two (1 question left)" in nb.says("%toolnexus undo")
    assert "1 question forgotten" in nb.says("%toolnexus reset")
    assert nb.session.toolkit.names == ["weather"]
    assert "removed: weather" in nb.says("%toolnexus remove weather")
    nb.run(TOOLS)
    assert "tools forgotten: weather" in nb.says("%toolnexus reset --all")
    assert nb.session.toolkit.names == []


def test_settings_hold_for_the_next_questions(nb: Notebook) -> None:
    nb.run(TOOLS)
    nb.run("%config Toolnexus.max_rounds = 1")
    nb.run("%config Toolnexus.panel = 'off'")
    nb.run("%%toolnexus ask --into answer\nthe weather")
    assert nb.shell.user_ns["answer"].rounds == 1
    assert "→" not in nb.text
    nb.run("%config Toolnexus.interpolate = False\ncity = 'Oslo'\n%toolnexus ask in {city}")
    assert nb.prompts()[-1] == "in {city}"
    assert "max_rounds" in nb.says("%config Toolnexus")
    nb.run("%config Toolnexus.system = 'Be brief.'\n%toolnexus ask hello")
    assert nb.asked[-1][0] == {"role": "system", "content": "Be brief."}


def test_approval_without_a_person_follows_the_policy_or_pauses(nb: Notebook) -> None:
    nb.run(
        "import toolnexus_nb as tn\n@tn.tool(needs_approval=True)\ndef weather(city: str) -> str:\n"
        '    "Weather."\n    return f"sunny in {city}"\n%toolnexus add weather\n'
    )
    assert "%toolnexus resume allow" in nb.says("%toolnexus ask --into answer the weather")
    assert "allow or deny weather? %toolnexus resume allow" in nb.says("%toolnexus resume")
    assert nb.shell.user_ns["answer"].status == "paused"
    assert "did you mean weather?" in nb.says("%toolnexus resume allow wether")
    assert "It says: sunny in Oslo" in nb.says("%toolnexus resume allow weather")
    assert nb.shell.user_ns["answer"].text == "It says: sunny in Oslo"  # the variable of the question
    nb.run("%toolnexus ask hello")
    assert nb.shell.user_ns["answer"].text == "It says: sunny in Oslo"
    nb.says("%toolnexus ask the weather")
    assert "too cold" in nb.says('%toolnexus resume deny --why "too cold"')
    assert "denied" in nb.says("%toolnexus ask --approve deny the weather")
    nb.run("%config Toolnexus.approve = 'allow'")
    assert "It says: sunny in Oslo" in nb.says("%toolnexus ask the weather")


def test_under_other_magics_and_in_functions_it_blocks_and_works(nb: Notebook) -> None:
    assert "no tools for: hello" in nb.says("%%time\n%%toolnexus ask\nhello")
    nb.run("%%capture out\n%toolnexus ask hello\n")
    assert "no tools for: hello" in nb.shell.user_ns["out"].stdout
    nb.run("def f(q):\n    return get_ipython().run_line_magic('toolnexus', f'ask {q}')\nr = f('hello')")
    assert nb.shell.user_ns["r"].text == "no tools for: hello"
    nb.run("%%time\n%%toolnexus\ndef g(x: int) -> int:\n    'G.'\n    return x\n")
    assert nb.session.toolkit.names == ["g"]


def test_the_body_of_a_tools_cell_is_an_ordinary_cell(nb: Notebook) -> None:
    nb.run(
        "%%toolnexus\nimport asyncio\nawait asyncio.sleep(0)\nhere = %pwd\n!true\n"
        "def g(x: int) -> int:\n    'G.'\n    return x\n"
    )
    assert nb.session.toolkit.names == ["g"]
    assert nb.shell.user_ns["here"]
    said = nb.says("%%toolnexus\ndef f(x: int) -> int:\n    'F.'\n    return x\nraise ValueError('line five')\n")
    assert "line 5" in said


def test_unloading_leaves_nothing_behind_and_reloading_works(nb: Notebook) -> None:
    shell = nb.shell

    def leftovers() -> list[Any]:
        transformers = [*shell.input_transformers_cleanup, *shell.input_transformers_post]
        return [
            *[t for t in transformers if "toolnexus" in getattr(t, "__module__", "")],
            *[name for kind in ("line", "cell") for name in shell.magics_manager.magics[kind] if "toolnexus" in name],
            *[c for c in shell.configurables if "toolnexus" in type(c).__module__],
            *[c for callbacks in shell.events.callbacks.values() for c in callbacks if "toolnexus" in str(c)],
            *[key for key in shell.strdispatchers["complete_command"].strs if "toolnexus" in key],
            *[vars(tn.ToolnexusError).get("_render_traceback_")] * ("_render_traceback_" in vars(tn.ToolnexusError)),
        ]

    nb.run(TOOLS)
    loaded = len(leftovers())
    nb.run("%unload_ext toolnexus_nb")
    assert leftovers() == []
    nb.run("%load_ext toolnexus_nb")
    nb.run("%reload_ext toolnexus_nb")
    nb.run("%reload_ext toolnexus_nb")
    assert len(leftovers()) == loaded
    assert nb.session.toolkit.names == ["weather"]  # what was made stays
    assert "no tools for: hi" in nb.says("%toolnexus ask --tools none hi")


def test_completion_knows_words_options_tools_and_choices(nb: Notebook) -> None:
    nb.run(TOOLS)

    def complete(line: str) -> list[str]:
        from toolnexus_nb.notebook.magics import ToolnexusMagics

        magics = ToolnexusMagics(nb.shell, nb.session)
        symbol = "" if line.endswith(" ") else line.split()[-1]
        return magics.complete(nb.shell, SimpleNamespace(line=line, symbol=symbol))

    assert {"ask", "add", "status"} <= set(complete("%toolnexus "))
    assert complete("%toolnexus ask --int") == ["--into"]
    assert complete("%toolnexus remove we") == ["weather"]
    assert complete("%toolnexus remove weather ") == ["--help"] or "weather" not in complete(
        "%toolnexus remove weather "
    )
    assert complete("%toolnexus ask --approve ") == ["ask", "allow", "deny"]
    assert complete("%toolnexus nonsense ") == []
    assert "tools" in complete("%%toolnexus ")
    assert "remove" not in complete("%%toolnexus ")
    assert "%toolnexus" in nb.shell.strdispatchers["complete_command"].strs


def test_errors_of_the_package_are_short_and_name_the_line(nb: Notebook) -> None:
    said = nb.says(
        "import toolnexus_nb as tn\nchat = tn.Chat(tn.connect('http://127.0.0.1:9/v1', model='m', retries=0))\n"
        "chat.ask_sync('hi')"
    )
    assert "APIConnectionError" in said
    assert "could not be reached" in said
    assert len(said.strip().splitlines()) <= 4


def test_help_is_made_from_the_commands(nb: Notebook) -> None:
    said = nb.says("%toolnexus help")
    for word in ("ask", "connect", "resume", "undo"):
        assert f"\n    {word} " in said
    assert "--into NAME" in nb.says("%toolnexus ask?")
    assert "--into NAME" in nb.says("%toolnexus ask --help")
    assert "did you mean ask?" in nb.says("%toolnexus help akk")


def test_the_session_tells_itself(nb: Notebook, capsys: Callable[..., Any]) -> None:
    nb.run(TOOLS)
    assert "weather" in repr(nb.session)
    assert nb.session.namespace is nb.shell.user_ns


def test_a_question_that_fails_leaves_what_had_come_of_it_in_its_variable(nb: Notebook) -> None:
    nb.session.connect(tn.Client("http://127.0.0.1:9/v1", "m", "", retries=0))
    nb.run("answer = 5")
    nb.run("%toolnexus ask --into answer What is the weather?")
    assert nb.run("answer.status").result == "error"


def test_a_misspelt_name_in_braces_is_named(nb: Notebook) -> None:
    nb.run("city = 'Oslo'")
    assert "{citty} has no value here, so it is sent as written: did you mean city?" in nb.says(
        "%toolnexus ask From {city} to {citty}"
    )
    assert nb.prompts()[-1] == "From Oslo to {citty}"
    assert "has no value" not in nb.says('%%toolnexus ask --new\nsay {{citty}} and {"a": 1}')
    assert "has no value" not in nb.says("%toolnexus ask --raw From {citty}")


def test_a_traceback_does_not_show_the_footer(nb: Notebook) -> None:
    says = nb.says('%%toolnexus\ndef area(side: float) -> float:\n    """Area."""\n    return side\n1 / 0')
    assert "----> 5 1 / 0" in re.sub(r"\x1b\[[0-9;]*m", "", says) and "run_line_magic" not in says


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("nope", "there is no nope in this notebook"),
        ("opem", "there is no opem in this notebook"),
        ("print", "print is Python's own"),
        ("open", "open is Python's own"),
        ("number", "number is an int; a tool is a function"),
    ],
)
def test_what_cannot_be_added_is_told_as_what_it_is(nb: Notebook, line: str, says: str) -> None:
    nb.run("number = 3")
    assert says in nb.says(f"%toolnexus add {line}") and "did you mean" not in nb.text


def test_a_lambda_is_told_to_become_a_function(nb: Notebook) -> None:
    assert "double is a lambda" in nb.says("%%toolnexus\ndouble = lambda x: 2 * x")
    assert nb.session.toolkit.names == []


def test_added_tools_are_not_told_what_keeps_a_cells_function_out(nb: Notebook) -> None:
    nb.run('def area(side: float) -> float:\n    """Area."""\n    return side')
    assert "registered: area\n" in nb.says("%toolnexus add area")


def test_connecting_says_that_nothing_was_asked_yet(nb: Notebook) -> None:
    assert "model: qwen3 at localhost:11434 · contacted when you ask" in nb.says(
        "%toolnexus connect ollama --model qwen3"
    )


def test_a_server_that_is_not_there_says_how_to_begin_it(nb: Notebook) -> None:
    assert not nb.session.server
    assert "nothing is being served, so there is no url: %toolnexus serve" in nb.says(
        "tn = __import__('toolnexus_nb')\ntn.session().server.url"
    )

"""A chat as a plain program: the same questions, tools and rounds over httpx, to be read, run and taken along."""

from __future__ import annotations

import ast
import inspect
import keyword
import pprint
import re
import sys
import sysconfig
import textwrap
import types
import typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..tools.context import ToolContext
from .secrets import blank, looks_secret

if TYPE_CHECKING:
    from ..tools.definition import Tool
    from .chat import Chat

_PROGRAM = '''\
"""Tool calling over plain HTTP: ask, run the calls, ask again. Written by toolnexus_nb; needs only {needs}."""

from __future__ import annotations

import asyncio
import inspect
import json
import os

import httpx

BASE_URL = {base_url!r}{place}
HEADERS = {headers}
MODEL = {model}
PARAMETERS = {params}  # sent with every request
MAX_ROUNDS = {max_rounds}

# --- the tools ---

{sources}

TOOLS = {tools}

FUNCTIONS = {functions}


# --- the rounds ---


def run(call):
    """What the model is answered for one call: the result, or what went wrong, always as text."""
    name = call["function"]["name"]
    if name not in FUNCTIONS:
        return f"unknown tool {{name}}; available: {{', '.join(FUNCTIONS)}}"
    try:
        value = FUNCTIONS[name](**json.loads(call["function"]["arguments"] or "{{}}"))
        if inspect.isawaitable(value):
            value = asyncio.run(value)
    except Exception as error:
        return f"{{type(error).__name__}}: {{error}}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def ask(http, messages):
    """Rounds until the model answers; `messages` grows by everything that was said."""
    for round in range(1, MAX_ROUNDS + 1):
        body = {{"model": MODEL, "messages": messages, **PARAMETERS}}
        if TOOLS:
            body["tools"] = TOOLS
            if round == MAX_ROUNDS:
                body["tool_choice"] = "none"
        response = http.post(f"{{BASE_URL}}/chat/completions", headers=HEADERS, json=body)
        if response.is_error:
            raise SystemExit(f"{{response.status_code}}: {{response.text}}")
        message = response.json()["choices"][0]["message"]
        calls = message.get("tool_calls") or []
        said = {{"role": "assistant", "content": message.get("content") or (None if calls else "")}}
        messages.append({{**said, "tool_calls": calls}} if calls else said)
        for call in calls:
            result = run(call)
            print(f"  {{call['function']['name']}}({{call['function']['arguments']}}) -> {{result}}")
            messages.append({{"role": "tool", "tool_call_id": call["id"], "content": result}})
        if not calls:
            return message.get("content") or ""
    return "(no answer within MAX_ROUNDS)"


MESSAGES = {head}
QUESTIONS = {questions}

if __name__ == "__main__":
    with httpx.Client(timeout=300) as http:
        for question in QUESTIONS:
            MESSAGES.append({{"role": "user", "content": question}})
            print(">", question if isinstance(question, str) else "(text and images)")
            print(ask(http, MESSAGES))
'''

_CONTEXT = """\
class CONTEXT:
    \"\"\"What a tool may ask of the run it is part of; here it just prints.\"\"\"

    call_id, deadline, cancelled = "", None, False
    variable = staticmethod(globals().__getitem__)

    @staticmethod
    def report(progress, total=None, message=None):
        print("   ", message or "", progress, "of" if total else "", total or "")"""


def chat_script(chat: Chat) -> str:
    """The program. No key is in it: keys come from the environment when it runs."""
    client = chat.client
    tools = list(chat.toolkit.tools())
    names = {tool.name: chat.toolkit.wire_name(tool) for tool in tools}
    sources = _Sources()
    functions = {names[tool.name]: sources.add_tool(tool) for tool in tools}
    needs = "httpx and pydantic" if any("validate_call" in function for function in functions.values()) else "httpx"
    base_url = client.base_url or "http://localhost:8000/v1"
    text = _PROGRAM.format(
        needs=needs,
        base_url=base_url,
        place="" if client.base_url else f"  # {client.label} lives inside the notebook: say which endpoint to ask",
        headers=_headers(chat),
        model=repr(client.model),
        params=_literal(chat.params),
        max_rounds=chat.options["max_rounds"],
        sources=sources.text() or "# (none)",
        tools=_literal(chat.toolkit.to_openai()),
        functions="{" + ", ".join(f"{name!r}: {function}" for name, function in functions.items()) + "}",
        head=_literal([{"role": "system", "content": chat.system}] if chat.system else []),
        questions=_literal([message.content for message in chat.messages if message.role == "user"]),
    )
    return blank(text, client.secrets)


def _headers(chat: Chat) -> str:
    profile = chat.client.profile
    variable = profile.key_variables[0] if profile.key_variables else "API_KEY"
    items = [f'{profile.key_header!r}: {profile.key_prefix!r} + os.environ.get({variable!r}, "none")']
    for name, value in chat.client._headers.items():
        own = re.sub(r"\W", "_", name).upper()
        items.append(f"{name!r}: os.environ.get({own!r}, '')" if looks_secret(name) else f"{name!r}: {value!r}")
    return "{" + ", ".join(items) + "}"


def _literal(value: Any) -> str:
    return pprint.pformat(value, width=110, sort_dicts=False)


class _Sources:
    """The source of functions and of what they use, each once, helpers before their users."""

    def __init__(self) -> None:
        self._imports: dict[str, str] = {}
        self._blocks: dict[str, str] = {}

    def text(self) -> str:
        imports = "\n".join(self._imports.values())
        return "\n\n\n".join(part for part in (imports, *self._blocks.values()) if part)

    def add_tool(self, tool: Tool) -> str:
        """Add what a tool runs; gives the expression that is called with the arguments in the program."""
        function = tool.function
        source = _source(function) if function is not None else None
        if function is None or source is None:
            return self._stand_in(tool)
        name = function.__name__
        self._add(name, function, source)
        hints = _hints(function)
        contexts = [key for key, hint in hints.items() if hint is ToolContext]
        native = tool.source == "native"
        if contexts or (native and len(_required(function)) > 1):
            self._blocks.setdefault("CONTEXT", _CONTEXT)
            if native:
                return f"lambda **arguments: {name}(arguments, {f'{contexts[0]}=' if contexts else ''}CONTEXT)"
            self._imports["functools"] = "import functools"
            return f"functools.partial({name}, {', '.join(f'{key}=CONTEXT' for key in contexts)})"
        if native:
            return f"lambda **arguments: {name}(arguments)"
        if all(_is_json_type(hint) for key, hint in hints.items() if key != "return"):
            return name
        self._imports["pydantic"] = "import pydantic"
        return f"pydantic.validate_call({name})"  # makes of JSON what the annotations promise

    def _stand_in(self, tool: Tool) -> str:
        name = re.sub(r"\W", "_", tool.name)
        if keyword.iskeyword(name) or not name.isidentifier():
            name = f"tool_{name}"
        self._blocks[name] = (
            f"def {name}(**arguments):\n"
            f'    raise NotImplementedError("{name} ({tool.source}) has no source here: put your own call in")'
        )
        return name

    def _add(self, name: str, thing: Callable[..., Any] | type, source: str) -> None:
        if name in self._blocks:
            return
        self._blocks[name] = ""  # a function that calls itself, or two that call each other, end here
        for used, value in _in_signature(thing, source).items():
            self._use(used, value)
        if isinstance(thing, types.FunctionType):
            for used, value in inspect.getclosurevars(thing).globals.items():
                self._use(used, value)
            for used, value in inspect.getclosurevars(thing).nonlocals.items():
                self._use(used, value)
        del self._blocks[name]
        self._blocks[name] = source

    def _use(self, name: str, value: Any) -> None:
        """Add what a function finds under a global name."""
        if name in self._blocks or name in self._imports or not name.isidentifier():
            return
        module = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None) or ""
        if module.split(".")[0] == "toolnexus_nb":
            return
        if isinstance(value, types.ModuleType):
            plain = value.__name__
            self._imports[name] = f"import {plain}" if plain == name else f"import {plain} as {name}"
            return
        qualified = getattr(value, "__qualname__", "")
        if module != "__main__" and "." not in qualified and _importable(module, qualified, value):
            self._imports[name] = f"from {module} import {qualified}" + ("" if qualified == name else f" as {name}")
            return
        source = _source(value) if isinstance(value, types.FunctionType | type) else None
        if source is not None:
            self._add(name, value, source)
        elif isinstance(value, str | int | float | bool | list | dict | tuple | set | type(None)) and _is_literal(
            value
        ):
            hidden = isinstance(value, str) and looks_secret(name)
            self._blocks[name] = f"{name} = os.environ[{name!r}]" if hidden else f"{name} = {_literal(value)}"
        else:
            self._blocks[name] = (
                f"# {name} is an object of the notebook ({type(value).__name__}): make it here\n{name} = None"
            )


def _in_signature(thing: Any, source: str) -> dict[str, Any]:
    """What the annotations, defaults and decorators of a function name, and everything that a class names."""
    node = ast.parse(source).body[0]
    parts: list[ast.AST | None] = [node]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        parts = [node.args, node.returns, *node.decorator_list]
    names = {inner.id for part in parts if part is not None for inner in ast.walk(part) if isinstance(inner, ast.Name)}
    scope = getattr(thing, "__globals__", None) or vars(sys.modules.get(thing.__module__, types))
    return {name: scope[name] for name in sorted(names) if name in scope}


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except Exception:  # a name that cannot be found says nothing about how the function is called
        return {}


def _required(function: Callable[..., Any]) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    return [parameter.name for parameter in parameters if parameter.default is parameter.empty]


def _is_json_type(hint: Any) -> bool:
    """Whether JSON gives just what an annotation promises, without pydantic."""
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        return _is_json_type(typing.get_args(hint)[0])
    if origin in (list, dict, typing.Union, types.UnionType):
        return all(_is_json_type(inner) for inner in typing.get_args(hint))
    return origin is typing.Literal or hint in (
        str,
        int,
        float,
        bool,
        list,
        dict,
        type(None),
        Any,
        inspect.Parameter.empty,
    )


def _importable(module: str, name: str, value: Any) -> bool:
    """Whether another program finds this under that name: in the standard library or an installed package."""
    loaded = sys.modules.get(module)
    if loaded is None or not name or getattr(loaded, name, None) is not value:
        return False
    file = getattr(loaded, "__file__", None)
    return file is None or "site-packages" in file or file.startswith(sysconfig.get_path("stdlib"))


def _is_literal(value: Any) -> bool:
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except (ValueError, SyntaxError, RecursionError):
        return False


def _source(thing: Any) -> str | None:
    """The source of a function or class without its decorators that belong to this package; None if there is none."""
    thing = inspect.unwrap(thing)
    if getattr(thing, "__name__", "") == "<lambda>":
        return None
    try:
        source = textwrap.dedent(inspect.getsource(thing))
    except (OSError, TypeError):
        return None
    node = ast.parse(source).body[0]
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return None
    lines = source.splitlines()
    kept = [
        line
        for decorator in node.decorator_list
        if "tool" not in ast.unparse(decorator)
        for line in lines[decorator.lineno - 1 : decorator.end_lineno]
    ]
    return "\n".join([*kept, *lines[node.lineno - 1 : node.end_lineno]])

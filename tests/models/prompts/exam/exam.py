"""Read, run and mark the exam. `python exam.py` prints the scores, `--even` what went wrong in even conversations."""

from __future__ import annotations

import ast
import collections
import dataclasses
import datetime
import importlib.util
import inspect
import json
import sys
from pathlib import Path
from typing import Any

import toolnexus_nb as tn

HERE = Path(__file__).parent
TOMORROW = ("tomorrow", (datetime.date.today() + datetime.timedelta(days=1)).isoformat())


@dataclasses.dataclass
class Turn:
    """One question: what it must lead to."""

    prompt: str
    options: dict[str, Any]
    calls: list[list[ast.Call]] = dataclasses.field(default_factory=list)  # each: the calls that are as good
    silent: bool = False
    asks: bool = False
    contains: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Conversation:
    """What is asked of one set of tools."""

    number: int
    tools: str
    kind: str
    turns: list[Turn] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Mark:
    """right: calls and arguments and asking back; names: the tools; wrong_call: called where no call may be made."""

    conversation: Conversation
    right: bool = True
    names: bool = True
    wrong_call: bool = False
    told: list[str] = dataclasses.field(default_factory=list)


def conversations(path: Path = HERE / "exam_prompts.txt") -> list[Conversation]:
    """The exam, numbered from 1."""
    found: list[Conversation] = []
    tools, options = "", {}
    for line in path.read_text(encoding="utf-8").splitlines():
        sign, _, rest = line.partition(" ")
        if line.startswith("["):
            tools = line.strip("[]")
        elif sign == "*":
            found.append(Conversation(len(found) + 1, tools, rest))
        elif sign == "!":
            name, _, value = rest.partition(" ")
            options = {name: json.loads(value) if value.startswith("{") else _choice(value)}
        elif sign == ">":
            found[-1].turns.append(Turn(rest, options))
            options = {}
        elif sign == "~":
            found[-1].turns[-1].contains.append(rest)
        elif sign == "=" and rest in ("none", "asks"):
            found[-1].turns[-1].silent = True
            found[-1].turns[-1].asks = rest == "asks"
        elif sign == "=":
            found[-1].turns[-1].calls.append(_alternatives(ast.parse(rest, mode="eval").body))
    return found


def _choice(value: str) -> Any:
    return value if value in ("none", "required", "auto") else {"type": "function", "function": {"name": value}}


def _alternatives(node: ast.expr) -> list[Any]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _alternatives(node.left) + _alternatives(node.right)
    return [node]


def tool_sets() -> dict[str, list[Any]]:
    """The functions of exam_tools.py, by set."""
    spec = importlib.util.spec_from_file_location("exam_tools", HERE / "exam_tools.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["exam_tools"] = module  # dataclasses and postponed annotations look it up
    spec.loader.exec_module(module)
    return module.SETS


def examine(conversation: Conversation, sets: dict[str, list[Any]]) -> Mark:
    """Ask everything in one chat and mark it."""
    functions = {function.__name__: function for function in sets[conversation.tools]}
    chat = tn.Chat(tn.connect("rehearsal"), tn.Toolkit(list(functions.values())))
    mark = Mark(conversation)
    for turn in conversation.turns:
        result = chat.ask_sync(turn.prompt, **turn.options)
        made = [(record.call.function.name, dict(record.call.arguments)) for record in result.calls]
        names_wanted = [{call.func.id for call in calls} for calls in turn.calls]  # type: ignore[attr-defined]
        names = len(made) == len(names_wanted) and _pairs([[m[0] in w for w in names_wanted] for m in made])
        right = names and _pairs(
            [[any(_fits(m, call, functions[m[0]]) for call in calls) for calls in turn.calls] for m in made]
        )
        text = result.text or ""
        if turn.asks and "?" not in text:
            right = False
        right = right and all(words in text for words in turn.contains)
        mark.wrong_call |= turn.silent and bool(made)
        mark.names &= names
        mark.right &= right
        mark.told.append(f"    > {turn.prompt}\n      {made}\n      {text!r}")
    return mark


def _pairs(table: list[list[bool]]) -> bool:
    """Whether each row can have a column of its own."""
    if not table:
        return True
    return any(good and _pairs([row[:i] + row[i + 1 :] for row in table[1:]]) for i, good in enumerate(table[0]))


def _fits(made: tuple[str, dict[str, Any]], call: Any, function: Any) -> bool:
    """Whether these arguments are the wanted ones. A default may be said or left out."""
    name, given = made
    if name != call.func.id:
        return False
    wanted = {keyword.arg: [_value(v) for v in _alternatives(keyword.value)] for keyword in call.keywords}
    defaults = {n: p.default for n, p in inspect.signature(function).parameters.items()}
    for key, value in given.items():
        if key in wanted:
            if not any(_same(value, good) for good in wanted[key]):
                return False
        elif not _same(value, getattr(defaults.get(key), "value", defaults.get(key))):
            return False
    return all(key in given or None in goods or defaults[key] in goods for key, goods in wanted.items())


def _value(node: Any) -> Any:
    if isinstance(node, ast.Name):
        return TOMORROW
    return ast.literal_eval(node)


def _same(value: Any, good: Any) -> bool:
    if good is TOMORROW:
        return value in TOMORROW
    if isinstance(value, str) and isinstance(good, str):
        return value.strip(" .?!").casefold() == good.strip(" .?!").casefold()
    return value == good and isinstance(value, bool) == isinstance(good, bool)


def scores(marks: list[Mark]) -> dict[str, Any]:
    """How many were right, had the right tools, and called where no call may be made; also by kind."""
    silent = [m for m in marks if all(turn.silent for turn in m.conversation.turns)]
    kinds: dict[str, list[bool]] = collections.defaultdict(list)
    for mark in marks:
        kinds[mark.conversation.kind].append(mark.right)
    return {
        "conversations": len(marks),
        "right": sum(m.right for m in marks),
        "tools": sum(m.names for m in marks),
        "silent": len(silent),
        "wrong calls": sum(m.wrong_call for m in silent),
        "kinds": {kind: f"{sum(rights)}/{len(rights)}" for kind, rights in kinds.items()},
    }


def main() -> None:
    """Print the scores."""
    sets = tool_sets()
    marks = [examine(conversation, sets) for conversation in conversations()]
    even = [mark for mark in marks if mark.conversation.number % 2 == 0]
    print("even", scores(even))
    odd = scores([mark for mark in marks if mark.conversation.number % 2])
    odd.pop("kinds")
    print("odd ", odd)
    for mark in even:
        if "--all" in sys.argv or ("--even" in sys.argv and not mark.right):
            state = "right" if mark.right else "WRONG CALL" if mark.wrong_call else "wrong"
            print(mark.conversation.number, mark.conversation.tools, mark.conversation.kind, state)
            print("\n".join(mark.told))


if __name__ == "__main__":
    main()

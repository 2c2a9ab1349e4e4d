"""What a tool prints stays with its call, whoever else prints at the same time."""

from __future__ import annotations

import asyncio
import sys
import threading

import toolnexus_nb as tn
from toolnexus_nb.tools import printing
from toolnexus_nb.tools.printing import capture_prints


def test_prints_of_parallel_calls_in_threads_do_not_mix():
    barrier = threading.Barrier(3, timeout=5)

    @tn.tool
    def speak(word: str) -> str:
        for _ in range(20):
            print(word)
            barrier.wait()
        print("aside", file=sys.stderr)
        return word

    async def main() -> list[tn.ToolResult]:
        return await asyncio.gather(*(speak.execute({"word": word}) for word in "abc"))

    for word, result in zip("abc", asyncio.run(main()), strict=True):
        assert result.printed == f"{word}\n" * 20 + "aside\n"
        assert result.output == word


def test_async_tools_print_into_their_own_call():
    @tn.tool
    async def speak(word: str) -> None:
        print(word)
        await asyncio.sleep(0.01)
        print(word)

    async def main() -> list[tn.ToolResult]:
        return await asyncio.gather(*(speak.execute({"word": word}) for word in "ab"))

    assert [result.printed for result in asyncio.run(main())] == ["a\na\n", "b\nb\n"]


def test_what_a_failing_tool_printed_is_kept():
    @tn.tool
    def fail() -> None:
        print("so far")
        raise ValueError("no")

    assert fail.execute_sync().printed == "so far\n"


def test_everybody_else_writes_through(capsys):
    with capture_prints() as printed:
        thread = threading.Thread(target=lambda: print("not a tool"))  # a bare thread carries no context
        thread.start()
        thread.join()
        print("a tool")
    print("after")
    assert printed.text == "a tool\n"
    assert capsys.readouterr().out == "not a tool\nafter\n"


def test_the_router_is_the_stream_it_stands_for(capsys):
    with capture_prints():
        assert sys.stdout.encoding
        assert sys.stdout.isatty() is False


def test_a_flood_is_cut_with_a_note(monkeypatch):
    monkeypatch.setattr(printing, "LONGEST", 10)
    with capture_prints() as printed:
        print("x" * 25)
    assert printed.text == "x" * 10 + "\n… (16 more characters were printed)"

"""What a terminal prints of a run."""

from __future__ import annotations

from toolnexus_nb.notebook.run_state import RunState
from toolnexus_nb.notebook.run_stream import TextSurface
from toolnexus_nb.openai.types import ToolCall
from toolnexus_nb.rounds import events as ev


def test_a_person_reads_the_arguments_before_deciding(capsys) -> None:
    state = RunState("Mail it.")
    surface = TextSurface(state)
    call = ToolCall.from_any({"id": "a", "function": {"name": "send", "arguments": '{"to": "ada@example.org"}'}})
    event = ev.ApprovalAsked(1, call, "mails can't be taken back")
    surface.take(event, list(state.apply(event)))
    assert 'send(to="ada@example.org") waits for a decision: mails can\'t be taken back' in capsys.readouterr().out

"""What happened here before the caller's own tools were handed back, so that the model still knows it afterwards.

The caller sees one assistant message with its calls, and sends that back with its results. What the model did meanwhile
with tools of this server is not in it. So the run's messages are kept, found by the ids of the calls, and put in the
place of that message when it returns. The ids are random: nobody finds a conversation that is not theirs. What is
forgotten (a restart, too long ago) only costs the model its memory of it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from ..openai.types import Message

_KEPT = 256


class Handbacks:
    """The last runs that ended with calls of the caller's."""

    def __init__(self, kept: int = _KEPT) -> None:
        self._kept = kept
        self._runs: OrderedDict[str, list[Message]] = OrderedDict()

    def remember(self, ids: Sequence[str], originals: Sequence[str], messages: Sequence[Message]) -> None:
        """Keep a run's own messages under the first of its fresh `ids`; `originals` are the ids the model had given."""
        renamed = dict(zip(originals, ids, strict=True))
        self._runs[ids[0]] = [_renamed(message, renamed) for message in messages]
        while len(self._runs) > self._kept:
            self._runs.popitem(last=False)

    def restore(self, messages: Sequence[Message]) -> list[Message]:
        """The conversation with every remembered run in its place."""
        restored: list[Message] = []
        for message in messages:
            run = self._runs.get(message.tool_calls[0].id) if message.tool_calls else None
            if run is None:
                restored.append(message)
            else:
                restored.extend(run)
        return restored


def _renamed(message: Message, ids: dict[str, str]) -> Message:
    if not any(call.id in ids for call in message.tool_calls):
        return message
    copy = message.model_copy(deep=True)
    for call in copy.tool_calls:
        call.id = ids.get(call.id, call.id)
    return copy

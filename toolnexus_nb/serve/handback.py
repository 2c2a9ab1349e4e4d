"""What happened here before the caller's own tools were handed back, so that the model still knows it afterwards.

The caller sees one assistant message with its calls, and sends that back with its results. What the model did meanwhile
with tools of this server is not in it. So the run's messages are kept and put in the place of that message when it
returns. They are found by the ids of the calls and by everything that was said before: only who has the whole
conversation can go on with it. What is forgotten (a restart, too long ago) only costs the model its memory of it.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence

from ..openai.types import Message

_KEPT = 256


class Handbacks:
    """The last runs that ended with calls of the caller's."""

    def __init__(self, kept: int = _KEPT) -> None:
        self._kept = kept
        self._runs: OrderedDict[str, list[Message]] = OrderedDict()

    def remember(self, conversation: Sequence[Message], ids: Sequence[str], run: Sequence[Message]) -> None:
        """Keep what a run said after the caller's `conversation`; `ids` are those of the calls handed back."""
        *_, said = _said_before(conversation)
        self._runs[_key(said, ids)] = list(run)
        while len(self._runs) > self._kept:
            self._runs.popitem(last=False)

    def restore(self, conversation: Sequence[Message]) -> list[Message]:
        """The conversation with every remembered run in its place."""
        if not self._runs:
            return list(conversation)
        restored: list[Message] = []
        for message, said in zip(conversation, _said_before(conversation), strict=False):
            run = self._runs.get(_key(said, [call.id for call in message.tool_calls])) if message.tool_calls else None
            restored.extend([message] if run is None else run)
        return restored


def _said_before(conversation: Sequence[Message]) -> Iterator[bytes]:
    """A digest of what came before each message, and one of the whole."""
    digest = hashlib.sha256()
    yield digest.digest()
    for message in conversation:
        digest.update(message.model_dump_json().encode("utf-8", "replace"))
        yield digest.digest()


def _key(said: bytes, ids: Sequence[str]) -> str:
    return f"{said.hex()} {' '.join(ids)}"

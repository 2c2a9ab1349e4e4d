"""The one assembler of streamed tool calls: rules 1 and 3 to 6 of the quirks, rows A01 to A30.

A call is a slot. The whole difficulty is to know which slot a piece belongs to, since indices are missing, null,
sparse or used twice, ids are missing, rotating or repeated, and names come whole, repeated or in fragments.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .arguments import is_complete, split_packed, without_placeholder
from .json_text import dump_json
from .types import Delta, DeltaToolCall, ToolCall, ToolCallFunction

CUT_OFF = "the call was cut off before its arguments were complete"


def generate_tool_call_id(index: int = 0) -> str:
    """Make an id of the form `call_` and 24 hex digits. `index` is there for the seed's signature; ids never repeat."""
    return f"call_{secrets.token_hex(12)}"


class CallPiece(NamedTuple):
    """What one delta added to one call. `position`: of the call among the calls, in order of first appearance."""

    position: int
    id: str
    name: str
    arguments: str


class _Body(NamedTuple):
    """What one entry says: a piece of a name, a piece of the arguments (or all of them as an object)."""

    name: str
    arguments: Any
    custom: bool


_NO_BODY = _Body("", None, False)


@dataclass(slots=True)
class _Slot:
    """One call under way. `said_id`: the provider's id, which `id` is too unless another call had it first (A16)."""

    position: int
    id: str = ""
    said_id: str = ""
    name: str = ""
    type: str = ""
    custom: bool = False
    pieces: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)
    function_extra: dict[str, Any] = field(default_factory=dict)
    split_ids: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The arguments so far."""
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""

    @property
    def blank(self) -> bool:
        """Whether the arguments have not begun."""
        return not any(map(str.strip, self.pieces))

    @property
    def full(self) -> bool:
        """Whether the arguments are a complete JSON value; looks at the whole text only if its end allows that."""
        last = self.pieces[-1].rstrip()[-1:] if self.pieces else ""
        return last in ("}", "]", '"', "l") and is_complete(self.text)


class StreamingToolCallAccumulator:
    """Feed it deltas; `finalize()` gives the calls in order of first appearance.

    `tool_names`: the declared tools, to tell fragments of a name from repeats (A08). A call without an id has one of
    ours from its first piece on; a provider's id that comes later replaces it.
    """

    def __init__(self, tool_names: Iterable[str] = ()) -> None:
        self.tool_names = frozenset(tool_names)
        self._slots: list[_Slot] = []
        self._by_label: dict[int, _Slot] = {}
        self._by_id: dict[str, _Slot] = {}
        self.pieces: list[CallPiece] = []

    def process_delta(
        self, delta: Delta | Mapping[str, Any], on_new_id: Callable[[str], object] | None = None
    ) -> list[str]:
        """Take the tool calls of one delta and give the ids of the calls it touched, in order.

        `on_new_id` is called with each id made here. `self.pieces` then says what was added to which call.
        """
        if not isinstance(delta, Delta):
            delta = Delta.read(delta)
        entries = delta.tool_calls
        self.pieces = []
        for position, entry in enumerate(entries):
            body = _body_of(entry)
            slot = self._slot_for(entry, body, position, alone=len(entries) == 1)
            added = self._take(slot, entry, body)
            if not slot.id:
                slot.id = generate_tool_call_id(slot.position)
                if on_new_id is not None:
                    on_new_id(slot.id)
            self.pieces.append(CallPiece(slot.position, slot.id, slot.name, added))
        return list(dict.fromkeys(piece.id for piece in self.pieces))

    def finalize(self, *, cut: bool = False) -> list[ToolCall]:
        """Give the calls as far as they have come. May be called at any time and again.

        `cut`: the answer ended by its token limit or broke off, so arguments that are blank are not `{}` but missing
        (B09). Arguments that do not parse are kept in `arguments_text`, with `arguments_error`.
        """
        return [call for slot in self._slots if slot.name or not slot.blank for call in _calls_of(slot, cut)]

    def get_tool_call(self, index: int) -> ToolCall | None:
        """The call labelled `index` so far (its position, where a provider gives no index), or None."""
        slot = self._by_label.get(index)
        return _calls_of(slot, cut=False)[0] if slot else None

    @property
    def has_tool_calls(self) -> bool:
        """Whether any call has begun."""
        return bool(self._slots)

    def __len__(self) -> int:
        return len(self._slots)

    def reset(self) -> None:
        """Forget everything but the declared names."""
        self.__init__(self.tool_names)  # type: ignore[misc]

    def _slot_for(self, entry: DeltaToolCall, body: _Body, position: int, *, alone: bool) -> _Slot:
        """Find or make the slot of one entry (rule 3)."""
        if entry.index is not None:
            slot = self._by_label.get(entry.index)
            return slot if slot and not self._begins_another(slot, entry.id, body) else self._new_slot(entry.index)
        if entry.id:
            return self._by_id.get(entry.id) or self._new_slot()
        slot = None
        if self._slots:
            slot = self._slots[-1] if alone else self._slots[position] if position < len(self._slots) else None
        name = body.name
        return slot if slot and not (name and (slot.full or self._is_another(slot, name))) else self._new_slot()

    def _begins_another(self, slot: _Slot, said_id: str | None, body: _Body) -> bool:
        """Whether an entry uses the label of `slot` for another call (rule 3.1: A03, A04; not A06, A07, A17)."""
        if not body.name:
            return False
        if said_id and slot.said_id:
            return said_id != slot.said_id and (slot.blank or slot.full)
        start = body.arguments
        begins = isinstance(start, Mapping) or (isinstance(start, str) and start.lstrip()[:1] == "{")
        return (begins and slot.full) or self._is_another(slot, body.name)

    def _is_another(self, slot: _Slot, name: str) -> bool:
        """Whether both names are declared tools and one is no continuation of the other (A08)."""
        known = self.tool_names
        return name != slot.name and name in known and slot.name in known and slot.name + name not in known

    def _new_slot(self, label: int | None = None) -> _Slot:
        slot = _Slot(len(self._slots))
        self._slots.append(slot)
        self._by_label[slot.position if label is None else label] = slot
        return slot

    def _take(self, slot: _Slot, entry: DeltaToolCall, body: _Body) -> str:
        """Add one entry to its slot; gives the text it added to the arguments."""
        if entry.id and not slot.said_id:
            slot.said_id = entry.id
            if self._by_id.setdefault(entry.id, slot) is slot:
                slot.id = entry.id
        slot.type = slot.type or entry.type or ""
        slot.custom = slot.custom or body.custom
        if entry.__pydantic_extra__:
            slot.extra.update(_said(entry.__pydantic_extra__))
        if entry.function is not None and entry.function.__pydantic_extra__:
            slot.function_extra.update(_said(entry.function.__pydantic_extra__))
        name, arguments, _ = body
        if name and name != slot.name and (not slot.name or slot.blank):
            slot.name = self._joined_name(slot.name, name)
        if isinstance(arguments, str):
            slot.pieces.append(arguments)
            return arguments
        if arguments is not None:  # an object is the whole value (A19)
            slot.pieces = [dump_json(arguments)]
            return slot.pieces[0]
        return ""

    def _joined_name(self, held: str, piece: str) -> str:
        """A further piece of a name is a fragment, unless only by itself it is a declared tool (A08)."""
        joined = held + piece
        return piece if piece in self.tool_names and joined not in self.tool_names else joined


def _body_of(entry: DeltaToolCall) -> _Body:
    """What an entry says of its call; zero values of a custom call beside a function are noise (A25, A29)."""
    custom, function = entry.custom, entry.function
    if custom and any(isinstance(value, str) and value for value in custom.values()):
        return _Body(str(custom.get("name") or ""), custom.get("input"), True)
    return _Body(function.name or "", function.arguments, False) if function is not None else _NO_BODY


def _calls_of(slot: _Slot, cut: bool) -> list[ToolCall]:
    """The call of a slot, or the calls if the model packed several into one (A11)."""
    text = without_placeholder(slot.text)
    kind = "custom" if slot.custom else "function"
    if slot.custom:
        return [
            ToolCall.read({**slot.extra, "id": slot.id, "type": kind, "custom": {"name": slot.name, "input": text}})
        ]
    texts = split_packed(text) or [text]
    while len(slot.split_ids) < len(texts) - 1:
        slot.split_ids.append(generate_tool_call_id())
    calls = []
    for call_id, arguments in zip([slot.id, *slot.split_ids], texts, strict=False):
        function = ToolCallFunction.read({**slot.function_extra, "name": slot.name, "arguments": arguments})
        if cut and (function.arguments_error or not arguments.strip()):
            function.refuse(CUT_OFF)
        calls.append(ToolCall.read({**slot.extra, "id": call_id, "type": slot.type or kind, "function": function}))
    return calls


def _said(extra: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in extra.items() if value is not None}

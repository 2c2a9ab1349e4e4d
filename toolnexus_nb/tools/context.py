"""What a running tool may ask of the one who called it: report progress, notice a stop, reach a notebook variable."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

Progress = Callable[[float | None, float | None, str | None], None]
"""Called with (progress, total, message); each may be None."""


def main_namespace() -> Mapping[str, Any]:
    """The user's namespace: in a kernel the notebook's variables, in a script its globals."""
    main = sys.modules.get("__main__")
    return vars(main) if main is not None else {}


@dataclass(eq=False)
class ToolContext:
    """One tool call as the tool sees it; a parameter annotated `ToolContext` receives it and is no part of the schema.

    `deadline` is on the clock of `time.monotonic()`, or None. `call_id` is the model's id for this call ("" outside a
    run). All methods may be called from any thread.
    """

    call_id: str = ""
    deadline: float | None = None
    on_progress: Progress | None = None
    namespace: Callable[[], Mapping[str, Any]] | None = None
    _stop: threading.Event = field(default_factory=threading.Event, repr=False)

    @property
    def cancelled(self) -> bool:
        """True once the call was stopped or its deadline has passed; a long loop should look and return."""
        return self._stop.is_set() or (self.deadline is not None and time.monotonic() >= self.deadline)

    def cancel(self) -> None:
        """Tell the tool to stop. A plain function in a thread can only be told; it must look at `cancelled`."""
        self._stop.set()

    def report(self, progress: float | None = None, total: float | None = None, message: str | None = None) -> None:
        """Say how far the tool is, for the person who watches: `context.report(3, 10, "third page")`."""
        if self.on_progress is not None:
            self.on_progress(progress, total, message)

    def variable(self, name: str) -> Any:
        """The notebook variable of that name. Raises NameError with the names there are."""
        from .variables import look_up

        return look_up(name, (self.namespace or main_namespace)())


current_context: ContextVar[ToolContext | None] = ContextVar("toolnexus_tool_context", default=None)
"""The call that is running here; set around every tool's run, also in threads we start."""

"""Asking a model, running its calls, asking again."""

from __future__ import annotations

from .._lazy import lazy

_NAMES: dict[str, str] = {
    # public name -> module that defines it
    "ApprovalAsked": "events",
    "Approve": "approval",
    "BytesResponse": "transport",
    "CallRecord": "result",
    "Chat": "chat",
    "Client": "client",
    "Connector": "connectors",
    "Decision": "approval",
    "Event": "events",
    "Exchange": "tap",
    "Note": "events",
    "PRESETS": "profiles",
    "Pending": "result",
    "Profile": "profiles",
    "ReasoningDelta": "events",
    "RefusalDelta": "events",
    "RetryScheduled": "events",
    "RoundFinished": "events",
    "RoundStarted": "events",
    "RunEvents": "chat",
    "RunFinished": "events",
    "RunResult": "result",
    "RunStopped": "result",
    "SetupError": "setup_error",
    "TextDelta": "events",
    "Timeout": "transport",
    "ToolCallDelta": "events",
    "ToolFinished": "events",
    "ToolProgress": "events",
    "ToolStarted": "events",
    "Transport": "transport",
    "TransportRequest": "transport",
    "TransportResponse": "transport",
    "UsageReported": "events",
    "connect": "connectors",
    "list_connectors": "connectors",
    "on_exchange": "tap",
    "register_connector": "connectors",
    "run_rounds": "engine",
}

__getattr__, __dir__, __all__ = lazy(__name__, _NAMES)

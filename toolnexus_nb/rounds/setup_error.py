"""What has to be set before a model can be asked."""

from __future__ import annotations

from ..openai.errors import ToolnexusError


class SetupError(ToolnexusError):
    """A key, a model or an address is missing or wrong; the message says what to set and where."""

"""Where each piece of a schema came from: the line of the signature, the docstring, the annotation or the comment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Part = Literal["name", "type", "description", "default", "required", "limits"]
Source = Literal["signature", "docstring", "annotation", "comment", "argument"]
"""`argument`: it was given to `tn.tool(name=, description=)` itself."""


@dataclass(frozen=True)
class Provenance:
    """One piece of a tool's schema and the text it was read from.

    `parameter` is the property's name, "" for the tool itself. `line` counts from 1 in `Tool.source_text`, None if the
    source is not to be had. `text` is what stands there.
    """

    parameter: str
    part: Part
    source: Source
    line: int | None
    text: str

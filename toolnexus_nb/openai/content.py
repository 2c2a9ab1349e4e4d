"""Content of a message: a text, or a list of parts; and the text and the thoughts in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, WrapValidator

from .json_text import clean_text
from .wire_model import WireModel


def _text(value: Any) -> Any:
    return clean_text(value) if isinstance(value, str) else value


def _content(value: Any, _: Any) -> Any:
    """Content may be any JSON value; only text that can't be encoded is mended, at once (D21)."""
    return _text(value)


Text = Annotated[str, BeforeValidator(_text)]
Content = Annotated[str | list[Any] | None, WrapValidator(_content)]


class ImageURL(WireModel):
    """An image by address; `data:` addresses hold the image itself."""

    url: str = ""
    detail: str | None = None


class ContentPart(WireModel):
    """One part of a content list: text, image_url, input_audio, file, refusal, or a provider's own kind."""

    type: str = ""
    text: Text | None = None
    image_url: ImageURL | None = None
    input_audio: dict[str, Any] | None = None
    file: dict[str, Any] | None = None
    refusal: Text | None = None


def content_text(content: Any) -> str:
    """The text of message content in any form: a string, or the text parts of a list, joined without separator."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple):
        return ""
    return "".join(part_text(part) for part in content)


def part_text(part: Any) -> str:
    """The text of one content part, "" if it is no text part."""
    get = part.get if isinstance(part, Mapping) else lambda key: getattr(part, key, None)
    text = get("text")
    return text if get("type") in ("text", "input_text", "output_text") and isinstance(text, str) else ""


def thinking_text(content: Any) -> str:
    """The thoughts inside a content list: Mistral's `thinking` parts (B15), Databricks' `reasoning` parts (B16)."""
    texts = []
    for part in content if isinstance(content, list) else ():
        if isinstance(part, Mapping) and part.get("type") in ("thinking", "reasoning"):
            inner = part.get("thinking") or part.get("summary") or part.get("text") or part.get("reasoning")
            items = inner if isinstance(inner, list) else [inner]
            texts += [
                item if isinstance(item, str) else item.get("text") for item in items if isinstance(item, str | Mapping)
            ]
    return "".join(text for text in texts if isinstance(text, str))


def details_text(details: Any) -> str:
    """The readable text of OpenRouter's `reasoning_details` (C03), "" if it is encrypted or absent."""
    if not isinstance(details, list):
        return ""
    texts = [item.get("text") or item.get("summary") for item in details if isinstance(item, Mapping)]
    return "".join(text for text in texts if isinstance(text, str))

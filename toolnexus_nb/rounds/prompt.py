"""A person's prompt in any form as one user message: text, images, files, parts."""

from __future__ import annotations

import base64
import io
import mimetypes
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..openai.types import ImageURL, Message

_BYTES = (bytes, bytearray, memoryview)
_IMAGE = re.compile(r"https?://\S+\.(?:png|jpe?g|gif|webp)(?:\?\S*)?$", re.IGNORECASE)
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
)


def user_message(prompt: Any) -> Message:
    """A user message of a prompt.

    A string is text. A list mixes text (str), images (a `Path`, bytes, a PIL image, a figure, anything with
    `_repr_png_`, an address that ends like an image's) and content parts as dicts; a single image is a list of one. A
    Message, or a dict with a role, is taken as it is. Raises TypeError or ValueError saying what a part may be.
    """
    if isinstance(prompt, str):
        if not prompt.strip():
            raise ValueError("the prompt is empty")
        return Message.user(prompt)
    if isinstance(prompt, Message) or (isinstance(prompt, Mapping) and "role" in prompt):
        message = Message.from_any(prompt)
        if message.role != "user":
            raise ValueError(f"a prompt is a user message, not one of role {message.role!r}")
        return message
    parts = (
        prompt if isinstance(prompt, Sequence) and not isinstance(prompt, bytes | bytearray | memoryview) else [prompt]
    )
    if not parts:
        raise ValueError("the prompt is empty")
    return Message.user([content_part(part) for part in parts])


def content_part(part: Any) -> dict[str, Any]:
    """One content part as the wire has it."""
    if isinstance(part, str):
        return (
            {"type": "image_url", "image_url": {"url": part}} if _IMAGE.match(part) else {"type": "text", "text": part}
        )
    if isinstance(part, Mapping):
        return dict(part)
    if isinstance(part, ImageURL):
        return {"type": "image_url", "image_url": part.model_dump_wire()}
    if hasattr(part, "model_dump_wire"):
        return dict(part.model_dump_wire())
    if isinstance(part, Path):
        return _file(part)
    if isinstance(part, _BYTES):
        data = bytes(part)
        if kind := _image_type(data):
            return image_part(data, kind)
        raise ValueError("these bytes are no PNG, JPEG, GIF, WebP or BMP image")
    drawn = _drawn(part)
    if drawn is not None:
        return image_part(drawn, "image/png")
    raise TypeError(
        "a part of a prompt is text, a Path, bytes of an image, a PIL image, a figure or a dict, "
        f"not {type(part).__name__}"
    )


def image_part(data: bytes, mime_type: str) -> dict[str, Any]:
    """An image inside the message, as a `data:` address."""
    return {"type": "image_url", "image_url": {"url": f"data:{mime_type};base64,{base64.b64encode(data).decode()}"}}


def _file(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    kind = _image_type(data) or mimetypes.guess_type(path.name)[0] or ""
    if kind.startswith("image/"):
        return image_part(data, kind)
    if kind in ("audio/wav", "audio/x-wav", "audio/mpeg"):
        audio = {"data": base64.b64encode(data).decode(), "format": "mp3" if kind == "audio/mpeg" else "wav"}
        return {"type": "input_audio", "input_audio": audio}
    try:
        return {"type": "text", "text": f"File {path.name}:\n{data.decode()}"}
    except UnicodeDecodeError:
        raise ValueError(
            f"{path.name} is neither an image, nor a sound, nor text: a model cannot be shown it"
        ) from None


def _image_type(data: bytes) -> str:
    """What kind of image these bytes are, "" if they are none that models are shown."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    for signature, kind in _SIGNATURES:
        if data.startswith(signature):
            return kind
    return ""


def _drawn(value: Any) -> bytes | None:
    """A PIL image, a matplotlib figure, or anything that draws itself, as PNG; None if it does not."""
    png = getattr(value, "_repr_png_", None)
    if callable(png):
        drawn = png()
        drawn = drawn[0] if isinstance(drawn, tuple) else drawn
        if isinstance(drawn, bytes):
            return drawn
        if isinstance(drawn, str):
            return base64.b64decode(drawn)
    if getattr(value, "mode", None) in ("CMYK", "YCbCr", "LAB", "HSV", "F") and hasattr(value, "convert"):
        value = value.convert("RGB")  # PNG has no such colours
    buffer = io.BytesIO()
    for name, arguments in (("savefig", {"format": "png", "bbox_inches": "tight"}), ("save", {"format": "PNG"})):
        write = getattr(value, name, None)
        if callable(write):
            write(buffer, **arguments)
            return buffer.getvalue()
    return None

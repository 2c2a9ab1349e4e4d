"""Keys out of texts: what is shown, saved or raised never holds a key or a piece of one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_HIDDEN = "[redacted]"
_PIECE = 6  # a piece of a secret this long is worth hiding
_KEY_SHAPES = re.compile(
    r"""(?xi)
    \b(?:sk|gsk|csk|xai|pplx|nvapi|rk)[-_](?=[\w*.…-]*[\d*…])[\w*.…-]{6,}  # also masked: sk-ab**yz
    | \b(?:hf|ghp|gho|r8|tgp_v1|fw)_[A-Za-z0-9]{16,}
    | \bAIza[\w-]{16,}
    | \beyJ[\w-]{8,}\.[\w-]{4,}\.[\w-]*  # a JSON web token
    """
)
_KEY_PREFIX = re.compile(r"^(?:sk|gsk|csk|xai|pplx|nvapi|rk|hf|ghp)[-_](?:[a-z]+\d*-){0,2}")
_KEY_PLACES = re.compile(
    r"""(?xi)
    ( [?&](?:key|api[-_]?key|token|access[-_]token|code|sig|signature)=                         # in an address
    | \bBearer\s+(?=\S*[\d*]|\S{20})
    | \b(?:x-api-key|api[-_]?key|authorization|password|secret)["']?\s*[:=]\s*["']?(?:Bearer\s+)?(?=[^\s"']*[\d*])
    )
    [^\s"'&\#,;)}\]<>\\]{4,}
    """
)
_PASSWORD_IN_ADDRESS = re.compile(r"(://[^/\s:@]*:)[^/\s@]+@")
_KEY_NAMES = frozenset({"api_key", "api-key", "apikey", "x-api-key", "authorization", "access_token", "password"})


def redact(text: str, secrets: Iterable[str | None] = ()) -> str:
    """Blank every key in `text`: the given secrets, any piece of six characters of them, and whatever looks like a key.

    Keys are blanked whole, never half masked. A secret of fewer than eight characters ("ollama", "none") is a
    placeholder and stays.
    """
    text = _KEY_PLACES.sub(rf"\1{_HIDDEN}", _KEY_SHAPES.sub(_HIDDEN, text))
    text = _PASSWORD_IN_ADDRESS.sub(rf"\1{_HIDDEN}@", text)
    for secret in secrets:
        if secret and len(secret) >= 8:
            own = _KEY_PREFIX.sub("", secret)  # every key of a provider begins with its prefix, which is no secret
            text = _without_pieces(text.replace(secret, _HIDDEN), own if len(own) >= 8 else secret)
    return text


def _without_pieces(text: str, secret: str) -> str:
    """`text` without any run of six or more characters that also stands in `secret`."""
    pieces = {secret[i : i + _PIECE] for i in range(len(secret) - _PIECE + 1)}
    kept: list[str] = []
    start = i = 0
    while i <= len(text) - _PIECE:
        if text[i : i + _PIECE] not in pieces:
            i += 1
            continue
        end = i + _PIECE
        while text[end - _PIECE + 1 : end + 1] in pieces and end < len(text):
            end += 1
        kept += [text[start:i], _HIDDEN]
        start = i = end
    return "".join([*kept, text[start:]])


def redact_value(value: Any, secrets: Iterable[str | None] = ()) -> Any:
    """`redact` for every text inside a JSON value, and any text under a name such as `api_key`; the rest stays."""
    secrets = tuple(secrets)
    if isinstance(value, str):
        return redact(value, secrets)
    if isinstance(value, dict):
        return {
            key: _HIDDEN if item and isinstance(item, str) and _names_a_key(key) else redact_value(item, secrets)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [redact_value(item, secrets) for item in value]
    return value


def _names_a_key(name: Any) -> bool:
    return isinstance(name, str) and name.lower() in _KEY_NAMES

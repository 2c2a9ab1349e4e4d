"""Keys, and how they stay out of sight: in reprs, errors, tracebacks, addresses, headers, recordings.

A key is shown whole or not at all; here it is never shown at all, not even its last four characters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from ..openai.errors import redact

HIDDEN = "[redacted]"

_SECRET_WORDS = ("key", "token", "secret", "auth", "password", "passwd", "cookie", "credential", "signature", "sig")
_HARMLESS = frozenset({"accept", "content-length", "content-type", "date", "server", "transfer-encoding", "user-agent"})


def looks_secret(name: str) -> bool:
    """Whether a header or query parameter of this name probably holds a secret."""
    lowered = name.lower()
    return lowered == "code" or any(word in lowered for word in _SECRET_WORDS)


class Secret:
    """Text that no repr, format or traceback shows. `reveal()` is called where a request is written, nowhere else."""

    __slots__ = ("_reveal",)

    def __init__(self, text: str) -> None:
        self._reveal = lambda: text  # a closure: even a dump of the attributes shows no text

    def reveal(self) -> str:
        return self._reveal()

    def __bool__(self) -> bool:
        return bool(self._reveal())

    def __repr__(self) -> str:
        return HIDDEN

    __str__ = __repr__

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("a key is not pickled: set it again from its variable")


class Headers(Mapping[str, str]):
    """Headers for one request; the repr names them and hides the values."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, str] | None = None) -> None:
        self._items = dict(items or {})

    def __getitem__(self, name: str) -> str:
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"Headers({', '.join(self._items)})"

    def shown(self) -> dict[str, str]:
        """The headers for eyes and files: secret values are hidden, others pass through `redact`."""
        return {
            name: value if name in _HARMLESS else HIDDEN if looks_secret(name) else redact(value)
            for name, value in self._items.items()
        }


def hide_url(url: str) -> str:
    """The address without user, password and the values of secret query parameters (`?key=`)."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    query = "&".join(
        f"{name}={HIDDEN if looks_secret(name) else value}"
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
    )
    return urlunsplit((parts.scheme, host, parts.path, query, ""))


def secrets_of(url: str, headers: Mapping[str, str], key: Secret | None) -> tuple[str, ...]:
    """Every secret text a request to this endpoint carries, longest first, for `redact(text, secrets)`."""
    found: set[str] = set()
    if key:
        found.add(key.reveal())
    for name, value in headers.items():
        if looks_secret(name):
            found.update((value, value.split(" ", 1)[-1]))
    parts = urlsplit(url)
    found.update(value for name, value in parse_qsl(parts.query) if looks_secret(name))
    if parts.password:
        found.add(parts.password)
    return tuple(sorted((text for text in found if len(text) >= 4), key=len, reverse=True))


def blank(text: str, secrets: Sequence[str] = ()) -> str:
    """Text for a file or a script: the given secrets, and what looks like a key, blanked; nothing else touched."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return redact(text)

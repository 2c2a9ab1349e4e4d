"""Values as a model can read them: text, and parts for what is not text. Bounded, with a note of what was cut.

No library is imported here: a pandas or PIL object exists only if its module is loaded, so modules are looked up.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import inspect
import io
import itertools
import json
import math
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any

from pydantic_core import PydanticSerializationError, to_jsonable_python

from .results import ResultPart

LONGEST = 20_000
"""Characters of a result a model gets; the rest is cut with a note."""
_ITEMS = 10_000
"""Items taken from one list, generator or mapping."""
_NODES = 100_000
"""Lists, mappings and objects written of one value."""
_LOOKED_AT = 100
"""Items of a list or dict among which pictures are looked for."""
_ROWS, _COLUMNS = 20, 20
_SMALL_ARRAY = 200
"""Elements of an array that are all written."""
_DEEPEST = 100
_LARGEST = 14_000
"""Bits of an integer that Python still writes (sys.get_int_max_str_digits)."""

Rendered = tuple[str, tuple[ResultPart, ...]]


def render(value: Any) -> Rendered:
    """(text for the model, parts) of any Python value. A value that can't be written is named, with the reason."""
    try:
        return _rendered(value)
    except Exception as error:  # a foreign repr, dump or savefig failed: the tool itself did its work
        return bounded(f"{_repr(value)} (it could not be written in full: {type(error).__name__}: {error})"), ()


def _rendered(value: Any) -> Rendered:
    if isinstance(value, str):
        return bounded(_clean(value)), ()
    if value is None or type(value) in (bool, int):
        return as_json(value), ()
    if isinstance(value, ResultPart):
        return _part_text(value), (value,)
    special = _special(value)
    if special is not None:
        return bounded(special[0]), special[1]
    if isinstance(value, list | tuple) and any(map(_has_parts, value[:_LOOKED_AT])):
        return _with_parts([render(one) for one in value[:_LOOKED_AT]])
    if isinstance(value, dict) and any(map(_has_parts, itertools.islice(value.values(), _LOOKED_AT))):
        named = [(key, render(one)) for key, one in itertools.islice(value.items(), _LOOKED_AT)]
        return _with_parts([(f"{key}: {text}", parts) for key, (text, parts) in named])
    return bounded(as_json(value)), ()


def as_json(value: Any) -> str:
    """JSON with real characters; NaN and infinities are null, sets are sorted lists, unknown objects their repr."""
    plain = plain_data(value)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False, allow_nan=False)


def bounded(text: str, longest: int = LONGEST) -> str:
    """The text, cut in the middle with a note of how much is missing."""
    if len(text) <= longest:
        return text
    head, tail = longest * 3 // 4, longest // 4
    return f"{text[:head]}\n… [{len(text) - head - tail} of {len(text)} characters cut] …\n{text[-tail:]}"


def _clean(text: str) -> str:
    """A plain str (a StrEnum's member is none) without lone surrogates, which no endpoint takes: pairs are joined, the
    rest is U+FFFD (quirk G04)."""
    text = str.__str__(text)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


# --- plain data -------------------------------------------------------------------------------------------------------


def plain_data(value: Any) -> Any:
    """A value in JSON's own types: dict, list, str, int, float, bool, None. Cycles and what is too much are "…"."""
    return _Plain().of(value)


class _Plain:
    """One walk over a value. It knows what it is inside of, and how much it may still write."""

    def __init__(self) -> None:
        self._left = _NODES
        self._inside: set[int] = set()

    def of(self, value: Any) -> Any:
        if isinstance(value, enum.Enum):
            value = value.value
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return _clean(value)
        if isinstance(value, int):
            return int(value) if value.bit_length() < _LARGEST else f"an integer of {_digits(value)} digits"
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else None
        self._left -= 1
        if self._left < 0 or id(value) in self._inside or len(self._inside) > _DEEPEST:
            return "…"
        self._inside.add(id(value))
        try:
            return self._compound(value)
        finally:
            self._inside.discard(id(value))

    def _compound(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {_key(key): self.of(one) for key, one in self._first(value.items())}
        if isinstance(value, tuple) and hasattr(value, "_asdict"):
            return {key: self.of(one) for key, one in value._asdict().items()}
        if isinstance(value, list | tuple):
            return self._items(value)
        if isinstance(value, set | frozenset):
            return self._items(_sorted(value))
        if isinstance(value, bytes | bytearray | memoryview):
            return _bytes_text(bytes(value))
        if _is_lazy(value):
            return self._items(value)
        return self._object(value)

    def _items(self, values: Iterable[Any]) -> list[Any]:
        source = iter(values)
        items = [self.of(one) for one in self._first(source)]
        if next(source, _NOTHING) is not _NOTHING:
            items.append(f"… (only the first {len(items)} items)")
        return items

    def _first(self, values: Iterable[Any]) -> Iterator[Any]:
        """At most `_ITEMS` of them, fewer if the whole has become too large."""
        for one in itertools.islice(values, _ITEMS):
            yield one
            self._left -= 1
            if self._left <= 0:
                return

    def _object(self, value: Any) -> Any:
        if isinstance(value, datetime.date | datetime.time):
            return None if type(value).__name__ == "NaTType" else value.isoformat()
        if isinstance(value, datetime.timedelta | uuid.UUID | PurePath | decimal.Decimal | complex):
            return str(value)
        if dump := _method(value, "model_dump"):
            return self.of(dump())
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {field.name: self.of(getattr(value, field.name)) for field in dataclasses.fields(value)}
        if getattr(value, "shape", None) == () and (tolist := _method(value, "tolist")):  # a numpy scalar
            return self.of(tolist())
        special = _special(value)
        if special is not None:
            return special[0]
        if type(value).__name__ == "NAType":  # pandas' missing value
            return None
        try:  # an address, a pattern, a fraction, a URL, a hidden SecretStr
            return self.of(to_jsonable_python(value))
        except PydanticSerializationError:
            return _repr(value)


def _digits(value: int) -> int:
    return int(value.bit_length() * math.log10(2)) + 1


def _key(key: Any) -> str:
    if isinstance(key, str):
        return _clean(key)
    return as_json(key)


def _sorted(values: Iterable[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=repr)


def _is_lazy(value: Any) -> bool:
    return isinstance(value, Iterator) or (
        isinstance(value, Iterable) and type(value).__module__ in ("builtins", "collections", "itertools")
    )


_NOTHING = object()


def _method(value: Any, name: str) -> Callable[[], Any] | None:
    """A bound method of that name that can be called without arguments; None for classes and mocks of everything."""
    if isinstance(value, type) or not callable(getattr(type(value), name, None)):
        return None
    method: Callable[[], Any] = getattr(value, name)
    return method


def _bytes_text(data: bytes) -> str:
    """Text if it is text, else its size and first bytes."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = ""
    if text and (text.isprintable() or not set(text) & _CONTROLS):
        return text
    return f"{len(data)} bytes" + (f", starting {data[:16].hex(' ')}" if data else "")


_CONTROLS = {chr(code) for code in range(32)} - set("\t\n\r\f")


def _repr(value: Any) -> str:
    """A repr without the address, which says nothing and differs each time."""
    if inspect.isroutine(value) or isinstance(value, type):
        return str(getattr(value, "__qualname__", None) or type(value).__name__)
    if inspect.ismodule(value):
        return f"module {value.__name__}"
    if type(value).__repr__ is object.__repr__:
        return f"a {type(value).__qualname__} object"
    try:
        return repr(value)
    except Exception as error:  # someone's __repr__ is broken; the call itself went well
        return f"a {type(value).__qualname__} object (its repr fails: {type(error).__name__})"


# --- what is more than data -------------------------------------------------------------------------------------------


def _special(value: Any) -> Rendered | None:
    """Objects that say themselves how a model should read them, pictures, sounds, tables, arrays."""
    if isinstance(value, str | int | float | list | tuple | dict | set | type):
        return None
    for name in ("_repr_llm_", "_repr_markdown_"):
        if (method := _method(value, name)) is not None:
            said = method()
            if isinstance(said, str):
                return said, _pictures_of(value)
    for reader in (_frame, _array, _figure, _pil_image):
        rendered = reader(value)
        if rendered is not None:
            return rendered
    parts = _pictures_of(value)
    return (_parts_text(parts), parts) if parts else None


def _loaded(module: str) -> Any:
    return sys.modules.get(module)


def _is(value: Any, module: str, *names: str) -> bool:
    loaded = _loaded(module)
    kinds = tuple(kind for name in names if isinstance(kind := getattr(loaded, name, None), type))
    return bool(kinds) and isinstance(value, kinds)


def _frame(value: Any) -> Rendered | None:
    if _is(value, "pandas", "DataFrame"):
        kinds = ", ".join(f"{name} ({kind})" for name, kind in itertools.islice(value.dtypes.items(), _COLUMNS))
        rows, columns = value.shape
        head = f"DataFrame with {rows} rows and {columns} columns: {kinds}{', …' if columns > _COLUMNS else ''}"
        return f"{head}\n\n{_table(value)}{_left_out(rows)}", ()
    if _is(value, "pandas", "Series", "Index"):
        name = f" named {value.name}" if value.name is not None else ""
        table = _table(value.to_frame())
        head = f"{type(value).__name__}{name} with {len(value)} values ({value.dtype})"
        return f"{head}\n\n{table}{_left_out(len(value))}", ()
    if _is(value, "polars", "DataFrame"):
        kinds = ", ".join(f"{name} ({kind})" for name, kind in itertools.islice(value.schema.items(), _COLUMNS))
        head = f"DataFrame with {value.height} rows and {value.width} columns: {kinds}"
        return f"{head}\n\n{value.head(_ROWS)}{_left_out(value.height)}", ()
    return None


def _table(frame: Any) -> str:
    return str(frame.head(_ROWS).to_string(max_cols=_COLUMNS, max_colwidth=60))


def _left_out(rows: int) -> str:
    return f"\n… {rows - _ROWS} more rows" if rows > _ROWS else ""


def _array(value: Any) -> Rendered | None:
    """numpy's arrays and scalars, and what behaves like them (torch, jax): anything with shape, dtype and tolist."""
    tolist = _method(value, "tolist")
    if tolist is None or not hasattr(value, "shape") or not hasattr(value, "dtype"):
        return None
    shape = tuple(value.shape)
    if not shape:
        return as_json(tolist()), ()
    kind = "array" if _is(value, "numpy", "ndarray") else type(value).__name__
    head = f"{kind} of shape {shape}, {value.dtype}"
    if math.prod(shape) <= _SMALL_ARRAY:
        return f"{head}: {as_json(tolist())}", ()
    if not _is(value, "numpy", "ndarray"):
        return f"{head}\n{value!r}", ()
    text = _loaded("numpy").array2string(value, threshold=_SMALL_ARRAY, edgeitems=4, separator=", ")
    told = (
        f"; min {value.min():.6g}, max {value.max():.6g}, mean {value.mean():.6g}" if value.dtype.kind in "iuf" else ""
    )
    return f"{head}{told}\n{text}", ()


def _figure(value: Any) -> Rendered | None:
    if _is(value, "matplotlib.axes", "Axes"):
        value = value.figure
    if not _is(value, "matplotlib.figure", "Figure"):
        return None
    titles = [axes.get_title() or axes.get_ylabel() for axes in value.axes]
    named = "; ".join(title for title in titles if title)
    buffer = io.BytesIO()
    value.savefig(buffer, format="png", bbox_inches="tight")
    if (pyplot := _loaded("matplotlib.pyplot")) is not None:
        pyplot.close(value)  # or the inline backend shows it a second time at the end of the cell
    part = ResultPart("image", "image/png", buffer.getvalue(), name="figure.png")
    return f"a figure with {len(value.axes)} axes{f': {named}' if named else ''}", (part,)


def _has_parts(value: Any) -> bool:
    return (
        isinstance(value, ResultPart) or _is(value, "PIL.Image", "Image") or _is(value, "matplotlib.figure", "Figure")
    )


def _pil_image(value: Any) -> Rendered | None:
    if not _is(value, "PIL.Image", "Image"):
        return None
    buffer = io.BytesIO()
    shown = value if value.mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I") else value.convert("RGB")
    shown.save(buffer, format="PNG")
    return f"an image of {value.width} × {value.height} pixels", (
        ResultPart("image", "image/png", buffer.getvalue(), name="image.png"),
    )


_PICTURES = {"_repr_png_": "image/png", "_repr_jpeg_": "image/jpeg"}


def _pictures_of(value: Any) -> tuple[ResultPart, ...]:
    """The picture an object shows of itself in a notebook (IPython's Image, a plot of another library)."""
    for name, mime in _PICTURES.items():
        method = _method(value, name)
        data = method() if method else None
        if isinstance(data, tuple):  # (data, metadata)
            data = data[0]
        if isinstance(data, str):
            import base64

            data = base64.b64decode(data)
        if isinstance(data, bytes):
            return (ResultPart("image", mime, data),)
    return ()


def _part_text(part: ResultPart) -> str:
    if part.text is not None:
        return part.text
    size = f", {len(part.data)} bytes" if part.data is not None else ""
    told = " ".join(word for word in (part.kind, part.name, part.mime_type, part.uri) if word)
    return f"[{told}{size}]"


def _parts_text(parts: Iterable[ResultPart]) -> str:
    return "\n".join(_part_text(part) for part in parts)


def _with_parts(rendered: list[Rendered]) -> Rendered:
    """Several results as one: texts line by line, parts in order."""
    return bounded("\n".join(text for text, _ in rendered)), tuple(part for _, parts in rendered for part in parts)

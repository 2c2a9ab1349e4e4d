"""Annotations pydantic refuses, made expressible: live notebook objects by variable name, typing's TypedDict on 3.11,
iterators as lists. What still has no JSON form says why and what to write instead."""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import enum
import inspect
import numbers
import sys
import types
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Annotated, Any, NotRequired, Required, Union

from pydantic import AfterValidator, TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError, PydanticUserError
from pydantic_core import PydanticCustomError, core_schema
from typing_extensions import ReadOnly, TypedDict

from .context import current_context, main_namespace
from .variables import a_type, fits, look_up


class NoJsonForm(TypeError):
    """An annotation that no JSON value can stand for; the message says why."""


_names: ContextVar[Callable[[], dict[str, Any]]] = ContextVar("toolnexus_names", default=dict)


@contextmanager
def names_known(names: Callable[[], dict[str, Any]]) -> Iterator[None]:
    """While entered, annotations below (also those of a class's fields) may mean what `names()` gives."""
    token = _names.set(names)
    try:
        yield
    finally:
        _names.reset(token)


VARIABLE_TEXT = "Name of a notebook variable that holds "


class EnumName:
    """Annotated metadata: an enum whose values JSON can't write is chosen by its members' names."""

    def __init__(self, cls: type[enum.Enum]) -> None:
        self.cls = cls

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        names = core_schema.literal_schema(list(self.cls.__members__))
        members = core_schema.no_info_after_validator_function(self.cls.__getitem__, names)
        named = core_schema.plain_serializer_function_ser_schema(lambda member: member.name)
        instance = core_schema.is_instance_schema(self.cls)
        return core_schema.union_schema([instance, members], mode="left_to_right", serialization=named)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.cls.__members__)}


class NotebookVariable:
    """Annotated metadata: the value is a live object, and a model points at it by the variable's name."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(self._find)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {
            "type": "string",
            "description": f"{VARIABLE_TEXT}{a_type(self.kind)}.",
        }

    def _find(self, value: Any) -> Any:
        if not isinstance(value, str):
            if self.kind is not None and fits(value, self.kind):
                return value  # called from Python with the object itself
            raise PydanticCustomError(
                "notebook_variable",
                "{wanted}",
                {"wanted": f"the name of a variable that holds {a_type(self.kind)} is expected"},
            )
        context = current_context.get()
        namespace = (context.namespace if context else None) or main_namespace
        try:
            return look_up(value, namespace(), self.kind)
        except (NameError, TypeError) as error:
            raise PydanticCustomError("notebook_variable", "{reason}", {"reason": str(error)}) from error


_CALLABLES = (collections.abc.Callable, type, types.FunctionType, types.BuiltinFunctionType, types.MethodType)
_ITERATORS = (collections.abc.Iterator, collections.abc.Generator)
_ITERABLES = (collections.abc.Iterable, collections.abc.Collection, collections.abc.Reversible, *_ITERATORS)


def readable(annotation: Any) -> Any:
    """The annotation where pydantic's own reading would surprise: iterables are checked at once, not while the function
    iterates; an enum whose values JSON can't write goes by its names. The same object if there is nothing to change."""
    origin = typing.get_origin(annotation) or annotation
    if annotation is typing.LiteralString:
        return str
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        plain = all(isinstance(one.value, str | int | float | None) for one in annotation)
        return annotation if plain else Annotated[Any, EnumName(annotation)]
    if origin in _ITERABLES:
        item = readable(next(iter(typing.get_args(annotation)), Any))
        return Annotated[list[item], AfterValidator(iter)] if origin in _ITERATORS else list[item]  # type: ignore[valid-type]
    arguments = typing.get_args(annotation)
    if origin is typing.Literal or not arguments or hasattr(annotation, "__metadata__"):
        return annotation
    changed = tuple(readable(one) for one in arguments)
    if all(new is old for new, old in zip(changed, arguments, strict=True)):
        return annotation
    if origin in (typing.Union, types.UnionType):
        return Union[changed]  # noqa: UP007
    return origin[changed if len(changed) > 1 else changed[0]] if _container(origin) else annotation


def expressible(annotation: Any) -> Any:
    """The annotation with its unexpressible parts replaced. Raises NoJsonForm if one can't be."""
    if sys.version_info < (3, 12):
        _adopt_nested(annotation)
    return _replace(annotation)


def _replace(annotation: Any) -> Any:
    if annotation is Ellipsis or _accepted(annotation):
        return annotation
    if metadata := getattr(annotation, "__metadata__", ()):
        return Annotated[(_replace(annotation.__origin__), *metadata)]
    origin = typing.get_origin(annotation)
    if origin in _CALLABLES or annotation in _CALLABLES:
        raise NoJsonForm("a function or class can't be written in JSON")
    if origin in (typing.Union, types.UnionType):
        return Union[tuple(_replace(one) for one in typing.get_args(annotation))]  # noqa: UP007
    if origin is not None and _container(origin):
        return _rebuilt(annotation, origin)
    if is_old_typed_dict(origin):
        return _typed_dict_twin(origin, dict(zip(origin.__parameters__, typing.get_args(annotation), strict=False)))
    if isinstance(annotation, type) and hasattr(annotation, "__attrs_attrs__"):
        return _from_attrs(annotation)
    if origin is None and isinstance(annotation, type) and (base := _plain_base(annotation)) is not None:
        abstract = annotation.__module__ == "numbers" or inspect.isabstract(annotation)
        return base if abstract else Annotated[base, AfterValidator(lambda value: annotation(value))]
    if isinstance(origin or annotation, type):
        return Annotated[Any, NotebookVariable(origin or annotation)]
    raise NoJsonForm(f"{annotation!r} can't be written in JSON")


_PLAIN_BASES: tuple[tuple[type, Any], ...] = (
    (str, str), (bytes, bytes), (numbers.Integral, int), (numbers.Real, float), (numbers.Number, float),
    (datetime.datetime, datetime.datetime), (datetime.date, datetime.date), (datetime.timedelta, datetime.timedelta),
)  # fmt: skip


def _plain_base(cls: type) -> Any:
    """What JSON carries for a class that is a number, text or time of its own: numpy's float64, pandas' Timestamp."""
    return next((plain for kind, plain in _PLAIN_BASES if issubclass(cls, kind)), None)


def adapter_of(annotation: Any) -> TypeAdapter[Any]:
    """Pydantic's reader of an annotation; names in the fields of local classes are found in the function's scope."""
    adapter: TypeAdapter[Any] = TypeAdapter(annotation)
    if not adapter.pydantic_complete:
        adapter.rebuild(force=True, _types_namespace=_names.get()())
    return adapter


def _accepted(annotation: Any) -> bool:
    try:
        adapter_of(annotation).json_schema()
    except (PydanticSchemaGenerationError, PydanticInvalidForJsonSchema, PydanticUserError, TypeError):
        return False
    return True


def _container(origin: Any) -> bool:
    return (
        isinstance(origin, type)
        and issubclass(origin, list | tuple | set | frozenset | dict | collections.abc.Iterable)
        and (origin.__module__ in ("builtins", "collections", "collections.abc", "typing"))
    )


def _rebuilt(annotation: Any, origin: Any) -> Any:
    arguments = tuple(_replace(one) for one in typing.get_args(annotation))
    return origin[arguments if len(arguments) != 1 else arguments[0]]


# typing.TypedDict before Python 3.12
# -----------------------------------------------------------------------------------


def is_old_typed_dict(annotation: Any) -> bool:
    """Whether it is a class of typing's TypedDict that pydantic refuses."""
    if sys.version_info >= (3, 12) or not isinstance(annotation, type):
        return False
    return type(annotation).__name__ == "_TypedDictMeta" and type(annotation).__module__ == "typing"


def field_types(cls: Any) -> dict[str, Any]:
    """The resolved annotations of a class's fields; {} if they name something that can't be found."""
    try:
        return typing.get_type_hints(cls, localns=_names.get()(), include_extras=True)
    except Exception:  # whatever evaluating them raises; building the schema reports it with its own words
        return {}


def typed_dict_fields(cls: Any) -> dict[str, tuple[Any, bool]]:
    """(type, required) by key. `__required_keys__` alone is wrong where the annotations are strings."""
    fields: dict[str, tuple[Any, bool]] = {}
    for name, hint in field_types(cls).items():
        required = name in cls.__required_keys__
        while (origin := typing.get_origin(hint)) in REQUIREDNESS:
            required = required if origin is ReadOnly else origin in (typing.Required, Required)
            hint = typing.get_args(hint)[0]
        fields[name] = (hint, required)
    return fields


REQUIREDNESS = (typing.Required, typing.NotRequired, Required, NotRequired, ReadOnly)


def _adopt_typed_dict(cls: Any) -> None:
    """Give typing's TypedDict a twin pydantic accepts (it wants typing_extensions' before Python 3.12).

    The user's class itself keeps being usable anywhere below another type: it answers pydantic through its twin.
    """
    twin = _typed_dict_twin(cls, {})
    cls.__get_pydantic_core_schema__ = classmethod(lambda _, source, handler: handler.generate_schema(twin))


def _typed_dict_twin(cls: Any, types_of: dict[Any, Any]) -> Any:
    """The same TypedDict as typing_extensions makes it, with the given types for its type variables."""
    fields = {name: (_filled(hint, types_of), needed) for name, (hint, needed) in typed_dict_fields(cls).items()}
    for hint, _ in fields.values():
        _adopt_nested(hint)
    return _record(cls, fields)


def _filled(hint: Any, types_of: dict[Any, Any]) -> Any:
    if hint in types_of:
        return types_of[hint]
    variables = getattr(hint, "__parameters__", ())
    return hint[tuple(types_of.get(one, one) for one in variables)] if variables and types_of else hint


def _record(cls: Any, fields: dict[str, tuple[Any, bool]]) -> Any:
    """A TypedDict that goes by the name and docstring of a class; `fields`: (type, required) by key."""
    keys = {name: hint if required else NotRequired[hint] for name, (hint, required) in fields.items()}
    record = TypedDict(cls.__name__, keys)  # type: ignore[misc]
    record.__doc__ = cls.__dict__.get("__doc__")
    record.__module__, record.__qualname__ = cls.__module__, cls.__qualname__
    return record


def _from_attrs(cls: Any) -> Any:
    """An attrs class, made from an object with what its `__init__` takes."""
    hints = field_types(cls)
    fields = {
        one.alias: (_replace(readable(hints.get(one.name, Any))), one.default is sys.modules["attr"].NOTHING)
        for one in cls.__attrs_attrs__
        if one.init
    }
    return Annotated[_record(cls, fields), AfterValidator(lambda values: cls(**values))]


def _has_fields(cls: type) -> bool:
    return dataclasses.is_dataclass(cls) or (issubclass(cls, tuple) and hasattr(cls, "_fields"))


def _adopt_nested(annotation: Any, seen: frozenset[Any] = frozenset()) -> None:
    """Adopt typing's TypedDicts in an annotation, and among the fields of the classes in it."""
    adopted = "__get_pydantic_core_schema__" in getattr(annotation, "__dict__", ())
    if is_old_typed_dict(annotation) and not adopted:
        _adopt_typed_dict(annotation)
    elif isinstance(annotation, type) and annotation not in seen and _has_fields(annotation):
        for hint in field_types(annotation).values():
            _adopt_nested(hint, seen | {annotation})
    for one in typing.get_args(annotation):
        _adopt_nested(one, seen)

"""Annotations pydantic refuses, made expressible: live notebook objects by variable name, typing's TypedDict on 3.11,
iterators as lists. What still has no JSON form says why and what to write instead."""

from __future__ import annotations

import collections.abc
import enum
import sys
import types
import typing
from typing import Annotated, Any, Union

from pydantic import AfterValidator, TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError, PydanticUserError
from pydantic_core import PydanticCustomError, core_schema

from .context import current_context, main_namespace
from .variables import a_type, fits, look_up


class NoJsonForm(TypeError):
    """An annotation that no JSON value can stand for; the message says why."""


VARIABLE_TEXT = "Name of a notebook variable that holds "


class EnumName:
    """Annotated metadata: an enum whose values JSON can't write is chosen by its members' names."""

    def __init__(self, cls: type[enum.Enum]) -> None:
        self.cls = cls

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        names = core_schema.literal_schema(list(self.cls.__members__))
        members = core_schema.no_info_after_validator_function(self.cls.__getitem__, names)
        return core_schema.union_schema([core_schema.is_instance_schema(self.cls), members], mode="left_to_right")

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
    return _replace(annotation)


def _replace(annotation: Any) -> Any:
    if annotation is Ellipsis or _accepted(annotation):
        return annotation
    if _is_old_typed_dict(annotation):
        return _adopt_typed_dict(annotation)
    if metadata := getattr(annotation, "__metadata__", ()):
        return Annotated[(_replace(annotation.__origin__), *metadata)]
    origin = typing.get_origin(annotation)
    if origin in _CALLABLES or annotation in _CALLABLES:
        raise NoJsonForm("a function or class can't be written in JSON")
    if origin in (typing.Union, types.UnionType):
        return Union[tuple(_replace(one) for one in typing.get_args(annotation))]  # noqa: UP007
    if origin is not None and _container(origin):
        return _rebuilt(annotation, origin)
    if isinstance(origin or annotation, type):
        cls = origin or annotation
        _adopt_nested(cls)
        if _accepted(annotation):
            return annotation
        return Annotated[Any, NotebookVariable(cls)]
    raise NoJsonForm(f"{annotation!r} can't be written in JSON")


def _accepted(annotation: Any) -> bool:
    try:
        TypeAdapter(annotation).json_schema()
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


# typing.TypedDict before Python 3.12 -----------------------------------------------------------------------------------


def _is_old_typed_dict(annotation: Any) -> bool:
    return (
        sys.version_info < (3, 12)
        and isinstance(annotation, type)
        and type(annotation).__name__ == "_TypedDictMeta"
        and (type(annotation).__module__ == "typing")
    )


def _adopt_typed_dict(cls: Any) -> Any:
    """Give typing's TypedDict a twin pydantic accepts (it wants typing_extensions' before Python 3.12)."""
    import typing_extensions

    if "__get_pydantic_core_schema__" in cls.__dict__:
        return cls
    fields: dict[str, Any] = {}
    for name, hint in typing.get_type_hints(cls, include_extras=True).items():
        while typing.get_origin(hint) in (
            typing.Required,
            typing.NotRequired,
            typing_extensions.Required,
            typing_extensions.NotRequired,
        ):
            hint = typing.get_args(hint)[0]
        if not _mentions(hint, cls):
            hint = _replace(hint)
        fields[name] = hint if name in cls.__required_keys__ else typing_extensions.NotRequired[hint]
    twin = typing_extensions.TypedDict(cls.__name__, fields)  # type: ignore[operator]
    twin.__doc__, twin.__module__, twin.__qualname__ = cls.__dict__.get("__doc__"), cls.__module__, cls.__qualname__
    # The user's class itself keeps being usable anywhere below another type: it answers pydantic through its twin.
    cls.__get_pydantic_core_schema__ = classmethod(lambda _, source, handler: handler.generate_schema(twin))
    return cls


def _mentions(hint: Any, cls: Any) -> bool:
    return hint is cls or any(_mentions(one, cls) for one in typing.get_args(hint))


def _adopt_nested(cls: Any) -> None:
    """Adopt typing's TypedDicts among the fields of a dataclass or NamedTuple."""
    try:
        hints = typing.get_type_hints(cls, include_extras=True)
    except Exception:  # nothing to adopt in what can't be resolved; building the schema reports it
        return
    for hint in hints.values():
        for one in (hint, *typing.get_args(hint)):
            if _is_old_typed_dict(one):
                _adopt_typed_dict(one)

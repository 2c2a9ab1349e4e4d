"""Reading a function: its parameters with their resolved annotations, texts and defaults, whatever kind of callable
it is.

Understood: functions (plain, async, generators), lambdas, bound and unbound methods, static and class methods,
`functools.partial`, callable objects, classes. What a `partial` has bound is not offered to a model.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import typing_extensions

from .annotations import REQUIREDNESS, names_known, typed_dict_fields
from .comments import parameter_comments
from .context import ToolContext, main_namespace
from .docstrings import Documentation, read_docstring
from .documented_types import documented_type
from .provenance import Source

EMPTY = inspect.Parameter.empty
VAR_POSITIONAL = inspect.Parameter.VAR_POSITIONAL
VAR_KEYWORD = inspect.Parameter.VAR_KEYWORD
POSITIONAL_ONLY = inspect.Parameter.POSITIONAL_ONLY
POSITIONAL_OR_KEYWORD = inspect.Parameter.POSITIONAL_OR_KEYWORD
KEYWORD_ONLY = inspect.Parameter.KEYWORD_ONLY


class SignatureError(TypeError):
    """A function cannot become a tool; the message names the function, the parameter and the way out."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter as read: `annotation` is a resolved type or EMPTY, `type_text` what was written (or documented)."""

    name: str
    kind: Any
    annotation: Any = EMPTY
    default: Any = EMPTY
    type_text: str = ""
    type_source: Source = "signature"
    description: str = ""
    description_source: Source = "docstring"


@dataclass(frozen=True, slots=True)
class Reading:
    """A callable as read: the parameters a model may fill, and the names of those that receive the context.

    `fixed` are the parameters no model fills: the context's, a partial's. `takes_self`: a method without its object.
    `order` has (name, kind) of everything that is passed, the context too. `names` gives what the names in its
    annotations mean.
    """

    name: str
    documentation: Documentation
    parameters: tuple[Parameter, ...]
    context_parameters: tuple[str, ...]
    takes_self: bool
    fixed: frozenset[str] = frozenset()
    order: tuple[tuple[str, Any], ...] = ()
    names: Callable[[], dict[str, Any]] = dict


def read(function: Callable[..., Any], *, name: str | None = None) -> Reading:
    """Read a callable. Raises SignatureError when it has no readable signature or names a type that can't be found."""
    inner = underlying(function)
    title = name or callable_name(function)
    try:
        signature = _signature(function)
    except (ValueError, TypeError) as error:
        raise SignatureError(
            f"{title} has no readable signature ({error}); wrap it: def {title}(x: float) -> float: return ..."
        ) from error
    documentation = read_docstring(raw_docstring(function))
    parameters = list(signature.parameters.values())
    takes_self = _takes_self(function, parameters)
    if takes_self:
        parameters = parameters[1:]
    bound = _bound_keywords(function)
    scope = _Scope(title, inner)
    comments = functools.cache(lambda: parameter_comments(inner))
    kept: list[Parameter] = []
    receives_context: list[str] = []
    for raw in parameters:
        if raw.name in bound:
            continue
        annotation = scope.resolve(raw)
        if _wants_context(raw, annotation):
            receives_context.append(raw.name)
            continue
        with names_known(scope.names):
            kept.extend(_unpacked(_documented(raw, annotation, documentation, comments)))
    fixed = frozenset([*bound, *receives_context])
    order = tuple((raw.name, raw.kind) for raw in parameters if raw.name not in bound)
    context_parameters = tuple(receives_context)
    return Reading(title, documentation, tuple(kept), context_parameters, takes_self, fixed, order, scope.names)


def _signature(function: Any) -> inspect.Signature:
    if sys.version_info < (3, 14):
        return inspect.signature(function)
    import annotationlib  # type: ignore[import-not-found,unused-ignore]

    # Python 3.14 evaluates annotations when they are looked at; names it can't find stay forward references.
    return inspect.signature(function, annotation_format=annotationlib.Format.FORWARDREF)


def underlying(function: Any) -> Any:
    """The function (or class) whose code, globals and docstring stand behind a callable."""
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, types.MethodType | staticmethod | classmethod):
            function = function.__func__
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif isinstance(function, type | types.FunctionType | types.BuiltinFunctionType):
            return function
        elif isinstance(call := getattr(type(function), "__call__", None), types.FunctionType):  # noqa: B004
            function = call
        else:
            return function


def callable_name(function: Any) -> str:
    """The name a callable goes by: its own, a partial's function's, a callable object's class's."""
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", None) or type(function).__name__)


def raw_docstring(function: Any) -> str | None:
    """The docstring a person wrote for a callable; a callable object's `__call__` wins over its class."""
    while isinstance(function, functools.partial):
        function = function.func
    if isinstance(function, types.MethodType):
        return function.__doc__ or _inherited_docstring(function)
    if isinstance(function, types.FunctionType | types.BuiltinFunctionType):
        return function.__doc__
    if isinstance(function, type):
        return _class_docstring(function)
    return underlying(function).__doc__ or function.__doc__


def _inherited_docstring(method: types.MethodType) -> str | None:
    """What a base class says about a method (inspect.getdoc asks the attributes, and a Tool among them answers)."""
    owner = method.__self__ if isinstance(method.__self__, type) else type(method.__self__)
    found = (vars(base).get(method.__name__) for base in owner.__mro__)
    return next((text for one in found if one is not None and (text := getattr(one, "__doc__", None))), None)


def _class_docstring(cls: type) -> str | None:
    text = cls.__doc__
    if text and text.startswith(f"{cls.__name__}("):  # the one dataclass writes itself
        text = None
    made_by = cls.__dict__.get("__init__")
    return text or (made_by.__doc__ if isinstance(made_by, types.FunctionType) else None)


def _takes_self(function: Any, parameters: list[inspect.Parameter]) -> bool:
    """Whether this is a method still waiting for its object: `def f(self, ...)` in a class body."""
    if not parameters or parameters[0].name not in ("self", "cls") or not isinstance(function, types.FunctionType):
        return False
    if parameters[0].name == "self" and parameters[0].annotation is EMPTY:
        return True
    outer = function.__qualname__.rpartition(".")[0]
    return bool(outer) and not outer.endswith("<locals>")


def _bound_keywords(function: Any) -> set[str]:
    bound: set[str] = set()
    while isinstance(function, functools.partial):
        bound |= set(function.keywords)
        function = function.func
    return bound


def _wants_context(raw: inspect.Parameter, annotation: Any) -> bool:
    """A parameter annotated ToolContext (also `| None`), or a bare one called ctx or context."""
    if annotation is EMPTY:
        return raw.name in ("ctx", "context") and raw.default in (EMPTY, None)
    arguments = typing.get_args(annotation) or (annotation,)
    return any(isinstance(one, type) and issubclass(one, ToolContext) for one in arguments)


def _documented(
    raw: inspect.Parameter, annotation: Any, documentation: Documentation, comments: Callable[[], Mapping[str, str]]
) -> Parameter:
    said = documentation.parameters.get(raw.name)
    text, source = annotated_text(annotation), "annotation"
    if not text and said:
        text, source = said.description, "docstring"
    if not text:
        text, source = comments().get(raw.name, ""), "comment"
    type_text, type_source = annotation_text(raw.annotation), "signature"
    if annotation is EMPTY and said and said.type_text:
        annotation = documented_type(said.type_text)
        type_text, type_source = said.type_text, "docstring"
    return Parameter(
        raw.name,
        raw.kind,
        annotation,
        raw.default,
        type_text,
        typing.cast(Source, type_source),
        text,
        typing.cast(Source, source),
    )


def annotation_text(annotation: Any) -> str:
    """An annotation as a person would write it, "" if there is none."""
    if annotation is EMPTY:
        return ""
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def annotated_text(annotation: Any) -> str:
    """The text in `Annotated[str, "text"]`, `Annotated[str, Doc("text")]` or `Annotated[str, Field(description=)]`."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType, *REQUIREDNESS):
        return next((text for one in typing.get_args(annotation) if (text := annotated_text(one))), "")
    for extra in getattr(annotation, "__metadata__", ()):
        if isinstance(extra, str):
            return inspect.cleandoc(extra)
        if isinstance(written := getattr(extra, "documentation", None), str):
            return inspect.cleandoc(written)
        if isinstance(described := getattr(extra, "description", None), str):
            return inspect.cleandoc(described)
    return ""


def _unpacked(parameter: Parameter) -> Iterator[Parameter]:
    """`**options: Unpack[Options]` as the keyword parameters the TypedDict names; everything else as it is."""
    if parameter.kind is not VAR_KEYWORD or typing.get_origin(parameter.annotation) not in UNPACK:
        yield parameter
        return
    for name, (annotation, required) in typed_dict_fields(typing.get_args(parameter.annotation)[0]).items():
        text = annotation_text(annotation)
        said = annotated_text(annotation)
        yield Parameter(name, KEYWORD_ONLY, annotation, EMPTY if required else UNSET, text, "annotation", said)


class _Unset:
    """The default of a key that may be left out and has no value then."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET = _Unset()


UNPACK = (typing.Unpack, typing_extensions.Unpack)


class _Scope:
    """Where the names in a function's annotations are looked up."""

    def __init__(self, title: str, inner: Any) -> None:
        self._title = title
        self._inner = inner

    def resolve(self, raw: inspect.Parameter) -> Any:
        """The annotation with every string in it evaluated."""
        annotation = raw.annotation
        if annotation is EMPTY or not _has_strings(annotation):
            return annotation
        error: NameError | None = None
        for names in self._namespaces():
            try:
                return _evaluate(annotation, names)
            except NameError as missing:
                error = error or missing
            except Exception as wrong:
                written = annotation_text(annotation)
                raise SignatureError(
                    f"{self._title}: the annotation of {raw.name}, {written}, cannot be read: {wrong}"
                ) from None
        missing_name = error.name if error is not None else annotation_text(annotation)
        raise SignatureError(
            f"{self._title}: the annotation of {raw.name} names {missing_name}, which is not defined where "
            f"{self._title} was written; define it before the tool is made, at the top of a cell or module"
        ) from None

    def names(self) -> dict[str, Any]:
        """Everything an annotation here may name, the nearest meaning first."""
        merged: dict[str, Any] = {}
        for names in reversed(list(self._namespaces())):
            merged.update(names)
        return merged

    def _namespaces(self) -> Iterator[dict[str, Any]]:
        inner = self._inner
        owner: type | None = None
        if isinstance(inner, type):
            module = sys.modules.get(inner.__module__)
            names = {**(vars(module) if module else {}), **vars(inner), inner.__name__: inner}
        else:
            names = dict(getattr(inner, "__globals__", {}))
            owner = _owner(inner)
            names.update(_closure(inner))
            generic = (*getattr(owner, "__type_params__", ()), *getattr(inner, "__type_params__", ()))
            names.update({one.__name__: one for one in generic})
        names.setdefault("ToolContext", ToolContext)
        yield names
        if owner is not None:
            yield {**vars(owner), **vars(builtins), **names}
        for local in _enclosing_locals(inner):
            yield {**names, **local}
        yield {**main_namespace(), **names}


def _owner(inner: Any) -> type | None:
    """The class a method was written in, where its module still knows it by that name."""
    found: Any = types.SimpleNamespace(**getattr(inner, "__globals__", {}))
    for step in getattr(inner, "__qualname__", "").split(".")[:-1]:
        found = getattr(found, step, None)
    return found if isinstance(found, type) else None


def _closure(inner: Any) -> dict[str, Any]:
    code, cells = getattr(inner, "__code__", None), getattr(inner, "__closure__", None)
    found: dict[str, Any] = {}
    for name, cell in zip(code.co_freevars if code else (), cells or (), strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found


def _enclosing_locals(inner: Any) -> Iterator[dict[str, Any]]:
    """Locals of the functions and class bodies this one is being defined in, as far as they are still running."""
    outer = [part for part in getattr(inner, "__qualname__", "").split(".")[:-1] if part != "<locals>"]
    frame = sys._getframe(1) if outer else None
    while frame is not None:
        if frame.f_code.co_name in outer:
            yield frame.f_locals
        frame = frame.f_back


def _has_strings(annotation: Any) -> bool:
    if isinstance(annotation, str | typing.ForwardRef):
        return True
    if typing.get_origin(annotation) is typing.Literal:
        return False
    arguments = annotation if isinstance(annotation, list) else getattr(annotation, "__args__", ())
    return isinstance(arguments, tuple | list) and any(_has_strings(one) for one in arguments)


def _evaluate(annotation: Any, names: dict[str, Any]) -> Any:
    holder = types.SimpleNamespace(__annotations__={"it": annotation})
    return typing.get_type_hints(holder, globalns=names, localns=names, include_extras=True)["it"]

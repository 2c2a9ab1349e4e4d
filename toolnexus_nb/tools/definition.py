"""A tool: a name, a description, a schema, and something that runs when a model calls it."""

from __future__ import annotations

import copy
import functools
import inspect
import marshal
import re
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypedDict, Unpack, overload

from .background import sync_twin, ticking
from .binding import Binder, SchemaBinder, SignatureBinder
from .context import ToolContext
from .provenance import Provenance
from .results import ToolResult
from .running import FunctionRunner, InvokeRunner, Runner, run_call
from .schema import JSONSchema
from .signature import SignatureError, annotation_text, read, underlying
from .well_formed import Malformed, well_formed

__all__ = ["JSONSchema", "Tool", "as_tool", "native_tool", "tool"]

Approval = bool | Callable[[dict[str, Any]], "bool | str"]
Invoke = Callable[[dict[str, Any], ToolContext], Awaitable[Any]]


class Tool:
    """What a model can call. A tool made of a function is still callable as that function.

    name            what it is called here; `Toolkit.wire_name` is what a provider accepts of it
    description     for the model; "" if nobody wrote one
    input_schema    JSON Schema of the arguments; a fresh copy each time
    source          "function", "native", "http", "mcp:SERVER"
    strict          ask for the provider's strict mode
    needs_approval  True, or a function of the arguments that gives True, False or the reason as text
    main_thread     run on the main thread (for what is bound to it: sqlite3 connections, widgets)
    timeout         seconds after which the call is given up, or None
    malformed       what was left out of a foreign schema because it is no JSON Schema
    """

    __name__: str
    __wrapped__: Any

    def __init__(
        self,
        *,
        name: str,
        description: str = "",
        input_schema: Mapping[str, Any] | None = None,
        invoke: Invoke | None = None,
        function: Callable[..., Any] | None = None,
        source: str = "function",
        strict: bool = False,
        needs_approval: Approval = False,
        main_thread: bool = False,
        timeout: float | None = None,
        output_schema: Mapping[str, Any] | None = None,
        annotations: Mapping[str, Any] | None = None,
        title: str | None = None,
        binder: Binder | None = None,
        runner: Runner | None = None,
    ) -> None:
        if runner is None:
            if invoke is None:
                raise TypeError(
                    "a Tool needs `invoke`, an async function of (arguments, context); see tn.tool and tn.native_tool"
                )
            runner = InvokeRunner(invoke)
        if not isinstance(name, str) or not name.strip():
            raise ValueError("a tool needs a name")
        if timeout is not None and timeout <= 0:
            raise ValueError(f"{name}: timeout is in seconds and must be greater than 0, got {timeout}")
        self.name = name
        self.description = description
        self.source = source
        self.strict = strict
        self.function = function
        self.needs_approval = needs_approval
        self.main_thread = main_thread
        self.timeout = timeout
        self.output_schema = copy.deepcopy(dict(output_schema)) if output_schema else None
        self.annotations = dict(annotations or {})
        self.title = title
        self._binder = binder or SchemaBinder(input_schema)
        self._runner = runner
        schema: JSONSchema = self._binder.input_schema
        self.malformed: list[Malformed] = []
        if not isinstance(self._binder, SignatureBinder):  # it comes from outside
            schema, self.malformed = well_formed(schema)
        self._frozen_schema = _frozen(schema)
        self.wire_cache: dict[Any, Any] = {}

    @property
    def display_name(self) -> str:
        """The title a person reads, or the name."""
        return self.title or self.name

    @property
    def input_schema(self) -> JSONSchema:
        """The JSON Schema of the arguments; changing the copy changes nothing here."""
        return _thawed(self._frozen_schema)

    @property
    def provenance(self) -> list[Provenance]:
        """Where each piece of the schema came from; [] for a tool that brought its schema."""
        from .tracing import trace

        return trace(self, self._binder) if isinstance(self._binder, SignatureBinder) else []

    @property
    def source_text(self) -> str:
        """The source of the function behind the tool, "" if there is none; `provenance` counts its lines from 1."""
        from .tracing import source_text

        return source_text(self.function) if self.function is not None else ""

    @property
    def given_options(self) -> dict[str, Any]:
        """What was said to `tn.tool` beside the function."""
        return dict(self._options)

    @property
    def binder(self) -> Binder:
        """What checks the arguments."""
        return self._binder

    async def execute(
        self, arguments: Mapping[str, Any] | str | None = None, context: ToolContext | None = None
    ) -> ToolResult:
        """Run one call: `arguments` is a dict, JSON text or None.

        Never raises for what a tool or a model did wrong: that comes back with `is_error` and a sentence a model can
        act on. KeyboardInterrupt and cancellation pass through.
        """
        return await ticking(run_call(self, arguments, context))

    execute_sync = sync_twin(execute)

    async def run(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        """Bind and call, as `execute` does. Raises whatever the tool raises, Misfits if the arguments do not fit."""
        positional, keywords = await self._binder.bind(arguments, context)
        return await self._runner.run(self, positional, keywords, context)

    def approval_needed(self, arguments: dict[str, Any]) -> str | None:
        """None if the call may run unasked, else the reason a person reads."""
        asked: bool | str | Callable[[dict[str, Any]], bool | str] = self.needs_approval
        if callable(asked):
            try:
                asked = asked(arguments)
            except Exception as error:  # a policy that fails must not let the call through
                return f"the approval rule of {self.name} failed ({type(error).__name__}: {error})"
        if isinstance(asked, str):
            return asked or None
        return f"{self.name} asks for approval" if asked else None

    def changed(self, **options: Any) -> Tool:
        """The same tool with other options (name, description, timeout …); this one stays as it is."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        vars(other).update(options, wire_cache={}, _options={**self._options, **options})
        return other

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.function is None:
            raise TypeError(
                f"{self.name} comes from {self.source} and is no Python function; use await tool.execute({{...}})"
            )
        return self.function(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """A tool defined in a class body is bound to its object like the method it was."""
        if not isinstance(self._binder, SignatureBinder) or not self._binder.reading.takes_self:
            return self
        if isinstance(self._decorated, classmethod):
            instance = owner
        if instance is None or self.function is None:
            return self
        bound = tool(self.function.__get__(instance, owner), **self._options)
        own = getattr(instance, "__dict__", None)
        if not isinstance(self._decorated, classmethod) and isinstance(own, dict):  # a class has none of its own
            own[self.__name__] = bound
        return bound

    _decorated: Any = None
    _options: dict[str, Any] = {}

    def __reduce__(self) -> Any:
        module, qualname = getattr(self, "__module__", None), getattr(self, "__qualname__", None)
        found: Any = sys.modules.get(module or "")
        for part in (qualname or "").split("."):
            found = getattr(found, part, None)
        if found is self:
            return qualname
        if self.function is None:
            raise TypeError(f"{self.name} comes from {self.source} and cannot be pickled")
        return _remade, (self.function, self._options)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tool:
        return self

    def __copy__(self) -> Tool:
        return self

    def __repr__(self) -> str:
        return f"<Tool {self.name} from {self.source}>"

    def __str__(self) -> str:
        taken = ", ".join(self.input_schema.get("properties", {}))
        first = (self.description.splitlines() or [""])[0]
        return f"{self.name}({taken}){f': {first}' if first else ''}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


def _remade(function: Callable[..., Any], options: dict[str, Any]) -> Tool:
    return tool(function, **options)


_MARSHAL = 2
"""The marshal format without back references: fastest to read."""


def _frozen(schema: JSONSchema) -> bytes | JSONSchema:
    """A schema as bytes: marshal makes a fresh copy several times faster than copy.deepcopy."""
    try:
        return marshal.dumps(schema, _MARSHAL)
    except ValueError:  # a value JSON does not know; kept as it is
        return copy.deepcopy(schema)


def _thawed(frozen: bytes | JSONSchema) -> JSONSchema:
    return marshal.loads(frozen) if isinstance(frozen, bytes) else copy.deepcopy(frozen)


class ToolOptions(TypedDict, total=False):
    """What `tn.tool` takes beside the function; see Tool."""

    name: str | None
    description: str | None
    strict: bool
    needs_approval: Approval
    main_thread: bool
    timeout: float | None
    title: str | None
    annotations: Mapping[str, Any] | None


@overload
def tool(function: Callable[..., Any], /, **options: Unpack[ToolOptions]) -> Tool: ...
@overload
def tool(function: None = None, /, **options: Unpack[ToolOptions]) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    strict: bool = False,
    needs_approval: Approval = False,
    main_thread: bool = False,
    timeout: float | None = None,
    title: str | None = None,
    annotations: Mapping[str, Any] | None = None,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a function a tool: `@tn.tool`, `@tn.tool(timeout=5)`, `tn.tool(function)`. It stays callable as it was.

    name, description   for the model; None: the function's name, its docstring
    strict              ask for the provider's strict mode
    needs_approval      True, or a function of the arguments that gives True, False or the reason as text
    main_thread         run on the notebook's main thread (sqlite3 connections, widgets)
    timeout             seconds after which a call is given up
    title               what a person reads instead of the name
    annotations         hints in MCP's words, such as {"destructiveHint": True}

    A tool given instead of a function is copied with these options. Raises SignatureError (a TypeError) that names the
    function, the parameter and the way out when something in the signature has no JSON form.
    """
    options: dict[str, Any] = {
        "name": name,
        "description": description,
        "strict": strict,
        "needs_approval": needs_approval,
        "main_thread": main_thread,
        "timeout": timeout,
        "title": title,
        "annotations": annotations,
    }
    given = {key: value for key, value in options.items() if value not in (None, False)}
    if function is None:
        return functools.partial(tool, **given)
    if isinstance(function, Tool):
        return function.changed(**given) if given else function
    if not callable(function) and not isinstance(function, classmethod):
        raise TypeError(f"tn.tool takes a function, got {type(function).__name__}")
    plain = function.__func__ if isinstance(function, staticmethod | classmethod) else function
    reading = read(plain, name=name)
    if reading.name == "<lambda>":
        raise SignatureError('a lambda has no name a model could call: tn.tool(function, name="...")')
    made = Tool(
        name=reading.name,
        description=reading.documentation.description if description is None else inspect.cleandoc(description),
        function=plain,
        source="function",
        strict=strict,
        needs_approval=needs_approval,
        main_thread=main_thread,
        timeout=timeout,
        title=title,
        annotations=annotations,
        binder=SignatureBinder(reading),
        runner=FunctionRunner(plain),
    )
    made._decorated, made._options = function, given
    functools.update_wrapper(made, underlying(plain) if not hasattr(plain, "__name__") else plain, updated=())
    made.__name__ = getattr(plain, "__name__", reading.name)
    made.__wrapped__ = plain
    return made


def as_tool(thing: Any) -> Tool:
    """A Tool as it is, any other callable through `tool`."""
    if isinstance(thing, Tool):
        return thing
    return tool(thing)


def native_tool(
    name: str,
    description: str,
    input_schema: Mapping[str, Any] | None,
    fn: Callable[..., Any],
    **options: Any,
) -> Tool:
    """A tool whose schema you write yourself: the seed's NativeTool.

    `fn(args)` gets the arguments as one dict; `fn(args, context)` when it has a second required parameter or one
    annotated ToolContext. `input_schema` None: no arguments. `options`: what `tn.tool` takes besides.
    """
    if not callable(fn):
        raise TypeError(f"{name}: fn must be a function of the arguments, got {type(fn).__name__}")
    if input_schema is not None and not isinstance(input_schema, Mapping):
        raise TypeError(f"{name}: input_schema must be a dict, a JSON Schema, got {type(input_schema).__name__}")
    if input_schema is not None and input_schema.get("type", "object") != "object":
        raise ValueError(
            f'{name}: input_schema must describe an object ("type": "object"), got {input_schema.get("type")!r}'
        )
    return Tool(
        name=name,
        description=description or "",
        function=fn,
        source="native",
        binder=SchemaBinder(input_schema, _context_place(fn)),
        runner=FunctionRunner(fn),
        **options,
    )


_CONTEXT = re.compile(r"\bToolContext\b")


def _context_place(fn: Callable[..., Any]) -> str | int | None:
    """How a native function gets its context: by keyword name, as the second argument (1), or not at all."""
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        return None
    for parameter in parameters[1:]:
        if _CONTEXT.search(annotation_text(parameter.annotation)):
            return 1 if parameter.kind is parameter.POSITIONAL_ONLY else parameter.name
    second = parameters[1] if len(parameters) > 1 else None
    if second is not None and second.default is second.empty:
        if second.kind in (second.POSITIONAL_ONLY, second.POSITIONAL_OR_KEYWORD):
            return 1
        if second.kind is second.KEYWORD_ONLY:
            return second.name
    return None

"""Tools as the providers' request bodies want them, as fresh plain dicts, and back.

Whatever has to be changed for a provider is reported: pass a list as `report` and read the Changes, or look at `lint`.
"""

from __future__ import annotations

import copy
import marshal
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .definition import Tool, as_tool, native_tool
from .names import unique_wire_name
from .portable import Change, for_anthropic, for_gemini, for_openai
from .schema import JSONSchema
from .strict import strict_schema

Report = list[Change] | None
Keep = Callable[[str], bool] | None


def to_openai(
    tools: Iterable[Any] | None, filter: Keep = None, strict: bool | None = None, *, report: Report = None
) -> list[dict[str, Any]]:
    """`[{"type": "function", "function": {name, description, parameters}}]` in the order given; None is empty.

    Takes tools, plain functions, anything with name, description and inputSchema, and ready-made dicts. `filter` keeps
    names. `strict` True asks for strict mode for all of them, None as each tool says. Raises ValueError when two tools
    have one name, StrictError when a schema can't be strict.
    """
    return [_openai(tool, wire, strict, report) for tool, wire in _named(tools, filter)]


def to_anthropic(tools: Iterable[Any] | None, filter: Keep = None, *, report: Report = None) -> list[dict[str, Any]]:
    """`[{name, description, input_schema}]`."""
    return [_anthropic(tool, wire, report) for tool, wire in _named(tools, filter)]


def to_gemini(tools: Iterable[Any] | None, filter: Keep = None, *, report: Report = None) -> list[dict[str, Any]]:
    """`[{"functionDeclarations": [{name, description, parameters}]}]`, or `[]` without tools."""
    declared = [_gemini(tool, wire, report) for tool, wire in _named(tools, filter)]
    return [{"functionDeclarations": declared}] if declared else []


def _named(tools: Iterable[Any] | None, keep: Keep) -> list[tuple[Tool, str]]:
    """Each tool with its wire name. Raises ValueError for two of one name: a call could not say which is meant."""
    wire_name_of = getattr(tools, "wire_name", None)
    named: dict[str, tuple[Tool, str]] = {}
    wires: set[str] = set()
    for thing in each(tools):
        tool = as_definition(thing)
        if keep is not None and not keep(tool.name):
            continue
        if tool.name in named:
            raise ValueError(
                f"two tools are called {tool.name}, and providers refuse that: leave one out, or give one another name="
            )
        wire = wire_name_of(tool) if wire_name_of else unique_wire_name(tool.name, wires)
        wires.add(wire)
        named[tool.name] = (tool, wire)
    return list(named.values())


def each(tools: Any) -> Iterable[Any]:
    """The things in a list, a toolkit or None; one tool, function or definition alone is a list of one."""
    alone = isinstance(tools, Mapping) or callable(tools) or isinstance(getattr(tools, "name", None), str)
    return [tools] if alone else tools or ()


def as_definition(thing: Any) -> Tool:
    """A Tool from a Tool, a function, a wire dict of any provider, or an object like mcp's Tool."""
    if isinstance(thing, Tool):
        return thing
    if isinstance(thing, Mapping):
        return _from_mapping(thing)
    schema = getattr(thing, "input_schema", None) or getattr(thing, "inputSchema", None)
    if isinstance(getattr(thing, "name", None), str) and (schema is not None or not callable(thing)):
        return _definition(thing.name, getattr(thing, "description", None), schema)
    return as_tool(thing)


def _from_mapping(wire: Mapping[str, Any]) -> Tool:
    body = wire["function"] if isinstance(wire.get("function"), Mapping) else wire
    if not isinstance(body.get("name"), str):
        raise ValueError(f"this dict is no tool definition, it has no name: {dict(wire)!r:.200}")
    schema = next((body[key] for key in ("parameters", "input_schema", "inputSchema") if body.get(key)), None)
    return _definition(body["name"], body.get("description"), schema, bool(body.get("strict")))


def _definition(name: str, description: str | None, schema: Mapping[str, Any] | None, strict: bool = False) -> Tool:
    async def no_function(arguments: dict[str, Any], context: Any) -> Any:
        raise TypeError(f"{name} is a definition only; give it a function: tn.from_openai(schema, fn)")

    empty = {"type": "object", "properties": {}}
    return Tool(
        name=name,
        description=description or "",
        input_schema=schema or empty,
        invoke=no_function,
        source="definition",
        strict=strict,
    )


def from_openai(schema: Mapping[str, Any], fn: Callable[..., Any], **options: Any) -> Tool:
    """A tool from a hand-written definition (OpenAI's, Anthropic's or an MCP server's shape) and the function behind
    it.

    The function gets the arguments by name if its parameters take them, else as one dict.
    """
    definition = _from_mapping(schema)
    return native_tool(
        definition.name,
        definition.description,
        definition.input_schema,
        _by_name(fn, definition.input_schema),
        strict=options.pop("strict", definition.strict),
        **options,
    )


def _by_name(fn: Callable[..., Any], schema: JSONSchema) -> Callable[..., Any]:
    import functools
    import inspect

    try:
        signature = inspect.signature(fn)
        signature.bind(**dict.fromkeys(schema.get("required", ())))
    except (TypeError, ValueError):
        return fn
    names = list(signature.parameters)
    if len(names) == 1 and names[0] not in schema.get("properties", {}) and not schema.get("required"):
        kind = signature.parameters[names[0]].kind
        if kind is not inspect.Parameter.VAR_KEYWORD:
            return fn
    if inspect.iscoroutinefunction(fn):

        @functools.wraps(fn)
        async def call_async(arguments: dict[str, Any]) -> Any:
            return await fn(**arguments)

        del call_async.__wrapped__  # its own signature counts here: one dict
        return call_async

    @functools.wraps(fn)
    def call(arguments: dict[str, Any]) -> Any:
        return fn(**arguments)

    del call.__wrapped__  # as above
    return call


# --- one entry, cached as bytes: marshal makes fresh copies fastest ---------------------------------------------------


def _cached(
    tool: Tool, key: tuple[Any, ...], make: Callable[[list[Change]], dict[str, Any]], report: Report
) -> dict[str, Any]:
    key = (*key, tool.description)
    hit = tool.wire_cache.get(key)
    if hit is None:
        changes: list[Change] = []
        entry = make(changes)
        try:
            hit = (marshal.dumps(entry, 2), tuple(changes))  # format 2: without back references, fastest to read
        except ValueError:  # a value JSON does not know: nothing to cache
            if report is not None:
                report.extend(changes)
            return copy.deepcopy(entry)
        tool.wire_cache[key] = hit
    if report is not None:
        report.extend(hit[1])
    fresh: dict[str, Any] = marshal.loads(hit[0])
    return fresh


def _openai(tool: Tool, wire: str, strict: bool | None, report: Report) -> dict[str, Any]:
    asked = tool.strict if strict is None else strict

    def make(changes: list[Change]) -> dict[str, Any]:
        schema = (
            strict_schema(tool.input_schema, tool.name) if asked else for_openai(tool.input_schema, tool.name, changes)
        )
        function = _head(tool, wire, changes, "openai")
        function["parameters"] = schema
        if asked:
            function["strict"] = True
        return {"type": "function", "function": function}

    return _cached(tool, ("openai", wire, asked), make, report)


def _anthropic(tool: Tool, wire: str, report: Report) -> dict[str, Any]:
    def make(changes: list[Change]) -> dict[str, Any]:
        schema = for_anthropic(tool.input_schema, tool.name, changes)
        return {**_head(tool, wire, changes, "anthropic"), "input_schema": schema}

    return _cached(tool, ("anthropic", wire), make, report)


def _gemini(tool: Tool, wire: str, report: Report) -> dict[str, Any]:
    def make(changes: list[Change]) -> dict[str, Any]:
        schema = for_gemini(tool.input_schema, tool.name, changes)
        return {**_head(tool, wire, changes, "gemini"), "parameters": schema}

    return _cached(tool, ("gemini", wire), make, report)


_LONGEST_DESCRIPTION = {"openai": 1024}
"""Characters of a tool's description a provider takes (quirk H02)."""


def _head(tool: Tool, wire: str, changes: list[Change], provider: str) -> dict[str, Any]:
    head: dict[str, Any] = {"name": wire}
    if wire != tool.name:
        changes.append(Change(tool.name, "name", f"sent as {wire}: providers take letters, digits, _ and -, up to 64"))
    text = tool.description.strip()
    longest = _LONGEST_DESCRIPTION.get(provider)
    if longest is not None and len(text) > longest:
        changes.append(
            Change(tool.name, "description", f"cut from {len(text)} to {longest} characters, the most {provider} takes")
        )
        text = text[: longest - 1] + "…"
    if text:
        head["description"] = text
    return head

"""One parameter as one property: its schema with text and default, and what reads its values."""

from __future__ import annotations

import copy
import functools
import json
import typing
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from .annotations import VARIABLE_TEXT, NoJsonForm
from .schema import JSONSchema, Shape, shape_of, without_null_default
from .signature import EMPTY, UNPACK, UNSET, VAR_KEYWORD, VAR_POSITIONAL, Parameter, SignatureError


@dataclass(frozen=True, slots=True)
class Slot:
    """`key` is the property's name; `given` makes the value for one left out (None: Python's own default)."""

    parameter: Parameter
    key: str
    shape: Shape
    schema: JSONSchema
    required: bool
    given: Callable[[], Any] | None = None

    @property
    def name(self) -> str:
        """The parameter's name in Python."""
        return self.parameter.name

    @property
    def default_is_lost(self) -> bool:
        """Whether the function has a default that JSON can't write."""
        default = self.parameter.default
        has_one = default is not EMPTY and default is not UNSET and default is not None
        return has_one and not isinstance(default, FieldInfo) and "default" not in self.schema


def slot_of(function: str, parameter: Parameter, definitions: dict[str, JSONSchema]) -> Slot:
    """The slot of a parameter; what its schema points at is added to `definitions`.

    Raises SignatureError when its type has no JSON form.
    """
    annotation, field = parameter.annotation, _field(parameter)
    if isinstance(parameter.default, FieldInfo):
        annotation = Annotated[Any if annotation is EMPTY else annotation, parameter.default]
    several = unpacked_tuple(annotation) if parameter.kind is VAR_POSITIONAL else None
    shape = _shape(function, parameter, several or (Any if annotation is EMPTY else annotation), field)
    schema = _described(_merged(shape, definitions), parameter)
    if parameter.kind is VAR_POSITIONAL and several is None:
        schema = {"type": "array", "items": _undescribed(schema, parameter)}
        if parameter.description:
            schema["description"] = parameter.description
        items = shape_of(list[annotation] if annotation is not EMPTY else list[Any])  # type: ignore[valid-type]
        shape = Shape(schema, items.definitions, items.adapter, items.read)
    required, default, given = _default(parameter, field)
    if default is not EMPTY and default is not UNSET:
        schema = _with_default(schema, shape, default)
    return Slot(parameter, _key(parameter, field), shape, _ordered(schema), required, given)


def unpacked_tuple(annotation: Any) -> Any:
    """The tuple in `*args: *tuple[int, str]`, else None."""
    if getattr(annotation, "__unpacked__", False):
        return typing.get_origin(annotation)[typing.get_args(annotation)]
    return typing.get_args(annotation)[0] if typing.get_origin(annotation) in UNPACK else None


def _shape(function: str, parameter: Parameter, annotation: Any, field: FieldInfo | None) -> Shape:
    try:
        if field is None or field.alias is None:
            return shape_of(annotation)
        with warnings.catch_warnings():  # pydantic warns that it does not use the alias here: we do
            warnings.simplefilter("ignore")
            return shape_of(annotation)
    except NoJsonForm as error:
        written = parameter.type_text or annotation
        raise SignatureError(
            f"{function}: the parameter {parameter.name} ({written}) has no JSON form: {error}. Annotate it with a "
            f"type JSON can carry (str, int, a dataclass, Literal[...]), or fix its value: "
            f"tn.tool(functools.partial({function}, {parameter.name}=...))"
        ) from error


def _field(parameter: Parameter) -> FieldInfo | None:
    """The pydantic Field of a parameter, written as its default or in Annotated."""
    if isinstance(parameter.default, FieldInfo):
        return parameter.default
    extras = getattr(parameter.annotation, "__metadata__", ())
    return next((extra for extra in extras if isinstance(extra, FieldInfo)), None)


def _key(parameter: Parameter, field: FieldInfo | None) -> str:
    for alias in (getattr(field, "validation_alias", None), getattr(field, "alias", None)):
        if isinstance(alias, str):
            return alias
    return parameter.name


def _default(parameter: Parameter, field: FieldInfo | None) -> tuple[bool, Any, Callable[[], Any] | None]:
    """(required, default or EMPTY, maker of the value to pass on): a Field's default is unknown to Python itself."""
    own = parameter.default
    if field is not None and (own is EMPTY or own is field):
        if field.is_required():
            return True, EMPTY, None

        def make() -> Any:
            return field.get_default(call_default_factory=True, validated_data={})

        return False, make(), make
    if type(own) in (list, dict, set):  # each call gets its own: what one call adds is not the next one's default
        try:
            return False, own, functools.partial(copy.deepcopy, copy.deepcopy(own))
        except Exception:  # something in it can't be copied: Python's own default it is
            return False, own, None
    return own is EMPTY and parameter.kind not in (VAR_POSITIONAL, VAR_KEYWORD), own, None


def _described(schema: JSONSchema, parameter: Parameter) -> JSONSchema:
    """The parameter's own text wins over its type's, but keeps what a model needs to fill the value in."""
    said, of_type = parameter.description, schema.get("description", "")
    if not said or said == of_type:
        return schema
    if of_type.startswith(VARIABLE_TEXT):
        said = f"{said.rstrip('.')}. {of_type}"
    elif {"enum", "maximum"} & set(schema) and " = " in of_type:  # the names of an enum's numbers
        said = f"{said}\n{of_type.splitlines()[-1]}"
    return {**schema, "description": said}


def _undescribed(schema: JSONSchema, parameter: Parameter) -> JSONSchema:
    if schema.get("description") != parameter.description:
        return schema
    return {key: value for key, value in schema.items() if key != "description"}


def _with_default(schema: JSONSchema, shape: Shape, default: Any) -> JSONSchema:
    for plain in (
        lambda: shape.adapter.dump_python(default, mode="json", warnings=False),
        lambda: to_jsonable_python(default),
    ):
        try:
            value = plain()
            json.dumps(value, allow_nan=False)
        except Exception:
            continue
        return without_null_default({**schema, "default": value})
    return {key: value for key, value in schema.items() if key != "default"}


def _merged(shape: Shape, definitions: dict[str, JSONSchema]) -> JSONSchema:
    """A copy of the shape's schema, its definitions added to the function's; two types of one name get two names."""
    schema = copy.deepcopy(shape.schema)
    renamed: dict[str, str] = {}
    for name, definition in shape.definitions.items():
        new = name
        while new in definitions and definitions[new] != definition:
            new = f"{new}_2"
        definitions[new] = copy.deepcopy(definition)
        if new != name:
            renamed[name] = new
    for new in renamed.values():
        definitions[new] = _repointed(definitions[new], renamed)
    return _repointed(schema, renamed) if renamed else schema


def _repointed(node: Any, renamed: Mapping[str, str]) -> Any:
    if isinstance(node, list):
        return [_repointed(one, renamed) for one in node]
    if not isinstance(node, dict):
        return node
    result = {key: _repointed(value, renamed) for key, value in node.items()}
    name = str(node.get("$ref", "")).rpartition("/")[2]
    if name in renamed:
        result["$ref"] = f"#/$defs/{renamed[name]}"
    return result


_FIRST = ("type", "description")


def _ordered(schema: JSONSchema) -> JSONSchema:
    return {**{key: schema[key] for key in _FIRST if key in schema}, **schema}

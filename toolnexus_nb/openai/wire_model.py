"""The base of every type on the wire: unknown keys are kept, what was never set is not written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, ValidationError, model_serializer

from .json_text import dump_json, json_ready, load_json

Number = int | float
_T = TypeVar("_T", bound="WireModel")


class WireModel(BaseModel):
    """One JSON object of the wire.

    `model_validate` is strict about known fields; `read` takes what an endpoint says and treats a value that does not
    fit its field as absent. Every dump writes the fields that were set and the unknown keys, nothing else.
    """

    model_config = ConfigDict(
        extra="allow",
        coerce_numbers_to_str=True,
        populate_by_name=True,
        serialize_by_alias=True,
        protected_namespaces=(),
    )

    @classmethod
    def read(cls, data: bytes | str | Mapping[str, Any]) -> Self:
        """Make one of what an endpoint said. Raises ValueError if it is not a JSON object."""
        try:
            if isinstance(data, bytes | str):
                return cls.__pydantic_validator__.validate_json(data)
            return cls.model_validate(data)
        except ValidationError:
            # Rare: a lone surrogate, a raw control character, NaN or a value of another type than documented.
            plain = load_json(data) if isinstance(data, bytes | str) else data
            return _read_without_misfits(cls, json_ready(plain))

    @property
    def extra(self) -> dict[str, Any]:
        """The keys this package does not know, as received; may be changed."""
        if self.__pydantic_extra__ is None:
            self.__pydantic_extra__ = {}
        return self.__pydantic_extra__

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Only what says something: a message has a dozen fields, of which two are used."""
        for name, value in super().__repr_args__():
            if name in self.__pydantic_fields_set__ or (name not in type(self).model_fields and value is not None):
                yield name, value

    @model_serializer(mode="wrap")
    def _write(self, handler: SerializerFunctionWrapHandler) -> Any:
        if not isinstance(self, WireModel):
            return self  # a plain dict that was appended to a list of these is wire form already
        for name, value in self.__dict__.items():
            # a default that was filled in place (request.tools.append(…)) counts as set
            if name not in self.__pydantic_fields_set__ and isinstance(value, list | WireModel) and _holds(value):
                self.__pydantic_fields_set__.add(name)
        return handler(self)

    def model_dump(self, **options: Any) -> dict[str, Any]:
        """The fields that were set and the unknown keys, as plain Python."""
        options.setdefault("exclude_unset", True)
        options.setdefault("warnings", False)
        return super().model_dump(**options)

    def model_dump_wire(self) -> dict[str, Any]:
        """What goes on the wire: as `model_dump`, safe for every JSON writer (no NaN, no half surrogates)."""
        written: dict[str, Any] = json_ready(self.model_dump())
        return written

    def model_dump_json(self, *, indent: int | None = None, **options: Any) -> str:
        """`model_dump_wire` as JSON text with real characters, compact unless `indent` is given."""
        return dump_json(self.model_dump(**options), indent=indent)


def _holds(value: list[Any] | WireModel) -> bool:
    return bool(value) if isinstance(value, list) else bool(value.__pydantic_fields_set__ or value.__pydantic_extra__)


def _read_without_misfits(model: type[_T], data: Any) -> _T:
    """Validate `data`, leaving out the values that do not fit, innermost first. Raises ValueError if it is no dict."""
    if not isinstance(data, dict):
        raise ValueError(f"a JSON object was expected, not {type(data).__name__}")
    while True:
        try:
            return model.model_validate(data)
        except ValidationError as error:
            for misfit in reversed(error.errors(include_url=False, include_context=False, include_input=False)):
                _leave_out(data, misfit["loc"])


def _leave_out(data: Any, location: tuple[int | str, ...]) -> None:
    """Delete the value at `location` from nested dicts and lists; steps that name no key of the data are skipped."""
    holder: Any = None
    last: Any = None
    step: Any
    for step in location:
        if (isinstance(data, dict) and step in data) or (isinstance(data, list) and step in range(len(data))):
            holder, last = data, step
            data = data[step]
    if holder is not None:
        del holder[last]


def as_mapping(value: Any) -> Mapping[str, Any]:
    """A dict of a dict-like value or of a pydantic object of whatever package. Raises TypeError for anything else."""
    if isinstance(value, Mapping):
        return value
    if hasattr(value, "model_dump"):
        dumped: Mapping[str, Any] = value.model_dump(exclude_unset=True)
        return dumped
    raise TypeError(f"a dict or an object with model_dump() was expected, not {type(value).__name__}")


def none_as_empty(value: Any) -> Any:
    """For lists: null means the same as no key."""
    return [] if value is None else value


def none_as_object(value: Any) -> Any:
    """For objects: null means the same as no key."""
    return {} if value is None else value

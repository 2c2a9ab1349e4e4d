"""`module:toolkit` on a command line: find it, and make a toolkit of what is there."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module, util
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..tools.toolkit import Toolkit


class TargetError(Exception):
    """The target cannot be used; the message says why and what would work."""


def load_toolkit(target: str) -> Toolkit:
    """The toolkit that `target` names.

    `package.module:name` or `path/to/file.py:name`, where name is a Toolkit, a tool, a function, or a list of them.
    Without a name: the module's `toolkit`, or else every tool and public function that the module defines.
    Raises TargetError; what the module itself raises while it is imported passes through.
    """
    from ..tools.toolkit import Toolkit

    where, _, name = target.partition(":") if not _is_drive(target) else (target, "", "")
    module = _load_module(where)
    value = _attribute(module, name) if name else getattr(module, "toolkit", None) or _tools_of(module)
    if isinstance(value, Toolkit):
        return value
    if callable(value):
        value = [value]
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | dict):
        raise TargetError(
            f"{target} is a {type(value).__name__}; a Toolkit, a tool, a function or a list of them was expected"
        )
    tools = list(value)
    if not tools:
        raise TargetError(
            f"{target} holds no tools: name a toolkit (module:name) or define public functions in the module"
        )
    return Toolkit(tools)


def _is_drive(target: str) -> bool:
    return len(target) > 2 and target[1] == ":" and target[2] in "\\/" and ":" not in target[2:]


def _load_module(where: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    path = Path(where)
    if path.suffix == ".py":
        if not path.is_file():
            raise TargetError(f"there is no file {where}")
        spec = util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = util.module_from_spec(spec)
        sys.modules[path.stem] = module  # so that its dataclasses and annotations can be resolved
        spec.loader.exec_module(module)
        return module
    try:
        return import_module(where)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{where}.".startswith(f"{error.name}."):
            raise  # something that the module itself needs
        raise TargetError(f"there is no module {where!r} (looked in {here} and the installed packages)") from None


def _attribute(module: ModuleType, name: str) -> Any:
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            raise TargetError(f"{module.__name__} has no {name!r}")
        value = getattr(value, part)
    return value


def _tools_of(module: ModuleType) -> list[Any]:
    """The tools of a module, and the functions it defines itself whose names do not begin with `_`."""
    from ..tools.definition import Tool

    def offered(name: str, value: Any) -> bool:
        own = callable(value) and not isinstance(value, type) and getattr(value, "__module__", None) == module.__name__
        return not name.startswith("_") and (isinstance(value, Tool) or own)

    return [value for name, value in vars(module).items() if offered(name, value)]

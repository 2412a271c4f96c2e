"""Objects of the user's own code, named on the command line."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from tracer_hooks.errors import ConfigError


def load_object(named: str, *, option: str) -> Any:
    """The object that ``MODULE:NAME`` or ``path/to/file.py:NAME`` names.

    Modules are found from the current directory, too; a file finds the modules beside it, as when it is run.

    Args:
        named: What the user wrote; ``NAME`` may have dots in it.
        option: The option that it was given with, for messages: ``--team``.

    Raises:
        ConfigError: There is no such module, file or name, or importing it raised.
    """
    place, _, name = named.rpartition(":")
    if not place or not name:
        raise ConfigError(
            f"{option} is {named!r}, expected MODULE:NAME or path/to/file.py:NAME. Run it with: {option} my_team:{name}"
        )
    module = _module(place, option)
    found: Any = module
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            public = sorted(one for one in vars(module) if not one.startswith("_"))
            shown = ", ".join(map(repr, public[:10])) or "no names"
            raise ConfigError(
                f"{option}: {place!r} has no {name!r}, expected one of its names ({shown}). Run it with: "
                f"{option} {place}:{public[0] if public else 'NAME'}"
            ) from None
    return found


def load_function(named: str | None, *, option: str) -> Any:
    """The same for something that can be called; None for None.

    Raises:
        ConfigError: It cannot be called, or :func:`load_object` finds none.
    """
    if named is None:
        return None
    found = load_object(named, option=option)
    if not callable(found):
        raise ConfigError(f"{option}: {named!r} is {found!r}, expected a function. Name the function itself")
    return found


def _module(place: str, option: str) -> ModuleType:
    is_file = place.endswith(".py")
    try:
        return _from_file(Path(place), option) if is_file else _from_path(place)
    except ConfigError:
        raise
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if not is_file and (place == missing or place.startswith(missing + ".")):
            raise ConfigError(
                f"{option}: there is no module {place!r} in {str(Path.cwd())!r} or among the installed packages. Run "
                f"the command where it lies, or give the file: {option} path/to/file.py:NAME"
            ) from error
        raise ConfigError(f"{option}: {place!r} needs {missing!r}, which is not installed. Run: pip install") from error
    except Exception as error:  # the user's own code
        raise ConfigError(
            f"{option}: importing {place!r} raised {type(error).__name__}: {error}. See it with: python "
            + (place if is_file else f"-c 'import {place}'")
        ) from error


def _from_path(name: str) -> ModuleType:
    _add_to_path(Path.cwd())
    return importlib.import_module(name)


def _from_file(file: Path, option: str) -> ModuleType:
    if not file.is_file():
        raise ConfigError(
            f"{option}: there is no file {str(file)!r}, expected path/to/file.py:NAME. Run: ls {file.parent}"
        )
    _add_to_path(Path.cwd())
    _add_to_path(file.resolve().parent)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None, "its name ends in .py"
    assert spec.loader is not None, "its name ends in .py"
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(file.stem)
    sys.modules[file.stem] = module  # dataclasses and pickle look their module up there
    try:
        spec.loader.exec_module(module)
    except BaseException:
        if before is None:
            del sys.modules[file.stem]
        else:
            sys.modules[file.stem] = before
        raise
    return module


def _add_to_path(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

"""Weights in JSON files: read in one way, and saved."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from tracer_hooks._files import write_files
from tracer_hooks._reading import brief, first_problem, parse_json, read_bytes
from tracer_hooks.errors import AttributionError, ConfigError, MissingExtraError, TracerHooksError

T = TypeVar("T")
_MOST = 1e300


def read_weights(path: Path, make: Callable[[dict[str, Any]], T], *, what: str, again: str) -> T:
    """Return what ``make`` makes of the JSON object in ``path``.

    Args:
        path: The file, which anybody may have written or damaged.
        make: Builds the weights, and may raise whatever it likes about data that it cannot use.
        what: What should be in the file, to say in the message.
        again: How to get a good file, to say in the message.

    Raises:
        AttributionError: The file is missing or damaged, or holds something else.
        MissingExtraError: The weights need a package that is not installed.
        ConfigError: They are good, and a setting that goes with them is not.
    """
    try:
        data = parse_json(read_bytes(path))
        if not isinstance(data, dict):
            raise ValueError(f"expected a JSON object, got {type(data).__name__}")
        return make(data)
    except (MissingExtraError, ConfigError):
        raise
    except Exception as error:
        raise AttributionError(f"no {what} in {str(path)!r}: {brief(reason_of(error))}. {again}") from error


def reason_of(error: Exception) -> str:
    """Say what is wrong with weights, in a sentence."""
    if isinstance(error, ValidationError):
        where, what = first_problem(error)
        return f"{where!r}: {what}" if where else what
    if isinstance(error, KeyError):
        return f"{error} is missing"
    return str(error) if isinstance(error, (TracerHooksError, ValueError)) else f"{type(error).__name__}: {error}"


def finite(value: Any) -> float:
    """``value``, which must be a finite number.

    Raises:
        ValueError: It is something else.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -_MOST <= value <= _MOST:
        raise ValueError(f"expected a finite number, got {brief(repr(value), 60)}")
    return float(value)


def write_saved(
    directory: Path, *, name: str, version: int, model: Mapping[str, Any], beside: Mapping[str, bytes] | None = None
) -> None:
    """Write ``NAME.json`` to ``directory``, which is made where it is missing, and the files ``beside`` it.

    All of them are written, or all old ones stay.

    Raises:
        OSError: A file cannot be written.
    """
    document = {"attributor": name, "version": version, "model": model}
    files = {directory / f"{name}.json": (json.dumps(document) + "\n").encode()}
    write_files({**files, **{directory / other: data for other, data in (beside or {}).items()}})


def read_saved(directory: Path, *, name: str, version: int, make: Callable[[dict[str, Any]], T]) -> T:
    """Return what ``make`` makes of the model that :func:`write_saved` wrote.

    Raises:
        AttributionError: The file is missing, damaged, or of another version; the message says which command fits anew.
    """

    def of(document: dict[str, Any]) -> T:
        found, model = document["version"], document["model"]
        if found != version or isinstance(found, bool):
            raise ValueError(f"it is of version {brief(repr(found), 40)}, this release reads {version!r}")
        if not isinstance(model, dict):
            raise ValueError(f"'model' must be a JSON object, got {type(model).__name__}")
        return make(model)

    again = f"Run: tracer-hooks fit --attributor {name} --labels PATH --out {str(directory)!r}"
    return read_weights(directory / f"{name}.json", of, what=f"fitted attributor {name!r}", again=again)

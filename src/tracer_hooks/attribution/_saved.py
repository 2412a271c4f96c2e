"""Fitted attributors in directories: ``NAME.json`` beside whatever arrays the attributor needs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from tracer_hooks._files import write_files
from tracer_hooks._reading import brief
from tracer_hooks.attribution._weight_files import read_weights

T = TypeVar("T")


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
    """What ``make`` makes of the model that :func:`write_saved` wrote.

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

"""Fitted attributors in directories: ``NAME.json`` beside whatever arrays the attributor needs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracer_hooks.errors import AttributionError


def write_saved(directory: Path, *, name: str, version: int, model: Mapping[str, Any]) -> None:
    """Write ``NAME.json`` to ``directory``, which is made where it is missing."""
    directory.mkdir(parents=True, exist_ok=True)
    document = {"attributor": name, "version": version, "model": model}
    (directory / f"{name}.json").write_text(json.dumps(document) + "\n", encoding="utf-8")


def read_saved(directory: Path, *, name: str, version: int) -> dict[str, Any]:
    """The model that :func:`write_saved` wrote.

    Raises:
        AttributionError: The file is missing, damaged, or of a newer version.
    """
    path = directory / f"{name}.json"
    again = f"Run: tracer-hooks fit --attributor {name} --labels PATH --out {str(directory)!r}"
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        found, model = document["version"], document["model"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise AttributionError(f"no fitted attributor {name!r} in {str(path)!r}: {error}. {again}") from error
    if found != version or not isinstance(model, dict):
        raise AttributionError(f"{str(path)!r} is of version {found!r}, this release reads {version!r}. {again}")
    return model

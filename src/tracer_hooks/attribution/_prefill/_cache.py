"""Readings on disk, by the content of what was read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from tracer_hooks.attribution._prefill._features import PrefillFeatures
from tracer_hooks.attribution._prefill._render import header_of, step_text
from tracer_hooks.schema import Trajectory

_FORMAT = 1
"""Raised when a reading means something else than before."""
DEFAULT_CACHE = Path(".tracer_hooks") / "prefill"


def reading_name(trajectory: Trajectory, *, fingerprint: str, settings: dict[str, object]) -> str:
    """A name that is the same for the same text, model and settings only."""
    content = {
        "format": _FORMAT,
        "model": fingerprint,
        "settings": settings,
        "task": trajectory.task,
        "steps": [[header_of(step), step_text(step)] for step in trajectory.steps],
    }
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def cached(directory: Path, name: str, make: Callable[[], PrefillFeatures]) -> PrefillFeatures:
    """The reading of that name, made and kept when it is not there yet."""
    path = directory / name[:2] / f"{name}.npz"
    found = PrefillFeatures.load(path)
    if found is None:
        found = make()
        found.save(path)
    return found

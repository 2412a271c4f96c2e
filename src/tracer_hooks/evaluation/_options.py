"""How an evaluation is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tracer_hooks.errors import ConfigError

Progress = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOptions:
    """What to measure beside the accuracy without the expected answer."""

    with_reference: bool = False
    """Also measure with the expected answer, as rows of their own."""
    detection: bool = True
    """Also measure who is blamed when the outcome of the run is not told; this diagnoses every run once more."""
    cross_validate: int | None = None
    """Number of folds; each attributor that can be fitted is then also measured fitted to the other folds."""
    draws: int = 2000
    """Bootstrap samples behind each interval; 0 for no intervals."""
    seed: int = 0
    """Of the folds and of the bootstrap."""

    def __post_init__(self) -> None:
        if self.cross_validate is not None and self.cross_validate < 2:
            raise ConfigError(f"cross_validate is {self.cross_validate!r}, expected at least 2 folds")
        if self.draws < 0:
            raise ConfigError(f"draws is {self.draws!r}, expected 0 or more")

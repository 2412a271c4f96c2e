"""Adapting an attributor to labelled trajectories of one's own team."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from tracer_hooks.attribution._protocol import Attributor
from tracer_hooks.schema import LabeledTrajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class FitReport:
    """What a fit gained, measured by cross-validation over questions that the fitted model had not seen."""

    trajectories: int
    """How many labelled trajectories were used."""
    questions: int
    """How many different questions they belong to; folds are made of whole questions."""
    shipped_step: float
    """Exact-step accuracy of the attributor before the fit."""
    shipped_agent: float
    """Exact-agent accuracy of the attributor before the fit."""
    fitted_step: float
    """Exact-step accuracy after it, each trajectory judged by a model that had not seen its question."""
    fitted_agent: float
    """Exact-agent accuracy after it, in the same way."""
    chosen: str
    """What cross-validation chose, in words: the strength of the prior, and which learners are averaged."""

    @property
    def gain(self) -> float:
        """Gain in exact-step accuracy, as a fraction."""
        return self.fitted_step - self.shipped_step


@runtime_checkable
class Fittable(Protocol):
    """An attributor that labelled trajectories can be fitted to."""

    def fit(self, labeled: Sequence[LabeledTrajectory], *, seed: int = 0) -> tuple[Attributor, FitReport]:
        """A new attributor, adapted to these trajectories; this one stays as it is.

        Args:
            labeled: Trajectories with a decisive step or faulty agents.
            seed: Of everything that is random.

        Raises:
            AttributionError: There are too few labels to learn from.
        """
        ...

    def save(self, directory: Path) -> None:
        """Write what :func:`~tracer_hooks.attribution.get_attributor` needs to load this attributor again."""
        ...

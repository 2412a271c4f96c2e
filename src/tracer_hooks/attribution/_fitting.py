"""Adapting an attributor to labelled trajectories of one's own team."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from tracer_hooks.attribution._protocol import Attributor
from tracer_hooks.schema import LabeledTrajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class TenMore:
    """How much exact-step accuracy ten more labelled runs would add, read off fits to parts of the labels."""

    gain: float
    """As a fraction."""
    low: float
    """Lower end of the 95 % interval over questions."""
    high: float
    """Upper end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitReport:
    """What a fit gained, measured by cross-validation over questions that the fitted model had not seen.

    Everything that a fit chooses is chosen again without the questions that are judged.
    """

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
    """What cross-validation chose, in words: who has how much to say."""
    ten_more: TenMore | None = None
    """What ten more labels would bring; None when there are too few to tell, or it is not measured."""

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


@runtime_checkable
class FitsUnmeasured(Protocol):
    """An attributor that can be fitted without measuring what that gains, for those who measure it themselves."""

    def fitted(self, labeled: Sequence[LabeledTrajectory], *, seed: int = 0) -> Attributor:
        """The attributor that ``fit`` gives, without its report."""
        ...


def fitted_only(attributor: Fittable, labeled: Sequence[LabeledTrajectory], *, seed: int) -> Attributor:
    """What ``fit`` gives, measured only where there is no other way."""
    if isinstance(attributor, FitsUnmeasured):
        return attributor.fitted(labeled, seed=seed)
    return attributor.fit(labeled, seed=seed)[0]

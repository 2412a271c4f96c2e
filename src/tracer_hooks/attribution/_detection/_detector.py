"""Whether a run of unknown outcome failed: a logistic model over signals that can only speak for a failure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, isfinite
from pathlib import Path
from typing import Any, NamedTuple, Self

from tracer_hooks._reading import parse_json
from tracer_hooks.attribution._detection._signals import SIGNALS, findings_of
from tracer_hooks.attribution._features import FeatureTable, View
from tracer_hooks.attribution._weight_files import REINSTALL, finite, read_weights, reason_of
from tracer_hooks.errors import AttributionError
from tracer_hooks.schema import Trajectory

SHIPPED = Path(__file__).parent / "weights" / "detector.json"
"""The weights that come with tracer-hooks."""
_FORMAT = 1


class Reason(NamedTuple):
    """One signal that speaks for a failure."""

    name: str
    """What was seen."""
    contribution: float
    """What it adds to the log-odds of a failure; above 0."""
    step: int | None
    """Where it was seen."""
    quote: str | None
    """Words of that step, as they stand there."""


@dataclass(frozen=True, slots=True)
class Detection:
    """How likely it is that a run failed, and why."""

    probability: float
    """From 0 to 1, for a world in which half of the runs fail."""
    reasons: tuple[Reason, ...]
    """What speaks for a failure, the strongest first; empty when nothing does."""


@dataclass(frozen=True, slots=True)
class FailureDetector:
    """Tells failed runs from passing ones when nothing but the trajectory is known.

    No weight is negative, so that no habit of a team or a domain can clear a run; without any signal the probability
    is that of the intercept.
    """

    weights: Mapping[str, float]
    """Log-odds by signal at its full strength; a signal that is not named counts nothing."""
    intercept: float
    """Log-odds of a failure when no signal is seen."""
    threshold: float
    """Probability from which on a run is taken to have failed."""

    def __post_init__(self) -> None:
        unknown = sorted(set(self.weights) - set(SIGNALS))
        if unknown:
            raise AttributionError(f"a detector has a weight for {unknown[0]!r}, expected one of: {', '.join(SIGNALS)}")
        for name, weight in self.weights.items():
            if not (isfinite(weight) and weight >= 0):
                raise AttributionError(f"the weight of {name!r} is {weight!r}, expected a number that is not negative")
        if not (isfinite(self.intercept) and 0.0 <= self.threshold <= 1.0):
            raise AttributionError(
                f"a detector has intercept {self.intercept!r} and threshold {self.threshold!r}, "
                "expected a finite number and one from 0 to 1"
            )

    def probability(
        self, trajectory: Trajectory, table: FeatureTable | None = None, view: View | None = None
    ) -> Detection:
        """How likely it is that the run failed.

        Args:
            trajectory: With or without steps; its outcome and reference are not looked at.
            table: Its features, when they are at hand; saves reading them again.
            view: The trajectory as the features see it, when it is at hand; saves reading it again.
        """
        if not trajectory.steps:
            return Detection(_logistic(self.intercept), ())
        reasons = []
        for name, found in findings_of(trajectory, table, view).items():
            contribution = self.weights.get(name, 0.0) * found.value
            if contribution > 0:
                reasons.append(Reason(name, contribution, found.step, found.quote))
        reasons.sort(key=lambda reason: -reason.contribution)
        return Detection(_logistic(self.intercept + sum(one.contribution for one in reasons)), tuple(reasons))

    def is_failure(self, detection: Detection) -> bool:
        """Whether the run is to be taken as failed at the default threshold."""
        return detection.probability >= self.threshold

    def to_json(self) -> str:
        """The detector as text that :meth:`from_json` reads."""
        data = {
            "detector": "failure",
            "format": _FORMAT,
            "intercept": self.intercept,
            "threshold": self.threshold,
            "weights": dict(self.weights),
        }
        return json.dumps(data, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what :meth:`to_json` wrote.

        Raises:
            AttributionError: ``text`` is no detector of this format.
        """
        try:
            return cls._of(parse_json(text))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise AttributionError(
                f"not the weights of a failure detector: {reason_of(error)}; expected what FailureDetector.to_json() "
                "writes. Install this version of tracer-hooks again: its weights come with it"
            ) from error

    @classmethod
    def _of(cls, data: Any) -> Self:
        if not isinstance(data, dict) or (data.get("detector"), data.get("format")) != ("failure", _FORMAT):
            raise ValueError(f"no detector of format {_FORMAT}")
        weights = {str(name): finite(weight) for name, weight in data["weights"].items()}
        return cls(weights, finite(data["intercept"]), finite(data["threshold"]))

    @classmethod
    def shipped(cls) -> Self:
        """The detector that comes with tracer-hooks.

        Raises:
            AttributionError: Its file is damaged.
        """
        return read_weights(SHIPPED, cls._of, what="failure detector", again=f"Run: {REINSTALL}")


def _logistic(log_odds: float) -> float:
    return 1.0 / (1.0 + exp(-log_odds)) if log_odds >= 0 else exp(log_odds) / (1.0 + exp(log_odds))

"""Detection of failed runs, and the reasons for which an attributor names nobody."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, isfinite
from pathlib import Path
from typing import Any, NamedTuple, Self

from tracer_hooks._reading import parse_json
from tracer_hooks.diagnosis._failure_signals import SIGNALS, amounts_of
from tracer_hooks.diagnosis._features import FeatureTable, View
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._rules import signals_of
from tracer_hooks.diagnosis._rules._errors import outage
from tracer_hooks.diagnosis._rules._signal import DECISIVE, Family, Signal
from tracer_hooks.diagnosis._weight_files import REINSTALL, finite, read_weights, reason_of
from tracer_hooks.errors import AttributionError
from tracer_hooks.schema import Attribution, Evidence, RunOutcome, Trajectory
from tracer_hooks.telemetry import ABANDONED, CANCELLED, INTERRUPTED

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
    """Probability that a run failed, and the reasons."""

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
        """Estimate how likely it is that the run failed.

        Args:
            trajectory: With or without steps; its outcome and reference are not looked at.
            table: Its features, when they are at hand; saves reading them again.
            view: The trajectory as the features see it, when it is at hand; saves reading it again.
        """
        if not trajectory.steps:
            return Detection(_logistic(self.intercept), ())
        reasons = []
        for name, found in amounts_of(trajectory, table, view).items():
            contribution = self.weights.get(name, 0.0) * found.value
            if contribution > 0:
                reasons.append(Reason(name, contribution, found.step, found.quote))
        reasons.sort(key=lambda reason: -reason.contribution)
        return Detection(_logistic(self.intercept + sum(one.contribution for one in reasons)), tuple(reasons))

    def is_failure(self, detection: Detection) -> bool:
        """Tell whether the run is to be taken as failed at the default threshold."""
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


NO_FAULT = "no sign of failure"
"""Nothing speaks clearly enough for a fault; for runs that are not known to have failed."""
ENVIRONMENT_FAULT = "environment fault"
"""The run ended on something outside the team, such as a model endpoint that could not be reached."""
INCOMPLETE = "trace too incomplete"
"""There is no step with anything in it to judge."""
_STOPPED = (ABANDONED, CANCELLED, INTERRUPTED)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nobody is named, with what speaks for that."""

    reason: str
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Suspicion:
    """Decision about whether somebody should be named in a run."""

    refused: Refusal | None
    """Why nobody should be; None when somebody should."""


def suspicion(trace: RunReading, signals: Sequence[Signal], view: View | None = None) -> Suspicion:
    """Tell whether to name somebody.

    A run that is known to have failed has a cause, unless the model endpoint broke down under it. In one that is known
    to have succeeded nobody is blamed; one that was stopped from outside needs a decisive signal of a rule. Of all
    others the detector says whether they look failed; it reads ``view``, the same run as the features see it, when it
    is at hand.
    """
    refused = _outage(trace)
    outcome = RunOutcome(trace.trajectory.outcome)
    if refused is not None or outcome is RunOutcome.FAILED:
        return Suspicion(refused)
    if outcome is RunOutcome.SUCCEEDED:
        return Suspicion(Refusal(NO_FAULT))
    if trace.trajectory.outcome_reason in _STOPPED:
        strongest = max((one.weight for one in signals if one.family is not Family.POSITION), default=0.0)
        return Suspicion(Refusal(NO_FAULT) if strongest < DECISIVE else None)
    detector = _detector()
    detection = detector.probability(trace.trajectory, view=view)
    if not detector.is_failure(detection):
        return Suspicion(Refusal(NO_FAULT))
    return Suspicion(None)


def blames_environment(found: Attribution | None) -> bool:
    """Tell whether a diagnosis names nobody since the run ended on something outside the team."""
    return found is not None and found.abstained and found.abstained_reason == ENVIRONMENT_FAULT


def is_environment_fault(trajectory: Trajectory) -> bool:
    """Tell whether the run ended since the model endpoint could not be reached, whatever the team did."""
    return outage(RunReading(trajectory)) is not None


def refusal_of(trajectory: Trajectory) -> Refusal | None:
    """Why nobody should be named in this run, for attributors that do not read the rules themselves."""
    trace = RunReading(trajectory)
    return suspicion(trace, signals_of(trace)).refused


@cache
def _detector() -> FailureDetector:
    return FailureDetector.shipped()


def _outage(trace: RunReading) -> Refusal | None:
    broken_off = outage(trace)
    if broken_off is None:
        return None
    return Refusal(ENVIRONMENT_FAULT, (broken_off.evidence,))

"""When an attributor names nobody, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from tracer_hooks.attribution._detection import SYMPTOMS, FailureDetector
from tracer_hooks.attribution._features import View
from tracer_hooks.attribution._reading._trace import Trace
from tracer_hooks.attribution._rules import signals_of
from tracer_hooks.attribution._rules._errors import outage
from tracer_hooks.attribution._rules._signal import DECISIVE, Family, Signal
from tracer_hooks.attribution._wording import readable
from tracer_hooks.schema import Attribution, Evidence, RunOutcome, Trajectory
from tracer_hooks.telemetry import ABANDONED, CANCELLED, INTERRUPTED

NO_FAULT = "no fault found"
"""Nothing speaks clearly enough for a fault; for runs that are not known to have failed."""
ENVIRONMENT_FAULT = "environment fault"
"""The run ended on something outside the team, such as a model endpoint that could not be reached."""
INCOMPLETE = "trace too incomplete"
"""There is no step with anything in it to judge."""

_MOST = 2
_STOPPED = (ABANDONED, CANCELLED, INTERRUPTED)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nobody is named, with what speaks for that."""

    reason: str
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Suspicion:
    """Whether somebody should be named in a run."""

    refused: Refusal | None
    """Why nobody should be; None when somebody should."""
    evidence: tuple[Evidence, ...] = ()
    """Why a run whose outcome is not known is held to have failed."""


def suspicion(trace: Trace, signals: Sequence[Signal], view: View | None = None) -> Suspicion:
    """Whether to name somebody.

    A run that is known to have failed has a cause, unless the model endpoint broke down under it. A run that is known
    to have succeeded, or was stopped from outside, needs a decisive signal of a rule. Of all others the detector says
    whether they look failed; it reads ``view``, the same run as the features see it, when it is at hand.
    """
    refused = _outage(trace)
    outcome = RunOutcome(trace.trajectory.outcome)
    if refused is not None or outcome is RunOutcome.FAILED:
        return Suspicion(refused)
    strongest = max((one.weight for one in signals if one.family is not Family.POSITION), default=0.0)
    if outcome is RunOutcome.SUCCEEDED or trace.trajectory.outcome_reason in _STOPPED:
        return Suspicion(Refusal(NO_FAULT) if strongest < DECISIVE else None)
    detector = _detector()
    detection = detector.probability(trace.trajectory, view=view)
    if not detector.is_failure(detection):
        return Suspicion(Refusal(NO_FAULT))
    shown = [one for one in detection.reasons if one.step is not None and one.name in SYMPTOMS]
    return Suspicion(
        None,
        tuple(
            Evidence(step=r.step or 0, quote=readable(r.quote), why=SYMPTOMS[r.name], weight=round(r.contribution, 2))
            for r in shown[:_MOST]
        ),
    )


def blames_environment(found: Attribution | None) -> bool:
    """Whether a diagnosis names nobody since the run ended on something outside the team."""
    return found is not None and found.abstained and found.abstained_reason == ENVIRONMENT_FAULT


def is_environment_fault(trajectory: Trajectory) -> bool:
    """Whether the run ended since the model endpoint could not be reached, whatever the team did."""
    return outage(Trace(trajectory)) is not None


def refusal_of(trajectory: Trajectory) -> Refusal | None:
    """Why nobody should be named in this run, for attributors that do not read the rules themselves."""
    trace = Trace(trajectory)
    return suspicion(trace, signals_of(trace)).refused


@cache
def _detector() -> FailureDetector:
    return FailureDetector.shipped()


def _outage(trace: Trace) -> Refusal | None:
    broken_off = outage(trace)
    if broken_off is None:
        return None
    return Refusal(ENVIRONMENT_FAULT, (broken_off.evidence,))

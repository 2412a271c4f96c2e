"""When an attributor names nobody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from tracer_hooks.attribution._detection import FailureDetector
from tracer_hooks.attribution._reading._trace import Trace
from tracer_hooks.attribution._reasons import ENVIRONMENT, NO_FAULT
from tracer_hooks.attribution._rules import signals_of
from tracer_hooks.attribution._rules._errors import outage
from tracer_hooks.attribution._rules._signal import DECISIVE, Family, Signal
from tracer_hooks.schema import Evidence, RunOutcome, Trajectory
from tracer_hooks.telemetry import ABANDONED, CANCELLED, INTERRUPTED

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


def suspicion(trace: Trace, signals: Sequence[Signal]) -> Suspicion:
    """Whether to name somebody.

    A run that is known to have failed has a cause, unless the model endpoint broke down under it. A run that is known
    to have succeeded, or was stopped from outside, needs a decisive signal of a rule. Of all others the detector says
    whether they look failed.
    """
    refused = _outage(trace)
    outcome = RunOutcome(trace.trajectory.outcome)
    if refused is not None or outcome is RunOutcome.FAILED:
        return Suspicion(refused)
    strongest = max((one.weight for one in signals if one.family is not Family.POSITION), default=0.0)
    if outcome is RunOutcome.SUCCEEDED or trace.trajectory.outcome_reason in _STOPPED:
        return Suspicion(Refusal(NO_FAULT) if strongest < DECISIVE else None)
    detector = _detector()
    detection = detector.probability(trace.trajectory)
    if not detector.is_failure(detection):
        return Suspicion(Refusal(NO_FAULT))
    shown = [one for one in detection.reasons if one.step is not None and one.quote]
    return Suspicion(None, tuple(Evidence(step=r.step or 0, quote=r.quote or "", why=r.name) for r in shown[:_MOST]))


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
    quote = broken_off.quote
    return Refusal(ENVIRONMENT, (Evidence(step=broken_off.step, quote=quote, why=broken_off.why),) if quote else ())

"""When an attributor names nobody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tracer_hooks.attribution._reading._trace import Trace
from tracer_hooks.attribution._reasons import ENVIRONMENT, NO_FAULT
from tracer_hooks.attribution._rules._errors import outage
from tracer_hooks.attribution._rules._signal import DECISIVE, STRONG, Family, Signal
from tracer_hooks.schema import Evidence, RunOutcome


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nobody is named, with what speaks for that."""

    reason: str
    evidence: tuple[Evidence, ...] = ()


def refusal(trace: Trace, signals: Sequence[Signal]) -> Refusal | None:
    """Why nobody should be named in this run; None when somebody should.

    A run that is known to have failed has a cause, unless the model endpoint broke down under it. Any other run needs a
    reason to be suspected: a strong signal of a rule.
    """
    broken_off = outage(trace)
    if broken_off is not None:
        quote = broken_off.quote
        shown = (Evidence(step=broken_off.step, quote=quote, why=broken_off.why),) if quote else ()
        return Refusal(ENVIRONMENT, shown)
    outcome = RunOutcome(trace.trajectory.outcome)
    if outcome is RunOutcome.FAILED:
        return None
    needed = STRONG if outcome is RunOutcome.UNKNOWN else DECISIVE
    strongest = max((one.weight for one in signals if one.family is not Family.POSITION), default=0.0)
    return Refusal(NO_FAULT) if strongest < needed else None

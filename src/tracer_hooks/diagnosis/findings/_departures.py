"""Departures of a run's values as findings: what was followed back, recomputed or compared with a record."""

from __future__ import annotations

from collections.abc import Iterator

from tracer_hooks.diagnosis._provenance import Departure, DepartureKind, provenance_of
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis.findings._kind import finding
from tracer_hooks.schema import Finding, FindingKind, RunOutcome

SURE = 0.7
"""Strength from which a departure is a finding; weaker ones only help to rank the steps."""


def sure_departures(run: RunReading, *kinds: DepartureKind) -> Iterator[Departure]:
    """The departures of these kinds that are sure enough to be told."""
    return (each for each in provenance_of(run).departures if each.kind in kinds and each.strength >= SURE)


def from_departure(
    run: RunReading, kind: FindingKind, departure: Departure, *, detail: str = "", subject: str | None = None
) -> Finding:
    """A departure as a finding of one kind."""
    return finding(
        run,
        kind,
        departure.why[:1].upper() + departure.why[1:],
        step=departure.step,
        detail=detail,
        quote=departure.quote,
        claimed=departure.value,
        right=departure.right or departure.missing,
        source=departure.sources[0] if departure.sources else None,
        subject=subject,
        leads_to_answer=leads(run, departure),
    )


def leads(run: RunReading, departure: Departure) -> bool:
    """Tell whether a failure rests on a departure: the answer was followed back to it, or it was an act on a record."""
    acts_on_it = departure.is_recorded and bool(run.steps[departure.step].tool_calls)
    return run.trajectory.outcome is RunOutcome.FAILED and (departure.leads_to_answer or acts_on_it)

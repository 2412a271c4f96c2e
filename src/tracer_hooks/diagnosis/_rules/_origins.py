"""Values that do not follow from what the run was given and shown, as signals."""

from __future__ import annotations

from collections.abc import Iterator

from tracer_hooks.diagnosis._provenance import Departure, DepartureKind, provenance_of
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._rules._signal import DECISIVE, MODERATE, STRONG, WEAK, Family, Signal
from tracer_hooks.diagnosis._rules._tools import failure_text
from tracer_hooks.schema import ErrorMode, EvidenceKind

_MODES = {
    DepartureKind.MISCALCULATED: ErrorMode.FM_2_6,
    DepartureKind.MISREAD: ErrorMode.FM_2_6,
    DepartureKind.MISCOPIED: ErrorMode.FM_2_5,
    DepartureKind.DROPPED: ErrorMode.FM_2_5,
    DepartureKind.SWAPPED: ErrorMode.FM_2_6,
    DepartureKind.UNSUPPORTED: ErrorMode.FM_2_6,
    DepartureKind.PLANNED: ErrorMode.FM_1_1,
    DepartureKind.BROUGHT_IN: ErrorMode.FM_2_6,
}
_KINDS: dict[DepartureKind, EvidenceKind] = {
    DepartureKind.MISCALCULATED: "value",
    DepartureKind.UNSUPPORTED: "value",
    DepartureKind.PLANNED: "value",
    DepartureKind.BROUGHT_IN: "sign",
}
"""The others are contradictions."""
SURE = 0.7
"""Strength from which a departure is a finding by itself."""
_TELLS = 0.4
"""Strength below which a departure only says where a value of the answer was made."""
_MOST = 8
_SHORT = 9
_NEAR = 0.7


def departures(run: RunReading) -> Iterator[Signal]:
    """The departures of the run's values, the likeliest with most weight."""
    nearness = min(1.0, (_SHORT / max(1, len(run.acts))) ** 0.5)
    for rank, departure in enumerate(provenance_of(run).departures[:_MOST]):
        is_sure = departure.strength >= SURE
        # By resemblance alone a long run has many false slips; what is computed or stands in a record does not age.
        ages = departure.leads_to_answer and departure.kind is not DepartureKind.MISCALCULATED
        yield Signal(
            family=Family.ARITHMETIC if departure.kind is DepartureKind.MISCALCULATED else Family.PROVENANCE,
            step=departure.step,
            weight=round(_weight(departure, rank, _follows_a_failure(run, departure)) * (nearness if ages else 1.0), 4),
            mode=_mode(run, departure),
            why=departure.why,
            quote=departure.quote,
            value=departure.value if is_sure else None,
            kind=_KINDS.get(departure.kind, "contradiction") if is_sure and (not ages or nearness > _NEAR) else "sign",
        )


def _mode(run: RunReading, departure: Departure) -> ErrorMode:
    """The mode: to misread one's own tool is to act against what one saw, to misread a colleague ignores an input."""
    agent = run.steps[departure.step].agent
    own = departure.sources and all(run.steps[source].agent == agent for source in departure.sources)
    return ErrorMode.FM_2_6 if own and departure.kind is DepartureKind.MISREAD else _MODES[departure.kind]


def _follows_a_failure(run: RunReading, departure: Departure) -> bool:
    """Tell whether a value from nowhere comes right after a tool of the same agent failed, which is then the cause."""
    if departure.kind is not DepartureKind.UNSUPPORTED:
        return False
    agent = run.steps[departure.step].agent
    calls = [
        call
        for step in run.steps[max(0, departure.step - 1) : departure.step + 1]
        if step.agent == agent
        for call in step.tool_calls
    ]
    return any(failure_text(call) is not None for call in calls)


def _weight(departure: Departure, rank: int, follows_a_failure: bool) -> float:
    if follows_a_failure:
        return WEAK
    if departure.strength >= SURE:
        return DECISIVE + MODERATE if departure.leads_to_answer and rank == 0 else STRONG + WEAK
    if rank == 0 and departure.leads_to_answer:
        return STRONG if departure.strength >= _TELLS else MODERATE
    return MODERATE if rank == 0 else WEAK * departure.strength

"""``wrong_request``: the arguments of a call go against the task or a record: swapped, or an id that nobody gave.

Silent where the record shows no other value of that kind.
"""

from __future__ import annotations

from collections.abc import Iterator

from tracer_hooks.diagnosis._provenance import Departure, DepartureKind
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis.findings._departures import from_departure, sure_departures
from tracer_hooks.diagnosis.findings._kind import KindOfFinding
from tracer_hooks.schema import ErrorMode, Finding, FindingKind

_KIND = FindingKind.WRONG_REQUEST
SWAPPED, UNKNOWN = "swapped", "unknown_value"


def find(run: RunReading) -> Iterator[Finding]:
    """Calls with swapped arguments, and with values that nothing before them gives."""
    for departure in sure_departures(run, DepartureKind.SWAPPED):
        yield from_departure(run, _KIND, departure, detail=SWAPPED, subject=_tool(run, departure))
    for departure in sure_departures(run, DepartureKind.UNSUPPORTED):
        if _tool(run, departure) is not None:
            yield from_departure(run, _KIND, departure, detail=UNKNOWN, subject=_tool(run, departure))


def _tool(run: RunReading, departure: Departure) -> str | None:
    """The tool that was called with the value."""
    value = departure.value or ""
    calls = run.steps[departure.step].tool_calls
    return next((call.name for call in calls if value and value in str(call.arguments)), None)


def _advice(found: Finding) -> str:
    tool = found.values.subject if found.values is not None else None
    return f"Describe each argument of {tool!r}, and have {found.agent!r} take them from the task word for word."


KIND = KindOfFinding(
    kind=_KIND,
    definition="A call's arguments are swapped, or hold a value that nobody gave and no tool returned.",
    find=find,
    mode=ErrorMode.FM_2_6,
    blame={SWAPPED: 0.66, UNKNOWN: 0.92},
    advice=_advice,
)

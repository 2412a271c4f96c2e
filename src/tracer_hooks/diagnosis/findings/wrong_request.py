"""``wrong_request``: the arguments of a call go against the task or a record: swapped, or an id that nobody gave.

``ready_number``: a tool that only gave back the number that it was called with.

Silent where the record shows no other value of that kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from tracer_hooks.diagnosis._provenance import Departure, DepartureKind
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import canonical, is_number
from tracer_hooks.diagnosis.findings._departures import from_departure, sure_departures
from tracer_hooks.diagnosis.findings._kind import KindOfFinding, finding
from tracer_hooks.schema import ErrorMode, Finding, FindingKind

_KIND = FindingKind.WRONG_REQUEST
SWAPPED, UNKNOWN, READY = "swapped", "unknown_value", "ready_number"


def find(run: RunReading) -> Iterator[Finding]:
    """Calls with swapped arguments, and with values that nothing before them gives."""
    for departure in sure_departures(run, DepartureKind.SWAPPED):
        yield from_departure(run, _KIND, departure, detail=SWAPPED, subject=_tool(run, departure))
    for departure in sure_departures(run, DepartureKind.UNSUPPORTED):
        if _tool(run, departure) is not None:
            yield from_departure(run, _KIND, departure, detail=UNKNOWN, subject=_tool(run, departure))
    yield from _ready_numbers(run)


def _ready_numbers(run: RunReading) -> Iterator[Finding]:
    """The first call that gives back the one number that it was called with."""
    for step in run.acts:
        for call in run.steps[step].tool_calls:
            values = list(call.arguments.values()) if isinstance(call.arguments, dict) else [call.arguments]
            given = str(values[0]).strip() if len(values) == 1 else ""
            if not is_number(given) or not is_number((call.result or "").strip()) or len(canonical(given)) < 2:
                continue
            if Fraction(canonical(given)) == Fraction(canonical((call.result or "").strip())):
                agent = run.steps[step].agent
                yield finding(
                    run,
                    _KIND,
                    f"{agent!r} called {call.name!r} with {given!r} alone and got the same number back",
                    step=step,
                    detail=READY,
                    quote=run.locate(step, given, "arguments"),
                    claimed=given,
                    subject=call.name,
                )
                return


def _tool(run: RunReading, departure: Departure) -> str | None:
    """The tool that was called with the value."""
    value = departure.value or ""
    calls = run.steps[departure.step].tool_calls
    return next((call.name for call in calls if value and value in str(call.arguments)), None)


def _advice(found: Finding) -> str:
    tool = found.values.subject if found.values is not None else None
    if found.detail == READY:
        return f"Have {found.agent!r} hand {tool!r} the calculation itself, not its result."
    return f"Describe each argument of {tool!r}, and have {found.agent!r} take them from the task word for word."


KIND = KindOfFinding(
    kind=_KIND,
    definition="A call's arguments are swapped, or hold a value that nobody gave and no tool returned.",
    find=find,
    mode=ErrorMode.FM_2_6,
    blame={SWAPPED: 0.66, UNKNOWN: 0.92},
    advice=_advice,
)

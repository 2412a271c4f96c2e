"""``wrong_request``: the arguments of a call go against the task or a record: swapped, or an id that nobody gave.

``ready_number``: a tool that only gave back the number that it was called with.

Silent where the record shows no other value of that kind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, pairwise

from tracer_hooks.diagnosis._provenance import Departure, DepartureKind
from tracer_hooks.diagnosis._reading._errors import failure_text
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import canonical, is_number, parsed_json, plain_fields, sole_argument
from tracer_hooks.diagnosis.findings._departures import from_departure, sure_departures
from tracer_hooks.diagnosis.findings._kind import KindOfFinding, finding
from tracer_hooks.schema import ErrorMode, Finding, FindingKind, RunOutcome

_KIND = FindingKind.WRONG_REQUEST
SWAPPED, UNKNOWN, READY, CUT_OFF = "swapped", "unknown_value", "ready_number", "cut_off"
_BREAKS_OFF = ("unterminated", "expecting", "unexpected end", "end of file", "end of input", "json")
"""Words of an error about a text that is not whole."""


def find(run: RunReading) -> Iterator[Finding]:
    """Calls with swapped arguments, and with values that nothing before them gives."""
    for departure in sure_departures(run, DepartureKind.SWAPPED):
        yield from_departure(run, _KIND, departure, detail=SWAPPED, subject=_tool(run, departure))
    for departure in sure_departures(run, DepartureKind.UNSUPPORTED):
        if _tool(run, departure) is not None:
            yield from_departure(run, _KIND, departure, detail=UNKNOWN, subject=_tool(run, departure))
    yield from _cut_off(run)
    yield from _exchanged_fields(run)
    yield from _ready_numbers(run)


def _cut_off(run: RunReading) -> Iterator[Finding]:
    """JSON that an agent hands on broken off, where a call of the one who takes it fails for that."""
    for before, step in pairwise(run.acts):
        failure = next(filter(None, map(failure_text, run.steps[step].tool_calls)), "").casefold()
        if not any(word in failure for word in _BREAKS_OFF):
            continue
        handed = run.steps[before].content.strip()
        is_cut = handed[:1] in ("{", "[") and parsed_json(handed) is None
        if is_cut and run.steps[before].agent != run.steps[step].agent:
            first, second, tool = run.steps[before].agent, run.steps[step].agent, run.steps[step].tool_calls[0].name
            yield finding(
                run,
                _KIND,
                f"{first!r} hands on JSON that breaks off in step {before}; {tool!r}, called by {second!r}, fails",
                step=before,
                detail=CUT_OFF,
                quote=handed[-60:],
                subject=tool,
                leads_to_answer=run.trajectory.outcome is RunOutcome.FAILED,
            )
            return


def _exchanged_fields(run: RunReading) -> Iterator[Finding]:
    """Calls that pass the number of one returned field as another, and the other way round."""
    fields: dict[str, set[str]] = defaultdict(set)
    for step in run.acts:
        for call in run.steps[step].tool_calls:
            given = call.arguments if isinstance(call.arguments, dict) else {}
            named = {str(key): str(value) for key, value in given.items() if is_number(str(value))}
            known = {key: fields.get(key.rstrip("_0123456789").casefold(), set()) for key in named}
            for first, second in combinations([key for key in named if known[key]], 2):
                one, other = _plain(named[first]), _plain(named[second])
                if (
                    one in known[first]
                    or other in known[second]
                    or not (one in known[second] and other in known[first])
                ):
                    continue
                agent = run.steps[step].agent
                yield finding(
                    run,
                    _KIND,
                    f"{agent!r} passes {named[first]} as {first!r} and {named[second]} as {second!r} to {call.name!r}; "
                    "they were returned the other way round",
                    step=step,
                    detail=SWAPPED,
                    quote=run.locate(step, named[first], "arguments"),
                    claimed=named[first],
                    right=named[second],
                    subject=call.name,
                    leads_to_answer=run.trajectory.outcome is RunOutcome.FAILED,
                )
                return
        for call in run.steps[step].tool_calls:
            for key, value in plain_fields(
                parsed_json(call.result or "") if (call.result or "")[:1] in ("{", "[") else None
            ):
                fields[key.casefold()].add(_plain(value))


def _plain(value: str) -> str:
    return canonical(value) if is_number(value) else value.casefold()


def _ready_numbers(run: RunReading) -> Iterator[Finding]:
    """The first call that gives back the one number that it was called with."""
    for step in run.acts:
        for call in run.steps[step].tool_calls:
            given = sole_argument(call.arguments).strip()
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
    if found.detail == CUT_OFF:
        return f"Have {found.agent!r} hand on shorter pieces, and check that they are whole before they are used."
    if tool is None:
        return f"Have {found.agent!r} take each value that it passes from the task word for word."
    return f"Describe each argument of {tool!r}, and have {found.agent!r} take them from the task word for word."


KIND = KindOfFinding(
    kind=_KIND,
    definition="A call's arguments are swapped, or hold a value that nobody gave and no tool returned.",
    find=find,
    mode=ErrorMode.FM_2_6,
    blame={SWAPPED: 0.66, UNKNOWN: 0.92, CUT_OFF: 0.8},
    advice=_advice,
)

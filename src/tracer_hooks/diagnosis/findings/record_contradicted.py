"""``record_contradicted``: the words say otherwise than what a tool, the task or an earlier step has on record.

Compared are values of one field or one label: amounts, dates, ids, names, digits that were miscopied. Silent where a
likeness may be chance, as in long runs of which much was not recorded.
"""

from __future__ import annotations

from collections.abc import Iterator

from tracer_hooks.diagnosis._provenance import Departure, DepartureKind
from tracer_hooks.diagnosis._reading._contradictions import contradictions
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import find_value, numbers_in
from tracer_hooks.diagnosis.findings._departures import from_departure, leads, sure_departures
from tracer_hooks.diagnosis.findings._kind import KindOfFinding, finding
from tracer_hooks.schema import ErrorMode, Finding, FindingKind, RunOutcome

_KIND = FindingKind.RECORD_CONTRADICTED
_BARE = 24
"""Characters up to which a result is the value alone; in a longer one a number may be of something else."""


def find(run: RunReading) -> Iterator[Finding]:
    """Values that were read or copied wrongly."""
    for departure in sure_departures(run, DepartureKind.MISREAD, DepartureKind.MISCOPIED):
        if leads(run, departure) or not _is_given(run, departure):
            yield from_departure(run, _KIND, departure, subject=_tool(run, departure))
    for call_step, step, tool, found in contradictions(run):
        if found.sure and any(len((call.result or "").strip()) <= _BARE for call in run.steps[call_step].tool_calls):
            agent = run.steps[step].agent
            yield finding(
                run,
                _KIND,
                f"{agent!r} says {found.value}, but {tool!r} returned {found.expected} in step {call_step}",
                step=step,
                quote=found.quote,
                claimed=found.value,
                right=found.expected,
                source=call_step,
                subject=tool,
                leads_to_answer=run.trajectory.outcome is RunOutcome.FAILED
                and find_value(run.final_text, found.value) >= 0,
            )


def _is_given(run: RunReading, departure: Departure) -> bool:
    """Tell whether the task or an earlier step has the very value: it may be rightly said of something else."""
    value = departure.value or ""
    value = next((match.group() for match in numbers_in(value)), value)  # "131 EUR" is 131 in a record
    if find_value(run.trajectory.task, value) >= 0:
        return True
    own_call = departure.step in departure.sources and run.locate(departure.step, value, "arguments") is not None
    earlier = any(run.locate(step, value) is not None for step in range(departure.step))
    return own_call or earlier or run.locate(departure.step, value, "result") is not None


def _tool(run: RunReading, departure: Departure) -> str | None:
    """The tool whose record it is, where its step called a single one."""
    source = departure.sources[0] if departure.sources else departure.step
    calls = run.steps[source].tool_calls
    return calls[0].name if len({call.name for call in calls}) == 1 else None


def _advice(found: Finding) -> str:
    where = "what it was given"
    if found.values is not None and found.values.source is not None:
        where = f"step {found.values.source}"
    if found.values is not None and found.values.subject is not None:
        where = f"the reply of {found.values.subject!r}"
    return f"Have {found.agent!r} copy values word for word from {where}."


KIND = KindOfFinding(
    kind=_KIND,
    definition="A value that a step states is another one in the record of a tool, the task or the step it rests on.",
    find=find,
    mode=ErrorMode.FM_2_5,
    blame={"": 0.77},
    advice=_advice,
)

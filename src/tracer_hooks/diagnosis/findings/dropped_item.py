"""``dropped_item``: one of several items that were handed over together is left out of a list, a sum or a hand-over.

``not_asked_for``: a tool was called for some of the names that the task has in one breath, and never for another.
Silent where the items were chosen among on purpose, or where nothing shows that all of them were wanted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracer_hooks.diagnosis._provenance import Departure, DepartureKind
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import find_value, numbers_in
from tracer_hooks.diagnosis._rules._tools import failure_text
from tracer_hooks.diagnosis.findings._departures import from_departure, leads, sure_departures
from tracer_hooks.diagnosis.findings._kind import KindOfFinding, finding
from tracer_hooks.schema import ErrorMode, Finding, FindingKind, RunOutcome

_KIND = FindingKind.DROPPED_ITEM
_READ = 8_000
_SHOWN_BY_CALLS = ("arguments", "result", "tool error")
NOT_ASKED_FOR = "not_asked_for"
_ITEM = r"(?:[A-Z][\w'-]*[a-z\d](?: [A-Z][\w'-]*[a-z\d]){0,2}|[A-Z]+-?\d[\w-]*)"
_TOGETHER = re.compile(rf"{_ITEM}(?:, {_ITEM})*,? (?:and|&) {_ITEM}")


def find(run: RunReading) -> Iterator[Finding]:
    """Items that a step leaves out."""
    for departure in sure_departures(run, DepartureKind.DROPPED):
        if leads(run, departure) and not _is_there(run, departure):
            yield from_departure(run, _KIND, departure)
    yield from _not_asked_for(run)


def _not_asked_for(run: RunReading) -> Iterator[Finding]:
    """The last call of a tool for some of the names, where no call has another of them and no result tells of it."""
    calls = [(step, call) for step in run.acts for call in run.steps[step].tool_calls]
    shown = [passage.raw.casefold() for step in run.acts for passage in run.passages(step, *_SHOWN_BY_CALLS)]
    for match in _TOGETHER.finditer(run.trajectory.task[:_READ]):
        names = re.findall(_ITEM, match.group())
        missing = [name for name in names if not any(name.casefold() in text for text in shown)]
        asked = [(step, call, name) for step, call in calls for name in names if _is_for(call.arguments, name)]
        if not asked or len(missing) != 1 or failure_text(asked[-1][1]) is not None:
            continue
        step, call, name = asked[-1]
        agent = run.steps[step].agent
        yield finding(
            run,
            _KIND,
            f"{agent!r} called {call.name!r} for {name!r} and never for {missing[0]!r}; the task names both",
            step=step,
            detail=NOT_ASKED_FOR,
            quote=run.locate(step, name, "arguments"),
            claimed=name,
            right=missing[0],
            subject=call.name,
            leads_to_answer=run.trajectory.outcome is RunOutcome.FAILED,
        )


def _is_for(arguments: object, name: str) -> bool:
    """Tell whether one argument of a call is the very name."""
    values = arguments.values() if isinstance(arguments, dict) else (arguments,)
    return any(isinstance(value, str) and value.strip().casefold() == name.casefold() for value in values)


def _is_there(run: RunReading, departure: Departure) -> bool:
    """Tell whether the step has the item after all, its number without what it counts."""
    content = run.steps[departure.step].content
    return any(find_value(content, match.group()) >= 0 for match in numbers_in(departure.missing or ""))


def _advice(found: Finding) -> str:
    if found.detail == NOT_ASKED_FOR and found.values is not None:
        return (
            f"Tell {found.agent!r} to call {found.values.subject!r} once for each name of the task before it answers."
        )
    return f"Have {found.agent!r} list every item that it was given before it adds up or hands on."


KIND = KindOfFinding(
    kind=_KIND,
    definition="An item of a list or of a tool's result is left out by a step that takes the others.",
    find=find,
    mode=ErrorMode.FM_2_4,
    blame={"": 0.75, NOT_ASKED_FOR: 0.75},
    advice=_advice,
)

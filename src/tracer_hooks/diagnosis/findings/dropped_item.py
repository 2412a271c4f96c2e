"""``dropped_item``: one of several items that were handed over together is left out of a list, a sum or a hand-over.

Silent where the items were chosen among on purpose, or where nothing shows that all of them were wanted.
"""

from __future__ import annotations

from collections.abc import Iterator

from tracer_hooks.diagnosis._provenance import Departure, DepartureKind
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import find_value, numbers_in
from tracer_hooks.diagnosis.findings._departures import from_departure, leads, sure_departures
from tracer_hooks.diagnosis.findings._kind import KindOfFinding
from tracer_hooks.schema import ErrorMode, Finding, FindingKind

_KIND = FindingKind.DROPPED_ITEM


def find(run: RunReading) -> Iterator[Finding]:
    """Items that a step leaves out."""
    for departure in sure_departures(run, DepartureKind.DROPPED):
        if leads(run, departure) and not _is_there(run, departure):
            yield from_departure(run, _KIND, departure)


def _is_there(run: RunReading, departure: Departure) -> bool:
    """Tell whether the step has the item after all, its number without what it counts."""
    content = run.steps[departure.step].content
    return any(find_value(content, match.group()) >= 0 for match in numbers_in(departure.missing or ""))


def _advice(found: Finding) -> str:
    return f"Have {found.agent!r} list every item that it was given before it adds up or hands on."


KIND = KindOfFinding(
    kind=_KIND,
    definition="An item of a list or of a tool's result is left out by a step that takes the others.",
    find=find,
    mode=ErrorMode.FM_2_4,
    blame={"": 0.75},
    advice=_advice,
)

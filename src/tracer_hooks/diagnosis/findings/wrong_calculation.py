"""``wrong_calculation``: a calculation that does not come out, or one that was asked for and gives the wrong answer.

Recomputed are sums, products, differences, quotients, shares, terms between dates, chains of equations and units, as
they are written in words or signs. Silent where a number stands for something else than it seems, or may be rounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from tracer_hooks.diagnosis._provenance import DepartureKind, provenance_of
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import find_value
from tracer_hooks.diagnosis.findings._departures import from_departure, sure_departures
from tracer_hooks.diagnosis.findings._kind import KindOfFinding, finding
from tracer_hooks.diagnosis.findings._rows import record_totals, unlike_sum
from tracer_hooks.schema import ErrorMode, Finding, FindingKind, RunOutcome

_KIND = FindingKind.WRONG_CALCULATION
_UNKNOWN = re.compile(r"(?:\d|\})\s?[xyzntk](?![\w'])(?!\s*\d)|\d\s?[a-z]_")
"""A letter for an unknown right behind a number: an equation to solve."""
ASKED_FOR = "asked_for"
"""Detail: the calculation comes out; it is the wrong one, and another agent asked for it."""


def find(run: RunReading) -> Iterator[Finding]:
    """Calculations that do not come out, and those asked for that give the rejected answer."""
    for departure in sure_departures(run, DepartureKind.MISCALCULATED):
        if _UNKNOWN.search(departure.quote or "") is None:
            yield from_departure(run, _KIND, departure)
    for step, rows, stated, right in unlike_sum(run):
        yield _of_rows(run, step, rows, stated, right, f"the rows of step {rows} come")
    for step, source, tool, stated, right in record_totals(run):
        yield _of_rows(run, step, source, stated, right, f"what {tool!r} returned in step {source} comes")
    for planned in provenance_of(run).planned:
        yield from_departure(run, _KIND, planned, detail=ASKED_FOR)


def _of_rows(run: RunReading, step: int, source: int, stated: str, right: Fraction, whose: str) -> Finding:
    amount = f"{float(right):.2f}".removesuffix(".00")
    return finding(
        run,
        _KIND,
        f"{run.steps[step].agent!r} says {stated}; {whose} to {amount}",
        step=step,
        quote=run.locate(step, stated, "content"),
        claimed=stated,
        right=amount,
        source=source,
        leads_to_answer=run.trajectory.outcome is RunOutcome.FAILED and find_value(run.final_text, stated) >= 0,
    )


def _advice(found: Finding) -> str:
    if found.detail == ASKED_FOR:
        return f"Have {found.agent!r} say what each number of its calculation stands for before it hands it on."
    return f"Give {found.agent!r} a calculator tool, or have a second agent work the calculation out again."


KIND = KindOfFinding(
    kind=_KIND,
    definition="A calculation in the run does not come out, or one that was asked for gives the rejected answer.",
    find=find,
    mode=ErrorMode.FM_2_6,
    blame={"": 0.78, ASKED_FOR: 0.9},
    advice=_advice,
)

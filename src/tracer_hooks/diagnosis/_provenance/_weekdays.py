"""The weekday of the one date that a task asks about."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracer_hooks.diagnosis._provenance._departures import Departure, DepartureKind
from tracer_hooks.diagnosis._provenance._derivation import as_date
from tracer_hooks.diagnosis._provenance._ledger import Ledger
from tracer_hooks.diagnosis._provenance._sightings import Kind
from tracer_hooks.values import WEEKDAYS

_ASKED = re.compile(r"\b(?:(?:which|what) (?:week)?day\b|day of the week)", re.IGNORECASE)
_OTHER = re.compile(r"\b(?:after|before|later|earlier|from|until|days?|weeks?|months?) \b|\+", re.IGNORECASE)
_DAY = re.compile(rf"\b(?:{'|'.join(WEEKDAYS)})\b")


def misnamed_weekdays(ledger: Ledger) -> Iterator[Departure]:
    """The first step that answers with another weekday than the one date of the task has."""
    task = ledger.trace.trajectory.task[:4_000]
    dates = [one for one in ledger.of_step(-1) if one.value.kind is Kind.DATE]
    if len(dates) != 1 or not _ASKED.search(task) or _OTHER.search(_ASKED.sub("", task)) or _DAY.search(task):
        return
    day = as_date(dates[0].value)
    if day is None or dates[0].value.date is None or dates[0].value.date.year is None:
        return
    right = WEEKDAYS[day.weekday()]
    for step in ledger.trace.acts:
        passage = ledger.trace.content(step)
        found = set(_DAY.findall(passage.text)) if passage is not None else set()
        if passage is None or len(found) != 1 or right in found:
            continue
        wrong = found.pop()
        at = passage.text.index(wrong)
        agent = ledger.trace.steps[step].agent
        yield Departure(
            kind=DepartureKind.MISCALCULATED,
            step=step,
            why=f"{dates[0].value.text.strip()} is a {right}; {agent!r} says {wrong!r}",
            quote=passage.quote_at(at, at + len(wrong)),
            value=wrong,
            strength=0.85,
            leads_to_answer=wrong in ledger.trace.final_text,
        )
        return

"""Ends that lie before their beginning: a shift from 22:00 that ends at 06:30 of the same day."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracer_hooks.diagnosis._provenance._departures import Departure, DepartureKind
from tracer_hooks.diagnosis._provenance._derivation import minutes_of
from tracer_hooks.diagnosis._provenance._entries import Entry, Place
from tracer_hooks.diagnosis._provenance._ledger import Ledger
from tracer_hooks.diagnosis._provenance._sameness import is_same
from tracer_hooks.diagnosis._provenance._sightings import Kind
from tracer_hooks.values import WEEKDAYS

_END = re.compile(
    r"\b(?:end(?:s|ed|ing)?|until|till|over|finish\w*|done|ready|land(?:s|ing|ed)?|arriv\w*|back|return\w*|due"
    r"|complete\w*"
    r"|touch\w*|dock\w*|in port|home)\b|_(?:end|until)\b|\b(?:end|arrival)_",
    re.IGNORECASE,
)
_BACK = re.compile(r"\b(?:behind|westward|earlier than)\b", re.IGNORECASE)
_DAY = re.compile(rf"\b(?:{'|'.join(WEEKDAYS)})\b")


def overnight_ends(ledger: Ledger) -> Iterator[Departure]:
    """The first step that gives the day of the beginning to an end whose time of day comes before the beginning's."""
    task = ledger.trace.trajectory.task[:4_000]
    given = ledger.of_step(-1)
    dates = [one for one in given if one.value.kind is Kind.DATE]
    times = [one for one in given if one.value.kind is Kind.TIME]
    days = _DAY.findall(task)
    if len(times) != 1 or len(dates) > 1 or len(set(days)) > 1 or not (dates or days) or _BACK.search(task):
        return
    for step in ledger.trace.acts:
        found = _early_end(ledger, step, times[0], dates[0] if dates else None, days[0] if days else None)
        if found is not None:
            yield found
            return


def _early_end(ledger: Ledger, step: int, begin: Entry, day: Entry | None, weekday: str | None) -> Departure | None:
    passage = ledger.trace.content(step)
    said = passage.text if passage is not None else ""
    for place in (Place.USED, Place.SAID):
        own = ledger.of_step(step, place)
        ends = [one for one in own if one.value.kind is Kind.TIME]
        dates = [one for one in own if one.value.kind is Kind.DATE]
        names = " ".join(call.name for call in ledger.trace.steps[step].tool_calls) if place is Place.USED else said
        named = set(_DAY.findall(said)) if place is Place.SAID else set()
        if (
            len(ends) != 1
            or len(dates) > 1
            or not _END.search(names.replace("_", " "))
            or not minutes_of(ends[0].value) < minutes_of(begin.value)
        ):
            continue
        is_same_day = bool(dates) and day is not None and is_same(dates[0].value, day.value)
        is_same_weekday = not dates and named == {weekday}
        if is_same_day or is_same_weekday:
            stated = dates[0].value.text.strip() if dates else weekday
            assert stated is not None
            agent = ledger.trace.steps[step].agent
            return Departure(
                kind=DepartureKind.MISCALCULATED,
                step=step,
                why=f"{agent!r} puts {ends[0].value.text.strip()} on {stated!r}, the day on which it begins at "
                f"{begin.value.text.strip()}",
                quote=(dates or ends)[0].quote,
                value=stated,
                sources=(),
                strength=0.9,
                leads_to_answer=True,
            )
    return None

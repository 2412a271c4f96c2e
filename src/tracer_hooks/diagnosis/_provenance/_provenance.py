"""The provenance of a run's values: every departure that is found, and where the values of the answer come from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

from tracer_hooks.diagnosis._provenance._departures import Departure, DepartureKind, Link
from tracer_hooks.diagnosis._provenance._dropped import dropped_items
from tracer_hooks.diagnosis._provenance._entries import is_read
from tracer_hooks.diagnosis._provenance._fallbacks import fallbacks, planned_value
from tracer_hooks.diagnosis._provenance._following import Trail, answers_of
from tracer_hooks.diagnosis._provenance._ledger import Ledger
from tracer_hooks.diagnosis._provenance._misfields import misread_fields
from tracer_hooks.diagnosis._provenance._records import mixed_up_values
from tracer_hooks.diagnosis._provenance._replies import contradicted_calls
from tracer_hooks.diagnosis._provenance._unsupported import unsupported_values
from tracer_hooks.diagnosis._provenance._way import way_of
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import StepPassage
from tracer_hooks.schema import RunOutcome
from tracer_hooks.values import WEEKDAYS, DateCalculation

_ASIDE = 0.2
"""What a departure that the answer was not followed back to counts less."""
_SHORT, _LONG = 14, 60
"""Steps up to which no likeness is taken for chance, and from which most doubt is left."""
_MOST_DOUBT, _DOUBT_IN_TALK, _UNRECORDED = 0.35, 0.25, 0.2
_BY_LIKENESS = frozenset(
    (DepartureKind.MISREAD, DepartureKind.MISCOPIED, DepartureKind.DROPPED, DepartureKind.UNSUPPORTED)
)


@dataclass(frozen=True, slots=True)
class Provenance:
    """What was found out about the values of one run."""

    departures: tuple[Departure, ...]
    """The likeliest first."""
    planned: tuple[Departure, ...]
    """Where a value of the answer itself was asked for as a calculation."""
    links: tuple[Link, ...]
    """Where the values of the answer come from, in order of the steps."""


def provenance_of(trace: RunReading) -> Provenance:
    """Follow the values of a run's answer back, and check every calculation on the way; done once for a trace."""
    if trace not in _known:
        _known[trace] = _read(trace)
    return _known[trace]


_known: WeakKeyDictionary[RunReading, Provenance] = WeakKeyDictionary()


def _read(trace: RunReading) -> Provenance:
    ledger = Ledger(trace)
    trail = Trail(ledger)
    verdict = trace.known_outcome
    for value in answers_of(ledger, verdict.wrong):
        trail.follow(value, is_answer=True)
    if verdict.wrong and not trail.departures and not trail.planned:
        # Nothing stands on the way of what is known to be wrong: all of the answer is followed, as without that.
        for value in answers_of(ledger, ()):
            trail.follow(value, is_answer=True)
    found = [*trail.departures, *dropped_items(ledger)]
    known = {one.step for one in found if one.kind is DepartureKind.MISCALCULATED}
    found += (one for one in _miscalculations(ledger) if one.step not in known)
    found += misread_fields(ledger)
    found += contradicted_calls(trace)
    found += unsupported_values(ledger)
    found += mixed_up_values(ledger)
    if trace.trajectory.outcome is RunOutcome.FAILED:
        found += fallbacks(ledger, trail)
    found = [one for one in found if one.strength > 0]
    doubt = _doubt_of(ledger)
    weighed = [
        replace(one, strength=one.strength * (1 - doubt)) if one.kind in _BY_LIKENESS and not one.is_recorded else one
        for one in found
    ]
    return Provenance(
        departures=tuple(sorted(_one_each(weighed), key=_rank)),
        planned=tuple(planned_value(ledger, one) for one in trail.planned if one.is_answer),
        links=way_of(ledger, trail.links, weighed),
    )


def _doubt_of(ledger: Ledger) -> float:
    """How much a likeness of values may be chance: nothing in a short run, more in a long one with values from outside.

    In a long run some value resembles another whatever happens, all the more where much of what agents rest on, such as
    the pages that they read, was not recorded.
    """
    steps = len(ledger.trace.steps)
    if steps <= _SHORT:
        return 0.0
    length = min(1.0, math.log(steps / _SHORT) / math.log(_LONG / _SHORT))
    return (
        length * (_MOST_DOUBT if not ledger.is_conversation else _DOUBT_IN_TALK)
        + (1 - ledger.coverage) * _UNRECORDED * length
    )


def _rank(departure: Departure) -> tuple[float, int]:
    return -round(departure.strength - (0 if departure.leads_to_answer else _ASIDE), 1), departure.step


def _one_each(found: Sequence[Departure]) -> list[Departure]:
    """Of several departures of one kind at one step the first."""
    best: dict[tuple[int, DepartureKind], Departure] = {}
    for one in found:
        best.setdefault((one.step, one.kind), one)
    return list(best.values())


def _miscalculations(ledger: Ledger) -> Iterator[Departure]:
    """Calculations that do not come out, wherever they stand."""
    for step in ledger.trace.acts:
        passage = ledger.trace.content(step)
        if passage is None or not is_read(step, len(ledger.trace.steps)):
            continue
        wrong = next((one for one in ledger.calculations(step) if not one.holds), None)
        if wrong is not None:
            yield Departure(
                kind=DepartureKind.MISCALCULATED,
                step=step,
                why=wrong.correction,
                quote=passage.quote_at(wrong.start, wrong.end),
                value=wrong.stated.text.strip(),
                right=wrong.right,
            )
            continue
        date = next((one for one in ledger.date_calculations(step) if not one.holds), None)
        if date is not None:
            yield _misdated(ledger, step, passage, date)


def _misdated(ledger: Ledger, step: int, passage: StepPassage, date: DateCalculation) -> Departure:
    """At the step itself, or at an earlier one that was the first to name the wrong weekday."""
    found = Departure(
        kind=DepartureKind.MISCALCULATED,
        step=step,
        why=date.correction,
        quote=passage.quote_at(date.start, date.end),
        value=date.stated,
    )
    if date.stated not in WEEKDAYS or date.stated in ledger.trace.trajectory.task:
        return found
    for earlier in ledger.trace.acts:
        if earlier >= step:
            break
        quote = ledger.trace.locate(earlier, date.stated, "content")
        if quote is not None:
            agent = ledger.trace.steps[earlier].agent
            why = f"{agent!r} says {date.stated!r}, and step {step} puts it beside a date: {date.correction}"
            return replace(found, step=earlier, why=why, quote=quote, sources=(step,))
    return found

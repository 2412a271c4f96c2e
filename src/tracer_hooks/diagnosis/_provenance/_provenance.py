"""The provenance of a run's values: every departure that is found, and the way of each value of the answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

from tracer_hooks.diagnosis._provenance._departures import Departure, DepartureKind, Link, Origin
from tracer_hooks.diagnosis._provenance._dropped import dropped_items
from tracer_hooks.diagnosis._provenance._following import Trail, answers_of
from tracer_hooks.diagnosis._provenance._ledger import Entry, Ledger, Place
from tracer_hooks.diagnosis._provenance._plans import planned_value
from tracer_hooks.diagnosis._provenance._records import contradicted_calls, mixed_up_values, unsupported_values
from tracer_hooks.diagnosis._provenance._values import Sighting, Texts, is_same
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import StepPassage
from tracer_hooks.schema import RunOutcome
from tracer_hooks.values import WEEKDAYS, DateCalculation

_ASIDE = 0.2
"""Strength that a departure loses which the answer was not followed back to."""
_SHORT, _LONG = 14, 60
"""Steps up to which no likeness is taken for chance, and from which most doubt is left."""
_MOST_DOUBT, _DOUBT_IN_TALK = 0.4, 0.3
_BY_LIKENESS = frozenset(
    (DepartureKind.MISREAD, DepartureKind.MISCOPIED, DepartureKind.DROPPED, DepartureKind.UNSUPPORTED)
)


@dataclass(frozen=True, slots=True)
class Provenance:
    """Departures and links of the values of one run."""

    departures: tuple[Departure, ...]
    """The likeliest first."""
    planned: tuple[Departure, ...]
    """Steps that asked for a value of the answer itself, as a calculation."""
    links: tuple[Link, ...]
    """The sources of the answer's values, in order of the steps."""


def provenance_of(run: RunReading) -> Provenance:
    """Follow the values of a run's answer back, and check every calculation on the way; done once for a run."""
    if run not in _known:
        _known[run] = _read(run)
    return _known[run]


_known: WeakKeyDictionary[RunReading, Provenance] = WeakKeyDictionary()


def _read(run: RunReading) -> Provenance:
    ledger = Ledger(run)
    trail = Trail(ledger)
    wrong = run.known_outcome.wrong
    for value in answers_of(ledger, wrong):
        trail.follow(value, is_answer=True)
    if wrong and not trail.departures and not trail.planned:
        # Nothing stands on the way of what is known to be wrong: all of the answer is followed, as without that.
        for value in answers_of(ledger, ()):
            trail.follow(value, is_answer=True)
    found = [*trail.departures, *dropped_items(ledger)]
    known = {departure.step for departure in found if departure.kind is DepartureKind.MISCALCULATED}
    found += (departure for departure in _miscalculations(ledger) if departure.step not in known)
    found += contradicted_calls(run)
    found += unsupported_values(ledger)
    found += mixed_up_values(ledger)
    if run.trajectory.outcome is RunOutcome.FAILED:
        found += trail.makers()
    certain = 1 - _doubt_of(ledger)
    weighed = [
        replace(departure, strength=departure.strength * certain)
        if departure.kind in _BY_LIKENESS and not departure.is_recorded
        else departure
        for departure in found
        if departure.strength > 0
    ]
    return Provenance(
        departures=tuple(sorted(_one_each(weighed), key=_rank)),
        planned=tuple(planned_value(ledger, planned) for planned in trail.planned if planned.is_answer),
        links=_way_of(ledger, trail.links, weighed),
    )


def _doubt_of(ledger: Ledger) -> float:
    """Weigh how much a likeness of values may be chance: nothing in a short run, more the longer it is.

    In a long run some value resembles another whatever happens.
    """
    steps = len(ledger.run.steps)
    if steps <= _SHORT:
        return 0.0
    length = min(1.0, math.log(steps / _SHORT) / math.log(_LONG / _SHORT))
    return length * (_DOUBT_IN_TALK if ledger.is_conversation else _MOST_DOUBT)


def _rank(departure: Departure) -> tuple[float, int]:
    return -round(departure.strength - (0 if departure.leads_to_answer else _ASIDE), 1), departure.step


def _one_each(found: Sequence[Departure]) -> list[Departure]:
    """Keep the first of several departures of one kind at one step."""
    best: dict[tuple[int, DepartureKind], Departure] = {}
    for departure in found:
        best.setdefault((departure.step, departure.kind), departure)
    return list(best.values())


def _miscalculations(ledger: Ledger) -> Iterator[Departure]:
    """Calculations that do not come out, wherever they stand."""
    for step in ledger.run.acts:
        passage = ledger.run.content(step)
        if passage is None or not ledger.is_read(step):
            continue
        wrong = next((each for each in ledger.calculations(step) if not each.holds), None)
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
        date = next((each for each in ledger.date_calculations(step) if not each.holds), None)
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
    if date.stated not in WEEKDAYS or date.stated in ledger.run.trajectory.task:
        return found
    for earlier in ledger.run.acts:
        if earlier >= step:
            break
        quote = ledger.run.locate(earlier, date.stated, "content")
        if quote is not None:
            agent = ledger.run.steps[earlier].agent
            why = f"{agent!r} says {date.stated!r}, and step {step} puts it beside a date: {date.correction}"
            return replace(found, step=earlier, why=why, quote=quote, sources=(step,))
    return found


_FIRST_COPIES = 4
"""Steps that only repeat a value which are kept beside the last of them."""
_TOLD = 0.6
"""Strength from which a guess at swapped operands is told as a contradiction."""
_LONGEST = 80
_GUESSES = frozenset({DepartureKind.SWAPPED, DepartureKind.PLANNED, DepartureKind.BROUGHT_IN})
_ORIGINS = {DepartureKind.DROPPED: Origin.DROPPED, DepartureKind.UNSUPPORTED: Origin.UNSUPPORTED}


@dataclass(slots=True)
class _Way:
    """One value with what was found of it."""

    value: Sighting | None
    """None for something that is no value, such as the item of a list."""
    label: str
    links: list[Link] = field(default_factory=list)

    def add(self, link: Link) -> None:
        """Add a stretch; what several operands or findings say of one stretch is told once."""
        for place, known in enumerate(self.links):
            if (known.step, known.origin, known.source) == (link.step, link.origin, link.source):
                self.links[place] = replace(
                    known,
                    note=known.note or link.note,
                    operands=tuple(dict.fromkeys((*known.operands, *link.operands))),
                    leads_to_answer=known.leads_to_answer or link.leads_to_answer,
                )
                return
        self.links.append(link)


def _way_of(ledger: Ledger, links: Sequence[tuple[Link, Entry]], departures: Iterable[Departure]) -> tuple[Link, ...]:
    """The links of a run in order of the steps: what was followed back, what departs, and who repeats it.

    Args:
        ledger: The values of the run.
        links: What following the answer back found, with the place where each value came in.
        departures: Where the run departs from what it was given and shown.
    """
    ways: dict[str, _Way] = {}
    for link, entry in links:
        if link.origin is Origin.GIVEN:
            used = _first_use(ledger, entry.value)
            if used is None:
                continue
            link = Link(link.value, used, Origin.GIVEN, None)
        way = _way_for(ways, entry.value, link.value, list(ways.values()))
        way.add(replace(link, value=way.label))
    followed = list(ways.values())
    for departure in departures:
        if departure.kind not in _GUESSES or departure.strength >= _TOLD:
            _depart(ways, followed, departure, ledger.texts)
    for way in ways.values():
        for link in _copies(ledger, way):
            way.add(link)
    return tuple(sorted((link for way in ways.values() for link in way.links), key=lambda link: link.step))


def _way_for(ways: dict[str, _Way], value: Sighting | None, text: str, among: Sequence[_Way]) -> _Way:
    """The way of a value, however it is written; a new one when there is none.

    Args:
        ways: The ways of the run by what is written for their value.
        value: The value.
        text: How it is written.
        among: The ways to compare it with. A run can have thousands of departures.
    """
    label = " ".join(text.split())[:_LONGEST]
    found = ways.get(label)
    if found is None and value is not None:
        found = next((way for way in among if way.value is not None and is_same(way.value, value)), None)
    return found or ways.setdefault(label, _Way(value, label))


def _depart(ways: dict[str, _Way], followed: Sequence[_Way], departure: Departure, texts: Texts) -> None:
    text = departure.missing or departure.value
    if text is None:
        return
    values = texts.sightings(text) if departure.missing is None else ()
    way = _way_for(ways, values[0] if len(values) == 1 else None, text, followed)
    origin = _ORIGINS.get(departure.kind, Origin.CONTRADICTING)
    source = next((step for step in departure.sources if step < departure.step), None)
    known = [link for link in way.links if link.step == departure.step and link.origin is origin]
    told = any(link.step == departure.step and link.origin.is_departure for link in way.links)
    if (source is None and known) or (origin is Origin.UNSUPPORTED and told):
        return
    way.links = [link for link in way.links if link not in known or link.source is not None]
    way.add(Link(way.label, departure.step, origin, source, departure.why, leads_to_answer=departure.leads_to_answer))


def _first_use(ledger: Ledger, value: Sighting) -> int | None:
    """The first step that says a value of the task, or passes it to a tool."""
    uses = (entry.step for entry in ledger.occurrences(value) if entry.place in (Place.SAID, Place.USED))
    return next(uses, None)


def _copies(ledger: Ledger, way: _Way) -> Iterator[Link]:
    """The later steps that say the value again, each from the one before it; of many the first ones and the last."""
    origins = {link.origin for link in way.links}
    if way.value is None or not way.links or origins <= {Origin.GIVEN, Origin.DROPPED}:
        return
    known = {link.step for link in way.links}
    first = min(known)
    said = {each.step for each in ledger.occurrences(way.value) if each.place is Place.SAID and each.step > first}
    steps = sorted(said - known)
    if not way.value.is_telling:  # a small number stands in many places by chance
        likely = {ledger.run.acts[-1], *(link.source for link in way.links)}
        steps = [step for step in steps if step in likely]
    if len(steps) > _FIRST_COPIES + 1:
        steps = [*steps[:_FIRST_COPIES], steps[-1]]
    leads = any(link.leads_to_answer for link in way.links)
    for step in steps:
        source = max(earlier for earlier in known if earlier < step)
        yield Link(way.label, step, Origin.COPIED, source, leads_to_answer=leads)
        known.add(step)

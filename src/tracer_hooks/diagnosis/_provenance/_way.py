"""The way of each value through the run: where it came in, who took it over, and where it went wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from tracer_hooks.diagnosis._provenance._departures import Departure, DepartureKind, Link, Origin
from tracer_hooks.diagnosis._provenance._entries import Entry, Place
from tracer_hooks.diagnosis._provenance._ledger import Ledger
from tracer_hooks.diagnosis._provenance._sameness import is_same
from tracer_hooks.diagnosis._provenance._sightings import Sighting
from tracer_hooks.diagnosis._provenance._texts import Texts

_FIRST_COPIES = 4
"""Steps that only repeat a value which are kept beside the last of them."""
_SURE = 0.6
"""Strength from which a guess at swapped operands is told as a contradiction."""
_LONGEST = 80
_GUESSES = frozenset({DepartureKind.SWAPPED, DepartureKind.PLANNED, DepartureKind.UNFOLLOWED, DepartureKind.BROUGHT_IN})


@dataclass(slots=True)
class _Way:
    """One value with what was found of it."""

    value: Sighting | None
    """None for something that is no value, such as the item of a list."""
    label: str
    links: list[Link] = field(default_factory=list)

    def add(self, link: Link) -> None:
        """Add a stretch; what several operands or findings say of one stretch is told once."""
        for place, one in enumerate(self.links):
            if (one.step, one.origin, one.source) == (link.step, link.origin, link.source):
                self.links[place] = _joined(one, link)
                return
        self.links.append(link)


def way_of(ledger: Ledger, links: Sequence[tuple[Link, Entry]], departures: Iterable[Departure]) -> tuple[Link, ...]:
    """The links of a run in order of the steps: what was followed back, what departs, and who repeats it.

    Args:
        ledger: The values of the run.
        links: What following the answer back found, with the place where each value came in.
        departures: Where the run departs from what it was given and shown.
    """
    ways = _Ways()
    for link, entry in links:
        if link.origin is Origin.GIVEN:
            used = _first_use(ledger, entry.value)
            if used is None:
                continue
            link = Link(link.value, used, Origin.GIVEN, None)
        way = ways.of(entry.value, link.value)
        way.add(_renamed(link, way.label))
    followed = ways.known()
    for departure in departures:
        if departure.kind not in _GUESSES or departure.strength >= _SURE:
            _depart(ways, followed, departure, ledger.texts)
    for way in ways.known():
        for link in _copies(ledger, way):
            way.add(link)
    return tuple(sorted((link for way in ways.known() for link in way.links), key=lambda one: one.step))


class _Ways:
    """The ways of a run by what is written for their value."""

    def __init__(self) -> None:
        self._by_label: dict[str, _Way] = {}

    def known(self) -> list[_Way]:
        return list(self._by_label.values())

    def of(self, value: Sighting | None, text: str, among: Sequence[_Way] | None = None) -> _Way:
        """The way of a value, however it is written; a new one when there is none.

        Args:
            value: The value.
            text: How it is written.
            among: The ways to compare it with; all when None. A run can have thousands of departures.
        """
        label = " ".join(text.split())[:_LONGEST]
        found = self._by_label.get(label)
        if found is None and value is not None:
            ways = self.known() if among is None else among
            found = next((way for way in ways if way.value is not None and is_same(way.value, value)), None)
        return found or self._by_label.setdefault(label, _Way(value, label))


def _depart(ways: _Ways, followed: Sequence[_Way], departure: Departure, texts: Texts) -> None:
    text = departure.missing or departure.value
    if text is None:
        return
    values = texts.sightings(text) if departure.missing is None else ()
    way = ways.of(values[0] if len(values) == 1 else None, text, followed)
    origin = {DepartureKind.DROPPED: Origin.DROPPED, DepartureKind.UNSUPPORTED: Origin.UNSUPPORTED}.get(
        departure.kind, Origin.CONTRADICTING
    )
    source = next((one for one in departure.sources if one < departure.step), None)
    known = [one for one in way.links if one.step == departure.step and one.origin is origin]
    told = any(one.step == departure.step and one.origin.is_departure for one in way.links)
    if (source is None and known) or (origin is Origin.UNSUPPORTED and told):
        return
    way.links = [one for one in way.links if one not in known or one.source is not None]
    way.add(Link(way.label, departure.step, origin, source, departure.why, leads_to_answer=departure.leads_to_answer))


def _first_use(ledger: Ledger, value: Sighting) -> int | None:
    """The first step that says a value of the task, or passes it to a tool."""
    uses = (one.step for one in ledger.occurrences(value) if one.place in (Place.SAID, Place.USED))
    return next(uses, None)


def _copies(ledger: Ledger, way: _Way) -> Iterator[Link]:
    """The later steps that say the value again, each from the one before it; of many the first ones and the last."""
    origins = {one.origin for one in way.links}
    if way.value is None or not way.links or origins <= {Origin.GIVEN, Origin.DROPPED}:
        return
    known = {one.step for one in way.links}
    first = min(known)
    said = {one.step for one in ledger.occurrences(way.value) if one.place is Place.SAID and one.step > first}
    steps = sorted(said - known)
    if not way.value.is_telling:  # a small number stands in many places by chance
        likely = {ledger.trace.acts[-1], *(one.source for one in way.links)}
        steps = [step for step in steps if step in likely]
    if len(steps) > _FIRST_COPIES + 1:
        steps = [*steps[:_FIRST_COPIES], steps[-1]]
    leads = any(one.leads_to_answer for one in way.links)
    for step in steps:
        source = max(one for one in known if one < step)
        yield Link(way.label, step, Origin.COPIED, source, leads_to_answer=leads)
        known.add(step)


def _joined(one: Link, other: Link) -> Link:
    return replace(
        one,
        note=one.note or other.note,
        operands=tuple(dict.fromkeys((*one.operands, *other.operands))),
        leads_to_answer=one.leads_to_answer or other.leads_to_answer,
    )


def _renamed(link: Link, label: str) -> Link:
    return replace(link, value=label)

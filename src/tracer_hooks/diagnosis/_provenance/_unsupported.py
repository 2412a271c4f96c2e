"""Values that a step uses or says although nothing before it gives them, in runs that work with tools."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracer_hooks.diagnosis._provenance._departures import Departure, DepartureKind
from tracer_hooks.diagnosis._provenance._derivation import days_between
from tracer_hooks.diagnosis._provenance._entries import Entry, Place
from tracer_hooks.diagnosis._provenance._ledger import Ledger
from tracer_hooks.diagnosis._provenance._sightings import Kind
from tracer_hooks.values import currency_named

_EXAMPLE = re.compile(
    r"(?:\be\.?g\b|\bfor example|\bsuch as|\blike\b|\bformat|\bexample)[^.!?\n]{0,60}$", re.IGNORECASE
)
_MOST_SHARE = 0.15
"""Where more of a run's values than this come from nowhere, the run was not recorded whole."""
_PASSENGERS = range(2, 10)


def unsupported_values(ledger: Ledger) -> Iterator[Departure]:
    """The steps that bring in a date, an id or an amount that no tool returned and nobody said.

    Only where tools returned values of that kind before, and only in runs where such values are rare.
    """
    if ledger.is_cut:
        return
    shown: dict[Kind, int] = {}
    for one in ledger.entries:
        if one.place is Place.SHOWN:
            shown.setdefault(one.value.kind, one.step)
    asserted = [
        one
        for one in ledger.entries
        if one.place in (Place.USED, Place.SAID)
        and _is_specific(one)
        and one.step > shown.get(one.value.kind, one.step)
    ]
    lone: list[Entry] = []
    for one in asserted:
        if _is_unsupported(ledger, one):
            lone.append(one)
            if len(lone) > max(1.0, _MOST_SHARE * len(asserted)):
                return
    steps: set[int] = set()
    for entry in lone:
        if entry.step in steps:
            continue
        steps.add(entry.step)
        agent, text = ledger.trace.steps[entry.step].agent, entry.value.text.strip()
        act = f"passes {text!r} to {entry.tool!r}" if entry.place is Place.USED and entry.tool else f"says {text!r}"
        yield Departure(
            kind=DepartureKind.UNSUPPORTED,
            step=entry.step,
            why=f"{agent!r} {act}; nobody said it before, and no tool returned it",
            quote=entry.quote,
            value=text,
            strength=0.75 if entry.value.kind is not Kind.NUMBER else 0.6 if ledger.is_conversation else 0.5,
            is_recorded=True,
        )


def _is_specific(entry: Entry) -> bool:
    value = entry.value
    if value.kind is Kind.NUMBER:
        return value.unit is not None and currency_named(value.unit) is not None and not value.in_words
    return value.kind in (Kind.CODE, Kind.DATE)


def _is_unsupported(ledger: Ledger, entry: Entry) -> bool:
    if ledger.is_known(entry.value, entry.step, entry.place):
        return False
    if any(ledger.trace.locate(step, entry.value.text.strip()) for step in range(entry.step)):
        return False  # in a part of a long text of which the values are not read
    if entry.value.kind is Kind.CODE:
        return not _is_part_of_known(ledger, entry)
    if entry.value.kind is Kind.DATE:
        return not (_is_example(entry) or _is_neighbour(ledger, entry))
    return not _is_worked_out(ledger, entry)


def _is_part_of_known(ledger: Ledger, entry: Entry) -> bool:
    """Tell whether an id is a part of one that is known, or only an example."""
    folded = str(entry.value.keys[0])
    digits = re.sub(r"\D", "", folded)
    return (
        _is_example(entry)
        or ledger.has_within(folded, entry.step)
        or (len(digits) > 4 and ledger.has_within(digits, entry.step))
    )


def _is_example(entry: Entry) -> bool:
    if entry.passage is None:
        return False
    return _EXAMPLE.search(entry.passage.text[max(0, entry.value.start - 80) : entry.value.start]) is not None


def _is_neighbour(ledger: Ledger, entry: Entry) -> bool:
    """The day before or after a known one: what "tomorrow" and a search around a date come to."""
    return any(days_between(one.value, entry.value) == 1 for one in ledger.dates_before(entry.step))


def _is_worked_out(ledger: Ledger, entry: Entry) -> bool:
    """Tell whether an amount is the result of a calculation in the step, or some passengers times a known amount."""
    number = entry.value.number
    assert number is not None
    if number == 0 or any(one.stated.value == number for one in ledger.calculations(entry.step)):
        return True
    amounts = [one.value.number for one in ledger.at_hand(entry.step, most=200) if _is_specific(one)]
    known = {one for one in amounts if one is not None}
    own = {one.value.number for one in ledger.of_step(entry.step, Place.SAID) if _is_specific(one)} - {number}
    own_known = {one for one in own if one is not None}
    if any(number == count * one for one in known for count in _PASSENGERS):
        return True
    pairs = [(a, b) for a in own_known for b in own_known | known if a != b]
    return any(number in (a + b, abs(a - b)) for a, b in pairs) or (len(own_known) > 1 and number == sum(own_known))

"""Known values that are said to count, or stand beside, something else than before."""

from __future__ import annotations

import re

from tracer_hooks.attribution._provenance._departures import Departure, DepartureKind
from tracer_hooks.attribution._provenance._entries import Entry, Place, is_same
from tracer_hooks.attribution._provenance._labels import noun_after
from tracer_hooks.attribution._provenance._ledger import Ledger
from tracer_hooks.attribution._provenance._sentences import contradiction
from tracer_hooks.attribution._provenance._sightings import Kind

_MAGNITUDE = 20


def renamed(ledger: Ledger, entry: Entry) -> Departure | None:
    """The departure at a known number that now counts something else: 4.37 parsecs for light years."""
    if entry.passage is None or entry.value.number is None or entry.value.in_words or not entry.value.is_telling:
        return None
    noun = noun_after(entry.passage.text, entry.value.end)
    if noun is None:
        return None
    earlier = [one for one in ledger.before_step(entry.step) if one.value.number is not None and one.passage]
    before = [one for one in earlier if is_same(one.value, entry.value)]
    nouns = {noun_after(one.passage.text, one.value.end) for one in before if one.passage is not None}
    if not before or noun in nouns or not nouns - {None}:
        return None
    rival = next(
        (
            one
            for one in reversed(earlier)
            if one not in before
            and one.passage is not None
            and one.value.is_telling
            and not one.value.in_words
            and noun_after(one.passage.text, one.value.end) == noun
        ),
        None,
    )
    if rival is None:
        return None
    return contradiction(ledger, entry, rival, DepartureKind.MISCOPIED, 0.8)


def mispaired(ledger: Ledger, entry: Entry) -> Departure | None:
    """The departure at a value beside another which a record, too, puts beside one of its kind, but not beside it."""
    if entry.passage is None or entry.value.kind is Kind.NUMBER:
        return None
    record = _record_of(entry)
    beside = [
        one
        for one in ledger.of_step(entry.step, Place.SAID)
        if one.passage is entry.passage
        and _record_of(one) == record
        and one.value.is_telling
        and one.value.kind is not entry.value.kind
    ]
    earlier = [one for one in ledger.before_step(entry.step) if one.passage is not None]
    own = [one for one in ledger.of_step(entry.step, Place.SAID) if one.value.kind is entry.value.kind]
    if sum(_in_record(one, entry) for one in own) > 1:
        return None
    for other in beside[:4]:
        partners = [one for one in earlier if is_same(one.value, other.value)]
        found: list[Entry] = []
        for partner in partners:
            found += [one for one in earlier if one.value.kind is entry.value.kind and _in_record(one, partner)]
        if not found or any(is_same(one.value, entry.value) or not is_of_shape(one, entry) for one in found):
            continue
        if len({one.value.keys for one in found}) == 1 and any(is_same(one.value, entry.value) for one in earlier):
            return contradiction(
                ledger, entry, found[-1], DepartureKind.MISCOPIED, 0.6 if ledger.is_conversation else 0.8
            )
    return None


def _in_record(one: Entry, other: Entry) -> bool:
    return one.passage is other.passage and one.passage is not None and _record_of(one) == _record_of(other)


def is_of_shape(one: Entry, other: Entry) -> bool:
    """Whether both are made of letters and digits in the same order."""
    a, b = (re.sub(r"[A-Za-z]", "a", re.sub(r"\d", "0", each.value.text)) for each in (one, other))
    return one.value.kind is not Kind.CODE or a == b


def is_of_size(one: Entry, other: Entry) -> bool:
    """Whether two values could stand for one thing: a year stands for no other number."""
    a, b = one.value.number, other.value.number
    if a is None or b is None:
        return True
    if not a or not b:
        return False
    return abs(b) <= _MAGNITUDE * abs(a) and abs(a) <= _MAGNITUDE * abs(b)


def _record_of(entry: Entry) -> tuple[int, int]:
    """The innermost object or line that a value stands in, between marks that part entries of a list."""
    assert entry.passage is not None
    text = entry.passage.raw
    marks = "{}\n;," if "{" not in text else "{}"
    start = max(text.rfind(mark, 0, entry.value.start) for mark in marks)
    ends = [at for mark in marks if (at := text.find(mark, entry.value.end)) >= 0]
    return start, min(ends, default=len(text))

"""Known values that are said to count, or stand beside, something else than before."""

from __future__ import annotations

import re

from tracer_hooks.diagnosis._provenance._departures import Departure, DepartureKind
from tracer_hooks.diagnosis._provenance._entries import Entry, Place
from tracer_hooks.diagnosis._provenance._ledger import Ledger
from tracer_hooks.diagnosis._provenance._sameness import is_same
from tracer_hooks.diagnosis._provenance._sentences import contradiction
from tracer_hooks.diagnosis._provenance._sightings import Kind

_MAGNITUDE = 20


def renamed(ledger: Ledger, entry: Entry) -> Departure | None:
    """The departure at a known number that now counts something else: 4.37 parsecs for light years."""
    if entry.passage is None or entry.value.number is None or entry.value.in_words or not entry.value.is_telling:
        return None
    noun = entry.noun
    if noun is None:
        return None
    earlier = [one for one in ledger.before_step(entry.step) if one.value.number is not None and one.passage]
    before = [one for one in earlier if is_same(one.value, entry.value)]
    nouns = {one.noun for one in before}
    if not before or noun in nouns or not nouns - {None}:
        return None
    rival = next(
        (
            one
            for one in reversed(earlier)
            if one not in before and one.value.is_telling and not one.value.in_words and one.noun == noun
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
    beside = [
        one
        for one in ledger.of_step(entry.step, Place.SAID)
        if one.passage is entry.passage
        and one.value.kind is not entry.value.kind
        and one.value.is_telling
        and one.record == entry.record
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
    return one.passage is other.passage and one.passage is not None and one.record == other.record


def is_of_shape(one: Entry, other: Entry) -> bool:
    """Tell whether both, where they are ids, are made of letters and digits in the same order."""
    if one.value.kind is not Kind.CODE:
        return True
    a, b = (re.sub(r"[A-Za-z]", "a", re.sub(r"\d", "0", each.value.text)) for each in (one, other))
    return a == b


def is_of_size(one: Entry, other: Entry) -> bool:
    """Tell whether two values could stand for one thing: a year stands for no other number."""
    if one.value.number is None or other.value.number is None:
        return True
    (a, c), (b, d) = one.value.ratio, other.value.ratio
    if not a or not b:
        return False
    return b * c <= _MAGNITUDE * a * d and a * d <= _MAGNITUDE * b * c

"""Values that a tool returned, but as something else than the step says they are."""

from __future__ import annotations

from collections.abc import Sequence

from tracer_hooks.diagnosis._provenance._departures import Departure, DepartureKind
from tracer_hooks.diagnosis._provenance._entries import Entry, Place
from tracer_hooks.diagnosis._provenance._labels import neighbours, stems
from tracer_hooks.diagnosis._provenance._ledger import Ledger
from tracer_hooks.diagnosis._provenance._mispairings import is_of_shape, is_of_size
from tracer_hooks.diagnosis._provenance._sameness import is_same
from tracer_hooks.diagnosis._provenance._sentences import contradiction
from tracer_hooks.diagnosis._provenance._sightings import Kind

_RECENT = 3
"""Steps for which a reader has the labels of a tool's result in mind."""


def mislabelled(ledger: Ledger, entry: Entry) -> Departure | None:
    """The departure at a value that a tool did return, but as something else than the step says it is."""
    if entry.passage is None or entry.value.kind is Kind.NAME:
        return None
    results = ledger.shown_before(entry.step)
    sources = [one for one in results if is_same(one.value, entry.value)]
    if not sources:
        return None
    claimed, near = entry.words, entry.near
    source = max(sources, key=lambda one: (len(near & one.label), len(claimed & one.label), one.order))
    theirs = source.label
    if source.step < entry.step - _RECENT:
        return None
    own = ledger.of_step(entry.step, Place.SAID)
    for rival in _rivals(results, source, entry):
        label = rival.label
        mine, other = label - theirs, theirs - label
        is_near = not mine.isdisjoint(near) and other.isdisjoint(near)
        if is_near and (mine <= claimed or not ledger.is_conversation):
            return contradiction(ledger, entry, rival, DepartureKind.MISREAD, 0.9)
        if any(is_same(rival.value, said.value) for said in own):
            continue
        if mine and mine <= claimed and other.isdisjoint(claimed) and entry.value.is_telling:
            return contradiction(ledger, entry, rival, DepartureKind.MISREAD, 0.9)
        if not ledger.is_conversation and len(label & claimed) > len(theirs & claimed):
            return contradiction(ledger, entry, rival, DepartureKind.MISREAD, 0.8)
        if _is_qualified(ledger, entry, source, rival):
            return contradiction(ledger, entry, rival, DepartureKind.MISREAD, 0.75)
    return None


def _rivals(results: Sequence[Entry], source: Entry, entry: Entry) -> list[Entry]:
    """Other values of the same result that could stand in the place: those that alone have their label, by column."""
    alike = [one for one in results if one.passage is source.passage and one.value.kind is entry.value.kind]
    found = []
    for one in alike:
        if (
            one.value.unit != source.value.unit
            or is_same(one.value, entry.value)
            or not (is_of_shape(one, entry) and is_of_size(one, entry))
        ):
            continue
        same = [other for other in alike if other.label == one.label]
        if len(same) == 1 or (_same_column(one, source) and sum(_same_column(other, source) for other in same) == 1):
            found.append(one)
    return found


def _same_column(one: Entry, other: Entry) -> bool:
    if one.passage is None or other.passage is None:
        return False
    a = neighbours(one.passage.raw, one.value.start, one.value.end)
    return not a.isdisjoint(neighbours(other.passage.raw, other.value.start, other.value.end))


def _is_qualified(ledger: Ledger, entry: Entry, source: Entry, rival: Entry) -> bool:
    """Tell whether the value was returned under the rival's name and more, which nobody asked for: "max_record"."""
    assert entry.passage is not None
    theirs, plain = source.label, rival.label
    if not plain or not plain < theirs:
        return False
    asked = stems(ledger.trace.trajectory.task[:4_000]) | stems(entry.passage.text[:2_000])
    return (theirs - plain).isdisjoint(asked)

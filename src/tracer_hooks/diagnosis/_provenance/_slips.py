"""Values that look like a slip of another one: digits exchanged, the neighbour of a name."""

from __future__ import annotations

import re

from tracer_hooks.diagnosis._provenance._departures import Departure, DepartureKind
from tracer_hooks.diagnosis._provenance._derivation import days_between
from tracer_hooks.diagnosis._provenance._entries import Entry, Place
from tracer_hooks.diagnosis._provenance._ledger import Ledger
from tracer_hooks.diagnosis._provenance._resemblance import is_scaled, resembles
from tracer_hooks.diagnosis._provenance._sameness import is_same
from tracer_hooks.diagnosis._provenance._sentences import contradiction
from tracer_hooks.diagnosis._provenance._sightings import Kind

_LIKELY = 0.75
_PLAIN = 0.7
_MOST = 0.9
"""Likeness from which a slip shows in the value alone, whatever it is a slip of."""
_SHOWN = 0.25
_NEXT_DAY = re.compile(
    r"\b(?:(?:next|following|previous) (?:day|morning|night)|tomorrow|yesterday|day (?:after|before)|overnight|midnight"
    r"|in the morning|nights?|eve)\b",
    re.IGNORECASE,
)


def slip_of(ledger: Ledger, entry: Entry) -> Departure | None:
    """The departure at a value that nothing before it gives, when a source has another one in its place."""
    best: tuple[float, Entry] | None = None
    own = ledger.of_step(entry.step, Place.SAID, Place.USED)
    for source in reversed(ledger.at_hand(entry.step)):
        likeness = resembles(entry.value, source.value)
        if (
            not likeness
            or (source.place is Place.SHOWN and is_scaled(entry.value, source.value))
            or any(is_same(source.value, one.value) for one in own)
        ):
            continue
        if entry.value.kind is Kind.DATE and ledger.is_conversation:
            likeness = min(likeness, 0.4)  # people search around a date
        if entry.value.kind is Kind.DATE and days_between(entry.value, source.value) == 1:
            likeness = min(likeness, 0.4) if _is_of_next_day(ledger, entry) else likeness
        if likeness < _PLAIN and not _is_named_alike(entry, source):
            continue
        likeness += _alike(entry, source) + (
            _SHOWN if source.place is Place.SHOWN and source.step >= entry.step - 1 else 0
        )
        if best is None or likeness > best[0]:
            best = (likeness, source)
    if best is None or best[0] < _LIKELY:
        return None
    source = best[1]
    kind = DepartureKind.MISREAD if source.place is Place.SHOWN else DepartureKind.MISCOPIED
    return contradiction(ledger, entry, source, kind, min(_MOST, best[0]))


def _is_of_next_day(ledger: Ledger, entry: Entry) -> bool:
    """Tell whether the run speaks of the day after or before, so that a neighbour of a date need not be a slip."""
    texts = [ledger.trace.trajectory.task[:3_000], ledger.trace.steps[entry.step].content[:1_000]]
    texts += [ledger.trace.steps[step].content[:1_000] for step in range(max(0, entry.step - 6), entry.step)]
    return any(_NEXT_DAY.search(text) for text in texts)


def _is_named_alike(entry: Entry, source: Entry) -> bool:
    """Tell whether a tool returned the other value right before, or under the name that the step gives to its own."""
    if entry.passage is None or source.passage is None or source.place is not Place.SHOWN:
        return False
    return source.step >= entry.step - 1 or not source.label.isdisjoint(entry.near)


def _alike(entry: Entry, source: Entry) -> float:
    """How far the words around both agree."""
    if entry.passage is None or source.passage is None:
        return 0.0
    mine, theirs = entry.words, source.words | source.label
    return 0.5 * len(mine & theirs) / max(1, min(len(mine), len(theirs)))

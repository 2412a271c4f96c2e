"""Sentences on what a step says beside what a source says."""

from __future__ import annotations

from tracer_hooks.diagnosis._provenance._departures import Departure, DepartureKind
from tracer_hooks.diagnosis._provenance._entries import Entry, Place
from tracer_hooks.diagnosis._provenance._ledger import Ledger

_LONG = 1_200
"""Characters from which a text is read like a page."""
_SIGN = 0.3
_SURE = 0.9
"""From here on the very words name the value."""
_SMALL = 12


def contradiction(ledger: Ledger, entry: Entry, source: Entry, kind: DepartureKind, strength: float) -> Departure:
    """The departure at a value, in the place of which a source has another one.

    In a long text, and in what a terminal printed, another value of the kind stands by chance: there it is none.
    """
    if _is_open(entry) or _is_open(source) or (source.place is Place.SHOWN and source.tool is None):
        strength = 0.0
    if kind is DepartureKind.MISREAD and strength < _SURE and not _is_of_length(entry, source):
        strength = min(strength, _SIGN)
    if entry.value.in_words and (entry.value.number or 0) <= _SMALL:
        strength = min(strength, _SIGN)
    return Departure(
        kind=kind,
        step=entry.step,
        why=says(ledger, entry, source),
        quote=entry.quote,
        value=entry.value.text.strip(),
        right=source.value.text.strip(),
        sources=() if source.step < 0 else (source.step,),
        strength=strength,
    )


def _is_of_length(entry: Entry, source: Entry) -> bool:
    """Whether two numbers have as many digits before the point: else one hardly stands in the place of the other."""
    one, other = entry.value.number, source.value.number
    if one is None or other is None or entry.value.unit != source.value.unit:
        return True
    return len(str(abs(int(one)))) == len(str(abs(int(other)))) or sorted(_digits(entry)) == sorted(_digits(source))


def _digits(entry: Entry) -> str:
    return "".join(char for char in entry.value.text if char.isdigit())


def _is_open(entry: Entry) -> bool:
    """Tell whether a value stands in a long text of another's, such as a page, rather than in a reply or a record."""
    if entry.passage is None or len(entry.passage.raw) <= _LONG:
        return False
    return entry.passage.raw[:1] not in "{["


def says(ledger: Ledger, entry: Entry, source: Entry) -> str:
    """What a step says or passes on, and what a source says instead."""
    agent = ledger.trace.steps[entry.step].agent
    verb = (
        f"passes {entry.value.text.strip()!r} to {entry.tool!r}"
        if entry.place is Place.USED
        else (f"says {entry.value.text.strip()!r}")
    )
    return f"{agent!r} {verb}, but {source_words(ledger, source)}"


def source_words(ledger: Ledger, source: Entry) -> str:
    """What a source says, as the end of a sentence."""
    text = source.value.text.strip()
    if source.place is Place.GIVEN:
        return (
            f"the task says {text!r}" if source.step < 0 else f"{ledger.trace.steps[source.step].agent!r} said {text!r}"
        )
    if source.place is Place.SHOWN:
        who = repr(source.tool) if source.tool is not None else repr(ledger.trace.steps[source.step].agent)
        return f"{who} returned {text!r} in step {source.step}"
    return f"{ledger.trace.steps[source.step].agent!r} said {text!r} in step {source.step}"

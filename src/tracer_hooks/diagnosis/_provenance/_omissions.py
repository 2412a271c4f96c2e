"""Values that were handed over and are left out of a total."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction

from tracer_hooks.diagnosis._provenance._departures import Departure, DepartureKind
from tracer_hooks.diagnosis._provenance._entries import Entry, Place
from tracer_hooks.diagnosis._provenance._labels import stems
from tracer_hooks.diagnosis._provenance._ledger import Ledger
from tracer_hooks.diagnosis._provenance._reasons import speaks_against
from tracer_hooks.diagnosis._provenance._sameness import is_same
from tracer_hooks.diagnosis._provenance._sightings import Kind, Sighting
from tracer_hooks.values import Calculation

_MOST_ITEMS = 12
_MOST_TEXTS = 8
_NAME = re.compile(r"[^\W\d_]{3,}")
_TOTAL = re.compile(
    r"\b(?:totals?|sum(?:med|s)?|add(?:s|ed)? up|altogether|in all|overall|combined|gesamt|how (?:many|much|long))\b",
    re.IGNORECASE,
)


def left_out_of_sum(
    ledger: Ledger, step: int, calculation: Calculation, operands: Sequence[Sighting]
) -> Departure | None:
    """The departure at a sum or mean over all but one or two of the values that one source lists."""
    if len(operands) < 2 or not set(calculation.operators) <= set("+/="):
        return None
    terms = [one for one in operands]
    if "/" in calculation.operators:  # (a + b + c) / 3
        terms = terms[:-1]
    if len(terms) < 2:
        return None
    for listed in _lists_before(ledger, step):
        rest = list(listed)
        for term in terms:
            found = next((one for one in rest if is_same(one.value, term)), None)
            if found is None:
                break
            rest.remove(found)
        else:
            said = ledger.of_step(step, Place.SAID)
            counts = Counter(one.value.number for one in listed)
            rest = [one for one in rest if not is_ruled_out(ledger, one, step)]
            gone = [
                one
                for one in rest
                if counts[one.value.number] > 1 or not any(is_same(one.value, other.value) for other in said)
            ]
            if len(gone) == len(rest) == 1 and _is_like(gone[0], listed):
                return _first_left_out(ledger, step, gone, listed, terms, (calculation.start, calculation.end))
    return None


def left_out_of_total(ledger: Ledger, entry: Entry) -> Departure | None:
    """The departure at a total, stated without its terms, that all but one of the values of one list come to."""
    total = entry.value.number
    if total is None or entry.value.kind is not Kind.NUMBER or not entry.value.is_telling or ledger.is_conversation:
        return None
    text = entry.passage.text if entry.passage is not None else ""
    said = ledger.of_step(entry.step, Place.SAID)
    is_total = _TOTAL.search(text) or _TOTAL.search(ledger.trace.trajectory.task[-600:])
    least = 3 if is_total else 4
    for listed in _lists_before(ledger, entry.step):
        if len(listed) >= least:
            listed = [one for one in listed if not is_ruled_out(ledger, one, entry.step)]
        if len(listed) < least or any(is_same(one.value, entry.value) for one in listed):
            continue
        whole = sum((one.value.number for one in listed if one.value.number is not None), Fraction(0))
        gone = [one for one in listed if one.value.number and whole - one.value.number == total]
        if any(one.value.number == whole for one in said):
            continue  # a subtotal on the way
        gone = [one for one in gone if not any(is_same(one.value, other.value) for other in said)]
        if whole != total and len({one.value.number for one in gone}) == 1 and _is_like(gone[0], listed):
            terms = [one.value for one in listed if one is not gone[0]]
            span = (entry.value.start, entry.value.end)
            return _first_left_out(ledger, entry.step, gone[:1], listed, terms, span)
    return None


def is_ruled_out(ledger: Ledger, entry: Entry, step: int) -> bool:
    """Tell whether the run says before a step that a value does not count, in the sentence that names it."""
    texts = [ledger.trace.trajectory.task[:4_000]] if entry.step < 0 else []
    start = max(0, entry.step)
    texts += [passage.text for at in range(start, step + 1) if (passage := ledger.trace.content(at)) is not None]
    own = entry.passage.text if entry.passage is not None else ledger.trace.trajectory.task
    names = [word for word in _NAME.findall(own[max(0, entry.value.start - 24) : entry.value.start]) if stems(word)]
    wanted = [entry.value.text.strip().casefold(), *(name.casefold() for name in names[-1:])]
    return any(speaks_against(ledger.texts.against(text[:4_000]), wanted) for text in texts[:_MOST_TEXTS])


def _is_like(one: Entry, others: Sequence[Entry]) -> bool:
    """Tell whether a value is of the same make as the others: not the 3 of "Mobiles (3) £51.00"."""
    digits = {entry.value.decimals for entry in others if entry is not one}
    return (
        one.value.is_telling
        or not any(entry.value.is_telling for entry in others if entry is not one)
        or (one.value.decimals in digits and one.value.unit is not None)
    )


def _first_left_out(
    ledger: Ledger,
    step: int,
    gone: Sequence[Entry],
    listed: Sequence[Entry],
    terms: Sequence[Sighting],
    span: tuple[int, int],
) -> Departure:
    """At the first step that hands the other values on without it; the sum's own step when none does."""
    for earlier in ledger.trace.acts:
        if not listed[0].step < earlier < step:
            continue
        said = ledger.of_step(earlier, Place.SAID)
        if all(any(is_same(one.value, term) for one in said) for term in terms) and not any(
            is_same(one.value, gone[0].value) for one in said
        ):
            places = [one.value.start for one in said if any(is_same(one.value, term) for term in terms)]
            return _left_out(ledger, earlier, gone, listed[0], (places[0], places[0] + 1))
    return _left_out(ledger, step, gone, listed[0], span)


def _lists_before(ledger: Ledger, step: int) -> Iterator[list[Entry]]:
    """Values of one unit in one text, the latest texts first; the task last."""
    texts: dict[tuple[int, str | None], list[Entry]] = {}
    for entry in ledger.at_hand(step, most=120):
        value = entry.value
        if value.number is not None and not value.in_words and _is_of_list(entry):
            texts.setdefault((id(entry.passage), value.unit), []).append(entry)
    found = [entries for entries in texts.values() if 3 <= len(entries) <= _MOST_ITEMS]
    yield from sorted(found, key=lambda entries: entries[0].order, reverse=True)


def _is_of_list(entry: Entry) -> bool:
    """Not a note in brackets."""
    if entry.passage is None:
        return True
    text = entry.passage.text
    return not (
        text[entry.value.start - 1 : entry.value.start] == "(" and text[entry.value.end : entry.value.end + 1] == ")"
    )


def _left_out(ledger: Ledger, step: int, gone: Sequence[Entry], source: Entry, span: tuple[int, int]) -> Departure:
    passage = ledger.trace.content(step)
    values = ", ".join(repr(one.value.text.strip()) for one in gone)
    where = "the task" if source.step < 0 else f"step {source.step}"
    return Departure(
        kind=DepartureKind.DROPPED,
        step=step,
        why=f"{ledger.trace.steps[step].agent!r} leaves out {values}, which {where} lists with the others",
        quote=passage.quote_at(*span) if passage is not None else None,
        value=None,
        missing=", ".join(one.value.text.strip() for one in gone),
        sources=() if source.step < 0 else (source.step,),
        strength=0.95,
    )

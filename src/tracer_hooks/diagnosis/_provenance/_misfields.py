"""Values that stand in a step where the result of a tool has another: of the same name, or of the same row."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tracer_hooks._lazy import cached_property
from tracer_hooks.diagnosis._provenance._departures import Departure, DepartureKind
from tracer_hooks.diagnosis._provenance._derivation import derivation_of
from tracer_hooks.diagnosis._provenance._entries import Entry, Place
from tracer_hooks.diagnosis._provenance._fields import Field, fields_in
from tracer_hooks.diagnosis._provenance._labels import stems
from tracer_hooks.diagnosis._provenance._ledger import Ledger
from tracer_hooks.diagnosis._provenance._resemblance import is_scaled
from tracer_hooks.diagnosis._provenance._sameness import is_same
from tracer_hooks.diagnosis._provenance._sentences import contradiction
from tracer_hooks.diagnosis._provenance._sightings import Kind
from tracer_hooks.values import currency_named

_SURE, _LIKELY, _MAYBE, _IN_TALK = 0.9, 0.85, 0.75, 0.65
_RECENT_IN_TALK, _RECENT = 3, 12
"""Steps for which a reader has a tool's result in mind, where a person takes part and where only agents do."""
_MOST_RESULTS = 4
_MOST_CELLS = 120
_MOST_CHECKED = 1_500
_FAR = 80
_WORD = re.compile(r"[^\W\d_]+")
_MONEY = stems(
    "price cost costs usd eur gbp chf amount total fee rate net gross pay sum balance revenue salary rent budget open"
    " due value charge fare tariff wage deposit tax vat subtotal turnover spend"
)
_SHARE = stems("percent pct rate share ratio quota portion growth margin humidity")
_COMPUTED = re.compile(
    r"\b(?:total|sum|after|with|plus|new|left|remain\w*|together|altogether|differ\w*|more|less|fewer|per|increase\w*"
    r"|discount\w*|net|gross|average|mean|roughly|about|approx\w*|around|so|minus|would|if|than)\b"
    r"|\s[-+\u00d7*/=÷\u2212]\s",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Cell:
    """A value of a result, with what it is called there."""

    entry: Entry
    field: Field


def misread_field(ledger: Ledger, entry: Entry) -> Departure | None:
    """The departure at a value that is said of something of which a tool's result says another."""
    if entry.passage is None or entry.place is not Place.SAID or entry.value.kind is Kind.NAME or entry.value.in_words:
        return None
    claim = _Claim(ledger, entry)
    for cells in _results_before(ledger, entry):
        alike = [cell for cell in cells if cell.entry.value.kind is entry.value.kind]
        same = [cell for cell in alike if is_same(cell.entry.value, entry.value)]
        found = _of_other(ledger, entry, claim, same, alike) if same else _of_none(ledger, entry, claim, alike)
        if found is not None:
            return replace(found, strength=min(found.strength, _IN_TALK)) if ledger.is_conversation else found
        if same:
            return None
    return None


def misread_fields(ledger: Ledger) -> Iterator[Departure]:
    """The same for every step of a run in which no person takes part, whether or not the answer rests on it."""
    if ledger.is_conversation or ledger.is_cut or not any(one.place is Place.SHOWN for one in ledger.entries):
        return
    checked = 0
    for step in ledger.trace.acts:
        for entry in ledger.of_step(step, Place.SAID):
            checked += 1
            if checked > _MOST_CHECKED:
                return
            if any(one.stated.start == entry.value.start for one in ledger.calculations(step)):
                continue
            found = misread_field(ledger, entry)
            if found is not None and found.strength > _MAYBE:
                later = ledger.occurrences(entry.value)
                is_used = any(one.step > step and one.place is Place.SAID for one in later)
                yield replace(found, leads_to_answer=is_used, strength=found.strength - (0 if is_used else 0.1))
                break


class _Claim:
    """What a step says about a value."""

    def __init__(self, ledger: Ledger, entry: Entry) -> None:
        self._ledger, self._entry = ledger, entry
        self.words, self.near = entry.words, entry.near

    @property
    def asked(self) -> frozenset[str]:
        """What the task asks for."""
        return self._ledger.remember(("asked",), lambda: stems(self._ledger.trace.trajectory.task[-600:]))

    def distance(self, label: frozenset[str]) -> int:
        """How far the nearest word of a label stands."""
        return min((self._away[word] for word in label if word in self._away), default=_FAR)

    @cached_property
    def _away(self) -> dict[str, int]:
        """How far from the value each word stands, in characters; what follows it at once is nearest."""
        assert self._entry.passage is not None
        text, start, end = self._entry.passage.text, self._entry.value.start, self._entry.value.end
        away: dict[str, int] = {}
        for match in _WORD.finditer(text, max(0, start - _FAR), min(len(text), end + _FAR)):
            gap = match.start() - end if match.start() >= end else start - match.end()
            for word in stems(match.group()):
                away[word] = min(gap, away.get(word, _FAR))
        return away


def _of_other(
    ledger: Ledger, entry: Entry, claim: _Claim, same: Sequence[_Cell], alike: Sequence[_Cell]
) -> Departure | None:
    """The value is in the result, in another row or under another name."""
    source = max(same, key=lambda cell: len((cell.field.column | cell.field.row) & claim.words))
    own = ledger.of_step(entry.step, Place.SAID)
    found: list[tuple[float, int, Entry]] = []
    for rival in alike:
        if is_same(rival.entry.value, entry.value) or not _units_fit(rival.entry, source.entry):
            continue
        if any(is_same(rival.entry.value, one.value) for one in own):
            continue
        strength = _is_meant(claim, source.field, rival.field)
        if strength:
            is_beside = source.field.record == rival.field.record
            label = rival.field.column if is_beside else rival.field.row - source.field.row
            found.append((strength, -claim.distance(label), rival.entry))
    found.sort(key=lambda one: one[:2], reverse=True)
    if not found or (
        len(found) > 1 and found[0][:2] == found[1][:2] and not is_same(found[0][2].value, found[1][2].value)
    ):
        return None  # either could be meant
    return contradiction(ledger, entry, found[0][2], DepartureKind.MISREAD, found[0][0])


def _is_meant(claim: _Claim, source: Field, rival: Field) -> float:
    """How surely the words speak of the rival rather than of the value's own place; 0 when they do not tell."""
    if source.column == rival.column and source.record != rival.record:
        theirs, mine = rival.row - source.row, source.row - rival.row
        if not theirs and mine and mine.isdisjoint(claim.words | claim.asked) and rival.row & claim.words:
            return _MAYBE + 0.05  # "express_am" for "express"
        if not theirs.isdisjoint(claim.words) and mine.isdisjoint(claim.words):
            return _SURE
        if (theirs | mine).isdisjoint(claim.words) and not theirs.isdisjoint(claim.asked):
            return _MAYBE if mine.isdisjoint(claim.asked) else 0.0
        return 0.0
    if source.record == rival.record:
        theirs, mine = rival.column - source.column, source.column - rival.column - source.row
        if not theirs.isdisjoint(claim.near) and mine.isdisjoint(claim.words):
            return _SURE
        if theirs and theirs <= claim.words and mine.isdisjoint(claim.words):
            return _LIKELY
    return 0.0


def _of_none(ledger: Ledger, entry: Entry, claim: _Claim, alike: Sequence[_Cell]) -> Departure | None:
    """The value is nowhere in the run, and the result has another under the name that the step gives to it."""
    said = claim.near | claim.words
    named = [cell for cell in alike if not cell.field.column.isdisjoint(said)]
    if not named or ledger.before(entry.value, entry.step, entry.place) is not None:
        return None
    if any(one.stated.value == entry.value.number for one in ledger.calculations(entry.step)):
        return None
    own = ledger.of_step(entry.step, Place.SAID)
    named = [
        cell
        for cell in named
        if _units_fit(cell.entry, entry)
        and _is_of_sort(cell, entry, claim)
        and not any(is_same(cell.entry.value, one.value) for one in own)
    ]
    named = [cell for cell in named if not cell.field.row.isdisjoint(claim.words)] or named
    named.sort(key=lambda cell: claim.distance(cell.field.column))
    if not named or len({claim.distance(cell.field.column) for cell in named[:2]}) < len(named[:2]):
        return None
    best = named[0]
    assert entry.passage is not None
    before = entry.passage.text[max(0, entry.value.start - 40) : entry.value.start].rpartition("\n")[2]
    if not _is_of_size(entry, best.entry) or (
        is_scaled(entry.value, best.entry.value) and not stems(entry.value.unit or "") & best.field.column
    ):
        return None
    is_known = derivation_of(entry.value, [*ledger.at_hand(entry.step), *own]) is not None
    if is_known and _COMPUTED.search(before):
        return None
    is_named = best.field.column <= claim.words or (not best.field.column.isdisjoint(claim.near) and not is_known)
    if not entry.value.is_telling and not best.field.column <= claim.near:
        is_named = False
    return contradiction(ledger, entry, best.entry, DepartureKind.MISREAD, _LIKELY if is_named else 0.5)


def _units_fit(one: Entry, other: Entry) -> bool:
    if one.value.kind is Kind.CODE and not _is_of_shape(one, other):
        return False
    return one.value.unit == other.value.unit or one.value.unit is None or other.value.unit is None


def _is_of_sort(cell: _Cell, entry: Entry, claim: _Claim) -> bool:
    """Tell whether a bare number can be the amount or the share that a step speaks of."""
    unit = entry.value.unit
    if unit is None or cell.entry.value.unit is not None or cell.entry.value.number is None:
        return True
    if currency_named(unit) is not None:
        return not (cell.field.column | claim.words).isdisjoint(_MONEY)
    if unit == "%":
        return cell.entry.value.number <= 1 or not cell.field.column.isdisjoint(_SHARE)
    return True


def _results_before(ledger: Ledger, entry: Entry) -> Iterator[list[_Cell]]:
    """The latest results that a step's words may rest on, each with its fields."""
    oldest = entry.step - (_RECENT_IN_TALK if ledger.is_conversation else _RECENT)
    seen = 0
    for step in range(entry.step, max(-1, oldest - 1), -1):
        for passage in ledger.trace.passages(step, "result"):
            read = partial(_cells_of, ledger, step, passage.raw)
            cells = ledger.remember(("cells", id(passage)), read)
            if cells:
                yield cells
                seen += 1
                if seen >= _MOST_RESULTS:
                    return


def _cells_of(ledger: Ledger, step: int, raw: str) -> list[_Cell]:
    entries = [one for one in ledger.of_step(step, Place.SHOWN) if one.passage is not None and one.passage.raw == raw]
    fields = fields_in(raw)
    starts = [field.start for field in fields]
    found = []
    for one in entries[:_MOST_CELLS]:
        place = bisect_right(starts, one.value.start) - 1
        if place >= 0 and one.value.start < fields[place].end:
            found.append(_Cell(one, fields[place]))
    return found


_MAGNITUDE = 20
"""Times by which two values of one thing differ at the most."""


def _is_of_shape(one: Entry, other: Entry) -> bool:
    """Tell whether both, where they are ids, are made of letters and digits in the same order."""
    if one.value.kind is not Kind.CODE:
        return True
    a, b = (re.sub(r"[A-Za-z]", "a", re.sub(r"\d", "0", each.value.text)) for each in (one, other))
    return a == b


def _is_of_size(one: Entry, other: Entry) -> bool:
    """Tell whether two values could stand for one thing: a year stands for no other number."""
    if one.value.number is None or other.value.number is None:
        return True
    (a, c), (b, d) = one.value.ratio, other.value.ratio
    if not a or not b:
        return False
    return b * c <= _MAGNITUDE * a * d and a * d <= _MAGNITUDE * b * c

"""Which values a run was given, was shown by tools, passed to tools and asserted, step by step."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

from tracer_hooks._lazy import cached_property
from tracer_hooks.diagnosis._provenance._entries import (
    MOST_STEPS,
    Entry,
    Place,
    entries_of,
    order_of,
    room_for,
    within,
    without_code,
)
from tracer_hooks.diagnosis._provenance._lookup import CodeText, kept_under, looked_up_under
from tracer_hooks.diagnosis._provenance._sameness import is_same
from tracer_hooks.diagnosis._provenance._sightings import Kind, Sighting
from tracer_hooks.diagnosis._provenance._texts import Texts
from tracer_hooks.diagnosis._reading._roles import Role
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import StepPassage, find_value, prose_of
from tracer_hooks.values import (
    Calculation,
    DateCalculation,
    Expression,
    calculations_in,
    date_calculations_in,
    expressions_in,
)

_CENTURY = 100
_MOST_GIVEN = 20
_PLACE = re.compile(r"\.[a-z]{1,4}:$|\bline $")
_COMMON = 100
_SHORT_TEXT = 600
"""Up to here a reply in JSON is the agent's own statement."""
_MOST_ALIKE = 60
"""Entries of like size that are compared, the latest first."""
_MOST_COVERED = 400
_T = TypeVar("_T")


class Ledger:
    """Every value of a run in the order of the steps, and where each was seen before."""

    def __init__(self, trace: RunReading) -> None:
        self.trace = trace
        self._room = room_for(len(trace.steps))
        self.texts = Texts()
        self.entries: list[Entry] = sorted(entries_of(trace, self.texts), key=order_of)
        self._by_key: dict[Hashable, list[Entry]] = defaultdict(list)
        self._by_step: dict[int, list[Entry]] = defaultdict(list)
        self._by_place: dict[tuple[int, tuple[Place, ...]], list[Entry]] = {}
        self._occurrences: dict[Hashable, list[Entry]] = {}
        self._remembered: dict[Hashable, Any] = {}
        self._given = [one for one in self.entries if one.place is Place.GIVEN]
        self._sources = [one for one in self.entries if one.place in (Place.SHOWN, Place.SAID)]
        self._codes = CodeText(one for one in self.entries if one.value.kind is Kind.CODE)
        self._calendar = [one for one in self.entries if one.value.kind is Kind.DATE]
        for entry in self.entries:
            self._by_step[entry.step].append(entry)
            for key in kept_under(entry.value):
                self._by_key[key].append(entry)

    def of_step(self, step: int, *places: Place) -> Sequence[Entry]:
        """The values of one step, in those places or in all."""
        known = self._by_place.get((step, places))
        if known is None:
            own = self._by_step.get(step, [])
            known = [one for one in own if one.place in places] if places else own
            self._by_place[step, places] = known
        return known

    def remember(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """What was read of a part of the run before, else what ``make`` reads of it."""
        if key not in self._remembered:
            self._remembered[key] = make()
        found: _T = self._remembered[key]
        return found

    def given(self) -> list[Entry]:
        """The values of the task and of what persons said."""
        return self._given

    def occurrences(self, value: Sighting) -> Sequence[Entry]:
        """Every place that has the value, in order."""
        known = self._occurrences.get(value.identity)
        if known is None:
            near = {id(one): one for key in looked_up_under(value) for one in self._by_key.get(key, ())}
            known = sorted((one for one in near.values() if is_same(value, one.value)), key=order_of)
            self._occurrences[value.identity] = known
        return known

    def before(self, value: Sighting, step: int, place: Place = Place.SAID) -> Entry | None:
        """The latest source of a value for what a step writes there: earlier steps, and the step's own tool results.

        Args:
            value: What is written.
            step: Who writes it.
            place: Where; the arguments of a call cannot rest on its results.
        """
        limit = place if place is Place.USED else Place.SAID
        latest: Entry | None = None
        for key in looked_up_under(value):
            alike = self._by_key.get(key, [])
            end = _end_of(alike, step, limit)
            for one in reversed(alike[max(0, end - _MOST_ALIKE) : end]):
                if is_same(value, one.value):
                    latest = one if latest is None or one.order > latest.order else latest
                    break
        return latest

    def is_known(self, value: Sighting, step: int, place: Place) -> bool:
        """Tell whether a source before a step has the value."""
        limit = (step, place if place is Place.USED else Place.SAID)
        for key in value.keys:
            alike = self._by_key.get(key)
            if alike and alike[0].order < limit and is_same(value, alike[0].value):
                return True
        return self.before(value, step, place) is not None

    def calculations(self, step: int) -> list[Calculation]:
        """What the step calculates in its own words; read once."""
        return self.remember(
            ("calculations", step), lambda: calculations_in(self._own_words(step), reader=self.texts.reader)
        )

    def expressions(self, step: int) -> list[Expression]:
        """The calculations that the step writes down without their result; read once."""
        return self.remember(
            ("expressions", step), lambda: expressions_in(self._own_words(step), reader=self.texts.reader)
        )

    def date_calculations(self, step: int) -> list[DateCalculation]:
        """What the step says of dates that the calendar can check; read once."""

        def read() -> list[DateCalculation]:
            return date_calculations_in(self.texts.reader.plain(self._own_words(step)), year=self._year)

        return self.remember(("dates", step), read)

    def _own_words(self, step: int) -> str:
        passage = self.trace.content(step)
        if passage is None:
            return ""
        return self.remember(("own", step), lambda: without_code(within(passage.text, self._room)))

    @cached_property
    def _year(self) -> int | None:
        """The one year of the run's dates."""
        dates = [one.value.date for one in self.entries if one.value.date is not None]
        years = {one.year for one in dates if one.year is not None and one.year > _CENTURY}
        return years.pop() if len(years) == 1 else None

    @cached_property
    def is_conversation(self) -> bool:
        """Tell whether a person speaks in the course of the run."""
        return sum(role is Role.PERSON for role in self.trace.roles) > 1

    @property
    def is_cut(self) -> bool:
        """Tell whether values of the run were not read, so that none can be called new."""
        return len(self.trace.steps) > MOST_STEPS

    @cached_property
    def is_of_ids(self) -> bool:
        """Tell whether the run was given or shown ids."""
        return any(one.value.kind is Kind.CODE and one.place in (Place.GIVEN, Place.SHOWN) for one in self.entries)

    @cached_property
    def coverage(self) -> float:
        """The share of the specific values that agents assert for which the run itself tells where they come from.

        Low where much of what agents rest on was not recorded.
        """
        seen = [
            one
            for one in self.entries
            if one.place is Place.SAID and one.value.is_telling and one.value.kind is not Kind.NAME
        ]
        later = seen[:_MOST_COVERED]
        if not later:
            return 1.0
        return sum(self._is_explained(one) for one in later) / len(later)

    def _is_explained(self, entry: Entry) -> bool:
        if self.is_known(entry.value, entry.step, entry.place):
            return True
        return any(one.stated.start == entry.value.start for one in self.calculations(entry.step))

    def has_within(self, part: str, step: int) -> bool:
        """Tell whether an id that stood in the run before a step holds ``part``."""
        return self._codes.has_within(part, step)

    def before_step(self, step: int, most: int = 400) -> list[Entry]:
        """The latest that a step's words may rest on: what came before it, and its own calls and their results."""
        end = _end_of(self.entries, step)
        return self.entries[max(0, end - most) : end]

    def dates_before(self, step: int, most: int = 200) -> list[Entry]:
        """The latest dates before a step's words."""
        end = _end_of(self._calendar, step)
        return self._calendar[max(0, end - most) : end]

    def is_new(self, entry: Entry) -> bool:
        """Tell whether a step states a value in prose, and no text before it holds it, however long."""
        if entry.passage is None:
            return False
        start, end, text = entry.value.start, entry.value.end, entry.value.text.strip()
        if _PLACE.search(entry.passage.text[max(0, start - 24) : start]):
            return False  # of a traceback or a warning
        if entry.place is Place.SAID and len(entry.passage.raw) > _SHORT_TEXT:
            if not self._prose(entry.passage)[start:end].strip():
                return False  # in an address, a record, a program
            if entry.value.unit == "%" or (
                entry.value.number is not None and not entry.value.decimals and abs(entry.value.number) < _COMMON
            ):
                return False  # a page is full of them
        if find_value(self.trace.trajectory.task, text) >= 0:
            return False
        return all(self.trace.locate(step, text) is None for step in range(entry.step))

    def _prose(self, passage: StepPassage) -> str:
        is_whole = len(passage.raw) == len(passage.text)
        return self.remember(("prose", id(passage)), lambda: prose_of(passage.raw if is_whole else passage.text))

    def at_hand(self, step: int, most: int = 60) -> list[Entry]:
        """The values that a step could have used: its own results, the task, and the latest ones before it."""
        given = self._given[: min(_MOST_GIVEN, _end_of(self._given, step))]
        end = _end_of(self._sources, step)
        return [*given, *self._sources[max(0, end - most) : end]]


def _end_of(entries: Sequence[Entry], step: int, place: Place = Place.SAID) -> int:
    """How many of the entries come before a place of a step."""
    limit: tuple[int, int] = (step, place)
    return bisect_left(entries, limit, key=order_of)

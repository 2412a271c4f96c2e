"""Dates, and counts of days and nights, that are one off from what the run's other dates come to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from tracer_hooks._lazy import cached_property
from tracer_hooks.diagnosis._provenance._departures import Departure, DepartureKind
from tracer_hooks.diagnosis._provenance._derivation import as_date, days_between
from tracer_hooks.diagnosis._provenance._entries import Entry, Place
from tracer_hooks.diagnosis._provenance._ledger import Ledger
from tracer_hooks.diagnosis._provenance._sightings import Kind
from tracer_hooks.diagnosis._provenance._spans_of_time import (
    TimeSpan,
    counts_first_day,
    month_ends_in,
    named_weekdays_in,
    spans_in,
)
from tracer_hooks.values import WEEKDAYS

_SURE, _LIKELY = 0.9, 0.75
_FREE = re.compile(r"\b(?:public holiday|bank holiday|holiday|closed|feast)", re.IGNORECASE)
_WORKDAYS = re.compile(
    r"\b(?:working|business|week)[ -]?days?\b|\b(?:falls|fall|is) on a (?:weekend|Saturday|Sunday)"
    r"|\bnot? (?:on )?(?:a )?weekends?\b",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"\b(?:after|later|within|deadline|due|ready|exactly|counted from|not counted|isn['\u2019]t counted"
    r"|expires?|weeks?|payable"
    r"|from now|add|plus|notice)\b|\+",
    re.IGNORECASE,
)
_MOST_TEXTS, _CHARS, _MOST_PAIRS = 8, 3_000, 8
_MOST_OF_ANSWER = 4
"""More dates in one text are a calendar, of which none is an answer."""


def off_by_one(ledger: Ledger, entry: Entry) -> Departure | None:
    """The departure at a date, or a number of days or nights, that is one off from what the run gives."""
    if entry.value.kind is Kind.DATE and not is_free_day(entry):
        return _Term(ledger, entry).departure()
    if entry.value.number is not None:
        return _count_off(ledger, entry)
    return None


def is_due(ledger: Ledger, entry: Entry) -> bool:
    """Tell whether a date is what a term of the run leads to."""
    return entry.value.kind is Kind.DATE and _Term(ledger, entry).is_right()


def is_free_day(entry: Entry) -> bool:
    """Tell whether it is only said to be a holiday."""
    return _FREE.search(entry.quote or "") is not None


def _dates_beside(ledger: Ledger, entry: Entry) -> int:
    return sum(one.value.kind is Kind.DATE for one in ledger.of_step(entry.step, entry.place))


@dataclass(frozen=True, slots=True)
class _Text:
    """A text of the run before a step, with its dates."""

    text: str
    dates: tuple[Entry, ...]


class _Before:
    """What the texts before a step say of dates and spans of time."""

    def __init__(self, ledger: Ledger, step: int) -> None:
        self.texts = list(_texts_before(ledger, step))
        self.all = "\n".join(one.text for one in self.texts)
        full = [one for text in self.texts for one in text.dates if one.value.date is not None and one.value.date.year]
        known = [day for one in full if (day := as_date(one.value)) is not None]
        self.latest = known[0] if known else None

    @cached_property
    def pairs(self) -> list[tuple[Entry, TimeSpan]]:
        """The dates, each with the spans beside it; where no text has both, with all spans."""
        beside = [(text.dates, list(spans_in(text.text))) for text in self.texts if text.dates]
        pairs = [(one, span) for dates, spans in beside for one in dates for span in spans]
        if not pairs:
            found = [one for text in self.texts for one in text.dates]
            anywhere = list(spans_in(self.all))
            pairs = [(one, span) for one in found[:_MOST_PAIRS] for span in anywhere[:_MOST_PAIRS]]
        return pairs[: _MOST_PAIRS * _MOST_PAIRS]

    @cached_property
    def is_first_counted(self) -> bool | None:
        """Tell whether the first day counts."""
        return counts_first_day(self.all)


@dataclass(frozen=True, slots=True)
class _RightDate:
    """A date that a term of the run leads to."""

    day: date
    why: str
    """The sentence that says so."""
    strength: float
    """How surely it is the date that is meant."""
    is_weekday: bool = False
    """It is a certain weekday, as in "the last Friday of November"."""
    may_count_first_day: bool = False
    """It ends a span from another date, of which the first day may count or not."""

    def is_near(self, other: date) -> bool:
        """Tell whether another date is one day off; of a certain weekday, one week or two."""
        gap = abs((self.day - other).days)
        return gap == 1 or (gap in (7, 14) and self.is_weekday)


def _names_weekday(name: str) -> bool:
    return any(day in name for day in WEEKDAYS)


class _Term:
    """A date of a step beside the dates and spans of time before it."""

    def __init__(self, ledger: Ledger, entry: Entry) -> None:
        self._ledger, self._entry = ledger, entry
        self._before = ledger.remember(("before", entry.step), lambda: _Before(ledger, entry.step))
        self._stated = _nearest(entry, self._before.latest)

    def is_right(self) -> bool:
        stated = self._stated
        return stated is not None and any(stated == right.day for right in self._rights())

    def departure(self) -> Departure | None:
        stated = self._stated
        if stated is None or self._is_of_calendar():
            return None
        near: tuple[float, str] | None = None
        for right in self._rights():
            if right.day == stated:
                return None
            if right.is_near(stated) and (near is None or right.strength > near[0]):
                near = (right.strength, right.why) if stated > right.day or self._is_surely_after(right) else near
        if near is None and stated.weekday() >= 5 and _WORKDAYS.search(self._before.all) and self._is_dated():
            near = _SURE, f"{self._written(stated)} is a {WEEKDAYS[stated.weekday()]}, which is no working day"
        if near is None:
            return None
        agent, text = self._ledger.trace.steps[self._entry.step].agent, self._entry.value.text.strip()
        verb = "passes on" if self._entry.place is Place.USED else "says"
        return _miscalculated(self._entry, f"{near[1]}; {agent!r} {verb} {text!r}", near[0])

    def _is_surely_after(self, right: _RightDate) -> bool:
        """Tell whether a date one day early is no last day: "five days from 28 July" may end on 1 August."""
        return not right.may_count_first_day or _AFTER.search(self._before.all) is not None

    def _is_of_calendar(self) -> bool:
        """Tell whether it is one of a row of dates, of which none is an answer."""
        return _dates_beside(self._ledger, self._entry) > _MOST_OF_ANSWER

    def _is_dated(self) -> bool:
        return any(
            one.value.date is not None and one.value.date.year for text in self._before.texts for one in text.dates
        )

    def _rights(self) -> Iterator[_RightDate]:
        """Dates that terms of the run lead to."""
        stated = self._stated
        assert stated is not None
        for right, name in named_weekdays_in(self._before.all, stated.year):
            yield _RightDate(right, f"the {name} is {self._written(right)}", _SURE, is_weekday=_names_weekday(name))
        for begin, span in self._before.pairs:
            start = _nearest(begin, stated)
            if start is not None and start != stated:
                yield from self._of_pair(start, begin, span, self._before.is_first_counted)
        for begin in (one for text in self._before.texts for one in text.dates[:4]):
            start = _nearest(begin, stated)
            for right, name in month_ends_in(self._before.all, start) if start is not None else ():
                if stated <= right:
                    name = name.casefold().removeprefix("the ")
                    why = f"the {name} is {self._written(right)}"
                    yield _RightDate(right, why, _LIKELY + 0.1, is_weekday=_names_weekday(name))

    def _of_pair(
        self, start: date, begin: Entry, span: TimeSpan, is_first_counted: bool | None
    ) -> Iterator[_RightDate]:
        stated = self._stated
        assert stated is not None
        if stated < start:
            right = span.before(start)
            if right is not None:
                yield _RightDate(right, f"{span.text} before {_named(begin)} is {self._written(right)}", _LIKELY)
            return
        right = span.after(start, free=self._free_days(), is_first_counted=is_first_counted is True)
        if right is None:
            return
        counted = ", with the first day counted," if is_first_counted and span.unit == "day" else ""
        if span.unit in ("month", "year") and stated == right - timedelta(days=1):
            return  # a year from 1 March may end on the last of February
        why = f"{span.text} from {_named(begin)}{counted} is {self._written(right)}"
        yield _RightDate(right, why, _LIKELY + 0.05, may_count_first_day="working" not in span.text)

    def _written(self, day: date) -> str:
        """A date in words; with the year where the run tells it."""
        return f"{day.day} {day.strftime('%B')}" + (f" {day.year}" if self._before.latest is not None else "")

    def _free_days(self) -> frozenset[date]:
        found = set()
        for one in (one for text in self._before.texts if _FREE.search(text.text) for one in text.dates):
            day = _nearest(one, self._stated)
            if day is not None and day != self._stated:
                found.add(day)
        return frozenset(found)


def _texts_before(ledger: Ledger, step: int) -> Iterator[_Text]:
    """The task, and what the latest steps before a step said."""
    given = [one for one in ledger.of_step(-1) if one.value.kind is Kind.DATE]
    yield _Text(ledger.trace.trajectory.task[:_CHARS], tuple(given[:6]))
    for earlier in range(step - 1, max(-1, step - 1 - _MOST_TEXTS), -1):
        passage = ledger.trace.content(earlier)
        if passage is not None:
            dates = [one for one in ledger.of_step(earlier, Place.SAID) if one.value.kind is Kind.DATE]
            yield _Text(passage.text[:_CHARS], tuple(dates[:6]))


def _nearest(entry: Entry, other: date | None) -> date | None:
    """A date of a text; where it names no year, in the year that brings it nearest to another date."""
    if entry.value.date is None or entry.value.date.year or other is None:
        return as_date(entry.value)
    days = [
        as_date(entry.value, year=year) for year in (other.year - 1, other.year, other.year + 1) if 1 <= year <= 9999
    ]
    return min((day for day in days if day is not None), key=lambda day: abs(day - other), default=None)


def _named(entry: Entry) -> str:
    return entry.value.text.strip()


def _count_off(ledger: Ledger, entry: Entry) -> Departure | None:
    """A number of days or nights between two dates of the task."""
    if entry.passage is None or entry.value.number is None:
        return None
    noun = entry.noun or ""
    unit = "night" if noun == "night" else "day" if entry.value.unit == "day" or noun == "day" else None
    ends = _two_dates(ledger)
    if unit is None or ends is None:
        return None
    days = days_between(ends[0].value, ends[1].value)
    if days is None:
        return None
    is_first_counted = counts_first_day(ledger.trace.trajectory.task)
    if unit == "day" and is_first_counted is None:
        return None
    with_both = unit == "day" and is_first_counted is True
    days += with_both
    if abs(entry.value.number - days) != 1:
        return None
    both = " counted with both" if with_both else ""
    why = f"from {_named(ends[0])} to {_named(ends[1])} is {days} {unit}s{both}, not {int(entry.value.number)}"
    return _miscalculated(entry, why, _SURE)


def _two_dates(ledger: Ledger) -> Sequence[Entry] | None:
    dates = [one for one in ledger.of_step(-1) if one.value.kind is Kind.DATE][:3]
    return dates if len(dates) == 2 else None


def _miscalculated(entry: Entry, why: str, strength: float) -> Departure:
    return Departure(
        kind=DepartureKind.MISCALCULATED,
        step=entry.step,
        why=why,
        quote=entry.quote,
        value=entry.value.text.strip(),
        strength=strength,
    )

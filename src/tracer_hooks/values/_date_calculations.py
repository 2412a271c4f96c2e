"""Calculations with dates: a term added to a date, the days between two, and the weekday of one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TypeAlias

from tracer_hooks.values._dates import DateValue, dates_in, possible_days
from tracer_hooks.values._number_words import word_numbers_in

_D, _N = "\ue010", "\ue011"
_SPAN = rf"{_N} (?P<unit>days?|weeks?|nights?|tage?|jours?)"
_IS = (
    r"(?: ?=| ?→|,? (?:that |this |which |it )?(?:is|are|was|makes?|gives?|falls? on|means|lasts?|comes? to"
    r"|ergibt|ist))"
)
_AFTER = re.compile(
    rf"{_SPAN} (?P<way>after|from|later than|before|earlier than|prior to|nach|vor) {_D}{_IS} (?:only |the )?{_D}", re.I
)
_PLUS = re.compile(rf"{_D} ?(?P<sign>\+|plus|-|−|minus) ?{_SPAN}{_IS} {_D}", re.I)
_LATER = re.compile(rf"{_D},? (?:and )?{_SPAN} (?P<way>later|earlier){_IS} {_D}", re.I)
_BETWEEN = re.compile(
    rf"(?:from|between) {_D} (?:to|until|till|and|through) {_D},?(?: (?:there))?(?: ?=|,? (?:that |this |it "
    rf"|which |these |there )?"
    rf"(?:is|are|makes?|gives?|means|lasts?)) (?:only |just )?{_SPAN}",
    re.I,
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NUMBER = re.compile(r"(?<![\w.,/-])\d{1,4}(?![\w/-]|[.,]\d)")
_UNIT_BEHIND = re.compile(r"\s+\w+")

_Place: TypeAlias = tuple[int, DateValue | int, int, int]
"""Where a value stands in the marked text, the value, and its beginning and end in the text itself."""


@dataclass(frozen=True, slots=True)
class DateCalculation:
    """What a text says of dates, and what the calendar says."""

    correction: str
    """What is right, without a full stop: "10 days after 24 February 2024 is 5 March 2024, not 6 March 2024"."""
    right: str
    """The right date, number or weekday, as the text would write it."""
    stated: str
    """What the text says."""
    holds: bool
    start: int
    end: int


def date_calculations_in(text: str, *, year: int | None = None) -> list[DateCalculation]:
    """Every statement about dates in ``text`` that the calendar can check.

    Args:
        text: Without mark-up.
        year: The year of dates that name none, when the run tells it.
    """
    dates = [one for one in dates_in(text) if one.day is not None]
    if not dates:
        return []
    marked, places = _marked(text, dates)
    years = [one.year for one in dates if one.year is not None]
    reader = _Reader(text, marked, places, years[0] if len(set(years)) == 1 else year)
    return sorted([*reader.terms(), *reader.spans(), *_weekdays(dates)], key=lambda one: one.start)


class _Reader:
    """One text in which dates and whole numbers are single signs."""

    def __init__(self, text: str, marked: str, places: list[_Place], year: int | None) -> None:
        self._text = text
        self._marked = marked
        self._places = places
        self._year = year

    def terms(self) -> Iterator[DateCalculation]:
        """A date and a number of days from it."""
        for pattern in (_AFTER, _PLUS, _LATER):
            for match in pattern.finditer(self._marked):
                parts = self._parts(match)
                dates = [value for _, value, *_ in parts if isinstance(value, DateValue)]
                counts = [value for _, value, *_ in parts if isinstance(value, int)]
                if len(dates) == 2 and len(counts) == 1:
                    yield from self._term(match, dates[0], counts[0], dates[1])

    def _term(self, match: re.Match[str], begin: DateValue, count: int, stated: DateValue) -> Iterator[DateCalculation]:
        groups = match.groupdict()
        back = (groups.get("way") or "").casefold() in ("before", "earlier than", "prior to", "earlier", "vor")
        back = back or (groups.get("sign") or "") in ("-", "−", "minus")
        days = count * (7 if groups["unit"].casefold().startswith("week") else 1)
        rights = [] if days > 20_000 else self._moved(begin, -days if back else days, stated)
        if not rights:
            return
        right = min(rights, key=lambda one: _apart(one, stated))
        holds = _apart(right, stated) == 0
        term = f"{count} {groups['unit']} {'before' if back else 'after'} {begin.text}"
        written = _written(right, stated)
        start, end = self._span(match)
        yield DateCalculation(
            f"{term} is {written}, not {stated.text.rstrip(chr(46))}", written, stated.text, holds, start, end
        )

    def _moved(self, begin: DateValue, days: int, stated: DateValue) -> list[date]:
        """Every day that may lie so many days from a date; where only the other date has a year, in any that fits."""
        year = stated.year or self._year
        years = (year, year - 1, year + 1) if begin.year is None and stated.year is not None and year else (year,)
        begins = dict.fromkeys(day for one in years for day in possible_days(begin, year=one))
        found = []
        for day in begins:
            with suppress(OverflowError):  # beyond the year 9999
                found.append(day + timedelta(days=days))
        return found

    def spans(self) -> Iterator[DateCalculation]:
        """The days between two dates: a stay's days may count both ends, its nights may not."""
        for match in _BETWEEN.finditer(self._marked):
            parts = self._parts(match)
            dates = [value for _, value, *_ in parts if isinstance(value, DateValue)]
            counts = [value for _, value, *_ in parts if isinstance(value, int)]
            unit = match["unit"].casefold()
            if len(dates) != 2 or len(counts) != 1 or unit.startswith("week"):
                continue
            (begin, end), (stated,) = dates, counts
            lengths = self._lengths(begin, end)
            if not lengths:
                continue
            room = 0 if unit.startswith("night") else 1
            yield DateCalculation(
                f"from {begin.text} to {end.text} is {lengths[0]} {match['unit']}, not {stated}",
                str(lengths[0]),
                str(stated),
                any(abs(days - stated) <= room for days in lengths),
                *self._span(match),
            )

    def _lengths(self, begin: DateValue, end: DateValue) -> list[int]:
        """The days from one date to a later one, in every reading; empty where a reading has them the other way."""
        year = begin.year or end.year or self._year
        firsts, lasts = possible_days(begin, year=year), possible_days(end, year=year)
        if year is None:  # both of one year, whichever
            pairs = [(one, other) for one in firsts for other in lasts if one.year == other.year]
        else:
            pairs = [(one, other) for one in firsts for other in lasts]
        days = [(other - one).days for one, other in pairs]
        return days if days and min(days) >= 0 else []

    def _span(self, match: re.Match[str]) -> tuple[int, int]:
        """Where the statement stands in the text: from its first value to its last, with the unit behind that."""
        parts = self._parts(match)
        end = parts[-1][3]
        unit = _UNIT_BEHIND.match(self._text, end) if isinstance(parts[-1][1], int) else None
        return parts[0][2], end if unit is None else unit.end()

    def _parts(self, match: re.Match[str]) -> list[_Place]:
        return [one for one in self._places if match.start() <= one[0] < match.end()]


def _weekdays(dates: Sequence[DateValue]) -> Iterator[DateCalculation]:
    for one in dates:
        days = possible_days(one) if one.year is not None else []
        if not days or one.weekday is None:
            continue
        right, stated = WEEKDAYS[days[0].weekday()], WEEKDAYS[one.weekday]
        holds = any(day.weekday() == one.weekday for day in days)
        yield DateCalculation(f"{one.text} is a {right}, not a {stated}", right, stated, holds, one.start, one.end)


def _apart(day: date, stated: DateValue) -> int:
    """How many days lie between a day and a date, in the reading of the date that is nearest."""
    return min((abs((day - one).days) for one in possible_days(stated, year=day.year)), default=date.max.toordinal())


def _marked(text: str, dates: Sequence[DateValue]) -> tuple[str, list[_Place]]:
    found: list[tuple[int, int, DateValue | int]] = [(one.start, one.end, one) for one in dates]
    found += ((match.start(), match.end(), int(match.group())) for match in _NUMBER.finditer(text))
    found += ((one.start, one.end, int(one.value)) for one in word_numbers_in(text) if one.value == int(one.value))
    # A date goes before the number that it begins with; what lies in one that was taken is passed over.
    found.sort(key=lambda one: one[0])
    parts: list[str] = []
    places: list[_Place] = []
    length = end = 0
    for start, stop, value in found:
        if start < end:
            continue
        between = _WEEKDAY_BEFORE.sub(" ", re.sub(r"\s+", " ", text[end:start]))
        parts += [between, _D if isinstance(value, DateValue) else _N]
        places.append((length + len(between), value, start, stop))
        length += len(between) + 1
        end = stop
    parts.append(re.sub(r"\s+", " ", text[end:]))
    return "".join(parts), places


_WEEKDAY_BEFORE = re.compile(rf" (?:a |the )?(?:{'|'.join(WEEKDAYS)}),? $", re.IGNORECASE)


def _written(day: date, like: DateValue) -> str:
    """``day`` in the way in which another date is written."""
    if re.match(r"\d{4}-", like.text):
        return day.isoformat()
    name = day.strftime("%B")
    year = f" {day.year}" if like.year is not None else ""
    if like.text[:1].isdigit():
        return f"{day.day} {name}{year}"
    return f"{name} {day.day}" + (f", {day.year}" if year else "")

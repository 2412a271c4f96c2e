"""Calculations with dates: a term added to a date, the days between two, and the weekday of one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from tracer_hooks.values._dates import DateValue, dates_in, on_calendar
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


@dataclass(frozen=True, slots=True)
class DateCalculation:
    """What a text says of dates, and what the calendar says."""

    correction: str
    """What is right, as a sentence without a full stop:"
      " "24 February 2024 plus 10 days is 5 March 2024, not 6 March"."""
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
    reader = _Reader(marked, places, years[0] if len(set(years)) == 1 else year)
    return sorted([*reader.terms(), *reader.spans(), *_weekdays(dates)], key=lambda one: one.start)


class _Reader:
    """One text in which dates and whole numbers are single signs."""

    def __init__(self, marked: str, places: list[tuple[int, DateValue | int, int, int]], year: int | None) -> None:
        self._text = marked
        self._places = places
        self._year = year

    def terms(self) -> Iterator[DateCalculation]:
        """A date and a number of days from it."""
        for pattern in (_AFTER, _PLUS, _LATER):
            for match in pattern.finditer(self._text):
                parts = self._parts(match)
                dates = [one for one in parts if isinstance(one[1], DateValue)]
                count = next(one[1] for one in parts if isinstance(one[1], int))
                if len(dates) != 2 or not isinstance(count, int):
                    continue
                yield from self._term(match, dates[0], count, dates[1])

    def _term(
        self,
        match: re.Match[str],
        first: tuple[int, DateValue | int, int, int],
        count: int,
        second: tuple[int, DateValue | int, int, int],
    ) -> Iterator[DateCalculation]:
        begin, stated = first[1], second[1]
        assert isinstance(begin, DateValue)
        assert isinstance(stated, DateValue)
        day = on_calendar(begin, year=stated.year or self._year)
        if day is None:
            return
        groups = match.groupdict()
        back = (groups.get("way") or "").casefold() in ("before", "earlier than", "prior to", "earlier", "vor")
        back = back or (groups.get("sign") or "") in ("-", "−", "minus")
        days = count * (7 if groups["unit"].casefold().startswith("week") else 1)
        if days > 20_000:
            return
        right = day - timedelta(days=days) if back else day + timedelta(days=days)
        holds = (right.month, right.day) == (stated.month, stated.day) and stated.year in (None, right.year)
        term = f"{count} {groups['unit']} {'before' if back else 'after'} {begin.text}"
        written = _written(right, stated)
        yield DateCalculation(
            f"{term} is {written}, not {stated.text.rstrip(chr(46))}", written, stated.text, holds, first[2], second[3]
        )

    def spans(self) -> Iterator[DateCalculation]:
        """The days between two dates: a stay's days may count both ends, its nights may not."""
        for match in _BETWEEN.finditer(self._text):
            parts = self._parts(match)
            dates = [one for one in parts if isinstance(one[1], DateValue)]
            counts = [one for one in parts if isinstance(one[1], int)]
            if len(dates) != 2 or len(counts) != 1:
                continue
            begin, end, stated = dates[0][1], dates[1][1], counts[0][1]
            assert isinstance(begin, DateValue)
            assert isinstance(end, DateValue)
            assert isinstance(stated, int)
            year = begin.year or end.year or self._year
            one, other = on_calendar(begin, year=year), on_calendar(end, year=year)
            if one is None or other is None or other < one:
                continue
            days, unit = (other - one).days, match["unit"]
            right = {days} if unit.casefold().startswith("night") else {days, days + 1, days - 1}
            if unit.casefold().startswith("week"):
                continue
            yield DateCalculation(
                f"from {begin.text} to {end.text} is {days} {unit}, not {stated}",
                str(days),
                str(stated),
                stated in right,
                dates[0][2],
                counts[0][3],
            )

    def _parts(self, match: re.Match[str]) -> list[tuple[int, DateValue | int, int, int]]:
        return [one for one in self._places if match.start() <= one[0] < match.end()]


def _weekdays(dates: Sequence[DateValue]) -> Iterator[DateCalculation]:
    for one in dates:
        day = on_calendar(one) if one.year is not None else None
        if day is None or one.weekday is None:
            continue
        right, stated = WEEKDAYS[day.weekday()], WEEKDAYS[one.weekday]
        yield DateCalculation(
            f"{one.text} is a {right}, not a {stated}", right, stated, right == stated, one.start, one.end
        )


def _marked(text: str, dates: Sequence[DateValue]) -> tuple[str, list[tuple[int, DateValue | int, int, int]]]:
    found: list[tuple[int, int, DateValue | int]] = [(one.start, one.end, one) for one in dates]
    found += ((match.start(), match.end(), int(match.group())) for match in _NUMBER.finditer(text))
    found += ((one.start, one.end, int(one.value)) for one in word_numbers_in(text) if one.value == int(one.value))
    # A date goes before the number that it begins with; what lies in one that was taken is passed over.
    found.sort(key=lambda one: one[0])
    parts: list[str] = []
    places: list[tuple[int, DateValue | int, int, int]] = []
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

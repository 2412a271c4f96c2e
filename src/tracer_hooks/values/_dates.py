"""Dates and times of day in text, and what a text calculates with dates."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

from tracer_hooks.values._numerals import word_numbers_in
from tracer_hooks.values._text import lazy, near_digits, read_once

_MONTH_NAMES = (
    "january jan januar, february feb februar, march mar märz, april apr, may mai, june jun juni, july jul juli, "
    "august aug, september sept sep, october oct oktober okt, november nov, december dec dezember dez"
)
_MONTHS = {name: number for number, names in enumerate(_MONTH_NAMES.split(", "), start=1) for name in names.split()}
_BEGINNINGS = tuple(sorted({name[:3] for name in _MONTHS}))
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTH = r"(?P<month>[JFMASONDjfmasond][A-Za-zä]{2,8})\b\.?"
_DAY = r"(?P<day>\d{1,2})"
_GAP = r"[\s\u00a0]{1,2}"
_YEAR = rf"(?:,?{_GAP}(?P<year>\d{{4}})(?!\w|[.,]\d))?"
# A search for a digit skips prose quickly: what must not stand before a pattern is looked at behind its first digit.
_YEAR_FIRST = lazy(
    r"(?P<year>\d(?<![\w.,/-]\d)\d{3})(?P<sign>[-/.])(?P<month>\d{1,2})(?P=sign)(?P<day>\d{1,2})(?![\d/-]|\.\d)"
)
_YEAR_LAST = lazy(
    r"(?P<first>\d(?<![\w.,/-]\d)\d?)(?P<sign>[-/.])(?P<second>\d{1,2})(?P=sign)(?P<year>\d{4}|\d{2})(?![\w/-]|\.\d)"
)
_COMPACT = lazy(r"(?P<year>(?:19|20)(?<![\w.,/-]\d\d)\d{2})(?P<month>\d{2})(?P<day>\d{2})(?![\w/-]|[.,]\d)")
_DAY_MONTH = lazy(
    rf"(?P<day>\d(?<![\w.,/-]\d)\d?)(?:st|nd|rd|th|\.)?(?:{_GAP}(?:day{_GAP})?of)?(?:{_GAP}|-){_MONTH}(?:-"
    rf"(?P<year2>\d{{4}})|{_YEAR})",
)
_MONTH_DAY = lazy(rf"{_MONTH}{_GAP}(?:the{_GAP})?{_DAY}(?:st|nd|rd|th)?(?![\w%]|[.,:]\d){_YEAR}")
_MONTH_YEAR = lazy(rf"{_MONTH},?{_GAP}(?:of{_GAP})?(?P<year>\d{{4}})(?!\w|[.,]\d)")
_WEEKDAY = lazy(rf"\b({'|'.join(WEEKDAYS)}),?\s{{1,2}}(?:the\s)?$", re.IGNORECASE)
# Lower case they are words: "they may 5 times", "march 3 miles".
_ALSO_WORDS = frozenset(("may", "march", "mar"))
_COMMON_YEAR, _LEAP_YEAR = 2023, 2024
_MONTH_LENGTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


@dataclass(frozen=True, slots=True)
class DateValue:
    """A calendar date as far as the text gives it; at least a month and one of day and year."""

    year: int | None
    month: int
    day: int | None
    text: str
    """As it is written, without the weekday."""
    start: int
    end: int
    weekday: int | None = None
    """0 for Monday to 6, where the text names it before the date. It is not compared."""
    is_ambiguous: bool = False
    """``05/01/2024``: day and month may be the other way round."""


@read_once
def dates_in(text: str) -> list[DateValue]:
    """Every calendar date in ``text``, in order; they do not overlap."""
    found = sorted(_candidates(text), key=lambda date: (date.start, -date.end))
    dates: list[DateValue] = []
    for date in found:
        if not dates or date.start >= dates[-1].end:
            before = _WEEKDAY.search(text[max(0, date.start - 20) : date.start])
            weekday = WEEKDAYS.index(before.group(1).capitalize()) if before else None
            dates.append(replace(date, weekday=weekday))
    return dates


def same_date(expected: DateValue, found: DateValue) -> bool:
    """Tell whether ``found`` is the expected date in one of its readings.

    A year that either leaves out does not count; a day that is expected has to be there.
    """
    if None not in (expected.year, found.year) and expected.year != found.year:
        return False
    if expected.day is None:
        return expected.month in {month for month, _ in _readings(found)}
    return bool(set(_readings(expected)) & set(_readings(found)))


def on_calendar(value: DateValue, *, year: int | None = None) -> datetime.date | None:
    """The day of the calendar that a date names; None where it names no day, or one that the year does not have.

    The ``year`` is that of a date that names none; without it, one that is no leap year.
    """
    year = next((each for each in (value.year, year) if each is not None), _COMMON_YEAR)
    return None if value.day is None else _day(year, value.month, value.day)


def possible_days(value: DateValue, *, year: int | None = None) -> list[datetime.date]:
    """Every day of the calendar that a date may name, the likeliest first.

    ``05/06/2024`` may be in May; without any year, in the date or given, it may be of a leap year.
    """
    years = [each for each in (value.year, year) if each is not None][:1] or [_COMMON_YEAR, _LEAP_YEAR]
    found = [_day(each, month, day) for each in years for month, day in _readings(value) if day is not None]
    return list(dict.fromkeys(day for day in found if day is not None))


def _day(year: int, month: int, day: int) -> datetime.date | None:
    try:
        return datetime.date(year, month, day)
    except ValueError:
        return None


def days_apart(one: DateValue, other: DateValue) -> int | None:
    """The days between two dates, in the year that either names; None where one is no day of the calendar."""
    year = one.year or other.year
    first, second = on_calendar(one, year=year), on_calendar(other, year=year)
    return None if first is None or second is None else abs((first - second).days)


def _readings(date: DateValue) -> list[tuple[int, int | None]]:
    read: list[tuple[int, int | None]] = [(date.month, date.day)]
    if date.is_ambiguous and date.day is not None:
        read.append((date.day, date.month))
    return read


def _candidates(text: str) -> Iterator[DateValue]:
    for pattern in (_YEAR_FIRST, _COMPACT):
        for match in near_digits(text, pattern):
            yield from _checked(match, int(match["year"]), int(match["month"]), int(match["day"]))
    for match in near_digits(text, _YEAR_LAST):
        yield from _year_last(match)
    lower = text.lower()
    if not any(map(lower.__contains__, _BEGINNINGS)):
        return
    for match in near_digits(text, _DAY_MONTH):
        year = match["year"] or match["year2"]
        yield from _named(match, int(match["day"]), year)
    for match in near_digits(text, _MONTH_DAY):
        yield from _named(match, int(match["day"]), match["year"])
    for match in near_digits(text, _MONTH_YEAR):
        yield from _named(match, None, match["year"])


def _year_last(match: re.Match[str]) -> Iterator[DateValue]:
    first, second, year = int(match["first"]), int(match["second"]), int(match["year"])
    if len(match["year"]) == 2:
        if match["sign"] == "-":
            return
        year += 2000 if year < 70 else 1900
    if match["sign"] != "." and second > 12:
        first, second = second, first  # only the American reading is a date
    both = match["sign"] != "." and first <= 12 and second <= 12 and first != second
    yield from _checked(match, year, second, first, is_ambiguous=both)


def _named(match: re.Match[str], day: int | None, year: str | None) -> Iterator[DateValue]:
    start, name = match.start("month"), match["month"]
    month = _MONTHS.get(name.lower())
    if month is None or name in _ALSO_WORDS or (start and match.string[start - 1].isalpha()):
        return
    yield from _checked(match, int(year) if year else None, month, day)


def _checked(
    match: re.Match[str], year: int | None, month: int, day: int | None, *, is_ambiguous: bool = False
) -> Iterator[DateValue]:
    is_month = 1 <= month <= 12
    if is_month and (day is None or 1 <= day <= _MONTH_LENGTHS[month - 1]):
        yield DateValue(year, month, day, match.group(), *match.span(), is_ambiguous=is_ambiguous)


_TIME = lazy(
    r"(?P<hour>\d(?<![\w.,:/-]\d)\d?)(?:[:.](?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.\d{1,9})?)?)?"
    r"(?:[ \u00a0\u202f]?(?P<half>[ap]\.?m\b\.?|[AP]\.?M\b\.?)|(?P<clock>[ \u00a0](?:Uhr|o['’]clock)\b))?(?!\w|:\d)"
)
_ISO = lazy(
    r"(?P<hour>\d{2})(?<=\d[T ]\d\d):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?"
)
_NAMED_HOURS = {"noon": 12, "midnight": 0}
_NAMED_TIME = lazy(r"(?:[Nn]oon|[Mm]idnight)\b")


@dataclass(frozen=True, slots=True)
class TimeValue:
    """A time of day."""

    hour: int
    minute: int
    second: int
    text: str
    """As it is written."""
    start: int
    end: int


@read_once
def times_in(text: str) -> list[TimeValue]:
    """Every time of day in ``text``, in order: ``14:30``, ``2:30 pm``, ``2 pm``, ``14.30 Uhr``, ``noon``."""
    found = [time for match in near_digits(text, _TIME) if (time := _clock_time(match))]
    found += [time for match in near_digits(text, _ISO) if (time := _valid(match, int(match["hour"])))]
    found += [
        TimeValue(_NAMED_HOURS[match.group().casefold()], 0, 0, match.group(), match.start(), match.end())
        for match in (_NAMED_TIME.finditer(text) if "oon" in text or "idnight" in text else ())
        if not text[max(0, match.start() - 1) : match.start()].isalpha()  # "afternoon"
    ]
    return list({time.start: time for time in sorted(found, key=lambda time: (time.start, time.end))}.values())


def same_time(expected: TimeValue, found: TimeValue) -> bool:
    """Tell whether both are the same minute, and the same second where the expected time has one."""
    return (expected.hour, expected.minute) == (found.hour, found.minute) and expected.second in (0, found.second)


def _clock_time(match: re.Match[str]) -> TimeValue | None:
    hour, half = int(match["hour"]), match["half"]
    with_colon = match["minute"] is not None and match.group()[match.end("hour") - match.start()] == ":"
    if not (half or match["clock"] or with_colon):
        return None  # "14.30" and "14" are numbers
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half[0] in "pP" else 0)
    return _valid(match, hour)


def _valid(match: re.Match[str], hour: int) -> TimeValue | None:
    minute, second = int(match["minute"] or 0), int(match["second"] or 0)
    if hour > 23 or minute > 59 or second > 59:
        return None
    return TimeValue(hour, minute, second, match.group(), match.start(), match.end())


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
_NUMBER = re.compile(r"(?<![\w.,/-])\d{1,4}(?![\w/-]|[.,]\d)")
_WEEKDAY_BEFORE = re.compile(rf" (?:a |the )?(?:{'|'.join(WEEKDAYS)}),? $", re.IGNORECASE)
_MOST_DAYS = 20_000


class _Place(NamedTuple):
    """A date or a whole number in the marked text, and where it stands in the text itself."""

    at: int
    value: DateValue | int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class DateCalculation:
    """A statement about dates, and what the calendar says to it."""

    correction: str
    """The right statement, without a full stop: "10 days after 24 February 2024 is 5 March 2024, not 6 March 2024"."""
    right: str
    """The right date or weekday, as the text would write it."""
    stated: str
    """The date or weekday that the text names."""
    holds: bool
    start: int
    end: int


def date_calculations_in(text: str, *, year: int | None = None) -> list[DateCalculation]:
    """Every statement about dates in ``text`` that the calendar can check: a date some days from another, a weekday.

    Args:
        text: Without mark-up.
        year: The year of dates that name none, when the run tells it.
    """
    dates = [date for date in dates_in(text) if date.day is not None]
    if not dates:
        return []
    years = {date.year for date in dates if date.year is not None}
    year = years.pop() if len(years) == 1 else year
    marked, places = _marked(text, dates)
    found = [*_weekdays(dates)]
    for pattern in (_AFTER, _PLUS, _LATER):
        for match in pattern.finditer(marked):
            inside = [place for place in places if match.start() <= place.at < match.end()]
            named = [place.value for place in inside if isinstance(place.value, DateValue)]
            counts = [place.value for place in inside if isinstance(place.value, int)]
            if len(named) == 2 and len(counts) == 1:
                term = _term(match, named[0], counts[0], named[1], year)
                found += [replace(term, start=inside[0].start, end=inside[-1].end)] if term is not None else []
    return sorted(found, key=lambda calculation: calculation.start)


def _term(
    match: re.Match[str], begin: DateValue, count: int, stated: DateValue, year: int | None
) -> DateCalculation | None:
    """A date, and another that is said to lie a number of days from it."""
    groups = match.groupdict()
    is_back = (groups.get("way") or "").casefold() in ("before", "earlier than", "prior to", "earlier", "vor")
    is_back = is_back or (groups.get("sign") or "") in ("-", "−", "minus")
    days = count * (7 if groups["unit"].casefold().startswith("week") else 1)
    rights = [] if days > _MOST_DAYS else _moved(begin, -days if is_back else days, stated, year)
    if not rights:
        return None
    right = min(rights, key=lambda day: _apart(day, stated))
    written = _written(right, stated)
    return DateCalculation(
        correction=f"{count} {groups['unit']} {'before' if is_back else 'after'} {begin.text} is {written}, "
        f"not {stated.text.rstrip('.')}",
        right=written,
        stated=stated.text,
        holds=_apart(right, stated) == 0,
        start=begin.start,
        end=stated.end,
    )


def _moved(begin: DateValue, days: int, stated: DateValue, year: int | None) -> list[datetime.date]:
    """Every day that may lie so many days from a date; where only the other date has a year, in any that fits."""
    year = stated.year or year
    years = (year, year - 1, year + 1) if begin.year is None and stated.year is not None and year else (year,)
    begins = dict.fromkeys(day for each in years for day in possible_days(begin, year=each))
    found = []
    for day in begins:
        with suppress(OverflowError):  # beyond the year 9999
            found.append(day + datetime.timedelta(days=days))
    return found


def _weekdays(dates: Sequence[DateValue]) -> Iterator[DateCalculation]:
    for date in dates:
        days = possible_days(date) if date.year is not None else []
        if not days or date.weekday is None:
            continue
        right, stated = WEEKDAYS[days[0].weekday()], WEEKDAYS[date.weekday]
        holds = any(day.weekday() == date.weekday for day in days)
        correction = f"{date.text} is a {right}, not a {stated}"
        yield DateCalculation(correction, right, stated, holds, date.start, date.end)


def _apart(day: datetime.date, stated: DateValue) -> int:
    """The days between a day and a date, in the reading of the date that is nearest."""
    apart = (abs((day - other).days) for other in possible_days(stated, year=day.year))
    return min(apart, default=datetime.date.max.toordinal())


def _marked(text: str, dates: Sequence[DateValue]) -> tuple[str, list[_Place]]:
    """The text with one sign for each date and whole number, and their places."""
    found: list[tuple[int, int, DateValue | int]] = [(date.start, date.end, date) for date in dates]
    found += ((match.start(), match.end(), int(match.group())) for match in _NUMBER.finditer(text))
    found += ((number.start, number.end, number.value) for number in word_numbers_in(text))
    # A date goes before the number that it begins with; what lies in one that was taken is passed over.
    found.sort(key=lambda value: value[0])
    parts: list[str] = []
    places: list[_Place] = []
    length = end = 0
    for start, stop, value in found:
        if start < end:
            continue
        between = _WEEKDAY_BEFORE.sub(" ", re.sub(r"\s+", " ", text[end:start]))
        parts += [between, _D if isinstance(value, DateValue) else _N]
        places.append(_Place(length + len(between), value, start, stop))
        length += len(between) + 1
        end = stop
    parts.append(re.sub(r"\s+", " ", text[end:]))
    return "".join(parts), places


def _written(day: datetime.date, like: DateValue) -> str:
    """``day`` in the way in which another date is written."""
    if re.match(r"\d{4}-", like.text):
        return day.isoformat()
    name = day.strftime("%B")
    year = f" {day.year}" if like.year is not None else ""
    if like.text[:1].isdigit():
        return f"{day.day} {name}{year}"
    return f"{name} {day.day}" + (f", {day.year}" if year else "")

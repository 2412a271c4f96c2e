"""Calendar dates in text."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from tracer_hooks.values._patterns import lazy
from tracer_hooks.values._regions import REMEMBERED, near_digits

_MONTH_NAMES = (
    "january jan januar",
    "february feb februar",
    "march mar märz",
    "april apr",
    "may mai",
    "june jun juni",
    "july jul juli",
    "august aug",
    "september sept sep",
    "october oct oktober okt",
    "november nov",
    "december dec dezember dez",
)
_MONTHS = {name: number for number, names in enumerate(_MONTH_NAMES, start=1) for name in names.split()}
_BEGINNINGS = tuple(sorted({name[:3] for name in _MONTHS}))
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTH = r"(?P<month>[JFMASONDjfmasond][A-Za-zä]{2,8})\b\.?"
_DAY = r"(?P<day>\d{1,2})"
_GAP = r"[\s\u00a0]{1,2}"
_YEAR = rf"(?:,?{_GAP}(?P<year>\d{{4}})(?!\w|[.,]\d))?"
_YEAR_FIRST = lazy(
    r"(?<![\w.,/-])(?P<year>\d{4})(?P<sign>[-/.])(?P<month>\d{1,2})(?P=sign)(?P<day>\d{1,2})(?![\d/-]|\.\d)"
)
_YEAR_LAST = lazy(
    r"(?<![\w.,/-])(?P<first>\d{1,2})(?P<sign>[-/.])(?P<second>\d{1,2})(?P=sign)(?P<year>\d{4}|\d{2})(?![\w/-]|\.\d)"
)
_COMPACT = lazy(r"(?<![\w.,/-])(?P<year>(?:19|20)\d{2})(?P<month>\d{2})(?P<day>\d{2})(?![\w/-]|[.,]\d)")
_DAY_MONTH = lazy(
    rf"(?<![\w.,/-]){_DAY}(?:st|nd|rd|th|\.)?(?:{_GAP}(?:day{_GAP})?of)?(?:{_GAP}|-){_MONTH}(?:-"
    rf"(?P<year2>\d{{4}})|{_YEAR})",
)
_MONTH_DAY = lazy(rf"{_MONTH}{_GAP}(?:the{_GAP})?{_DAY}(?:st|nd|rd|th)?(?![\w%]|[.,:]\d){_YEAR}")
_MONTH_YEAR = lazy(rf"{_MONTH},?{_GAP}(?:of{_GAP})?(?P<year>\d{{4}})(?!\w|[.,]\d)")
_WEEKDAY = lazy(rf"\b({'|'.join(_DAYS)}),?\s{{1,2}}(?:the\s)?$", re.IGNORECASE)
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


def dates_in(text: str) -> list[DateValue]:
    """Every calendar date in ``text``, in order; they do not overlap."""
    return list(_read_once(text) if len(text) <= REMEMBERED else _dates(text))


def _dates(text: str) -> list[DateValue]:
    found = sorted(_candidates(text), key=lambda date: (date.start, -date.end))
    dates: list[DateValue] = []
    for date in found:
        if not dates or date.start >= dates[-1].end:
            dates.append(_with_weekday(date, text))
    return dates


_read_once = lru_cache(maxsize=8)(_dates)


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

    Args:
        value: A date.
        year: The year of one that names none; without it, a year that is no leap year.
    """
    return None if value.day is None else _day(_year_of(value, year), value.month, value.day)


def possible_days(value: DateValue, *, year: int | None = None) -> list[datetime.date]:
    """Every day of the calendar that a date may name, the likeliest first.

    ``05/06/2024`` may be in May; without any year the date may be of a leap year.

    Args:
        value: A date.
        year: The year of one that names none.
    """
    years = [_COMMON_YEAR, _LEAP_YEAR] if value.year is None and year is None else [_year_of(value, year)]
    found = [_day(one, month, day) for one in years for month, day in _readings(value) if day is not None]
    return list(dict.fromkeys(day for day in found if day is not None))


def _year_of(value: DateValue, year: int | None) -> int:
    if value.year is not None:
        return value.year
    return _COMMON_YEAR if year is None else year


def _day(year: int, month: int, day: int) -> datetime.date | None:
    try:
        return datetime.date(year, month, day)
    except ValueError:
        return None


def days_apart(one: DateValue, other: DateValue) -> int | None:
    """How many days lie between two dates, in the year that either names; None where one is no day of the calendar."""
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
    if not any(one in lower for one in _BEGINNINGS):
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
        end = match.end()
        yield DateValue(year, month, day, match.group(), match.start(), end, is_ambiguous=is_ambiguous)


def _with_weekday(date: DateValue, text: str) -> DateValue:
    before = _WEEKDAY.search(text[max(0, date.start - 20) : date.start])
    return replace(date, weekday=_DAYS.index(before.group(1).casefold())) if before else date

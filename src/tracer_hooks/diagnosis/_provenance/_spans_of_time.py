"""Spans of time in words, and the date that one leads to: "14 days", "three working days", "end of the month"."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Set
from dataclasses import dataclass
from datetime import date, timedelta

from tracer_hooks.values import ONES, WEEKDAYS

_WORDS = {word: number for number, word in enumerate(ONES[:16])} | {"a": 1, "an": 1, "twenty": 20, "thirty": 30}
_SPAN = re.compile(
    rf"(?<![\w.,/-])(?P<number>\d{{1,3}}|{'|'.join(_WORDS)})[ -](?:(?:full|whole|more|further|calendar|consecutive) )?"
    r"(?P<working>(?:working|business|week)[ -]?)?(?P<unit>days?|weeks?|fortnights?|months?|years?"
    r"|nights?)\b(?:['\u2019]s?)?",
    re.IGNORECASE,
)
_MONTH_NAMES = [name for name in calendar.month_name if name]
_MONTH_END = re.compile(
    r"\b(?:end|last day) of (?:the |that |this )?(?:(?P<which>following|next|same|current) )?(?:calendar )?"
    rf"(?P<month>month\b(?! (?:that|after|which) )|{'|'.join(_MONTH_NAMES)})(?: (?P<year>\d{{4}}))?",
    re.IGNORECASE,
)
_ORDINALS = ("first", "second", "third", "fourth", "last")
_NTH = re.compile(
    rf"\b(?P<nth>{'|'.join(_ORDINALS)}|1st|2nd|3rd|4th) (?P<day>{'|'.join(WEEKDAYS)}) (?:of|in) "
    rf"(?P<month>{'|'.join(_MONTH_NAMES)})(?: (?P<year>\d{{4}}))?",
    re.IGNORECASE,
)
_FIRST_COUNTS = re.compile(
    r"\bcount(?:s|ed|ing)? as (?:the )?(?:first|day (?:one|1))|\bday (?:one|1) (?:is|=)|\binclusive(?:ly)?\b"
    r"|\bincluding (?:the )?(?:first|start|that|day of|current|today)|\b(?:first|start|starting|that"
    r"|same) day (?:already )?(?:count(?:s|ed)|included"
    r"|is (?:included|counted))|\bboth (?:days|ends|dates)\b|\bfirst and last\b|\beach day counts",
    re.IGNORECASE,
)
_FIRST_DOES_NOT = re.compile(
    r"\b(?:not|n['\u2019]t|isn['\u2019]t|without|never) (?:be |being )?(?:count(?:ed)?|includ(?:ed|ing))"
    r"|\bexclu(?:sive|ded|ding)\b"
    r"|\bfrom the (?:next|following) day\b|\bdoes(?:n['\u2019]t| not) count",
    re.IGNORECASE,
)
_LED = re.compile(r" (?:later|after|before|earlier|from|prior|ahead|in advance|notice)\b", re.IGNORECASE)
_NEXT = re.compile(r"\b(?:the|one) day (?:after|following|before)\b", re.IGNORECASE)
_MOST_WORKING = 400


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A number of days, weeks, months, years or nights."""

    number: int
    unit: str
    is_working: bool
    text: str

    def after(self, start: date, *, free: Set[date] = frozenset(), is_first_counted: bool = False) -> date | None:
        """The date that the span leads to; None outside the calendar."""
        try:
            if self.is_working:
                return _working_days_after(start, self.number - is_first_counted, free)
            if self.unit in ("month", "year"):
                return _months_after(start, self.number * (12 if self.unit == "year" else 1))
            days = self.number * {"week": 7, "fortnight": 14}.get(self.unit, 1)
            return start + timedelta(days=days - (is_first_counted and self.unit == "day"))
        except (OverflowError, ValueError):
            return None

    def before(self, start: date) -> date | None:
        """The date that lies the span before another; None outside the calendar."""
        try:
            if self.is_working:
                return _working_days_after(start, -self.number, frozenset())
            if self.unit in ("month", "year"):
                return _months_after(start, -self.number * (12 if self.unit == "year" else 1))
            return start - timedelta(days=self.number * {"week": 7, "fortnight": 14}.get(self.unit, 1))
        except (OverflowError, ValueError):
            return None


def spans_in(text: str) -> Iterator[TimeSpan]:
    """Every span of time in a text."""
    if _NEXT.search(text):
        yield TimeSpan(1, "day", False, "one day")
    for match in _SPAN.finditer(text):
        word = match["number"].casefold()
        number = int(word) if word.isdigit() else _WORDS[word]
        is_rate = word in ("a", "an") and _LED.match(text, match.end()) is None  # "15 CHF a day"
        if number and not is_rate:
            unit = match["unit"].casefold().rstrip("s")
            yield TimeSpan(number, unit, match["working"] is not None and unit == "day", match.group())


def month_ends_in(text: str, start: date) -> Iterator[tuple[date, str]]:
    """The last days of months that a text speaks of, for a run whose date is ``start``."""
    for match in _MONTH_END.finditer(text):
        name = match["month"].capitalize()
        if name in _MONTH_NAMES:
            year, month = int(match["year"] or start.year), _MONTH_NAMES.index(name) + 1
        elif match["which"] and match["which"].casefold() in ("following", "next"):
            year, month = start.year + start.month // 12, start.month % 12 + 1
        else:
            year, month = start.year, start.month
        if 1 <= year <= 9999:
            yield date(year, month, calendar.monthrange(year, month)[1]), match.group()


def named_weekdays_in(text: str, year: int | None) -> Iterator[tuple[date, str]]:
    """The dates of "the second Tuesday of March 2025"."""
    for match in _NTH.finditer(text):
        its_year = int(match["year"]) if match["year"] else year
        if its_year is None or not 1 <= its_year <= 9999:
            continue
        month = _MONTH_NAMES.index(match["month"].capitalize()) + 1
        weekday = WEEKDAYS.index(match["day"].capitalize())
        days = [day for day in range(1, calendar.monthrange(its_year, month)[1] + 1)]
        found = [day for day in days if date(its_year, month, day).weekday() == weekday]
        nth = match["nth"].casefold()
        place = int(nth[0]) - 1 if nth[0].isdigit() else -1 if nth == "last" else _ORDINALS.index(nth)
        if place < len(found):
            yield date(its_year, month, found[place]), match.group()


def counts_first_day(text: str) -> bool | None:
    """Tell whether a text says that the first day counts; None when it does not say."""
    if _FIRST_DOES_NOT.search(text):
        return False
    return True if _FIRST_COUNTS.search(text) else None


def _working_days_after(start: date, days: int, free: Set[date]) -> date:
    if abs(days) > _MOST_WORKING:
        raise OverflowError
    day, step = start, timedelta(days=1 if days >= 0 else -1)
    left = abs(days)
    while left:
        day += step
        left -= day.weekday() < 5 and day not in free
    return day


def _months_after(start: date, months: int) -> date:
    place = start.year * 12 + start.month - 1 + months
    year, month = place // 12, place % 12 + 1
    return date(year, month, min(start.day, calendar.monthrange(year, month)[1]))

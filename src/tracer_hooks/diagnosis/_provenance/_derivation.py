"""Values that follow from others, by arithmetic or by the calendar, and dates and nights that are one off from that."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from itertools import combinations
from typing import TypeVar

from tracer_hooks.diagnosis._provenance._departures import Departure, DepartureKind
from tracer_hooks.diagnosis._provenance._ledger import Entry, Ledger, Place
from tracer_hooks.diagnosis._provenance._values import Kind, Sighting, days_between
from tracer_hooks.values import ONES, on_calendar

_N = TypeVar("_N", Fraction, float)
_ROOM, _LARGEST = 1e-9, 1e30
"""Far more than floating point is off by, and between which sizes it is used."""
MAX_OPERANDS = 24
"""With more different values at hand nearly any number can be worked out from two of them."""


def derivation_of(value: Sighting, at_hand: Sequence[Entry]) -> tuple[Entry, ...] | None:
    """The values that a value can be worked out from by one step of arithmetic or of the calendar; None when none can.

    Args:
        value: What a step says.
        at_hand: What it could have used.
    """
    if value.number is not None:
        return _of_number(value, at_hand)
    if value.kind is Kind.DATE:
        return _of_date(value, at_hand)
    if value.kind is Kind.TIME:
        times = [each for each in at_hand if each.value.kind is Kind.TIME]
        spans = [each for each in at_hand if each.value.unit in ("min", "h", "s")]
        return (times[-1], spans[-1]) if times and spans else None
    return None


def _of_number(value: Sighting, at_hand: Sequence[Entry]) -> tuple[Entry, ...] | None:
    assert value.number is not None
    numbers: dict[Fraction, Entry] = {}
    for entry in at_hand:
        if entry.value.number is not None:
            numbers.setdefault(entry.value.number, entry)
    wanted = _as_float(value.number)
    floats = {number: _as_float(number) for number in list(numbers)[-MAX_OPERANDS:]}
    for (a, x), (b, y) in combinations(floats.items(), 2):
        if _may_give(x, y, wanted, value.decimals) and any(_matches(result, value) for result in _results(a, b)):
            return numbers[a], numbers[b]
    return None


def _as_float(number: Fraction) -> float | None:
    """A number as a float; None where floating point does not reach."""
    try:
        found = float(number)
    except OverflowError:
        return None
    return found if 1 / _LARGEST < abs(found) < _LARGEST else None


def _may_give(a: float | None, b: float | None, wanted: float | None, decimals: int) -> bool:
    """Tell whether a result of two numbers is near a value, by floating point, which takes a tenth of the time."""
    if a is None or b is None or wanted is None:
        return True
    size, room = abs(wanted), (10.0**-decimals if decimals else 0.0) + _ROOM * max(1.0, abs(a), abs(b))
    for result in _results(a, b):
        away = abs(result)
        if abs(away - size) <= room + _ROOM * away:
            return True
    return False


def _results(a: _N, b: _N) -> list[_N]:
    found = [a + b, a - b, b - a, a * b, a * b / 100, a * (100 - b) / 100, b * (100 - a) / 100]
    found += [a * (100 + b) / 100, b * (100 + a) / 100]
    if b:
        found += [a / b, 100 * a / b, 100 * (a - b) / b]
    if a:
        found += [b / a, 100 * b / a, 100 * (b - a) / a]
    return found


def _matches(result: Fraction, value: Sighting) -> bool:
    assert value.number is not None
    away = abs(abs(result) - abs(value.number))
    if away == 0:
        return True
    return result.denominator != 1 and value.decimals > 0 and away < Fraction(1, 10**value.decimals)


def _of_date(value: Sighting, at_hand: Sequence[Entry]) -> tuple[Entry, ...] | None:
    dates = [each for each in at_hand if each.value.kind is Kind.DATE][-MAX_OPERANDS:]
    spans = [each for each in at_hand if each.value.number is not None and each.value.number.denominator == 1]
    for start in dates:
        days = days_between(start.value, value)
        for span in spans[-MAX_OPERANDS:] if days is not None else ():
            assert span.value.number is not None
            if days in (span.value.number, span.value.number * 7):
                return start, span
    return None


_WORDS = {word: number for number, word in enumerate(ONES[:16])} | {"a": 1, "an": 1, "twenty": 20, "thirty": 30}
_SPAN = re.compile(
    rf"(?<![\w.,/-])(?P<number>\d{{1,3}}|{'|'.join(_WORDS)})[ -](?:(?:full|whole|more|further|calendar|consecutive) )?"
    r"(?P<working>(?:working|business|week)[ -]?)?(?P<unit>days?|weeks?|fortnights?|months?|years?"
    r"|nights?)\b(?:['\u2019]s?)?",
    re.IGNORECASE,
)
_FIRST_COUNTS = re.compile(
    r"\bcount(?:s|ed|ing)? as (?:the )?(?:first|day (?:one|1))|\bday (?:one|1) (?:is|=)|\binclusive(?:ly)?\b"
    r"|\bincluding (?:the )?(?:first|start|that|day of|current|today)|\b(?:first|start|starting|that"
    r"|same) day (?:already )?(?:count(?:s|ed)|included"
    r"|is (?:included|counted))|\bboth (?:days|ends|dates)\b|\bfirst and last\b|\beach day counts",
    re.IGNORECASE,
)
_LED = re.compile(r" (?:later|after|before|earlier|from|prior|ahead|in advance|notice)\b", re.IGNORECASE)
_AFTER = re.compile(
    r"\b(?:after|later|within|deadline|due|ready|exactly|counted from|not counted|isn['\u2019]t counted"
    r"|expires?|weeks?|payable"
    r"|from now|add|plus|notice)\b|\+",
    re.IGNORECASE,
)
_DAYS = {"week": 7, "fortnight": 14}
_MOST_TEXTS, _CHARS, _MOST_DATES = 8, 3_000, 6
_MOST_OF_ANSWER = 4
"""More dates in one text are a calendar, of which none is an answer."""
_LIKELY = 0.8


@dataclass(frozen=True, slots=True)
class _Span:
    """A number of days, weeks, months, years or nights."""

    number: int
    unit: str
    is_working: bool
    text: str

    def end(self, start: date, sign: int) -> date | None:
        """The date that lies the span after another, or before it; None outside the calendar."""
        try:
            if self.is_working:
                return _working_days(start, sign * self.number)
            if self.unit in ("month", "year"):
                return _months(start, sign * self.number * (12 if self.unit == "year" else 1))
            return start + timedelta(days=sign * self.number * _DAYS.get(self.unit, 1))
        except (OverflowError, ValueError):
            return None


def _spans_in(text: str) -> Iterator[_Span]:
    for match in _SPAN.finditer(text):
        word = match["number"].casefold()
        number = int(word) if word.isdigit() else _WORDS[word]
        is_rate = word in ("a", "an") and _LED.match(text, match.end()) is None  # "15 CHF a day"
        if number and not is_rate:
            unit = match["unit"].casefold().rstrip("s")
            yield _Span(number, unit, match["working"] is not None and unit == "day", match.group())


def _working_days(start: date, days: int) -> date:
    day, step = start, timedelta(days=1 if days >= 0 else -1)
    left = abs(days)
    while left:
        day += step
        left -= day.weekday() < 5
    return day


def _months(start: date, months: int) -> date:
    place = start.year * 12 + start.month - 1 + months
    year, month = place // 12, place % 12 + 1
    return date(year, month, min(start.day, calendar.monthrange(year, month)[1]))


def is_due(ledger: Ledger, entry: Entry) -> bool:
    """Tell whether a date is what a term of the run leads to."""
    stated, latest = _stated(ledger, entry)
    return stated is not None and any(right == stated for right, _ in _rights(ledger, entry, stated, latest))


def off_by_one(ledger: Ledger, entry: Entry) -> Departure | None:
    """The departure at a date, or a number of nights, that is one off from what the dates of the run lead to."""
    if entry.value.kind is Kind.DATE:
        right = _day_off(ledger, entry)
    else:
        right = _nights_off(ledger, entry) if entry.value.number is not None else None
    if right is None:
        return None
    verb = "passes on" if entry.place is Place.USED else "says"
    return Departure(
        kind=DepartureKind.MISCALCULATED,
        step=entry.step,
        why=f"{right}; {ledger.run.steps[entry.step].agent!r} {verb} {entry.text!r}",
        quote=entry.quote,
        value=entry.text,
        strength=_LIKELY,
    )


def _day_off(ledger: Ledger, entry: Entry) -> str | None:
    if sum(each.value.kind is Kind.DATE for each in ledger.of_step(entry.step, entry.place)) > _MOST_OF_ANSWER:
        return None
    stated, latest = _stated(ledger, entry)
    rights = list(_rights(ledger, entry, stated, latest)) if stated is not None else []
    return None if not rights or any(right == stated for right, _ in rights) else rights[0][1]


def _nights_off(ledger: Ledger, entry: Entry) -> str | None:
    """Tell how many nights lie between the two dates of the task, where a number of nights is one off from that."""
    following = entry.passage.text[entry.value.end :][:6] if entry.passage is not None else ""
    ends = [each for each in ledger.of_step(-1) if each.value.kind is Kind.DATE]
    if len(ends) != 2 or following.strip() != "night":
        return None
    nights = days_between(ends[0].value, ends[1].value)
    is_off = nights is not None and entry.value.number in (nights - 1, nights + 1)
    return f"from {ends[0].text} to {ends[1].text} is {nights} nights" if is_off else None


def _stated(ledger: Ledger, entry: Entry) -> tuple[date | None, date | None]:
    """The day that a date means, and the latest full date before it, which tells the year."""
    dates = (each for _, own in _texts_before(ledger, entry.step) for each in own)
    full = (each for each in dates if each.value.date is not None and each.value.date.year)
    latest = next((day for each in full if (day := _nearest(each, None)) is not None), None)
    return _nearest(entry, latest), latest


def _rights(ledger: Ledger, entry: Entry, stated: date, latest: date | None) -> Iterator[tuple[date, str]]:
    """The dates no more than a day off that terms before a step lead to, each with the sentence that says so."""
    for text, dates in _texts_before(ledger, entry.step):
        for span in _spans_in(text) if dates else ():
            for begin in dates:
                right = _right(text, stated, begin, span)
                if right is not None:
                    way = "before" if right < (_nearest(begin, stated) or right) else "from"
                    year = f" {right.year}" if latest is not None else ""
                    yield right, f"{span.text} {way} {begin.text} is {right.day} {right.strftime('%B')}{year}"


def _right(text: str, stated: date, begin: Entry, span: _Span) -> date | None:
    """The date that a span from another date leads to, where the stated one is it or one day off."""
    start = _nearest(begin, stated)
    if start is None or start == stated:
        return None
    right = span.end(start, 1 if stated > start else -1)
    if right is None or abs((right - stated).days) > 1:
        return None
    # "Five days from 28 July" may end on 1 August, and a year from 1 March on the last of February.
    may_end_early = stated > start and not (span.is_working or (_AFTER.search(text) and span.unit in ("day", "week")))
    return None if stated < right and (may_end_early or _FIRST_COUNTS.search(text)) else right


def _texts_before(ledger: Ledger, step: int) -> Iterator[tuple[str, list[Entry]]]:
    """The task and what the latest steps before a step said, each with its dates."""
    given = [each for each in ledger.of_step(-1) if each.value.kind is Kind.DATE]
    yield ledger.run.trajectory.task[:_CHARS], given[:_MOST_DATES]
    for earlier in range(step - 1, max(-1, step - 1 - _MOST_TEXTS), -1):
        passage = ledger.run.content(earlier)
        if passage is not None:
            dates = [each for each in ledger.of_step(earlier, Place.SAID) if each.value.kind is Kind.DATE]
            yield passage.text[:_CHARS], dates[:_MOST_DATES]


def _nearest(entry: Entry, other: date | None) -> date | None:
    """A date of a text; where it names no year, in the year that brings it nearest to another date."""
    if entry.value.date is None:
        return None
    if entry.value.date.year or other is None:
        return on_calendar(entry.value.date)
    years = [year for year in (other.year - 1, other.year, other.year + 1) if 1 <= year <= 9999]
    days = [day for year in years if (day := on_calendar(entry.value.date, year=year)) is not None]
    return min(days, key=lambda day: abs(day - other), default=None)

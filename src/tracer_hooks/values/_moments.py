"""Whether an answer states the expected date, time of day, or both."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from tracer_hooks.values._dates import DateValue, dates_in, same_date
from tracer_hooks.values._stated import stated_values
from tracer_hooks.values._times import TimeValue, same_time, times_in
from tracer_hooks.values._words import folded

_FILLING = frozenset(["at", "on", "the", "of", ",", "t", "z", "uhr"])


class ExpectedMoment(NamedTuple):
    """A date, a time of day, or a date with a time."""

    date: DateValue | None
    time: TimeValue | None


def expected_moment(expected: str) -> ExpectedMoment | None:
    """The date or time that ``expected`` is and nothing else; None where it is something else."""
    dates, times = dates_in(expected), times_in(expected)
    if len(dates) > 1 or len(times) > 1 or not (dates or times):
        return None
    rest = expected
    values: list[DateValue | TimeValue] = [*dates, *times]
    for value in sorted(values, key=lambda value: -value.start):
        rest = f"{rest[: value.start]} {rest[value.end :]}"
    words = folded(rest).replace(",", " ").strip(" .").split()
    weekdays = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
    if not all(word in _FILLING or word in weekdays for word in words):
        return None
    return ExpectedMoment(dates[0] if dates else None, times[0] if times else None)


def moments_that_count(expected: ExpectedMoment, answer: str) -> Sequence[DateValue | TimeValue]:
    """The dates (or times, where only a time is expected) that are the answer's answer."""
    if expected.date is not None:
        return stated_values(answer, _not_left(answer, dates_in(answer)), one_a_sentence=False)
    return stated_values(answer, times_in(answer), one_a_sentence=False)


def _not_left(answer: str, dates: Sequence[DateValue]) -> list[DateValue]:
    """Without the dates that something was moved away from: "from May 1 to May 2"."""
    kept = list(dates)
    for date, following in pairwise(dates):
        is_from = answer[max(0, date.start - 5) : date.start].casefold() == "from "
        if is_from and answer[date.end : following.start].strip() == "to":
            kept.remove(date)
    return kept


def is_moment(expected: ExpectedMoment, found: DateValue | TimeValue, answer: str) -> bool:
    """Whether ``found`` is the expected date or time; with a date, the expected time has to stand somewhere, too."""
    if isinstance(found, TimeValue):
        return expected.time is not None and same_time(expected.time, found)
    if expected.date is None or not same_date(expected.date, found):
        return False
    time = expected.time
    return time is None or any(same_time(time, other) for other in times_in(answer))


def moment_places(expected: ExpectedMoment, text: str) -> list[tuple[int, int]]:
    """Where the date and the time stand in ``text``, in any role; nowhere where one of them is missing."""
    date, time = expected.date, expected.time
    dates = [other for other in dates_in(text) if date is not None and same_date(date, other)]
    if date is not None and not dates:
        return []
    times = [other for other in times_in(text) if time is not None and same_time(time, other)]
    if time is not None and not times:
        return []
    return [(one.start, one.end) for one in dates] + [(one.start, one.end) for one in times]

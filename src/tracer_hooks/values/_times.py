"""Times of day in text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from tracer_hooks.values._patterns import lazy
from tracer_hooks.values._regions import REMEMBERED, near_digits

_TIME = lazy(
    r"(?<![\w.,:/-])(?P<hour>\d{1,2})(?:[:.](?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.\d{1,9})?)?)?"
    r"(?:[ \u00a0\u202f]?(?P<half>[ap]\.?m\b\.?|[AP]\.?M\b\.?)|(?P<clock>[ \u00a0](?:Uhr|o['’]clock)\b))?(?!\w|:\d)"
)
_ISO = lazy(r"(?<=\d[T ])(?P<hour>\d{2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?")
_NAMED = {"noon": 12, "midnight": 0}
_NAME = lazy(r"(?:[Nn]oon|[Mm]idnight)\b")


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


def times_in(text: str) -> list[TimeValue]:
    """Every time of day in ``text``, in order: ``14:30``, ``2:30 pm``, ``2 pm``, ``14.30 Uhr``, ``noon``."""
    return list(_read_once(text) if len(text) <= REMEMBERED else _times(text))


def _times(text: str) -> list[TimeValue]:
    found = [time for match in near_digits(text, _TIME) if (time := _clock_time(match))]
    found += [time for match in near_digits(text, _ISO) if (time := _valid(match, int(match["hour"])))]
    found += [
        TimeValue(_NAMED[match.group().casefold()], 0, 0, match.group(), match.start(), match.end())
        for match in _NAME.finditer(text)
        if not text[max(0, match.start() - 1) : match.start()].isalpha()  # "afternoon"
    ]
    return list({time.start: time for time in sorted(found, key=lambda time: (time.start, time.end))}.values())


_read_once = lru_cache(maxsize=8)(_times)


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

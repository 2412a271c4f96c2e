"""The parts of a text that are near digits: patterns of dates and numbers need not look at the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from tracer_hooks.values._patterns import lazy

REMEMBERED = 20_000
"""Up to so many characters what was read of a text is kept for the next reader of the same one."""
_AROUND = 40
"""No date or time is longer, from its first or last digit to its end."""
_LONG = 1_000
"""So many digits without anything between them are neither a date nor an amount."""
_REGION = lazy(rf"\d+(?:[^\d]{{1,{2 * _AROUND}}}\d+)*")


def near_digits(text: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """The matches of ``pattern``, which holds a digit, in ``text``."""
    for start, end in _read_once(text) if len(text) <= REMEMBERED else _regions(text):
        yield from pattern.finditer(text, start, end)


def _regions(text: str) -> tuple[tuple[int, int], ...]:
    """From where to where a pattern with a digit is looked for."""
    spans = [region.span() for region in _REGION.finditer(text)]
    return tuple(
        (max(0, start - _AROUND), end + _AROUND)
        for start, end in spans
        if end - start <= _LONG or not text[start:end].isdigit()
    )


# A text is read for its dates, its times and its amounts, one after the other.
_read_once = lru_cache(maxsize=8)(_regions)

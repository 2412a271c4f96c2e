"""The parts of a text that are near digits: patterns of dates and numbers need not look at the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
    for region in _REGION.finditer(text):
        if region.end() - region.start() > _LONG and region.group().isdigit():
            continue
        yield from pattern.finditer(text, max(0, region.start() - _AROUND), region.end() + _AROUND)

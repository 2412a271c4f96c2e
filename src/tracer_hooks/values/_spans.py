"""Places in text whose digits are no amounts: dates, times, telephone numbers, addresses, ids."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from tracer_hooks.values._dates import dates_in
from tracer_hooks.values._patterns import lazy
from tracer_hooks.values._regions import near_digits
from tracer_hooks.values._times import times_in

_ADDRESS = lazy(r"https?://[^\s)>\]]{1,2000}")
_NO_AMOUNT = lazy(
    # Telephone numbers.
    r"\+\d{1,3}(?:[ ().-]{1,2}\d{1,8}){2,6}(?!\w)|\(\d{3}\) ?\d{3}-\d{4}(?!\d)"
    # Three rows of digits with hyphens: telephone, social security, ISBN; not a subtraction, which has spaces.
    r"|(?<![\w.,-])\d{1,12}(?:-\d{1,12}){2,8}(?![\w-])"
    # The addresses of machines, versions.
    r"|(?<![\w.])v?\d{1,5}(?:\.\d{1,5}){2,3}(?![\w.]|,\d)"
    # Chains of slashes.
    r"|(?<![\w.])\d{1,12}(?:/\d{1,12}){2,8}"
    r"|\b0[xX][0-9a-fA-F]{1,64}\b"
)


class Spans:
    """Places that do not overlap, to be asked whether they cover a position."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        merged: list[tuple[int, int]] = []
        for start, end in sorted(spans):
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        self._starts = [start for start, _ in merged]
        self._ends = [end for _, end in merged]

    def cover(self, position: int) -> bool:
        """Tell whether ``position`` lies in one of them."""
        at = bisect_right(self._starts, position) - 1
        return at >= 0 and position < self._ends[at]


def places_without_amounts(text: str) -> Spans:
    """Where digits of ``text`` are no amounts."""
    spans = [(date.start, date.end) for date in dates_in(text)]
    spans += [(time.start, time.end) for time in times_in(text)]
    spans += [match.span() for match in _ADDRESS.finditer(text)] if "://" in text else []
    spans += [match.span() for match in near_digits(text, _NO_AMOUNT) if not _is_grouped(match.group())]
    return Spans(spans)


def _is_grouped(row: str) -> bool:
    """``1.234.567`` looks like a version and is a million."""
    groups = row.split(".")
    return len(groups) > 2 and 0 < len(groups[0]) < 4 and groups[0][0] in "123456789" and _are_thousands(groups[1:])


def _are_thousands(groups: list[str]) -> bool:
    return all(len(group) == 3 and group.isdigit() for group in groups)

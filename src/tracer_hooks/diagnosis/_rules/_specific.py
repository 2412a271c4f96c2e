"""Values that are specific enough to be followed through a run, and asserted rather than merely present."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import canonical, find_value, numbers_in, prose_of

_SENTENCE = re.compile(r"[^\n]+")
_WORD = re.compile(r"[^\W\d_]{2,}")
_LEAST_WORDS = 3
"""Words in the line of a number that make it a statement."""
_MOST_COMMON = 99
"""Whole numbers up to this are counts, days, hours and shares of a page in any run."""
_YEARS = range(1500, 2101)
_LONGEST = 20_000


def asserted_numbers(text: str) -> Iterator[tuple[str, int, int]]:
    """The specific numbers that ``text`` states in prose, with their places.

    Left out are numbers in code, JSON, addresses and image sizes, numbers below zero, whole ones below 100, years, and
    those in a line of hardly any words.
    """
    for line in _SENTENCE.finditer(prose_of(text)):
        if len(_WORD.findall(line.group())) < _LEAST_WORDS:
            continue
        for match in numbers_in(line.group()):
            if is_specific(match.group()):
                yield match.group(), line.start() + match.start(), line.start() + match.end()


def is_specific(number: str) -> bool:
    """Tell whether a number tells more than a count, a share, a year or a sign of nothing found."""
    try:
        value = float(number.replace(",", ""))
    except ValueError:
        return False
    if value != int(value):
        return value > 0
    return value > _MOST_COMMON and (int(value) not in _YEARS or "," in number)


def new_numbers(trace: RunReading, step: int) -> list[str]:
    """The specific numbers that a step is the first in the run to state, as they are written there."""
    content = trace.content(step)
    if content is None:
        return []
    stated = dict.fromkeys(value for value, _, _ in asserted_numbers(content.raw))
    fresh = {canonical(value): value for value in stated if canonical(value) not in trace.task_numbers}
    for earlier in range(step):
        if not fresh:
            break
        for passage in trace.passages(earlier):
            for match in numbers_in(passage.raw[:_LONGEST]):
                fresh.pop(canonical(match.group()), None)
    return list(fresh.values())


def states(trace: RunReading, step: int, value: str) -> str | None:
    """The passage in which a step states ``value`` in prose; None when it does not, or only mentions it elsewhere."""
    content = trace.content(step)
    if content is None or find_value(content.raw, value) < 0:
        return None
    wanted = canonical(value)
    for found, start, end in asserted_numbers(content.raw):
        if canonical(found) == wanted:
            return content.quote_raw(start, end)
    return None

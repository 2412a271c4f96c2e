"""Numbers in English words: "twelve", "three hundred and fifty"."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tracer_hooks.values._patterns import lazy

ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
"""The words for the numbers from 0 to 19, in order."""
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SMALL = {word: number for number, word in enumerate(ONES)} | {
    word: 10 * number for number, word in enumerate(_TENS, start=2)
}
_LARGE = {"thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}


def _alternatives(words: Iterable[str]) -> str:
    """Grouped by their first letters, which lets the search skip quickly; a capital may begin a word."""
    groups: dict[str, list[str]] = {}
    for word in sorted(words, key=len, reverse=True):
        groups.setdefault(word[0], []).append(word[1:])
    return "|".join(f"[{first}{first.upper()}](?:{'|'.join(rest)})" for first, rest in groups.items())


_WORD = _alternatives([*_SMALL, "hundred", *_LARGE])
_ROW = lazy(rf"(?:{_WORD})(?:(?:[ -]|[ ]and[ ])(?:{_WORD}))*\b")
_ONE_WORD = lazy(r"[A-Za-z]+")


class WordNumber(NamedTuple):
    """A number in words, and where it stands."""

    value: int
    start: int
    end: int


def word_numbers_in(text: str) -> Iterator[WordNumber]:
    """Every number that ``text`` has in words; "hundred", "thousand" and "million" need one before them."""
    for row in _ROW.finditer(text):
        if row.start() and (text[row.start() - 1].isalnum() or text[row.start() - 1] == "_"):
            continue
        yield from _numbers_of(row.group(), row.start())


def _numbers_of(row: str, offset: int) -> Iterator[WordNumber]:
    """One row of number words may hold several numbers: "two three"; "and" joins only after hundreds."""
    start = end = -1
    total = current = 0
    last = 0
    joined = False
    for match in _ONE_WORD.finditer(row):
        word = match.group().casefold()
        if word == "and":
            joined = True
            continue
        value = _SMALL.get(word)
        if start >= 0 and _continues(value, word, current, last, joined):
            total, current = _extended(value, word, total, current)
        else:
            if start >= 0:
                yield WordNumber(total + current, offset + start, offset + end)
            start, total, current = (match.start(), 0, value) if value is not None else (-1, 0, 0)
        end, last, joined = match.end(), value if value is not None else 100, False
    if start >= 0:
        yield WordNumber(total + current, offset + start, offset + end)


def _continues(value: int | None, word: str, current: int, last: int, joined: bool) -> bool:
    if value is None:
        return not joined and current > 0 and (word in _LARGE or current < 100)
    if last >= 100:
        return value > 0
    return not joined and last >= 20 and 0 < value < 10


def _extended(value: int | None, word: str, total: int, current: int) -> tuple[int, int]:
    if value is not None:
        return total, current + value
    if word == "hundred":
        return total, current * 100
    return total + current * _LARGE[word], 0

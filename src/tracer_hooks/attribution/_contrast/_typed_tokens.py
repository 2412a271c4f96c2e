"""Texts as tokens of which it is known what they are: dates, ids and numbers in a form that can be compared, words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from tracer_hooks.attribution._reading._numbers import canonical

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_TOKEN = re.compile(
    r"(?P<time>\d{1,2}:\d\d(?::\d\d)?)"
    r"|(?P<iso>(?<!\d)\d{4}-\d\d-\d\d(?!\d))"
    rf"|(?P<day>\b(?:{'|'.join(month.title() for month in _MONTHS)})[a-z]{{0,6}}\.? \d{{1,2}}\b)"
    r"(?:st|nd|rd|th)?(?:,? \d{4})?"
    r"|(?P<id>(?:[A-Za-z]{1,40}[_-]){0,6}(?:[A-Za-z]{1,40}\d|\d{1,40}[A-Za-z])[A-Za-z0-9]{0,80}"
    r"|[A-Za-z]{1,40}(?:_[A-Za-z]{1,40}){0,6}_\d+)"
    r"|(?P<number>\d{1,40}(?:,\d{3})*(?:\.\d{1,20})?)"
    r"|(?P<word>[^\W\d_]+)"
)
_ID_LENGTH, _LONG_NUMBER = 4, 7
"""An id has four signs at least; a number of seven digits names something rather than counts it."""
_KEPT = 60
"""Characters of a text up to which its tokens are kept: keys and values of JSON come again and again."""


class TokenKind(StrEnum):
    """What a token is."""

    DATE = "date"
    ID = "id"
    NUMBER = "number"
    """Of two digits or more, years aside."""
    WORD = "word"
    OTHER = "other"
    """Times, years and single digits: they stand everywhere."""


VALUES = frozenset({TokenKind.DATE, TokenKind.ID, TokenKind.NUMBER})
"""The kinds of tokens that name or count something."""


class Token(NamedTuple):
    """A word or a value of a text."""

    kind: TokenKind
    form: str
    """Equal for values that mean the same: the month and day of a date however it was written, a number's value."""
    words: str
    """As the text has it."""


def tokens_of(line: str) -> tuple[Token, ...]:
    """The tokens of one line, in order."""
    return _kept(line) if len(line) <= _KEPT else tuple(_tokens(line))


@lru_cache(maxsize=20_000)
def _kept(line: str) -> tuple[Token, ...]:
    return tuple(_tokens(line))


def _tokens(line: str) -> Iterator[Token]:
    for match in _TOKEN.finditer(line):
        group = match.lastgroup or ""
        words = match.group(group)
        yield Token(*_READERS[group](words), words)


def _iso(words: str) -> tuple[TokenKind, str]:
    return TokenKind.DATE, words[5:]


def _day(words: str) -> tuple[TokenKind, str]:
    month, day = _MONTHS.index(words[:3].casefold()) + 1, int(words.split()[-1])
    return TokenKind.DATE, f"{month:02d}-{day:02d}"


def _id(words: str) -> tuple[TokenKind, str]:
    return (TokenKind.ID if len(words) >= _ID_LENGTH else TokenKind.WORD), words.casefold()


def _number(words: str) -> tuple[TokenKind, str]:
    form = canonical(words)
    if len(form.replace(".", "")) >= _LONG_NUMBER:
        return TokenKind.ID, form
    is_year = len(words) == 4 and words.startswith(("19", "20"))
    return (TokenKind.OTHER if len(form) < 2 or is_year else TokenKind.NUMBER), form


_READERS: Mapping[str, Callable[[str], tuple[TokenKind, str]]] = {
    "time": lambda words: (TokenKind.OTHER, words),
    "iso": _iso,
    "day": _day,
    "id": _id,
    "number": _number,
    "word": lambda words: (TokenKind.WORD, words.casefold()),
}

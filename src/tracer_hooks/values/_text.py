"""Text as words and as places: patterns that are compiled late, regions near digits, folded words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, wraps
from typing import Any, TypeVar, cast

_T = TypeVar("_T")


class _Lazy:
    def __init__(self, pattern: str, flags: int) -> None:
        self._arguments = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(*self._arguments), name)
        setattr(self, name, value)  # from now on as quick as the pattern itself
        return value


def lazy(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """``re.compile``, later."""
    return cast("re.Pattern[str]", _Lazy(pattern, flags))


_REMEMBERED = 20_000
"""Up to so many characters what was read of a text is kept for the next reader of the same one."""


def read_once(read: Callable[[str], Iterable[_T]]) -> Callable[[str], list[_T]]:
    """Keep what was read of the latest texts: each is read for its dates, its times and its amounts in turn."""
    kept = lru_cache(maxsize=8)(lambda text: tuple(read(text)))

    @wraps(read)
    def once(text: str) -> list[_T]:
        return list(kept(text) if len(text) <= _REMEMBERED else read(text))

    return once


_AROUND = 40
"""No date or time is longer, from its first or last digit to its end."""
_LONGEST_ROW = 1_000
"""So many digits without anything between them are neither a date nor an amount."""
_REGION = lazy(rf"\d+(?:[^\d]{{1,{2 * _AROUND}}}\d+)*")


def near_digits(text: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """The matches of ``pattern``, which holds a digit, in ``text``."""
    for start, end in _regions_of(text):
        yield from pattern.finditer(text, start, end)


@read_once
def _regions_of(text: str) -> Iterator[tuple[int, int]]:
    """From where to where a pattern with a digit is looked for."""
    for start, end in [region.span() for region in _REGION.finditer(text)]:
        if end - start <= _LONGEST_ROW or not text[start:end].isdigit():
            yield max(0, start - _AROUND), end + _AROUND


_MARKDOWN = lazy(r"\*\*|`{1,3}(?:[a-z]{1,12}\n)?|</?answer>|(?m:^#{1,6} )")
_DENIED = lazy(
    r"(?:\b(?:not|never|neither|nor|instead of|rather than|without)|n't|≠|!=)"
    r"(?:\s(?:a|an|the|be|by|to|at|in|on|equal to|exactly|called|named))*\s?[\"'(]*$"
)
_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "−": "-", "\u00a0": " "})
_REACH = 40


def folded(text: str) -> str:
    """``text`` without what does not count when words are compared."""
    plain = _MARKDOWN.sub("", text.translate(_QUOTES))
    if not plain.isascii():
        plain = "".join(letter for letter in unicodedata.normalize("NFKD", plain) if not unicodedata.combining(letter))
    return " ".join(plain.casefold().split())


def fold_in_place(parts: Iterable[tuple[str, tuple[int, int] | None]]) -> tuple[str, list[tuple[int, int]]]:
    """:func:`folded` of a text in parts, and for each of its characters where it comes from.

    A part that stands for another writing has the place of that one, the others None.
    """
    whole, places_of = "", list[tuple[int, int]]()
    at = 0
    for part, place in parts:
        whole += part
        places_of += [place] * len(part) if place else [(at + i, at + i + 1) for i in range(len(part))]
        at = place[1] if place else at + len(part)
    whole = whole.translate(_QUOTES)
    for match in reversed(list(_MARKDOWN.finditer(whole))):
        del places_of[match.start() : match.end()]
    letters: list[tuple[str, tuple[int, int]]] = []
    for letter, place in zip(_MARKDOWN.sub("", whole), places_of, strict=True):
        for plain in _plain_letters(letter):
            if not plain.isspace():
                letters.append((plain, place))
            elif letters and letters[-1][0] != " ":
                letters.append((" ", place))
    if letters and letters[-1][0] == " ":
        letters.pop()
    return "".join(letter for letter, _ in letters), [place for _, place in letters]


def _plain_letters(letter: str) -> str:
    if letter.isascii():
        return letter.casefold()
    parts = unicodedata.normalize("NFKD", letter)
    return "".join(part for part in parts if not unicodedata.combining(part)).casefold()


def bare(text: str) -> str:
    """:func:`folded`, without punctuation and quotation marks around it."""
    return folded(text).strip(" \"'.,;:!?")


def contains(text: str, words: str) -> bool:
    """Tell whether folded ``text`` has ``words`` as whole words; a number is not a part of another one."""
    return next(places(text, words), None) is not None


def asserts(text: str, words: str) -> bool:
    """Tell whether folded ``text`` has ``words`` somewhere where it does not deny them ("not Paris")."""
    return any(not is_denied(text, start) for start in places(text, words))


def is_denied(text: str, start: int) -> bool:
    """Tell whether what begins at ``start`` stands behind a "not" or "instead of"."""
    return _DENIED.search(text[max(0, start - _REACH) : start].casefold().replace("’", "'")) is not None


def places(text: str, words: str) -> Iterator[int]:
    """The places where folded ``text`` has ``words`` as whole words."""
    if not words:
        return
    at = text.find(words)
    while at >= 0:
        if _stands_alone(text, at, at + len(words)):
            yield at
        at = text.find(words, at + 1)


def _stands_alone(text: str, start: int, end: int) -> bool:
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    if (before[-1:].isalnum() and text[start].isalnum()) or (after[:1].isalnum() and text[end - 1].isalnum()):
        return False
    if text[start].isdigit() and len(before) == 2 and before[1] in ".," and before[0].isdigit():
        return False
    return not (text[end - 1].isdigit() and len(after) == 2 and after[0] in ".,/" and after[1].isdigit())

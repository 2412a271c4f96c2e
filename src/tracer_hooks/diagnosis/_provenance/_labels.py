"""What a value is said to be: the words around it in a sentence, its key in a record, its row and column in a table."""

from __future__ import annotations

import calendar
import re
from functools import lru_cache
from itertools import chain

_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORDS_KEPT, _LONGEST_KEPT = 8_192, 40
"""Words whose stems are kept, and the characters of the longest of them."""
_STOP = frozenset(
    [
        "the",
        "a",
        "an",
        "of",
        "in",
        "on",
        "at",
        "to",
        "for",
        "and",
        "or",
        "is",
        "are",
        "was",
        "were",
        "be",
        "has",
        "have",
        "with",
        "by",
        "from",
        "as",
        "it",
        "its",
        "this",
        "that",
        "there",
        "here",
        "per",
        "each",
        "our",
        "your",
        "their",
        "his",
        "her",
        "we",
        "you",
        "they",
        "i",
        "he",
        "she",
        "not",
        "no",
        "about",
        "so",
        "then",
        "than",
        "will",
        "would",
        "can",
        "also",
        "only",
        "der",
        "die",
        "das",
        "und",
        "ist",
    ]
)
_MONTH_NAMES = frozenset(
    word
    for name in calendar.month_name
    for word in (name.casefold(), name[:3].casefold())
    if word not in ("", "may")  # also a verb
)
_MONTHS = frozenset(name[:3] for name in _MONTH_NAMES)
_KEY = re.compile(r"[\"']?(?P<key>[A-Za-z][\w ]{0,40})[\"']?\s*[:=]\s*[\"'\[$€£]*$")
_BOUND = re.compile(r"[.!?;\n](?=\s|$)|\n")
_SEPARATOR = re.compile(r"[;,{}]")
_NUMBERED = re.compile(r"\d")
_CLAUSE = re.compile(r"[.!?;,\n(](?=\s|$)|\d")
_NEXT = re.compile(r"[ \u00a0]?[\w²³°%/-]{1,24}")
_NOUN = re.compile(r"[ \u00a0]([^\W\d_]{3,20})")
_SHORT_LINE, _LONG_LINE = 40, 140
_NEAR = 70


def words_around(text: str, start: int, end: int) -> frozenset[str]:
    """The telling words of the sentence that a value stands in, near to it, each by its stem."""
    before = text[max(0, start - _NEAR) : start]
    after = text[end : end + _NEAR]
    bounds = [match.end() for match in _BOUND.finditer(before)]
    before = before[bounds[-1] :] if bounds else before
    bound = _BOUND.search(after)
    after = after[: bound.start()] if bound else after
    return stems(before) | stems(after)


def neighbours(text: str, start: int, end: int) -> frozenset[str]:
    """The words right before and right after a value: "hall 9", "34 degrees"; of "is 9" the word before that."""
    before = [word for word in _WORD.findall(_bounded_before(text, start)) if word.casefold() not in _STOP][-1:]
    after = _WORD.findall(_NEXT.match(text, end).group())[:1] if _NEXT.match(text, end) else []  # type: ignore[union-attr]
    return stems(" ".join([*before, *after]))


def noun_after(text: str, end: int) -> str | None:
    """What a number counts: the word after it, by its stem."""
    match = _NOUN.match(text, end)
    found = stems(match[1]) if match is not None else frozenset()
    return min(found, default=None)


def label_in_result(text: str, start: int, end: int) -> frozenset[str]:
    """What the result of a tool calls a value: its key, its row and column, or its entry in a list.

    Empty in running prose, where what stands near a value need not be about it.
    """
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    line = text[line_start : line_end if line_end >= 0 else len(text)]
    if line.count("|") >= 2:
        return _in_table(text, line_start, line, start)
    before = text[max(line_start, start - 60) : start]
    key = _KEY.search(before)
    if key is not None:
        return stems(key["key"])
    if text.count("\n") and len(line) <= _LONG_LINE:
        return stems(_NUMBERED.sub(" ", line))  # a row
    if len(_SEPARATOR.findall(line)) < 2 and len(line) > _SHORT_LINE:
        return frozenset()
    before = _SEPARATOR.split(before)[-1]
    after = _SEPARATOR.split(text[end : end + 24].partition("\n")[0])[0]
    return stems(_NUMBERED.split(before)[-1]) | stems(_NUMBERED.split(after)[0])


def _bounded_before(text: str, start: int) -> str:
    before = text[max(0, start - 30) : start]
    bounds = [match.end() for match in _CLAUSE.finditer(before)]
    return before[bounds[-1] :] if bounds else before


def _in_table(text: str, line_start: int, line: str, start: int) -> frozenset[str]:
    column = line[: start - line_start].count("|")
    block = text[:line_start].rstrip("\n").split("\n")
    header = ""
    for row in reversed(block):
        if "|" not in row:
            break
        header = row
    cells = header.split("|")
    own = stems(cells[column]) if column < len(cells) else frozenset()
    return own | stems(line)


def stems(text: str) -> frozenset[str]:
    """Words without their endings, so that "points" and "point" are one."""
    words = _WORD.findall(text)
    of_word = _kept_stems if max(map(len, words), default=0) <= _LONGEST_KEPT else _stems_of
    return frozenset(chain.from_iterable(map(of_word, words)))


def _stems_of(word: str) -> tuple[str, ...]:
    """The stems of a word as it is written: of "unitPrice" two, of "the" none."""
    parts = (part.casefold() for part in _CAMEL.split(word))
    return tuple(_stem(part) for part in parts if part not in _STOP and not part.isdigit())


_kept_stems = lru_cache(maxsize=_WORDS_KEPT)(_stems_of)


def _stem(word: str) -> str:
    """The beginning of a word, by which its forms are one; of a month its three letters: "June" and "Jun"."""
    return word[:3] if word[:3] in _MONTHS and word in _MONTH_NAMES else word[:5].rstrip("s")

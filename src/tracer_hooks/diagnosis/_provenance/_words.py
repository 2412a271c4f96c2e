"""Words and lists of a text: stems, the words around a value, bullets, records of JSON, series, terms of a sum."""

from __future__ import annotations

import calendar
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from tracer_hooks._lazy import cached_property
from tracer_hooks.diagnosis._reading._text import parsed_json
from tracer_hooks.values import without_markup

_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORDS_KEPT, _LONGEST_KEPT = 8_192, 40
"""Words whose stems are kept, and the characters of the longest of them."""
_STOP_WORDS = (
    "a about also an and are as at be by can das der die each for from has have he her here his i in is ist it "
    "its no not of on only or our per she so than that the their then there they this to und was we were will "
    "with would you your"
)
_STOP = frozenset(_STOP_WORDS.split())
_MONTH_NAMES = frozenset(
    word
    for name in calendar.month_name
    for word in (name.casefold(), name[:3].casefold())
    if word not in ("", "may")  # also a verb
)
_MONTHS = frozenset(name[:3] for name in _MONTH_NAMES)
_BOUND = re.compile(r"[.!?;\n](?=\s|$)|\n")
_NEAR = 70


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


def words_around(text: str, start: int, end: int) -> frozenset[str]:
    """The telling words of the sentence that a value stands in, near to it, each by its stem."""
    before = text[max(0, start - _NEAR) : start]
    ends = [match.end() for match in _BOUND.finditer(before)]
    before = before[ends[-1] :] if ends else before
    after = text[end : end + _NEAR]
    bound = _BOUND.search(after)
    after = after[: bound.start()] if bound else after
    return stems(before) | stems(after)


MOST_ITEMS = 14
_OF_THOUSANDS = re.compile(r"[.,](?=\d{3}\b)")
_ZEROS = re.compile(r"[.,]0+$|(?<=[.,]\d)0$")
_SERIES_CHARS = 1_500
_LONGEST_SENTENCE = 400
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s|: ")
_CHARS = 6_000
_MOST_WORDS = 9
_BULLET = re.compile(
    r"^[ \t]*(?:[-*•·\u2013]|\d{1,2}[.)]|\(\w\)|\[[ x✓✔]?\]|☐|☑|✔|✅)[ \t]+(?P<item>[^\n]{1,120})$", re.MULTILINE
)
# Without ways back, since no shorter item is followed by a space or a comma.
_ITEM = r"(?!(?:and|or|und|et)\b)(?:['\u2019(/:.\u2013-]*+[\w)]++)++"
_ITEM_WORDS = rf"{_ITEM}(?: {_ITEM}){{0,5}}+"
_SERIES = re.compile(
    rf"(?<!\w)(?P<first>{_ITEM_WORDS})(?P<rest>(?: ?, (?!and |or ){_ITEM_WORDS}){{1,12}})"
    rf"(?: ?,? (?:and|or|&|und|et) (?P<last>{_ITEM_WORDS}))?"
)
_NOTE = re.compile(r"\([^)]*\)")
_TERM = r"[$€£¥]?\d[\d.,:]*(?: ?[A-Za-z€£$%]{1,4})?"
_SUM = re.compile(rf"{_TERM}(?:\s*\+\s*{_TERM}){{1,12}}")
_PLUS = re.compile(r"\s*\+\s*")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_DATE = re.compile(
    r"\d{1,2}[./]\d{1,2}\b|\d{4}-\d\d|\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.? \d|\d(?:st"
    r"|nd|rd|th)? (?:of )?"
    r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
)
_DRESS = re.compile(r"^\s*\d{1,2}(?:[.)]\s+|\s+(?=[A-Z][a-z]))|[*_`\"“”;\[\]{}]|,(?!\d)|^\s*(?:an?|the|your|and)\s|\.$")
"""Dress that an item is written with, and not about: its number, marks, an article."""
_TOTAL = re.compile(r"\b(?:total|sum|altogether|overall|gesamt)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Items:
    """A list in one text."""

    step: int
    """-1 for the task."""
    texts: tuple[str, ...]
    is_loose: bool = False
    """Only commas or lines part the items, so that they may be facts about one thing."""

    @cached_property
    def words(self) -> tuple[frozenset[str], ...]:
        """The words of each item, by their stems."""
        return tuple(map(stems, self.texts))

    @cached_property
    def numbers(self) -> tuple[frozenset[str], ...]:
        """The numbers of each item."""
        return tuple(map(numbers_of, self.texts))

    @cached_property
    def handles(self) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
        """The words and the numbers of each item that no other has."""
        words = Counter(word for own in self.words for word in own)
        numbers = Counter(number for own in self.numbers for number in own)
        return tuple(
            (frozenset(w for w in own if words[w] == 1), frozenset(n for n in many if numbers[n] == 1))
            for own, many in zip(self.words, self.numbers, strict=True)
        )


def lists_in(text: str, step: int) -> Iterator[Items]:
    """Every list of two or more items in a text."""
    raw = text[:_CHARS]
    plain = without_markup(raw)
    explicit = list(_of_json(raw)) if raw.lstrip()[:1] in ("[", "{") else []
    explicit.append([match["item"] for match in _BULLET.finditer(plain)])
    loose = []
    marks = [mark for mark in (";", " | ", " · ", " / ") if mark in plain]
    for line in plain.split("\n") if marks else ():
        for mark in marks:
            if mark in line and not (mark == " / " and "=" in line):
                loose.append(line.split(mark))
    flat = _NOTE.sub("", _THOUSANDS.sub("", " ".join(plain.split())))[:_SERIES_CHARS]
    loose += _series_in(flat)
    if "+" in flat:
        loose += [_PLUS.split(match.group()) for match in _SUM.finditer(flat)]
    seen = set()
    for place, texts in enumerate([*explicit, *loose]):
        items = _items_of(step, texts, is_loose=place >= len(explicit))
        if items is not None and items.texts not in seen:
            seen.add(items.texts)
            yield items


def lists_of(arguments: object, step: int) -> Iterator[Items]:
    """The lists among the arguments of a call."""
    for many in arguments.values() if isinstance(arguments, dict) else ():
        if isinstance(many, list) and 2 <= len(many) <= MOST_ITEMS:
            items = _items_of(step, [_leaves(item) for item in many], is_loose=True)
            if items is not None:
                yield items


def numbers_of(text: str) -> frozenset[str]:
    """The numbers of a text without separators of thousands."""
    plain = (_OF_THOUSANDS.sub("", number) for number in _NUMBER.findall(text))
    return frozenset(_ZEROS.sub("", number) for number in plain)


def _items_of(step: int, texts: Sequence[str], *, is_loose: bool) -> Items | None:
    if not 2 <= len(texts) <= 2 * MOST_ITEMS:
        return None
    kept = tuple(
        text for item in texts if (text := _plain(item)) and not _TOTAL.search(text) and not item.startswith("--")
    )
    return Items(step, kept, is_loose) if 2 <= len(kept) <= MOST_ITEMS else None


def shape_of(item: str) -> str:
    """Tell the make of an item's last value: facts about one thing differ in it, the members of a list do not."""
    if _DATE.search(item):
        return "date"
    if re.search(r"\d:\d", item):
        return "clock"
    numbers = _NUMBER.findall(item)
    if not numbers:
        return "words"
    return "fraction" if re.search(r"\d[.,]\d{1,2}$", numbers[-1]) else "whole"


def _plain(item: str) -> str:
    return _DRESS.sub(" ", item).strip(" .:-\u2013")


def _series_in(flat: str) -> Iterator[list[str]]:
    for sentence in _SENTENCE_END.split(flat):
        if ", " in sentence and len(sentence) <= _LONGEST_SENTENCE:
            yield from _series_of(sentence)


def _series_of(sentence: str) -> Iterator[list[str]]:
    for match in _SERIES.finditer(sentence):
        parts = [match["first"], *match["rest"].split(", ")[1:], *([match["last"]] if match["last"] else [])]
        if all(0 < len(part.split()) <= _MOST_WORDS for part in parts):
            yield parts


def _of_json(text: str) -> Iterator[list[str]]:
    found = parsed_json(text)
    for many in [found, *(found.values() if isinstance(found, dict) else [])]:
        if isinstance(many, list) and 2 <= len(many) <= MOST_ITEMS:
            yield [_leaves(item) for item in many]


def _leaves(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(str(leaf) for leaf in value.values() if isinstance(leaf, (str, int, float)))
    return str(value)[:200]

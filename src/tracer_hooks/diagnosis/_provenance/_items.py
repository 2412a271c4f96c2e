"""Lists of items in a text: bullets, rows, records of JSON, series in a sentence, terms of a sum."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tracer_hooks._lazy import cached_property
from tracer_hooks.diagnosis._provenance._labels import stems
from tracer_hooks.diagnosis._reading._text import parsed_json
from tracer_hooks.values import without_markup

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
_MARKED = re.compile(r"(?:^|(?<=[\s:;,]))\((?:\d|[a-h]|i{1,3}|iv)\)\s+")
_ITEM = r"(?!(?:and|or|und|et)\b)[\w'\u2019()/:.\u2013-]*[\w)]"
_ITEM_WORDS = rf"(?:{_ITEM} ){{0,5}}{_ITEM}"
_SERIES = re.compile(
    rf"(?P<first>{_ITEM_WORDS})(?P<rest>(?: ?, (?!and |or ){_ITEM_WORDS}){{1,12}})"
    rf"(?: ?,? (?:and|or|&|und|et) (?P<last>{_ITEM_WORDS}))?"
)
_LEAD = re.compile(
    r"^.*\b(?:needs?|contains?|are|is|for|of|with|your|find|takes?|include[sd]?|has|have|:)\s+|^[^:]{1,40}:\s+",
    re.IGNORECASE,
)
_NOTE = re.compile(r"\([^)]*\)")
_TERM = r"[$€£¥]?\d[\d.,:]*(?: ?[A-Za-z€£$%]{1,4})?"
_SUM = re.compile(rf"{_TERM}(?:\s*\+\s*{_TERM}){{1,12}}")
_PLUS = re.compile(r"\s*\+\s*")
_CLOCK = re.compile(r"\b(\d{1,2}) ?(?:h|hrs?|hours?|Std\.?)(?: and)? ?(\d{2})(?: ?(?:min|m|minutes?)\b)?")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_DATE = re.compile(
    r"\d{1,2}[./]\d{1,2}\b|\d{4}-\d\d|\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.? \d|\d(?:st"
    r"|nd|rd|th)? (?:of )?"
    r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
)
_DRESS = re.compile(r"^\s*\d{1,2}(?:[.)]\s+|\s+(?=[A-Z][a-z]))|[*_`\"“”;\[\]{}]|,(?!\d)|^\s*(?:an?|the|your|and)\s|\.$")
"""What an item is written with and not about: its number, marks, an article."""
_TOTAL = re.compile(r"\b(?:total|sum|altogether|overall|gesamt)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Items:
    """A list in one text."""

    step: int
    """-1 for the task."""
    texts: tuple[str, ...]
    words: tuple[frozenset[str], ...]
    numbers: tuple[frozenset[str], ...]
    is_loose: bool = False
    """Whether only commas or lines part the items, so that they may be facts about one thing."""
    is_marked: bool = False
    """Whether the items are numbered in a sentence, as conditions are: (a), (b), (c)."""

    @cached_property
    def handles(self) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
        """What each item has that no other has: its words and its numbers."""
        words = Counter(word for one in self.words for word in one)
        numbers = Counter(number for one in self.numbers for number in one)
        return tuple(
            (frozenset(w for w in one if words[w] == 1), frozenset(n for n in many if numbers[n] == 1))
            for one, many in zip(self.words, self.numbers, strict=True)
        )


def lists_in(text: str, step: int, *, is_result: bool = False) -> Iterator[Items]:
    """Every list of two or more items in a text."""
    raw = text[:_CHARS]
    plain = without_markup(raw)
    explicit = list(_of_json(raw)) if raw.lstrip()[:1] in ("[", "{") else []
    explicit.append([match["item"] for match in _BULLET.finditer(plain)])
    explicit.append(_of_rows(plain, "|") or _of_rows(plain, ";") or (_of_rows(plain, ",") if is_result else []))
    explicit.append([part for part in _MARKED.split(plain)[1:] if part.strip()] if "(" in plain else [])
    lines = _of_lines(plain)
    loose = [lines] if is_result or all(_NUMBER.search(line) for line in lines) else []
    for line in plain.split("\n"):
        for mark in (";", " | ", " · ", " / "):
            if mark in line and not (mark == " / " and "=" in line):
                loose.append((_LEAD.sub("", line, count=1) if mark == ";" else line).split(mark))
    flat = _NOTE.sub("", _THOUSANDS.sub("", " ".join(plain.split())))[:_SERIES_CHARS]
    loose += _series_in(flat)
    if "+" in flat:
        loose += [_PLUS.split(match.group()) for match in _SUM.finditer(_with_clock(flat))]
    seen = set()
    for place, texts in enumerate([*explicit, *loose]):
        items = _items_of(step, texts, is_loose=place >= len(explicit), is_marked=place == len(explicit) - 1)
        if items is not None and items.texts not in seen:
            seen.add(items.texts)
            yield items


def lists_of(arguments: object, step: int) -> Iterator[Items]:
    """The lists among the arguments of a call."""
    for many in arguments.values() if isinstance(arguments, dict) else ():
        if isinstance(many, list) and 2 <= len(many) <= MOST_ITEMS:
            items = _items_of(step, [_leaves(one) for one in many], is_loose=True, is_marked=False)
            if items is not None:
                yield items


def numbers_of(text: str) -> frozenset[str]:
    """The numbers of a text without separators of thousands, durations as hours and minutes."""
    plain = (_OF_THOUSANDS.sub("", number) for number in _NUMBER.findall(_with_clock(text)))
    return frozenset(_ZEROS.sub("", number) for number in plain)


def _with_clock(text: str) -> str:
    return _CLOCK.sub(r"\1:\2", text)


def _items_of(step: int, texts: Sequence[str], *, is_loose: bool, is_marked: bool) -> Items | None:
    kept = tuple(
        text for one in texts if (text := _plain(one)) and not _TOTAL.search(text) and not one.startswith("--")
    )
    if not 2 <= len(kept) <= MOST_ITEMS:
        return None
    words = tuple(stems(text) for text in kept)
    numbers = tuple(numbers_of(text) for text in kept)
    if any(not a and not b for a, b in zip(words, numbers, strict=True)):
        return None
    return Items(step, kept, words, numbers, is_loose, is_marked)


def shape_of(item: str) -> str:
    """Of what make an item's last value is: facts about one thing differ in it, the members of a list do not."""
    if _DATE.search(item):
        return "date"
    if re.search(r"\d:\d", _with_clock(item)):
        return "clock"
    numbers = _NUMBER.findall(item)
    if not numbers:
        return "words"
    return "fraction" if re.search(r"\d[.,]\d{1,2}$", numbers[-1]) else "whole"


def _plain(item: str) -> str:
    return _DRESS.sub(" ", item).strip(" .:-\u2013")


def _of_rows(text: str, mark: str) -> list[str]:
    """The rows of a table after its head."""
    if text.count("\n") < 2:
        return []
    rows = [line for line in text.split("\n") if line.count(mark) >= (1 if mark == "," else 2)]
    rows = [row for row in rows if re.search(r"\w", row)]
    counts = Counter(row.strip().strip("|").count(mark) for row in rows)
    if len(rows) < 3 or len(counts) != 1:
        return []
    return [row.replace(mark, " ") for row in rows[1:]]


def _of_lines(text: str) -> list[str]:
    lines = [line for line in text.split("\n") if line.strip()]
    return lines if 3 <= len(lines) <= MOST_ITEMS and all(len(line) <= 100 for line in lines) else []


def _series_in(flat: str) -> Iterator[list[str]]:
    for sentence in _SENTENCE_END.split(flat):
        if ", " in sentence and len(sentence) <= _LONGEST_SENTENCE:
            yield from _series_of(sentence)


def _series_of(sentence: str) -> Iterator[list[str]]:
    for match in _SERIES.finditer(sentence):
        parts = [match["first"], *match["rest"].split(", ")[1:], *([match["last"]] if match["last"] else [])]
        parts[0] = _LEAD.sub("", parts[0])
        if all(0 < len(part.split()) <= _MOST_WORDS for part in parts):
            yield parts


def _of_json(text: str) -> Iterator[list[str]]:
    found = parsed_json(text)
    for many in [found, *(found.values() if isinstance(found, dict) else [])]:
        if isinstance(many, list) and 2 <= len(many) <= MOST_ITEMS:
            yield [_leaves(one) for one in many]


def _leaves(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(str(one) for one in value.values() if isinstance(one, (str, int, float)))
    return str(value)[:200]

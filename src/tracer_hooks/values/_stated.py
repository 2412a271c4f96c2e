"""The values of an answer that it states as its answer, not those it denies, was given, or counted with."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Protocol, TypeVar

from tracer_hooks.values._text import is_denied, lazy


class _Placed(Protocol):
    """A value with its place in the text."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


_V = TypeVar("_V", bound=_Placed)

_BOXED = lazy(r"\\boxed\s?\{")
_MARKED = lazy(
    r"(?m:^\s{0,4}#{3,6}\s)|<answer>|[\"']answer[\"']\s{0,3}:"
    r"|\b(?:final|correct) (?:answer|result)\b|\b(?:answer|result)\b(?= is\b|:|\*|\s?=)"
    r"|(?<!\bin )\btotal\b(?= |:|\*|=)|\b(?:sum|solution) (?:is|=)|\bcomes to\b|\baltogether\b[,:]?|\bin total[,:]",
    re.IGNORECASE,
)
_CONCLUSION = lazy(
    r"(?:^|[.!?\n]\s{0,3}|^\s{0,4}\d{1,2}[.)]\s)(?:so|therefore|thus|hence|in conclusion|overall)\b",
    re.IGNORECASE | re.MULTILINE,
)
_TRAILING = lazy(r"\b(?:in total|altogether|in all|all together)\b", re.IGNORECASE)
_BOLD = lazy(r"\*\*[^*\n]{1,200}\*\*")
_SENTENCE_END = lazy(r"[.!?](?=\s|$)|\n|;")
_OPERATOR_BEFORE = lazy(r"[-+*/×÷−^·][ ]?[(€$£]?$|\\times\s?$|\\cdot\s?$|\b(?:times|plus|minus)\s$")
_COUNTED_WITH = lazy(r"(?:(?!\b(?:since|because|as|so)\b)[^,;:()\n=]){0,60}=(?![\s*]*$)")
_CONFIDENCE = lazy(r"\s?(?:sure|certain|confident|confidence|probability|likely)\b", re.IGNORECASE)
_OPERATOR_AFTER = lazy(r"[ ]?[)]?[ ]?(?:[+*/×÷−=^·](?!\*)|-\s|\\times|\\cdot|(?:times|plus|minus|divided by)\b)")
_BOUND = lazy(
    r"(?:\b(?:than|over|under|at least|at most|(?:max|min)imum of)|[<>≤≥]=?)\s(?:the \w{1,20} of )?$|[<>≤≥]=?$",
    re.IGNORECASE,
)
_GIVEN = lazy(
    r"\b(?:you(?:'ve| have)? (?:asked|wanted|requested|ordered|said|gave|mentioned)"
    r"|(?:task|question|user) (?:asks|asked|says|said|wants|mentions)|asked (?:me )?(?:for|about)"
    r"|at first|first thought|initially|originally|previously|wrongly|mistakenly"
    r"|(?:limit|budget) of|because|since|based on|as of|according to|which|where|out of|if)\b",
    re.IGNORECASE,
)
_DETAIL = lazy(
    r"\b(?:of|for|in|within|per|after|with|at|from|by|on|below|above|up to|taking|including|during|as)"
    r"\s(?:(?:the|a|an|only|about|these|those|all)\s)?$",
    re.IGNORECASE,
)
_ASIDE = lazy(r"\([^()\n]{0,400}\)")
_OR = lazy(r"[ ,]{1,2}or\s(?:perhaps |maybe |even )?$", re.IGNORECASE)
_start = attrgetter("start")
_CLAUSE_REACH = 120
_MOST = 50
"""The most values of one sentence that are looked at behind or before a mark."""


class Layout:
    """The sentences, asides and marks of an answer."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._asides = [match.span() for match in _ASIDE.finditer(text)]
        self._aside_starts = [start for start, _ in self._asides]
        ends = (match.end() for match in _SENTENCE_END.finditer(text))
        self._ends = [end for end in ends if not self._is_in_brackets(end - 1)]

    def sentence(self, position: int) -> tuple[int, int]:
        """From where to where the sentence goes that ``position`` is in."""
        at = bisect_right(self._ends, position)
        return self._ends[at - 1] if at else 0, self._ends[at] if at < len(self._ends) else len(self.text)

    def is_aside(self, position: int) -> bool:
        """Tell whether ``position`` is in brackets that are not the whole sentence."""
        if not self._is_in_brackets(position):
            return False
        start, end = self._asides[bisect_right(self._aside_starts, position) - 1]
        sentence = self.sentence(start)
        return len(self.text[sentence[0] : sentence[1]].strip(" .!*$\\\n")) > end - start

    def _is_in_brackets(self, position: int) -> bool:
        at = bisect_right(self._aside_starts, position) - 1
        return at >= 0 and position < self._asides[at][1]


def stated_values(text: str, values: Sequence[_V], *, one_a_sentence: bool = True) -> list[_V]:
    """Choose those of ``values`` that ``text`` states as its answer; several where it does not say which.

    Where nothing marks the answer, the last value of the first and of the last sentence are it, or, without
    ``one_a_sentence``, each value of these sentences.
    """
    layout = Layout(text)
    standing = [value for at, value in enumerate(values) if not _is_ruled_out(text, values, at)]
    if not standing:
        return []
    marked = _in_box(text, standing) or _after_marks(layout, standing) or _in_bold(text, standing)
    return marked or _at_the_edges(layout, standing, one_a_sentence)


def open_choices(text: str, values: Sequence[_V]) -> set[int]:
    """The numbers of those ``values`` that are offered as alternatives: "17 or 18"."""
    found: set[int] = set()
    for at in range(1, len(values)):
        between = text[values[at - 1].end : values[at].start]
        if len(between) <= 24 and _OR.search(between) and not _SENTENCE_END.search(between):
            found |= {at - 1, at}
    return found


def _is_ruled_out(text: str, values: Sequence[_V], at: int) -> bool:
    start = values[at].start
    before = text[max(0, start - 40) : start]
    return is_denied(text, start) or _BOUND.search(before) is not None


def _in_box(text: str, values: Sequence[_V]) -> list[_V]:
    boxes = [match.end() for match in _BOXED.finditer(text)]
    if not boxes:
        return []
    end = text.find("}", boxes[-1])
    return [value for value in values if boxes[-1] - 1 <= value.start and (end < 0 or value.start < end)][:1]


def _after_marks(layout: Layout, values: Sequence[_V]) -> list[_V]:
    """The value behind the last mark that has one: words that announce the answer, then conclusions, then "="."""
    for pattern in (_MARKED, _CONCLUSION):
        for match in reversed(list(pattern.finditer(layout.text))):
            found = _behind(layout, values, match.end())
            if found:
                return found
    for match in reversed(list(_TRAILING.finditer(layout.text))):
        found = _before(layout, values, match.start())
        if found:
            return found
    equals = layout.text.rfind("=")
    return _behind(layout, values, equals + 1) if equals >= 0 else []


def _behind(layout: Layout, values: Sequence[_V], position: int) -> list[_V]:
    end = layout.sentence(position)[1]
    if not layout.text[position:end].strip(" :*.") and end < len(layout.text):
        end = layout.sentence(_next_word(layout.text, end))[1]  # "Answer:" on a line of its own
    within = values[bisect_left(values, position, key=_start) : bisect_left(values, end, key=_start)]
    return _results(layout.text, within[:_MOST])[:1]


def _next_word(text: str, position: int) -> int:
    while position < len(text) - 1 and not text[position].isalnum():
        position += 1
    return position


def _before(layout: Layout, values: Sequence[_V], position: int) -> list[_V]:
    start = layout.sentence(position)[0]
    within = values[bisect_left(values, start, key=_start) : bisect_left(values, position, key=_start)]
    return _results(layout.text, within[-_MOST:])[-1:]


def _results(text: str, values: Iterable[_V]) -> list[_V]:
    """The values that are not counted with."""
    return [value for value in values if not _is_operand(text, value)]


def _is_operand(text: str, value: _Placed) -> bool:
    if _OPERATOR_AFTER.match(text, value.end) or _COUNTED_WITH.match(text, value.end):
        return True
    before = text[max(0, value.start - 8) : value.start]
    match = _OPERATOR_BEFORE.search(before)
    return match is not None and before[: match.start()].rstrip()[-1:] not in ("", "\n", "*", "=", ":")


def _in_bold(text: str, values: Sequence[_V]) -> list[_V]:
    spans = [match.span() for match in _BOLD.finditer(text)]
    starts = [start for start, _ in spans]
    bold = []
    for value in values:
        at = bisect_right(starts, value.start) - 1
        if at >= 0 and value.start < spans[at][1]:
            bold.append(value)
    return bold if len(bold) == 1 else []


def _at_the_edges(layout: Layout, values: Sequence[_V], one_a_sentence: bool) -> list[_V]:
    """The last value of the first and of the last sentence that have one: answers come first, or at the end."""
    main = [value for value in values if not _is_given(layout, value)]
    if one_a_sentence:
        main = [value for value in main if not _is_detail(layout, values, value)]
    main = _results(layout.text, main) or main or list(values)
    first = layout.sentence(main[0].start)
    of_first = [value for value in main if value.start < first[1]]
    if not one_a_sentence:
        last = layout.sentence(main[-1].start)[0]
        return [value for value in main if value.start < first[1] or value.start >= last]
    return list({value.start: value for value in (main[-1], of_first[-1])}.values())


def _is_given(layout: Layout, value: _Placed) -> bool:
    """Said to be part of the task, or a reason, or an aside."""
    if layout.is_aside(value.start) or _CONFIDENCE.match(layout.text, value.end):
        return True
    return _GIVEN.search(re.split(r"\bbut\b|,", _clause(layout, value))[-1]) is not None


def _clause(layout: Layout, value: _Placed) -> str:
    start = layout.sentence(value.start)[0]
    return layout.text[max(start, value.start - _CLAUSE_REACH) : value.start]


def _is_detail(layout: Layout, values: Sequence[_V], value: _V) -> bool:
    """Behind a preposition, when another value of the sentence stands before it."""
    if _DETAIL.search(_clause(layout, value)) is None:
        return False
    start = layout.sentence(value.start)[0]
    return values[bisect_left(values, start, key=_start)].start < value.start

"""Comparison of an answer with the expected one: by value where that is a value, by words where it is text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

from tracer_hooks.values._dates import DateValue, TimeValue
from tracer_hooks.values._expected import (
    Listing,
    Range,
    answered_list,
    answered_truth,
    expected_list,
    expected_moment,
    expected_number,
    expected_truth,
    is_moment,
    is_number,
    lists_in_brackets,
    moments_that_count,
    numbers_that_count,
)
from tracer_hooks.values._mentions import LONGEST_VALUE, is_choice, mentions, with_plain_numbers
from tracer_hooks.values._quantities import Quantity
from tracer_hooks.values._stated import stated_values
from tracer_hooks.values._text import asserts, bare, contains, folded, lazy

_V = TypeVar("_V", Quantity | Range, DateValue | TimeValue, "Letter")
Kind = Literal["number", "date", "yes/no", "list", "text"]

_READ = 60_000
"""Characters of a longer answer that are read for its values: a sixth from its beginning, the rest from its end."""
_SHOWN = 200
_CHOICE = lazy(r"(?<![\w'’.-])([A-Z])(?![\w'’+#-])")


class Letter(NamedTuple):
    """A choice that an answer names by its letter."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class AnswerComparison:
    """The outcome of comparing an answer with the expected one."""

    same: bool
    kind: Kind
    """As what the two were compared. Times of day are dates here."""
    expected: str
    found: str | None
    """The value that the answer states, as it is written there; None where it states none of this kind."""
    reason: str | None
    """Why they are not the same, with both values; None where they are."""


def compare_values(expected: str, answer: str) -> AnswerComparison:
    """Compare ``answer`` with the expected one.

    What ``expected`` is decides how: a number, a date or time, a yes or no, or a list is compared by value with the one
    that the answer states; everything else has to stand in the answer as whole words. The rules are listed in the guide
    "Expected answers".
    """
    wanted = expected.strip()
    if not wanted or folded(wanted) == folded(answer):
        same = folded(wanted) == folded(answer)
        return _comparison("text", same, repr(wanted), repr(_short(answer)) if answer.strip() else None)
    for compare in (_as_truth, _as_moment, _as_number, _as_list) if len(wanted) <= LONGEST_VALUE else (_as_list,):
        result = compare(wanted, answer)
        if result is not None:
            return result
    return _as_text(wanted, answer)


def _as_truth(expected: str, answer: str) -> AnswerComparison | None:
    truth = expected_truth(expected)
    if truth is None:
        return None
    said = answered_truth(answer)
    found = None if said is None else ("yes" if said else "no")
    return _comparison("yes/no", said == truth, expected, found, nothing="neither yes nor no")


def _as_moment(expected: str, answer: str) -> AnswerComparison | None:
    moment = expected_moment(expected)
    if moment is None:
        return None
    text = _read(answer)
    nothing = "no date" if moment.date else "no time"
    return _of_values(
        "date", expected, moments_that_count(moment, text), lambda found: is_moment(moment, found, text), nothing
    )


def _as_number(expected: str, answer: str) -> AnswerComparison | None:
    number = expected_number(expected)
    if number is None:
        return None
    found = numbers_that_count(number, _read(answer))
    return _of_values("number", expected, found, lambda value: is_number(number, value), "no number that counts")


def _of_values(
    kind: Kind, expected: str, found: Sequence[_V], is_expected: Callable[[_V], bool], nothing: str
) -> AnswerComparison:
    right = next((value for value in found if is_expected(value)), None)
    shown = right or (found[0] if found else None)
    return _comparison(kind, right is not None, expected, shown.text if shown else None, nothing=nothing)


def _as_list(expected: str, answer: str) -> AnswerComparison | None:
    listing = expected_list(expected)
    if listing is None:
        return None
    text = _read(answer)
    longest = max(len(item.split()) for item in listing.items)
    given = answered_list(text, longest)
    lists = [given] if given is not None else [other for other in lists_in_brackets(text) if len(other.items) > 1]
    if lists:
        same = any(_same_items(listing, other) for other in lists)
        return _comparison("list", same, repr(expected), repr(_short(", ".join(lists[-1].items))))
    missing = [item for item in listing.items if not _has_item(text, item)]
    reason = f"the answer lacks {_short(', '.join(missing))!r}" if missing else None
    return AnswerComparison(not missing, "list", expected, None, reason and f"expected {expected!r}, {reason}")


def _same_items(expected: Listing, given: Listing) -> bool:
    if len(expected.items) != len(given.items):
        return False
    if expected.is_ordered:
        return all(_same_item(*pair) for pair in zip(expected.items, given.items, strict=True))
    left = list(given.items)
    for item in expected.items:
        at = next((at for at, other in enumerate(left) if _same_item(item, other)), None)
        if at is None:
            return False
        del left[at]
    return True


def _same_item(expected: str, item: str) -> bool:
    if bare(expected) == bare(item):
        return True
    for compare in (_as_truth, _as_moment, _as_number):
        result = compare(expected, item)
        if result is not None:
            return result.same
    return contains(folded(item), bare(expected))


def _has_item(text: str, item: str) -> bool:
    if expected_moment(item) is not None or expected_number(item) is not None:
        return mentions(text, item)
    return asserts(folded(text), bare(item))


def _as_text(expected: str, answer: str) -> AnswerComparison:
    wanted, got = folded(expected), folded(answer)
    if is_choice(expected):
        return _as_choice(expected, answer)
    same = bare(expected) == bare(answer) or asserts(got, wanted) or _same_but_for_numbers(expected, answer)
    return _comparison("text", same, repr(expected), repr(_short(answer)) if got else None)


def _as_choice(expected: str, answer: str) -> AnswerComparison:
    """One capital letter is a choice: "A" as the article is none."""
    text = _read(answer)
    letters = [
        Letter(match[1], match.start(), match.end())
        for match in _CHOICE.finditer(text)
        if not (match[1] in "AI" and re.match(r"\s[a-z]", text[match.end() : match.end() + 2]))
    ]
    return _of_values("text", expected, stated_values(text, letters), lambda found: found.text == expected, "no choice")


def _same_but_for_numbers(expected: str, answer: str) -> bool:
    """Tell whether the text stands in the answer when numbers are put in one way: "costs 1000", "costs 1,000"."""
    if not any(letter.isdigit() for letter in expected) or len(answer) > _READ:
        return False
    return asserts(folded(with_plain_numbers(answer)), folded(with_plain_numbers(expected)))


def _comparison(
    kind: Kind, same: bool, expected: str, found: str | None, *, nothing: str = "nothing"
) -> AnswerComparison:
    reason = None if same else f"expected {expected}, got {nothing if found is None else found}"
    return AnswerComparison(same, kind, expected, found, reason)


def _read(answer: str) -> str:
    if len(answer) <= _READ:
        return answer
    return f"{answer[: _READ // 6]}\n{answer[-_READ * 5 // 6 :]}"


def _short(text: str) -> str:
    return " ".join(text.split())[:_SHOWN]

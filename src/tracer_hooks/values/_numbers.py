"""Whether an answer states the expected number, with or without a noun, as a range, or as an ordinal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from tracer_hooks.values._dates import dates_in
from tracer_hooks.values._patterns import lazy
from tracer_hooks.values._quantities import Quantity, quantities_in, same_quantity
from tracer_hooks.values._stated import open_choices, stated_values
from tracer_hooks.values._words import folded

_ORDINAL_WORDS = (
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
)
_ORDINAL = lazy(rf"\b(?:(\d{{1,9}})(?:st|nd|rd|th)|({'|'.join(_ORDINAL_WORDS)}))\b", re.IGNORECASE)
_WRAPPING = " \t\n\"'`*.,;:!$()[]"
_NOUN = lazy(r"(?:\s?-?[^\W\d_]{2,20}){1,2}")
_RANGE_BETWEEN = lazy(r"\s?(?:[-–—]|to|and|through|until|bis)\s?")
_CHANGE = lazy(
    r"\b(?:rose|rises|fell|grew|went|moved|changed|increased|decreased|dropped|up|down|converted) from\s$",
    re.IGNORECASE,
)
_PRONOUN_AFTER = lazy(r"\s(?:of|by|can|could|should|must|who|that|which|has|might|may|would|knows?|day|another|more)\b")
_PRONOUN_BEFORE = lazy(
    r"\b(?:no|any|every|some|which|this|that|the|each|only|another|last|first|next|right|wrong|other|good|as|for)\s$",
    re.IGNORECASE,
)


class ExpectedNumber(NamedTuple):
    """A number to look for."""

    quantity: Quantity
    noun: str = ""
    """What is counted, folded: "copies"."""
    upper: Quantity | None = None
    """The other end, when a range is expected."""
    is_ordinal: bool = False


class Range(NamedTuple):
    """Two quantities with "to" or a dash between them."""

    lower: Quantity
    upper: Quantity
    text: str
    start: int
    end: int


def expected_number(expected: str) -> ExpectedNumber | None:
    """The number that ``expected`` is, and nothing else but its unit and one noun; None where it is text."""
    ordinals = ordinals_in(expected)
    if len(ordinals) == 1 and ordinals[0].text == expected.strip():
        return ExpectedNumber(ordinals[0], is_ordinal=True)
    found = quantities_in(expected)
    ranges, _ = _ranges(expected, found)
    if len(ranges) == 1 and not _rest(expected, ranges[0].start, ranges[0].end):
        return ExpectedNumber(ranges[0].lower, upper=ranges[0].upper)
    if len(found) != 1:
        return None
    quantity = found[0]
    before, after = expected[: quantity.start], expected[quantity.end :].strip(_WRAPPING)
    if before.strip(_WRAPPING) and not quantity.is_approximate:
        return None
    if not after:
        return ExpectedNumber(replace(quantity, is_label=False))
    return ExpectedNumber(quantity, noun=folded(after)) if _NOUN.fullmatch(after) else None


def numbers_that_count(expected: ExpectedNumber, answer: str) -> Sequence[Quantity | Range]:
    """The numbers of ``answer`` that are its answer, of the kind that is expected; none where it states none."""
    found = quantities_in(answer)
    ranges, ends = _ranges(answer, found)
    if expected.upper is not None:
        return stated_values(answer, ranges)
    if expected.is_ordinal and (ordinals := ordinals_in(answer)):
        return stated_values(answer, ordinals)
    choices = open_choices(answer, found)
    singles = [
        quantity
        for at, quantity in enumerate(found)
        if at not in ends and at not in choices and not _is_pronoun(answer, quantity)
    ]
    if not all(quantity.in_words for quantity in singles):
        singles = [quantity for quantity in singles if not (quantity.in_words and quantity.value == 1)]
    singles = _of_kind(expected, singles, answer)
    if not singles and not found:
        singles = ordinals_in(answer)
    return stated_values(answer, singles)


def is_number(expected: ExpectedNumber, found: Quantity | Range) -> bool:
    """Tell whether ``found`` is the expected number."""
    if isinstance(found, Range):
        return expected.upper is not None and all(
            same_quantity(one, other)
            for one, other in ((expected.quantity, found.lower), (expected.upper, found.upper))
        )
    return same_quantity(expected.quantity, found)


def number_places(expected: ExpectedNumber, text: str) -> list[tuple[int, int]]:
    """Where the number stands in ``text``, in any role."""
    found = quantities_in(text)
    if expected.upper is not None:
        return [(one.start, one.end) for one in _ranges(text, found)[0] if is_number(expected, one)]
    everything = found + ordinals_in(text) + (_years(text) if _is_year(expected.quantity) else [])
    return [(one.start, one.end) for one in everything if same_quantity(expected.quantity, one)]


def ordinals_in(text: str) -> list[Quantity]:
    """The ordinal numbers, in digits and up to twelve in words, as 3 for "third"."""
    return [
        Quantity(
            Fraction(int(match[1]) if match[1] else _ORDINAL_WORDS.index(match[2].casefold()) + 1),
            None,
            match.group(),
            match.start(),
            match.end(),
        )
        for match in _ORDINAL.finditer(text)
    ]


def _of_kind(expected: ExpectedNumber, found: list[Quantity], answer: str) -> list[Quantity]:
    """The candidates that can be meant: years for a year, the right unit, the right noun; no labels if possible."""
    if _is_year(expected.quantity):
        years = [quantity for quantity in found if _is_year(quantity)]
        years = sorted(years + _years(answer), key=lambda quantity: quantity.start)
        if years:
            return years
    if expected.quantity.unit is not None:
        same_measure = [quantity for quantity in found if _may_be(expected.quantity, quantity)]
        found = [quantity for quantity in same_measure if quantity.unit] or same_measure or found
    if expected.noun:
        found = _with_noun(expected.noun, found, answer)
    return [quantity for quantity in found if not quantity.is_label] or found


def _may_be(expected: Quantity, found: Quantity) -> bool:
    one = replace(expected, value=Fraction(0))
    return same_quantity(one, replace(found, value=Fraction(0)))


def _with_noun(noun: str, found: list[Quantity], answer: str) -> list[Quantity]:
    stem = noun.rsplit(" ", 1)[-1].rstrip("s")
    following = {quantity.start: folded(answer[quantity.end : quantity.end + 60]) for quantity in found}
    named = [
        quantity
        for quantity in found
        if any(
            word.startswith(stem[:-1] if stem.endswith("ie") else stem)
            for word in following[quantity.start].split()[:3]
        )
    ]
    # A number that no word follows may count the same.
    return named or [quantity for quantity in found if not following[quantity.start][:1].isalpha()]


def _is_year(quantity: Quantity) -> bool:
    return quantity.text.isdigit() and len(quantity.text) == 4 and 1000 <= quantity.value <= 2199


def _years(text: str) -> list[Quantity]:
    return [
        Quantity(Fraction(date.year), None, str(date.year), date.start, date.end)
        for date in dates_in(text)
        if date.year is not None
    ]


def _is_pronoun(text: str, quantity: Quantity) -> bool:
    """Tell whether it is the word "one" and counts nothing."""
    if not quantity.in_words or quantity.value != 1 or quantity.unit is not None:
        return False
    before = text[max(0, quantity.start - 12) : quantity.start]
    return bool(_PRONOUN_BEFORE.search(before) or _PRONOUN_AFTER.match(text, quantity.end))


def _ranges(text: str, found: Sequence[Quantity]) -> tuple[list[Range], set[int]]:
    """The ranges in ``text``, and the numbers of those ``found`` that are their ends."""
    ranges: list[Range] = []
    ends: set[int] = set()
    for at in range(1, len(found)):
        lower, upper = found[at - 1], found[at]
        if at - 1 in ends or upper.start - lower.end > 10 or lower.value >= upper.value:
            continue
        joint = text[lower.end : upper.start]
        before = text[max(0, lower.start - 30) : lower.start].casefold()
        if _joins(joint, before) and not re.match(r"\s?=", text[upper.end : upper.end + 3]):
            unit = lower.unit or upper.unit
            ranges.append(
                Range(replace(lower, unit=unit), upper, text[lower.start : upper.end], lower.start, upper.end)
            )
            ends |= {at - 1, at}
    return ranges, ends


def _joins(joint: str, before: str) -> bool:
    if not _RANGE_BETWEEN.fullmatch(joint):
        return False
    if "and" in joint:
        return before.endswith("between ")
    if joint == " - ":
        return False  # a subtraction
    return _CHANGE.search(before) is None


def _rest(text: str, start: int, end: int) -> str:
    return (text[:start].casefold().replace("between", "").replace("from", "") + text[end:]).strip(_WRAPPING)

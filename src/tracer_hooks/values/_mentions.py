"""Places where a text gives a value away: in any writing that the comparison takes for it, and in any role."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from tracer_hooks.values._expected import (
    Listing,
    expected_list,
    expected_moment,
    expected_number,
    expected_truth,
    moment_places,
    number_places,
)
from tracer_hooks.values._quantities import quantities_in
from tracer_hooks.values._text import bare, contains, fold_in_place, folded, lazy, places

LONGEST_VALUE = 200
"""An expected answer that is longer is text."""

_Place = tuple[int, int]
_NEAR = 20
_BETWEEN = lazy(r"[^()\[\]{}:=\d]+")
"""The signs that may stand between two items of a list whose order counts."""
_LETTER = lazy(r"(?<![\w'’.-])([A-Za-z])(?![\w'’+#-])")
_GOES_ON = lazy(r"\s(?!(?:or|and|is)\b)\w")


def mentions(text: str, value: str) -> bool:
    """Tell whether ``text`` gives ``value`` away: it has it in any writing and in any role, denied or asserted."""
    return next(_mentioned(text, value.strip()), None) is not None


def mentions_in(text: str, value: str) -> list[_Place]:
    """Find where ``text`` gives ``value`` away, in order and without overlap; nowhere where :func:`mentions` is false.

    Of a list, it is the place of every item, and none as long as one of them is missing.
    """
    merged: list[_Place] = []
    for start, end in sorted(_mentioned(text, value.strip())):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def items_of(value: str) -> tuple[str, ...]:
    """The items of the list that ``value`` is, as the comparison of answers sees it; none where it is no list."""
    listing = _listing(value.strip())
    return listing.items if listing is not None else ()


def is_choice(value: str) -> bool:
    """Tell whether ``value`` is one capital letter: a choice, and not the word "a" or "I"."""
    return len(value) == 1 and value.isascii() and value.isupper()


def with_plain_numbers(text: str) -> str:
    """``text`` with every number put in one way: "1,000 EUR" and "1000 EUR" become the same."""
    return "".join(part for part, _ in _plain_parts(text))


def _mentioned(text: str, wanted: str) -> Iterator[_Place]:
    if not wanted:
        return
    if is_choice(wanted):
        yield from _as_choice(text, wanted)
        return
    yield from _as_words(text, folded(wanted))
    if listing := _listing(wanted):
        yield from (_in_order if listing.is_ordered else _of_all)(text, listing.items)
    elif len(wanted) > LONGEST_VALUE or expected_truth(wanted) is not None:
        return
    elif (moment := expected_moment(wanted)) is not None:
        yield from moment_places(moment, text)
    elif (number := expected_number(wanted)) is not None:
        yield from number_places(number, text)
    else:
        yield from _as_words(text, bare(wanted))
        yield from _but_for_numbers(text, wanted)


def _listing(wanted: str) -> Listing | None:
    if len(wanted) <= LONGEST_VALUE and (
        expected_truth(wanted) is not None or expected_moment(wanted) or expected_number(wanted)
    ):
        return None
    return expected_list(wanted)


def _as_choice(text: str, letter: str) -> Iterator[_Place]:
    for match in _LETTER.finditer(text):
        if match[1].upper() == letter and not (letter in "AI" and _GOES_ON.match(text, match.end())):
            yield match.span()


def _as_words(text: str, words: str) -> Iterator[_Place]:
    """The places of folded ``words``; the map back into ``text`` is drawn only where there are any."""
    if not contains(folded(text), words):
        return
    plain, origins = fold_in_place([(text, None)])
    for at in places(plain, words):
        yield origins[at][0], origins[at + len(words) - 1][1]


def _of_all(text: str, items: tuple[str, ...]) -> Iterator[_Place]:
    found = []
    for item in items:
        of_item = mentions_in(text, item)
        if not of_item:
            return
        found += of_item
    yield from found


def _in_order(text: str, items: tuple[str, ...]) -> Iterator[_Place]:
    """The items one right after the other, as in ``[1, 2]``: the same ones in another order are another list."""
    rows = [[place] for place in mentions_in(text, items[0])]
    for item in items[1:]:
        if not rows:
            return
        # One row for each place that it ends at: there are many where an item comes again and again.
        ends = [row[-1][1] for row in rows]
        longer = []
        for place in mentions_in(text, item):
            near = range(bisect_left(ends, place[0] - _NEAR), bisect_left(ends, place[0]))
            at = next((at for at in near if _BETWEEN.fullmatch(text, ends[at], place[0])), None)
            if at is not None:
                longer.append([*rows[at], place])
        rows = longer
    for row in rows:
        yield from row


def _but_for_numbers(text: str, wanted: str) -> Iterator[_Place]:
    """The text with its numbers in another writing: "costs 1,000 EUR" for "costs 1000 EUR"."""
    if not any(letter.isdigit() for letter in wanted):
        return
    words = folded(with_plain_numbers(wanted))
    plain, origins = fold_in_place(_plain_parts(text))
    for at in places(plain, words):
        yield origins[at][0], origins[at + len(words) - 1][1]


def _plain_parts(text: str) -> list[tuple[str, _Place | None]]:
    """``text`` in parts: numbers put in one way, each with its place, and what stands between them."""
    parts: list[tuple[str, _Place | None]] = []
    at = 0
    for quantity in quantities_in(text):
        parts.append((text[at : quantity.start], None))
        parts.append((f"{quantity.value} {quantity.unit or ''}".strip(), (quantity.start, quantity.end)))
        at = quantity.end
    return [*parts, (text[at:], None)]

"""Tables and lists: totals below their columns and lines, and rows whose last cell is a product."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from tracer_hooks.values._calculation import Calculation, agrees, is_plausible, product_of, sum_of, summed
from tracer_hooks.values._quantities import Quantity

_TOTAL = re.compile(
    r"\b(?:grand total|total|sum|altogether|in all|overall|gross|gesamt|summe|brutto|amount due|to pay|balance due)\b",
    re.IGNORECASE,
)
_PARTIAL = re.compile(
    r"\b(?:sub-?total|subtotal|so far|carried|net|netto|zwischensumme|average|mean|median)\b", re.IGNORECASE
)
_TAKEN_OFF = re.compile(
    r"\b(?:discount|voucher|less|minus|credit|deposit|paid|refund|rebate|rabatt|deduct\w*|coupon)\b", re.IGNORECASE
)
_PRODUCT = re.compile(r"\b(?:total|amount|cost|sum|subtotal|price|pay|value|summe|betrag|preis)\b", re.IGNORECASE)
_COUNTED = re.compile(
    r"\b(?:qty|quantity|count|pieces|pcs|number|hours|nights|loads|units|days|h|menge|anzahl)\b", re.IGNORECASE
)
_PRICE = re.compile(r"\b(?:price|rate|each|cost|per|preis)\b", re.IGNORECASE)
_NO_SUM = re.compile(
    r"\b(?:avg|average|mean|rate|price|per|each|score|rating|age|year|id|no|rank|unit|share|ratio|level"
    r"|cumulative|max|min"
    r"|median|growth|change|speed|temp\w*)\b|%|#|/",
    re.IGNORECASE,
)
_RULE = re.compile(r"[\s|:+=-]+")
_MOST_ROWS = 60
# A list may leave out what its total has: of one whose last line says more than "total" little is known.
_NAMED_TOTAL = re.compile(
    r"\W*(?:grand |overall |sum )?(?:total|sum|altogether|in all|gross|gesamt|summe|brutto|to pay|amount due"
    r"|balance due)"
    r"(?P<of> (?:cost|costs|price|amount|expenses|hours|time|weight|distance|sum|minutes))?"
    r"(?: is| comes to)?\W*",
    re.IGNORECASE,
)
_UNSURE = re.compile(
    r"\b(?:each|per|apiece|pro|every|optional|excluded|not included|or|about|if|max\w*|up to)\b|/|~|≈|\?", re.IGNORECASE
)
_MULTIPLIED = re.compile(r"[×*@]|\bx\b|\dx\d|\b(?:at|à|je|times|mal)\b", re.IGNORECASE)
_RESULT = re.compile(r"[=:→]\s*$")
_LONGEST = 120


class _Row(NamedTuple):
    label: str
    cells: tuple[Quantity | None, ...]
    """The number of each cell that holds just one."""


def table_totals(text: str, quantities: Sequence[Quantity]) -> Iterator[Calculation]:
    """Every total and every product in a table of ``text``, which is without mark-up and has these ``quantities``."""
    if text.count("|") < 4:
        return
    starts = [quantity.start for quantity in quantities]
    lines: list[tuple[int, str]] = []
    place = 0
    for line in [*text.split("\n"), ""]:
        if line.count("|") >= 2:
            lines.append((place, line))
        elif lines:
            heading, rows = _table(lines[:_MOST_ROWS], quantities, starts)
            yield from _products(heading, rows)
            yield from _column_totals(heading, rows)
            lines = []
        place += len(line) + 1


def _table(
    lines: Sequence[tuple[int, str]], quantities: Sequence[Quantity], starts: Sequence[int]
) -> tuple[list[str], list[_Row]]:
    """The heading and the rows of one table."""
    heading: list[str] = []
    rows: list[_Row] = []
    for number, (place, line) in enumerate(lines):
        if _RULE.fullmatch(line):
            continue
        row = _row(place, line, quantities, starts)
        following = lines[number + 1][1] if number + 1 < len(lines) else ""
        if number == 0 and following and (_RULE.fullmatch(following) or not any(row.cells)):
            heading = [cell.strip() for cell in line.split("|")]
        else:
            rows.append(row)
    return heading, rows


def _row(place: int, line: str, quantities: Sequence[Quantity], starts: Sequence[int]) -> _Row:
    cells: list[Quantity | None] = []
    label = ""
    for cell in line.split("|"):
        inside = quantities[bisect_left(starts, place) : bisect_left(starts, place + len(cell))]
        number = inside[0] if len(inside) == 1 and not (inside[0].is_label or inside[0].in_words) else None
        if number is not None and re.search(r"[A-Za-z]{2,}.*[A-Za-z]{2,}", cell.replace(number.text, "")):
            number = None
        is_name = not label and re.match(r"\s*\D*[A-Za-z]", cell) is not None
        cells.append(None if is_name else number)
        label = label or cell.strip()
        place += len(cell) + 1
    return _Row(label, tuple(cells))


def _name(heading: Sequence[str], column: int) -> str:
    return heading[column] if column < len(heading) else ""


def _column(rows: Sequence[_Row], column: int) -> list[Quantity] | None:
    """The numbers of a column; None where a row has none in it."""
    cells = [row.cells[column] if column < len(row.cells) else None for row in rows]
    numbers = [cell for cell in cells if cell is not None]
    return numbers if len(numbers) == len(cells) else None


def _products(heading: Sequence[str], rows: Sequence[_Row]) -> Iterator[Calculation]:
    """Rows "price | count | total", where the heading says that the last column is the product."""
    rows = [row for row in rows if _TOTAL.search(row.label) is None]
    width = min((len(row.cells) for row in rows), default=0)
    columns = [column for column in range(width) if _column(rows, column) is not None]
    if len(columns) < 3:
        return
    title = " ".join(heading)
    if not (_COUNTED.search(title) and _PRICE.search(title)) and _PRODUCT.search(_name(heading, columns[-1])) is None:
        return
    triples = zip(*(_column(rows, column) or () for column in columns[-3:]), strict=True)
    found = [product_of(first, second, stated) for first, second, stated in triples]
    wrong = sum(not product.holds for product in found)
    is_sure = len(found) - wrong >= (1 if len(found) < 3 else 2)
    if wrong <= 1 or (is_sure and wrong * 3 <= len(found) + 1):
        yield from found


def _column_totals(heading: Sequence[str], rows: Sequence[_Row]) -> Iterator[Calculation]:
    """Each column above a row of totals."""
    above: list[_Row] = []
    for row in rows:
        if _PARTIAL.search(row.label):
            continue
        if _TOTAL.search(row.label) is None:
            above.append(row)
            continue
        numbered = [column for column, cell in enumerate(row.cells) if cell is not None]
        for column in numbered if len(above) >= 2 else ():
            name, is_last = _name(heading, column), column == numbered[-1]
            is_no_sum = _NO_SUM.search(name) and not (is_last and _PRODUCT.search(name))
            terms, stated = _column(above, column), row.cells[column]
            if not is_no_sum and (is_last or heading) and terms is not None and stated is not None:
                yield from _column_total([each.label for each in above], terms, stated)
        above = []


def _column_total(labels: Sequence[str], terms: Sequence[Quantity], stated: Quantity) -> Iterator[Calculation]:
    if any(term.unit != stated.unit for term in terms):
        return
    signs = [
        -1 if _TAKEN_OFF.search(label) and term.value > 0 else 1 for label, term in zip(labels, terms, strict=True)
    ]
    # A rounded share may miss a hundred by the rounding of each.
    room = Fraction(len(terms), 2) if stated.unit == "%" else Fraction(0)
    sums = (summed(terms, signs), summed(terms, [1] * len(terms)))
    holds = any(agrees(total, stated, terms) or abs(total - stated.value) <= room for total in sums)
    yield sum_of(terms, signs, stated, holds=holds)


class _Line(NamedTuple):
    label: str
    text: str
    amounts: Sequence[Quantity]


def listed_totals(text: str, quantities: Sequence[Quantity]) -> Iterator[Calculation]:
    """Every total of a list in ``text`` with one amount a line; ``text`` is without mark-up."""
    for block in _blocks(text, quantities) if "\n" in text else ():
        above: list[_Line] = []
        for line in block:
            named = _NAMED_TOTAL.fullmatch(line.label)
            is_partial = _PARTIAL.search(line.label) is not None
            if named is not None and not is_partial and len(line.amounts) == 1:
                if len(above) >= 2:
                    yield from _list_total(above, line.amounts[0], is_bare=named["of"] is None)
                above = []
            elif not is_partial or not above:
                above.append(line)


def _blocks(text: str, quantities: Sequence[Quantity]) -> Iterator[list[_Line]]:
    """Stretches of lines that each have a label and an amount, with at most one blank line between two."""
    starts = [quantity.start for quantity in quantities]
    block: list[_Line] = []
    place, blanks = 0, 0
    for row in [*text.split("\n"), "", ""]:
        inside = quantities[bisect_left(starts, place) : bisect_left(starts, place + len(row))]
        amounts = [quantity for quantity in inside if not (quantity.is_label or quantity.in_words)]
        blanks = 0 if row.strip() else blanks + 1
        if 1 <= len(amounts) <= 5 and len(row) <= _LONGEST and row.count("|") < 2:
            block.append(_Line(row[: amounts[0].start - place], row, amounts))
        elif block and blanks != 1:
            yield block[:_MOST_ROWS]
            block = []
        place += len(row) + 1


def _list_total(above: Sequence[_Line], stated: Quantity, *, is_bare: bool) -> Iterator[Calculation]:
    found = [_amount(line, stated) for line in above]
    terms = [amount for amount in found if amount is not None]
    if len(terms) < len(found):
        return
    plain = [1] * len(terms)
    signs = [1, *(-1 if _TAKEN_OFF.search(line.label) else 1 for line in above[1:])]
    signs = [abs(sign) if term.value < 0 else sign for sign, term in zip(signs, terms, strict=True)]
    # What stands first may be no item: a budget, a number of people.
    sums = [summed(terms[place:], chosen[place:]) for chosen in (signs, plain) for place in range(len(terms) - 1)]
    holds = any(agrees(total, stated, terms) for total in sums)
    is_unsure = any(_UNSURE.search(line.text) for line in above) or _TAKEN_OFF.search(above[0].label) is not None
    is_unsure = is_unsure or not is_plausible(sums[0], stated) or (not is_bare and stated.unit is None)
    if holds or not is_unsure:
        yield sum_of(terms, signs, stated, holds=holds)


def _amount(line: _Line, stated: Quantity) -> Quantity | None:
    """The amount of a line that counts; None where more than one may be meant."""
    amounts = [amount for amount in line.amounts if amount.unit != "%" or stated.unit == "%"]
    if len(amounts) == 1:
        return amounts[0] if amounts[0].unit == stated.unit else None
    last = line.amounts[-1]
    place = last.start - line.amounts[0].start + len(line.label)
    if last.unit == stated.unit and _RESULT.search(line.text[:place]):
        return last
    if _MULTIPLIED.search(line.text, len(line.label), place + last.end - last.start) is not None:
        return None  # "2 × 3 EUR" is 6
    same = [amount for amount in amounts if amount.unit == stated.unit]
    return same[0] if len(same) == 1 and stated.unit is not None else None

"""Tables and lists with their totals: columns and lists whose sum, and rows whose last cell does not come out."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from tracer_hooks.values._calculation import Calculation, agrees, is_plausible, product_of, sum_of, summed
from tracer_hooks.values._quantities import Quantity

TOTAL = re.compile(
    r"\b(?:grand total|total|sum|altogether|in all|overall|gross|gesamt|summe|brutto|amount due|to pay|balance due)\b",
    re.IGNORECASE,
)
PARTIAL = re.compile(
    r"\b(?:sub-?total|subtotal|so far|carried|net|netto|zwischensumme|average|mean|median)\b", re.IGNORECASE
)
TAKEN_OFF = re.compile(
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


class _Row(NamedTuple):
    label: str
    cells: tuple[Quantity | None, ...]
    """The number of each cell that holds just one."""


def table_totals(text: str, quantities: Sequence[Quantity]) -> Iterator[Calculation]:
    """Every total and every product in a table.

    Args:
        text: Without mark-up.
        quantities: Those of ``text``, in order.
    """
    if text.count("|") < 4:
        return
    for heading, rows in _tables(text, quantities):
        yield from _along_rows(heading, rows)
        yield from _down_columns(heading, rows)


def _tables(text: str, quantities: Sequence[Quantity]) -> Iterator[tuple[list[str], list[_Row]]]:
    """The headings and the rows of each table."""
    starts = [quantity.start for quantity in quantities]
    lines: list[tuple[int, str]] = []
    place = 0
    for line in [*text.split("\n"), ""]:
        if line.count("|") >= 2:
            lines.append((place, line))
        elif lines:
            yield _table(lines[:_MOST_ROWS], quantities, starts)
            lines = []
        place += len(line) + 1


def _table(
    lines: Sequence[tuple[int, str]], quantities: Sequence[Quantity], starts: Sequence[int]
) -> tuple[list[str], list[_Row]]:
    heading: list[str] = []
    rows: list[_Row] = []
    for number, (place, line) in enumerate(lines):
        following = lines[number + 1][1] if number + 1 < len(lines) else ""
        if _RULE.fullmatch(line):
            continue
        row = _row(place, line, quantities, starts)
        is_heading = number == 0 and (_RULE.fullmatch(following) or not any(row.cells))
        if is_heading and following:
            heading = [cell.strip() for cell in line.split("|")]
        else:
            rows.append(row)
    return heading, rows


def _row(place: int, line: str, quantities: Sequence[Quantity], starts: Sequence[int]) -> _Row:
    cells: list[Quantity | None] = []
    label = ""
    for cell in line.split("|"):
        inside = quantities[bisect_left(starts, place) : bisect_left(starts, place + len(cell))]
        is_number = len(inside) == 1 and not inside[0].is_label and not inside[0].in_words
        is_number = (
            is_number and not re.search(r"[A-Za-z]{2,}.*[A-Za-z]{2,}", cell.replace(inside[0].text, ""))
            if inside
            else False
        )
        cells.append(inside[0] if is_number and not (not label and re.match(r"\s*\D*[A-Za-z]", cell)) else None)
        if not label and cell.strip():
            label = cell.strip()
        place += len(cell) + 1
    return _Row(label, tuple(cells))


def _name(heading: Sequence[str], column: int) -> str:
    return heading[column] if column < len(heading) else ""


def _columns(rows: Sequence[_Row]) -> list[int]:
    """The columns in which every row has a number."""
    width = min((len(row.cells) for row in rows), default=0)
    return [column for column in range(width) if all(row.cells[column] is not None for row in rows)]


def _along_rows(heading: Sequence[str], rows: Sequence[_Row]) -> Iterator[Calculation]:
    """Rows "price | count | total", where the heading says that the last column is the product."""
    body = [row for row in rows if TOTAL.search(row.label) is None]
    columns = _columns(body)
    if len(columns) < 3:
        return
    *_, first, second, last = columns
    title = " ".join(heading)
    if not (_COUNTED.search(title) and _PRICE.search(title)) and _PRODUCT.search(_name(heading, last)) is None:
        return
    found = [_product(row, first, second, last) for row in body]
    wrong = sum(not product.holds for product in found)
    is_sure = len(found) - wrong >= (1 if len(found) < 3 else 2)
    if wrong <= 1 or (is_sure and wrong * 3 <= len(found) + 1):
        yield from found


def _cell(row: _Row, column: int) -> Quantity:
    quantity = row.cells[column]
    assert quantity is not None
    return quantity


def _product(row: _Row, first: int, second: int, last: int) -> Calculation:
    one, other, stated = _cell(row, first), _cell(row, second), _cell(row, last)
    return product_of(one, other, stated, holds=agrees(one.value * other.value, stated, (one, other)))


def _down_columns(heading: Sequence[str], rows: Sequence[_Row]) -> Iterator[Calculation]:
    """Each column above a row of totals."""
    above: list[_Row] = []
    for row in rows:
        if TOTAL.search(row.label) is None or PARTIAL.search(row.label):
            if PARTIAL.search(row.label) is None:
                above.append(row)
            continue
        if len(above) >= 2:
            yield from _sums(heading, above, row)
        above = []


def _sums(heading: Sequence[str], above: Sequence[_Row], total: _Row) -> Iterator[Calculation]:
    numbered = [column for column, cell in enumerate(total.cells) if cell is not None]
    found: list[Calculation] = []
    for column in numbered:
        is_last = column == numbered[-1]
        if (_NO_SUM.search(_name(heading, column)) and not (is_last and _PRODUCT.search(_name(heading, column)))) or (
            not is_last and not heading
        ):
            continue
        one = _column_sum(above, total, column)
        if one is not None:
            found.append(one)
    yield from found


def _column_sum(above: Sequence[_Row], total: _Row, column: int) -> Calculation | None:
    if any(len(row.cells) <= column or row.cells[column] is None for row in above):
        return None
    terms = [_cell(row, column) for row in above]
    stated = _cell(total, column)
    if any(one.unit != stated.unit for one in terms):
        return None
    signs = [
        -1 if TAKEN_OFF.search(row.label) and row.cells[column] is not None and _cell(row, column).value > 0 else 1
        for row in above
    ]
    sums = {summed(terms, signs), summed(terms, [1] * len(terms))}
    # A rounded share may miss a hundred by the rounding of each.
    room = Fraction(len(terms), 2) if stated.unit == "%" else Fraction(0)
    holds = any(agrees(one, stated, terms) or abs(one - stated.value) <= room for one in sums)
    return sum_of(terms, signs, stated, holds=holds)


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
_MOST_LINES, _LONGEST = 60, 120


class _Line(NamedTuple):
    label: str
    text: str
    amounts: Sequence[Quantity]


def listed_totals(text: str, quantities: Sequence[Quantity]) -> Iterator[Calculation]:
    """Every total of a list with one amount a line.

    Args:
        text: Without mark-up.
        quantities: Those of ``text``, in order.
    """
    if "\n" not in text:
        return
    for block in _blocks(text, quantities):
        above: list[_Line] = []
        for line in block:
            named = _NAMED_TOTAL.fullmatch(line.label)
            if named is None or PARTIAL.search(line.label) or len(line.amounts) != 1:
                if PARTIAL.search(line.label) is None or not above:
                    above.append(line)
                continue
            if len(above) >= 2:
                yield from _sum_above(above, line.amounts[0], is_bare=named["of"] is None)
            above = []


def _blocks(text: str, quantities: Sequence[Quantity]) -> Iterator[list[_Line]]:
    """Stretches of lines that each have a label and an amount, with at most one blank line between two."""
    starts = [quantity.start for quantity in quantities]
    block: list[_Line] = []
    place, blanks = 0, 0
    for row in text.split("\n"):
        here, place = place, place + len(row) + 1
        inside = quantities[bisect_left(starts, here) : bisect_left(starts, here + len(row))]
        amounts = [one for one in inside if not one.is_label and not one.in_words]
        blanks = blanks + 1 if not row.strip() else 0
        if block and blanks == 1:
            continue
        if 1 <= len(amounts) <= 5 and len(row) <= _LONGEST and row.count("|") < 2:
            if len(block) < _MOST_LINES:
                block.append(_Line(row[: amounts[0].start - here], row, amounts))
        elif block:
            yield block
            block = []
    if block:
        yield block


def _sum_above(above: Sequence[_Line], stated: Quantity, *, is_bare: bool) -> Iterator[Calculation]:
    terms = [_amount(line, stated) for line in above]
    known = [term for term in terms if term is not None]
    if len(known) < len(terms):
        return
    signs = [
        -1 if place and TAKEN_OFF.search(line.label) and term.value > 0 else 1
        for place, (line, term) in enumerate(zip(above, known, strict=True))
    ]
    plain = [1] * len(signs)
    # What stands first may be no item: a budget, a number of people.
    sums = [summed(known[place:], chosen[place:]) for chosen in (signs, plain) for place in range(len(known) - 1)]
    holds = any(agrees(one, stated, known) for one in sums)
    if not holds:
        is_unsure = any(_UNSURE.search(line.text) for line in above) or any(
            TAKEN_OFF.search(line.label) for line in above[:1]
        )
        if is_unsure or not is_plausible(sums[0], stated) or (not is_bare and stated.unit is None):
            return
    yield sum_of(known, signs, stated, holds=holds)


def _amount(line: _Line, stated: Quantity) -> Quantity | None:
    """The amount of a line that counts; None where more than one may be meant."""
    amounts = [one for one in line.amounts if one.unit != "%"] if stated.unit != "%" else list(line.amounts)
    if len(amounts) == 1:
        return amounts[0] if amounts[0].unit == stated.unit else None
    last = line.amounts[-1]
    base = line.amounts[0].start - len(line.label)
    before = line.text[: last.start - base]
    if last.unit == stated.unit and _RESULT.search(before):
        return last
    if _MULTIPLIED.search(line.text, len(line.label), last.end - base) is not None:
        return None  # "2 × 3 EUR" is 6
    same = [one for one in amounts if one.unit == stated.unit]
    return same[0] if len(same) == 1 and stated.unit is not None else None

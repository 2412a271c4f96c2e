"""Records with a total: ``{"items": [{"qty": 12, "unit_price": 1.5, "amount": 18.0}], "total": 18.0}``."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from tracer_hooks.values._agreement import agrees
from tracer_hooks.values._calculation import Calculation
from tracer_hooks.values._quantities import Quantity
from tracer_hooks.values._totals import is_plausible, product_of, sum_of, summed

_TOTAL_KEY = r"\"(?:grand_?)?(?:total|sum)(?:_?(?:cost|amount|price|hours|sum|eur|usd))?\""
_NUMBERS = re.compile(
    r"\"(?P<key>[\w ]{1,30})\"\s*:\s*\[(?P<items>[-\d.,\s]{3,400})\](?P<between>[^\[\]{}]{0,200}?)"
    rf"{_TOTAL_KEY}\s*:\s*(?P<total>-?\d)",
    re.IGNORECASE,
)
_NO_AMOUNTS = re.compile(r"(?:id|year|page|rank|code|index|indices|version)s?$", re.IGNORECASE)
_FURTHER = re.compile(
    r"\"\w*(?:tax|vat|discount|shipping|fee|tip|surcharge|deposit|rebate|net|gross)\w*\"", re.IGNORECASE
)
_PRICED = re.compile(
    r"\"(?:qty|quantity|count|pieces|hours|nights|units)\"\s*:\s*[\d.]+[^{}]{0,80}?\"\w{0,8}(?:price|rate"
    r"|cost)\"\s*:\s*[\d.]+"
    r"[^{}]{0,80}?\"(?:amount|total|subtotal|line_total|sum)\"\s*:\s*[\d.]+",
    re.IGNORECASE,
)
_OBJECTS = re.compile(
    rf"\}}\s{{0,40}}\]\s{{0,40}}(?P<between>,[^\[\]{{}}]{{0,200}}?){_TOTAL_KEY}\s{{0,5}}:\s{{0,5}}(?P<total>-?\d)",
    re.IGNORECASE,
)
_AMOUNT = re.compile(
    r"\"(?P<key>amount|line_?total|subtotal|total|cost|sum|hours|minutes|price|value|eur|usd)\"\s{0,5}:\s{0,5}(?=-?\d)",
    re.IGNORECASE,
)
_COUNT = re.compile(r"\"(?:qty|quantity|count|pieces|nights|units|number)\"", re.IGNORECASE)
_PAGED = re.compile(r"\"(?:page|limit|offset|count|per_page|has_more|next|size|cursor|total_pages)\"", re.IGNORECASE)
_LONGEST = 4_000


def record_totals(text: str, quantities: Sequence[Quantity]) -> Iterator[Calculation]:
    """Every total and product in a record.

    Args:
        text: Without mark-up.
        quantities: Those of ``text``, in order.
    """
    if '"' not in text:
        return
    starts = [quantity.start for quantity in quantities]
    for match in _NUMBERS.finditer(text):
        if _NO_AMOUNTS.search(match["key"]) or _PAGED.search(match["between"]):
            continue
        terms = quantities[bisect_left(starts, match.start("items")) : bisect_left(starts, match.end("items"))]
        yield from _total(terms, quantities[bisect_left(starts, match.start("total")) :][:1])
    for match in _PRICED.finditer(text):
        found = quantities[bisect_left(starts, match.start()) : bisect_left(starts, match.end())]
        if len(found) == 3:
            one, other, stated = found
            holds = agrees(one.value * other.value, stated, (one, other))
            if holds or _FURTHER.search(_object_around(text, match)) is None:
                yield product_of(one, other, stated, holds=holds)
    for match in _OBJECTS.finditer(text):
        yield from _of_objects(text, match, quantities, starts)


def _object_around(text: str, match: re.Match[str]) -> str:
    begin, end = text.rfind("{", 0, match.start()), text.find("}", match.end())
    return text[max(0, begin, match.start() - _LONGEST) : min(end if end >= 0 else len(text), match.end() + _LONGEST)]


def _of_objects(
    text: str, match: re.Match[str], quantities: Sequence[Quantity], starts: Sequence[int]
) -> Iterator[Calculation]:
    """The total of what a list of objects holds under one key."""
    opening = text.rfind("[", max(0, match.start() - _LONGEST), match.start())
    around = match["between"] + text[match.end() : match.end() + 80]
    if opening < 0 or re.search(r"\d", match["between"]) or _PAGED.search(around):
        return
    array = text[opening : match.start() + 1]
    count = array.count("{")
    keys: dict[str, list[int]] = {}
    for found in _AMOUNT.finditer(array):
        keys.setdefault(found["key"].casefold(), []).append(opening + found.end())
    complete = [key for key, places in keys.items() if len(places) == count]
    priced = "price" in complete and _COUNT.search(array)
    complete = [key for key in complete if not (key in ("price", "cost") and _COUNT.search(array))]
    if count < 2 or len(complete) != 1 or (priced and not complete):
        return
    terms = [one for place in keys[complete[0]] for one in quantities[bisect_left(starts, place) :][:1]]
    yield from _total(terms, quantities[bisect_left(starts, match.start("total")) :][:1])


def _total(terms: Sequence[Quantity], total: Sequence[Quantity]) -> Iterator[Calculation]:
    if len(terms) < 2 or not total:
        return
    signs = [1] * len(terms)
    value = summed(terms, signs)
    holds = agrees(value, total[0], terms)
    if holds or is_plausible(value, total[0]):
        yield sum_of(terms, signs, total[0], holds=holds)

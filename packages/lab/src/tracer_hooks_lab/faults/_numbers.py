"""Numbers in a text: found with their format, changed to near ones, and replaced throughout."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain, count
from random import Random

_NUMBER = re.compile(
    r"(?<![\w.])(?<!\d,)[-\N{MINUS SIGN}]?(?:\d{1,3}(?:,\d{3}){1,9}|\d{1,30})(?:\.\d{1,30})?(?![\d_]|,\d{3}|\.\d)"
)
FENCE = re.compile(r"```[^\n]*\n.*?(?:```|\Z)", re.DOTALL)
"""A block of code, or of anything else that is to stay as it is."""
_ORDINAL_AFTER = re.compile(r"[.):](?:\s|\*)")
_OPERATOR_AFTER = re.compile(r"[=+*/{}\\^\N{MULTIPLICATION SIGN}-]|x\b")
_SUBTRACTION_BEFORE = re.compile(r"[\w)\]}]\s*$")


@dataclass(frozen=True)
class Number:
    """A number as it stands in a text."""

    start: int
    """Where it begins."""
    text: str
    """How it is written."""

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.start + len(self.text)

    @property
    def value(self) -> Decimal:
        """What it is."""
        return value_of(self.text)


def value_of(text: str) -> Decimal:
    """The value of a number as it is written."""
    return Decimal(text.replace(",", "").replace("\N{MINUS SIGN}", "-"))


def numbers_in(text: str) -> list[Number]:
    """The numbers of a text in order, fenced code and those that only count lines or steps left out."""
    found: list[Number] = []
    fences = [match.span() for match in FENCE.finditer(text)]
    for match in _NUMBER.finditer(text):
        start, written = match.start(), match.group()
        if written[0] in "-\N{MINUS SIGN}" and _SUBTRACTION_BEFORE.search(text[:start]):
            start, written = start + 1, written[1:]  # a minus between two operands is no sign
        is_code = any(begin <= start < end for begin, end in fences)
        if (
            not is_code
            and not _in_a_date(text, start, start + len(written))
            and not _only_counts(text, start, start + len(written))
        ):
            found.append(Number(start, written))
    return found


def values_in(texts: Iterable[str]) -> set[Decimal]:
    """The values of all numbers in several texts."""
    return {number.value for text in texts for number in numbers_in(text)}


def near(written: str, rng: Random, *, avoid: Iterable[Decimal] = ()) -> str:
    """A number near ``written`` and in its format, other than it and than those of ``avoid``."""
    sign, digits = ("-", written[1:]) if written[0] in "-\N{MINUS SIGN}" else ("", written)
    places = len(digits.partition(".")[2])
    scaled = int(digits.replace(",", "").replace(".", ""))
    taken = {value_of(written), *avoid}
    choices = [n for n in _near_integers(scaled, places) if n > 0]
    rng.shuffle(choices)
    written_alike = (
        sign + written_like(digits, Decimal(choice).scaleb(-places)) for choice in chain(choices, count(scaled + 1))
    )
    return next(changed for changed in written_alike if value_of(changed) not in taken)


def written_like(pattern: str, value: Decimal) -> str:
    """``value`` with as many decimals, and with separators of thousands, as ``pattern`` has."""
    places = len(pattern.partition(".")[2])
    return f"{value:,.{places}f}" if "," in pattern else f"{value:.{places}f}"


def replace_value(text: str, old: Decimal, new: str) -> str:
    """``text`` with every number of value ``old`` written as ``new``."""
    changed = text
    for number in reversed(numbers_in(text)):
        if number.value == old:
            changed = changed[: number.start] + new + changed[number.end :]
    return changed


def in_a_sum(text: str, number: Number) -> bool:
    """Whether the number is part of a formula or an identifier: an operator, a brace or a ``#`` stands beside it."""
    before, after = text[: number.start].rstrip(), text[number.end :].lstrip()
    return bool(re.search(r"[=+*/#{}\\^\N{MULTIPLICATION SIGN}-]$|\bx$", before) or _OPERATOR_AFTER.match(after))


def replace_at(text: str, number: Number, new: str) -> str:
    """``text`` with this one number written as ``new``."""
    return text[: number.start] + new + text[number.end :]


def _in_a_date(text: str, start: int, end: int) -> bool:
    return re.match(r"-\d", text[end:]) is not None or re.search(r"\d-$", text[:start]) is not None


def _only_counts(text: str, start: int, end: int) -> bool:
    before = text[max(0, start - 12) : start]
    if re.search(r"(?i)(?:\b(?:step|part|item|section|phase)|#)\s*$", before):
        return True
    starts_line = re.search(r"(?:^|\n)[ \t>*#-]*$", text[:start]) is not None
    return starts_line and _ORDINAL_AFTER.match(text, end) is not None and end - start <= 2


def _near_integers(value: int, places: int) -> list[int]:
    unit = 10**places
    if value < 10 * unit:
        return [value + unit, value - unit, value + 2 * unit]
    whole = [value + unit, value - unit, value + 2 * unit, value + 10 * unit, value - 10 * unit, value - 2 * unit]
    digits = str(value)
    swapped = [
        int(digits[:i] + digits[i + 1] + digits[i] + digits[i + 2 :])
        for i in range(len(digits) - 1)
        if digits[i] != digits[i + 1] and not (i == 0 and digits[1] == "0")
    ]
    return [*whole, *swapped]

"""Numbers as they are written: digits with separators, number words, and the sign, power and unit around them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import NamedTuple

from tracer_hooks.values._text import lazy
from tracer_hooks.values._units import currency_named, unit_named

MAX_DIGITS = 40
"""Longer rows of digits are ids, hashes or noise."""
_ONE_GROUP = lazy(r"[1-9]\d{0,2}[.,]\d{3}")
_GROUPED_COMMA = lazy(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?")
_GROUPED_DOT = lazy(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?")
_GROUPED_OTHER = lazy(r"\d{1,3}(?:[ \u00a0\u2009\u202f'’]\d{3})+(?:[.,]\d+)?")


class Digits(NamedTuple):
    """A number as its digits say it: without sign, unit and power."""

    value: Fraction
    decimals: int
    is_fraction: bool = False
    """Written as numerator and denominator."""


def style_of(rows: Iterable[str]) -> str | None:
    """The sign that the rows of digits of one text have before the decimals; None where none of them says it."""
    commas = False
    for row in rows:
        sign = _decimal_sign(row)
        if sign == ".":
            return sign
        commas = commas or sign == ","
    return "," if commas else None


def read_digits(row: str, style: str | None, *, is_money: bool = False) -> Digits | None:
    """The value of a row of digits with its separators; None for what is no number: ``1.2.3``, ``1,2,3``.

    Without a style, ``1,234`` is a thousand and ``1.234`` is not, unless it is money.
    """
    if len(row) > 2 * MAX_DIGITS:
        return None
    if row.isdigit():
        return Digits(Fraction(int(row)), 0)
    sign = _decimal_sign(row)
    if sign is None and is_one_group(row):
        # A thousand, or one and a bit.
        decimal_sign = style or ("" if is_money else ".")
        sign = decimal_sign if decimal_sign in row else ""
    if sign is None:
        return None
    whole, _, decimals = row.rpartition(sign) if sign else (row, "", "")
    digits = re.sub(r"\D", "", whole)
    return Digits(Fraction(int(digits + decimals), 10 ** len(decimals)), len(decimals))


def is_one_group(row: str) -> bool:
    """Tell whether ``row`` is like ``1.234`` or ``1,234``, which have two readings."""
    return len(row) <= 7 and _ONE_GROUP.fullmatch(row) is not None


def _decimal_sign(row: str) -> str | None:
    """The sign before the decimals, "" where there are none for sure, None where the row alone does not say it."""
    whole, _, decimals = row.partition(".")
    if len(decimals) != 3 and whole.isdigit() and decimals.isdigit() and len(row) <= 2 * MAX_DIGITS:
        return "."  # as nearly all are
    if len(row) > 2 * MAX_DIGITS or is_one_group(row):
        return None
    separators = [letter for letter in row if not letter.isdigit()]
    if not separators:
        return ""
    if len(separators) == 1 and separators[0] in ".,":
        return separators[0]
    if _GROUPED_COMMA.fullmatch(row):
        return "." if "." in row else ""
    if _GROUPED_DOT.fullmatch(row):
        return "," if "," in row else ""
    if _GROUPED_OTHER.fullmatch(row):
        return separators[-1] if separators[-1] in ".," else ""
    return None


_UP_TO_NINETEEN = (
    "zero one two three four five six seven eight nine",
    "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen",
)
ONES = [word for words in _UP_TO_NINETEEN for word in words.split()]
"""The words for the numbers from 0 to 19, in order."""
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SMALL = {word: number for number, word in enumerate(ONES)} | {
    word: 10 * number for number, word in enumerate(_TENS, start=2)
}
_LARGE = {"thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}


def _alternatives(words: Iterable[str]) -> str:
    """Grouped by their first letters, which lets the search skip quickly; a capital may begin a word."""
    groups: dict[str, list[str]] = {}
    for word in sorted(words, key=len, reverse=True):
        groups.setdefault(word[0], []).append(word[1:])
    return "|".join(f"[{first}{first.upper()}](?:{'|'.join(rest)})" for first, rest in groups.items())


_NUMBER_WORD = _alternatives([*_SMALL, "hundred", *_LARGE])
_WORD_ROW = lazy(rf"\b(?:{_NUMBER_WORD})(?:(?:[ -]|[ ]and[ ])(?:{_NUMBER_WORD}))*\b")
_ONE_WORD = lazy(r"[A-Za-z]+")


class WordNumber(NamedTuple):
    """A number in words, and where it stands."""

    value: int
    start: int
    end: int


def word_numbers_in(text: str) -> Iterator[WordNumber]:
    """Every number that ``text`` has in words; "hundred", "thousand" and "million" need one before them."""
    for row in _WORD_ROW.finditer(text):
        yield from _numbers_of(row.group(), row.start())


def _numbers_of(row: str, offset: int) -> Iterator[WordNumber]:
    """One row of number words may hold several numbers: "two three"; "and" joins only after hundreds."""
    start = end = -1
    total = current = 0
    last = 0
    joined = False
    for match in _ONE_WORD.finditer(row):
        word = match.group().casefold()
        if word == "and":
            joined = True
            continue
        value = _SMALL.get(word)
        if start >= 0 and _continues(value, word, current, last, joined):
            total, current = _extended(value, word, total, current)
        else:
            if start >= 0:
                yield WordNumber(total + current, offset + start, offset + end)
            start, total, current = (match.start(), 0, value) if value is not None else (-1, 0, 0)
        end, last, joined = match.end(), value if value is not None else 100, False
    if start >= 0:
        yield WordNumber(total + current, offset + start, offset + end)


def _continues(value: int | None, word: str, current: int, last: int, joined: bool) -> bool:
    if value is None:
        return not joined and current > 0 and (word in _LARGE or current < 100)
    if last >= 100:
        return value > 0
    return not joined and last >= 20 and 0 < value < 10


def _extended(value: int | None, word: str, total: int, current: int) -> tuple[int, int]:
    if value is not None:
        return total, current + value
    if word == "hundred":
        return total, current * 100
    return total + current * _LARGE[word], 0


_POWER = lazy(
    r"[eE](?P<exponent>[+-]?\d{1,3})(?![\w.])"
    r"|[ ]?(?:[×x*·]|\\times|\\cdot)[ ]?10(?:\^|\*\*)\{?(?P<power>[-+−]?\d{1,3})\}?(?![\w.])"
    r"|[ ]?[×x*·][ ]?10(?P<raised>[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3})"
)
_RAISED = str.maketrans("⁻⁺⁰¹²³⁴⁵⁶⁷⁸⁹", "-+0123456789")
_MAGNITUDE = lazy(
    r"[ \u00a0-]?(thousand|million|billion|trillion|mln|mn|bn)\b|([kKM])(?![\w/])|(B)(?!\w)", re.IGNORECASE
)
_POWERS = {3: "thousand k", 6: "million mln mn m", 9: "billion bn b", 12: "trillion"}
_MAGNITUDES = {word: power for power, words in _POWERS.items() for word in words.split()}
_UNIT = lazy(
    r"[ \u00a0\u202f-]?\\?(?P<unit>°[ ]?[CF]\b|°|%|‰|[€£¥₹¢]|(?:US|C|A|R)?\$"
    r"|degrees?[ ](?P<scale>Celsius|Fahrenheit|[CF])\b"
    r"|(?:km/h|m/s|[A-Za-z]{1,12}(?:[²³]|\^[23])?)(?![\w/^]))",
)
_CURRENCY_BEFORE = lazy(r"(?:(?<![A-Za-z])(?:US|C|A|R)?\$|[€£¥₹]|(?<![A-Za-z])[A-Z]{3}(?=[ \u00a0]?$))[ \u00a0]?$")
_LAST_OF_CURRENCY = tuple(" \u00a0$€£¥₹ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_SIGNS = ("-", "−", "+")
_MINUS_WORD = lazy(r"\b(?:minus|negative)[ ]$", re.IGNORECASE)
_ABOUT = "about around approximately approx approx. roughly nearly almost circa ca ca. some ungefähr etwa rund"
_APPROXIMATIONS = frozenset(_ABOUT.split())
_NUMBERED = "step section chapter figure fig. table equation exercise appendix attempt phase task question problem"
_LABELS = frozenset(_NUMBERED.split())
_LIST_NUMBER = lazy(r"^[ \t>*]{0,12}(\d{1,3})[.)][ \t]+(?=\S)", re.MULTILINE)
_REACH = 24
"""Characters before a number that are looked at."""


class Tail(NamedTuple):
    """The text that follows a number and belongs to it."""

    end: int
    power: int
    """The number is multiplied by ten to the power of this."""
    unit: str | None

    def applied_to(self, value: Fraction, sign: UnitSign) -> Fraction:
        """``value`` with the power and the sign."""
        if self.power:
            value = value * Fraction(10) ** self.power
        return -value if sign.is_negative else value


class Currency(NamedTuple):
    """A currency before a number, and where the number begins with it."""

    unit: str | None
    start: int


class UnitSign(NamedTuple):
    """The sign of a number, and where the number begins with it."""

    is_negative: bool
    start: int


def after_number(text: str, end: int) -> Tail | None:
    """The power of ten and the unit behind a number; None where letters are glued to it that are neither."""
    here, power = end, 0
    following = text[here : here + 1]
    if not following or following in ".,;:)\n!?":  # the common case, and the cheap one
        return Tail(here, 0, None)
    mark = text[here : here + 2].lstrip(" ")[:1]
    match = _POWER.match(text, here) if mark in "eE×x*·\\" else None
    if match:
        written = match["exponent"] or match["power"] or match["raised"].translate(_RAISED)
        here, power = match.end(), int(written.replace("−", "-"))
    else:
        match = _MAGNITUDE.match(text, here) if mark in "tTmMbBkK-\u00a0" else None
        if match and _is_magnitude(match, text, end):
            here, power = match.end(), _MAGNITUDES[(match[1] or match[2] or match[3]).casefold()]
    unit = _unit_at(text, here)
    if unit is not None:
        here = unit[1]
    elif _is_glued(text, here):
        return None
    return Tail(here, power, unit[0] if unit else None)


def currency_before(text: str, start: int, end: int, floor: int) -> Currency:
    """The currency before a number that begins at ``start``, behind ``floor``; ``$18$`` is mathematics and has none."""
    before = text[max(floor, start - 5) : start]
    match = _CURRENCY_BEFORE.search(before) if before[-1:] in _LAST_OF_CURRENCY else None
    unit = currency_named(match.group().strip()) if match else None
    if match is None or unit is None or (before[-1] == "$" and text[end : end + 1] == "$"):
        return Currency(None, start)
    return Currency(unit, start - len(before) + match.start())


def sign_before(text: str, start: int) -> UnitSign:
    """The sign before a number: a minus behind an operand, or with a space after it, is none but a subtraction."""
    before = text[max(0, start - _REACH) : start]
    if before.endswith(_SIGNS):
        if _is_operand(before[:-1]):
            return UnitSign(False, start)
        return UnitSign(before[-1] != "+", start - 1)
    word = _MINUS_WORD.search(before) if before.endswith(("s ", "e ", "S ", "E ")) else None
    if word is None or _is_subtracted_from(before[: word.start()].rstrip()):
        return UnitSign(False, start)
    return UnitSign(True, start - len(before) + word.start())


def stands_alone(text: str, start: int) -> bool:
    """Tell whether a number that begins at ``start`` is no part of a name, of an id, or of another number."""
    before = text[start - 1] if start else " "
    if before in "xX" and text[start - 2 : start - 1].isdigit():
        return True  # "3x120"
    if before.isalpha():
        return _CURRENCY_BEFORE.search(text[max(0, start - 5) : start]) is not None and (
            currency_named(text[start - 3 : start]) is not None
        )
    if before in "_@&":
        return False
    earlier = text[start - 2] if start > 1 else " "
    if before in "-." and earlier.isalpha():
        return before == "." and start > 2 and text[start - 3 : start - 2] != " "  # "COVID-19"; "done.5"
    return not (before in ".," and earlier.isdigit()) and not (before == "." and earlier == " ")


def marks_before(text: str, start: int) -> tuple[bool, bool]:
    """Tell whether "about" or the like stands before a number, and whether it counts something off: "Step 2"."""
    word, near = _word_before(text, start), text[max(0, start - 2) : start]
    is_about = near.strip()[-1:] in ("~", "≈", "∼") or word in _APPROXIMATIONS
    if near.lstrip() == "#":
        return is_about, start < 2 or not text[start - 2].isalnum()
    return is_about, word in _LABELS


def _word_before(text: str, start: int) -> str:
    before = text[max(0, start - _REACH) : start]
    if before[-1:] not in (" ", "#", "\u00a0"):
        return ""
    words = before.rstrip(" #\u00a0").rsplit(None, 1)
    return words[-1].casefold().lstrip("(*_") if words else ""


def list_numbers(text: str) -> set[int]:
    """The places of the numbers of numbered lines; they count from 1 on."""
    found: set[int] = set()
    previous = 0
    for match in _LIST_NUMBER.finditer(text):
        number = int(match[1])
        if number == 1 or (previous and number == previous + 1):
            found.add(match.start(1))
            previous = number
    return found


def _is_operand(before: str) -> bool:
    last = before[-1:]
    if last.isalnum() or last in (")", "]", "%", "_", "-", "^"):
        return last != ""
    return bool(before) and last == " " and before.rstrip()[-1:].isdigit()


def _is_subtracted_from(before: str) -> bool:
    """Tell whether ``before`` ends with something that "minus" takes away from: "20 minus 3", "20 EUR minus 3 EUR"."""
    last = before.rsplit(" ", 1)[-1]
    return last[-1:].isdigit() or last[-1:] in tuple(")]%€$}") or unit_named(last) is not None


def _is_magnitude(match: re.Match[str], text: str, end: int) -> bool:
    if match[1]:
        return True
    if match[2]:
        return match[2] in "kKM"  # "5m" is metres
    return match[3] == "B" and "$" in text[max(0, end - 24) : end]  # "$3B"; "5B" is a room


def _unit_at(text: str, here: int) -> tuple[str, int] | None:
    match = _UNIT.match(text, here)
    if match is None:
        return None
    written = match["unit"]
    if match["scale"]:
        return f"°{match['scale'][0].upper()}", match.end()
    if match.group() == "$" and (text[match.end() : match.end() + 1].isdigit() or _is_closing(text, here)):
        return None
    if written[0].isalpha() and _is_ambiguous(written, text, here):
        return None
    name = unit_named(written.replace(" ", ""))
    return (name, match.end()) if name else None


def _is_closing(text: str, here: int) -> bool:
    """``$18$``, ``$x = 18$``: the sign ends a formula that began in the same line."""
    line = text[max(0, text.rfind("\n", max(0, here - 200), here), here - 200) : here]
    return line.count("$") % 2 == 1


def _is_ambiguous(written: str, text: str, here: int) -> bool:
    """Letters that are a unit only behind a space or only behind their number: "the 1990s", "5 A", "B 5"."""
    if text[here : here + 1] == "-":
        return len(written) < 2  # "5-m", "20-day"
    return written == "s" and text[here : here + 1] == "s" and text[max(0, here - 4) : here].isdigit()


def _is_glued(text: str, here: int) -> bool:
    following = text[here : here + 1]
    if following in ("x", "X", "×"):  # "3x4"
        return text[here + 1 : here + 2].isalpha()
    return following.isalpha() or following == "_"

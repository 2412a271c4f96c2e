"""Numbers and quoted strings in text, compared by value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

_NUMBER = re.compile(r"(?<![\w.,])[-+]?(?:\d{1,3}(?:,\d{3})+|\d{1,15})(?:\.\d{1,12})?(?![\w]|[.,]\d)")
_MAX_TRIES = 5_000
"""Places that are looked at for one value, so that a megabyte of ones does not take seconds."""
_QUOTED = re.compile(r"(?<!\w)'([^'\n]{1,80})'(?!\w)|\"([^\"\n]{1,80})\"|`([^`\n]{1,80})`|“([^”\n]{1,80})”")


def canonical(number: str) -> str:
    """``"1,234.50"`` and ``"1234.5"`` as the same string; any other text casefolded, spaces collapsed."""
    if number.isascii() and number.isdecimal() and number[0] != "0" and len(number) <= 15:
        return number  # as nearly all are
    plain = number.strip().replace(",", "").lstrip("+")
    try:
        value = float(plain)
    except ValueError:
        return " ".join(number.casefold().split())
    if value != value or abs(value) > 1e15:
        return plain
    return str(int(value)) if value == int(value) else repr(value)


def numbers_in(text: str) -> Iterator[re.Match[str]]:
    """Every number that stands alone in ``text``."""
    return _NUMBER.finditer(text)


def number_set(text: str) -> set[str]:
    """The numbers in ``text`` in canonical form."""
    return {canonical(match.group()) for match in _NUMBER.finditer(text)}


def quoted_in(text: str) -> Iterator[tuple[str, int]]:
    """Every quoted string in ``text``, with the place where the quotation begins."""
    for match in _QUOTED.finditer(text):
        yield next(group for group in match.groups() if group is not None), match.start()


def is_number(value: str) -> bool:
    """Whether ``value`` is a single number."""
    match = _NUMBER.fullmatch(value.strip())
    return match is not None


def find_value(text: str, value: str) -> int:
    """Where ``value`` stands in ``text`` as a whole word or number, or -1.

    Plain string search, since the text may be megabytes long.
    """
    for form in _forms(value):
        at = -1
        for _ in range(_MAX_TRIES):
            at = text.find(form, at + 1)
            if at < 0:
                break
            if _stands_alone(text, at, at + len(form)):
                return at
    return -1


@lru_cache(maxsize=1024)  # one value is looked for in step after step
def _forms(value: str) -> tuple[str, ...]:
    if not is_number(value):
        stripped = value.strip()
        return (
            tuple(dict.fromkeys([stripped, stripped.lower(), stripped.capitalize(), stripped.title()]))
            if stripped
            else ()
        )
    plain = canonical(value)
    whole, _, rest = plain.partition(".")
    digits = whole.lstrip("-")
    grouped = f"{int(whole):,}" + (f".{rest}" if rest else "") if digits.isdigit() else plain
    forms = [value.strip(), plain, grouped]
    if not rest:
        forms += [f"{plain}.0", f"{plain}.00", f"{grouped}.00"]
    elif len(rest) == 1:
        forms.append(f"{plain}0")
    return tuple(dict.fromkeys(forms))


def _stands_alone(text: str, start: int, end: int) -> bool:
    before = text[start - 1] if start else " "
    after = text[end : end + 2]
    if before.isalnum() or before == "_" or (after[:1].isalnum() or after[:1] == "_"):
        return False
    if text[start].isdigit() and before in ".,-" and start > 1 and (before == "-" or text[start - 2].isdigit()):
        return before == "-" and text[start - 2].isalnum()  # "7-41" is a range, "= -41" is another number
    return not (text[end - 1].isdigit() and after[:1] in (".", ",") and after[1:2].isdigit())

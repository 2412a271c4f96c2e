"""Card and account numbers, told from other numbers by their check digits.

Two sums of a few lines each; python-stdnum, which knows hundreds of kinds of numbers, would be a dependency of the core
for two of them.
"""

from __future__ import annotations

import re

CARD = re.compile(
    r"(?<![\w.,-])(?:\d{4}(?P<gap>[ -]?)\d{4}(?P=gap)\d{4}(?P=gap)\d{1,7}|3\d{3}(?P<space>[ -]?)\d{6}(?P=space)\d{4,5})"
    r"(?![\w-]|[.,]\d)"
)
"""Grouped as on a card, or not at all. Anything else with 13 to 19 digits is an id or a table."""
IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])")

_ISSUERS = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|3(?:0[0-5]|[689]\d)\d{11}|35\d{14}"
    r"|6(?:011|4[4-9]\d|5\d\d)\d{12}|62\d{14,17}|(?:50|5[6-9]|6[37])\d{10,17}"
)
"""ISO/IEC 7812: which first digits and lengths card issuers use."""

_IBAN_LENGTHS = {
    "AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BR": 29, "BY": 28,
    "CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "DO": 28, "EE": 20, "EG": 29, "ES": 24, "FI": 18,
    "FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "GT": 28, "HR": 21, "HU": 28, "IE": 22,
    "IL": 23, "IQ": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30, "KZ": 20, "LB": 28, "LI": 21, "LT": 20, "LU": 20,
    "LV": 21, "MC": 27, "MD": 24, "ME": 22, "MK": 19, "MR": 27, "MT": 31, "MU": 30, "NL": 18, "NO": 15, "PK": 24,
    "PL": 28, "PS": 29, "PT": 25, "QA": 29, "RO": 24, "RS": 22, "SA": 24, "SE": 24, "SI": 19, "SK": 24, "SM": 27,
    "TN": 24, "TR": 26, "UA": 29, "VA": 22, "VG": 24, "XK": 20,
}  # fmt: skip
"""ISO 13616: how long an account number of each country is."""


def is_card(text: str) -> bool:
    """Whether ``text`` is a number of a payment card: an issuer's first digits, and the check digit after Luhn."""
    digits = re.sub(r"[ -]", "", text)
    if not _ISSUERS.fullmatch(digits):
        return False
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits)))
    return sum(number - 9 if number > 9 else number for number in doubled) % 10 == 0


def iban_length(text: str) -> int:
    """Characters of ``text``, from its first, that are an account number; 0 when it is none. Words may follow it."""
    wanted = _IBAN_LENGTHS.get(text[:2], 0)
    ends = [end for end, character in enumerate(text, start=1) if character != " "]
    if not wanted or len(ends) < wanted:
        return 0
    length = ends[wanted - 1]
    number = text[:length].replace(" ", "")
    moved = number[4:] + number[:4]
    return length if int("".join(str(int(one, 36)) for one in moved)) % 97 == 1 else 0

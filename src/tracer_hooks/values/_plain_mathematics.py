"""Formulas with their mark-up taken off, every character in its place."""

from __future__ import annotations

import re

FRACTION_BAR = "\ue000"
"""Stands for ``}{`` of a fraction together with the character after it: it closes, divides and opens."""

_COMMANDS = {
    r"\times": "×",
    r"\cdot": "·",
    r"\div": "÷",
    r"\approx": "≈",
    r"\simeq": "≈",
    r"\left": "",
    r"\right": "",
    r"\quad": "",
    r"\qquad": "",
    r"\displaystyle": "",
    r"\%": "%",
    r"\$": "$",
    r"\,": "",
    r"\;": "",
    r"\!": "",
    r"\ ": "",
    r"\(": "",
    r"\)": "",
    r"\[": "",
    r"\]": "",
    r"\\": "\n",
}
_COMMAND = re.compile(r"\\(?:[A-Za-z]{2,14}(?![A-Za-z])|[%$,;! ()\[\]\\])")
_TEXT = re.compile(r"\\(?:text|mathrm|textbf|mathbf|boxed|operatorname|bar|overline|underline)\s?\{([^{}]{0,60})\}")
_FRAME = re.compile(r"\\(?:begin|end)\{[a-z*]{1,12}\}|&(?==)")
_FRACTION = re.compile(r"\\[dt]?frac\s?\{")
_MARKS = re.compile(r"(?<!\d)(?<!\d )\*\*|\*\*(?! ?\d)|__|`|\$\$")
_EMPHASIS = re.compile(r"(?<![\w*)])\*(?P<inner>[^\s*][^*\n]{0,80}?)(?<!\s)\*(?![\w*(])")
_MOST = 2_000


def without_markup(text: str) -> str:
    """``text`` without LaTeX and emphasis, of the same length, so that a place in it is a place in the original."""
    plain = text
    if any(mark in text for mark in ("**", "__", "`", "$$")):
        plain = _MARKS.sub(lambda match: " " * len(match.group()), plain)
    if "*" in plain:
        plain = _EMPHASIS.sub(lambda match: f" {match['inner']} ", plain)
    if "\\" not in plain:
        return plain
    plain = _FRAME.sub(lambda match: " " * len(match.group()), plain)
    for _ in range(2):  # one inside another, as \boxed{\text{…}}
        plain = _TEXT.sub(lambda match: _spaced(match.group(), match.group(1)), plain)
    plain = _with_fractions(plain)
    return _COMMAND.sub(_sign_of, plain)


def _sign_of(match: re.Match[str]) -> str:
    """What a command stands for, right before a number for a currency, right behind it for the others."""
    command = match.group()
    sign = _COMMANDS.get(command, command)
    return sign.rjust(len(command)) if sign == "$" else sign.ljust(len(command))


def _spaced(whole: str, inner: str) -> str:
    return " " * (len(whole) - len(inner) - 1) + inner + " "


def _with_fractions(text: str) -> str:
    r"""``\frac{a}{b}`` as ``(a)/(b)``."""
    found = list(_FRACTION.finditer(text))[:_MOST]
    if not found:
        return text
    chars = list(text)
    for match in found:
        middle = _closing(text, match.end())
        if middle < 0 or text[middle : middle + 2] != "}{":
            continue
        end = _closing(text, middle + 2)
        if end < 0:
            continue
        chars[match.start() : match.end()] = " " * (match.end() - match.start() - 1) + "("
        chars[middle : middle + 2] = FRACTION_BAR + " "
        chars[end] = ")"
    return "".join(chars)


def _closing(text: str, start: int) -> int:
    """Where the brace that was opened before ``start`` is closed, within a formula's length."""
    depth = 1
    for place in range(start, min(len(text), start + 400)):
        depth += (text[place] == "{") - (text[place] == "}")
        if depth == 0:
            return place
    return -1

"""Text of strangers on its way to a terminal, a log, a page or a prompt: what is not let through; counted nouns.

Whatever a trace, a file name or a model's reply holds may end up where a person or another model reads it. Characters
that steer a terminal, turn the direction of writing, or cannot be seen are replaced by signs that can. Each function
says what becomes of line breaks. Stands beside all layers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

_BREAKS = re.compile("\r\n|[\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]")
"""Every character that some reader takes for the end of a line, as ``str.splitlines`` has them."""
_KEPT_CONTROLS = frozenset("\n\t")

# Joiners and the soft hyphen are part of emoji and of several scripts, the marks of direction and the signs that stand
# before numbers of right-to-left ones; none of them makes a text read other than it is.
_KEPT_FORMATS = frozenset(
    "\u200c\u200d\u00ad\u200e\u200f\u061c\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u08e2\U000110bd\U000110cd"
)
_NEVER = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
_NONCHARACTERS = frozenset("\ufffe\uffff")


def is_deceptive(char: str) -> bool:
    """Tell whether a character steers, turns or hides text.

    These are controls but newline and tab, bidirectional overrides, invisible characters, lone surrogates, and other
    ends of lines.
    """
    if char in _NONCHARACTERS:
        return True
    return unicodedata.category(char) in _NEVER and char not in _KEPT_CONTROLS and char not in _KEPT_FORMATS


class _Table(dict[int, str]):
    """A table for ``str.translate`` that is filled as characters are met."""

    def __init__(self, instead: Callable[[int], str]) -> None:
        super().__init__()
        self._instead = instead

    def __missing__(self, code: int) -> str:
        shown = self[code] = self._instead(code) if is_deceptive(chr(code)) else chr(code)
        return shown


def _sign(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)  # the symbols of U+2400 show which control it is
    return "\u2421" if code == 0x7F else "\ufffd"


_SIGNS, _CODES = _Table(_sign), _Table("<U+{:04X}>".format)


def on_screen(text: str) -> str:
    """``text`` for a terminal or a page: a visible sign, one for one, in the place of each deceptive character.

    Newlines and tabs stay. The length stays as well, so that positions in the text are still right.
    """
    return text if text.isprintable() else text.translate(_SIGNS)


def on_one_line(text: str) -> str:
    """:func:`on_screen` with each end of a line, of whatever kind, as a space, for lists and log lines."""
    return text if text.isprintable() else on_screen(_BREAKS.sub(" ", text))


def in_prompt(text: str) -> str:
    """``text`` for a language model: deceptive characters as their codes, such as ``<U+202E>``.

    Ends of lines of every kind become newlines; tabs stay.
    """
    return text if text.isprintable() else _BREAKS.sub("\n", text).translate(_CODES)


def in_json(document: str) -> str:
    """A JSON document with the same values, in which deceptive characters are written as escapes."""
    if not any(map(is_deceptive, set(document))):
        return document
    return "".join(_escaped(char) if is_deceptive(char) else char for char in document)


def counted(count: int, one: str, many: str = "") -> str:
    """A number with its noun: ``"1 run"``, ``"1,029 runs"``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def _escaped(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))

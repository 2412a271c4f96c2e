"""Calculations in signs: mark-up taken off, read into tokens, and evaluated with products before sums."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from enum import Enum, auto
from fractions import Fraction
from typing import NamedTuple

from tracer_hooks.values._quantities import Quantity, quantities_in

FRACTION_BAR = "\ue000"
"""Stands for ``}{`` of a fraction together with the character after it: it closes, divides and opens."""
_SPACING = r"\left \right \quad \qquad \displaystyle \, \; \! \( \) \[ \]"
_COMMANDS = {
    **dict.fromkeys(_SPACING.split(), ""),
    r"\times": "×",
    r"\cdot": "·",
    r"\div": "÷",
    r"\approx": "≈",
    r"\simeq": "≈",
    r"\%": "%",
    r"\$": "$",
    r"\ ": "",
    r"\\": "\n",
}
_COMMAND = re.compile(r"\\(?:[A-Za-z]{2,14}(?![A-Za-z])|[%$,;! ()\[\]\\])")
_TEXT = re.compile(r"\\(?:text|mathrm|textbf|mathbf|boxed|operatorname|bar|overline|underline)\s?\{([^{}]{0,60})\}")
_FRAME = re.compile(r"\\(?:begin|end)\{[a-z*]{1,12}\}|&(?==)")
_FRACTION = re.compile(r"\\[dt]?frac\s?\{")
_MARKS = re.compile(r"\*\*(?:(?<!\d\*\*)(?<!\d \*\*)|(?! ?\d))|__|`|\$\$")
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
    """The sign that a command stands for, right before a number for a currency, right behind it for the others."""
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
    """The place where the brace that was opened before ``start`` is closed, within a formula's length."""
    depth = 1
    for place in range(start, min(len(text), start + 400)):
        depth += (text[place] == "{") - (text[place] == "}")
        if depth == 0:
            return place
    return -1


class Sign(Enum):
    """The kind of a token."""

    NUMBER = auto()
    OPERATOR = auto()
    OPEN = auto()
    CLOSE = auto()
    EQUALS = auto()
    WORD = auto()
    BREAK = auto()


class Token(NamedTuple):
    """A piece of a text that may be part of a calculation."""

    sign: Sign
    text: str
    start: int
    end: int
    quantity: Quantity | None = None


EQUALS_WORDS = (
    r"(?:(?:which|that|this|it) )?(?:is equal to|equals|equal|is about|is roughly|is around|is approximately|is"
    r"|are|comes? (?:out )?(?:to|at)|coming to"
    r"|makes?|making|gives?|gave|giving|amount(?:s|ing)? to|works? out (?:at|to|as)|total(?:s|ling|ing)?|adds? up to"
    r"|sums? (?:up )?to|result(?:s|ing)? in|yields?|yielding|equall?ing|leaves?|leaving|turns out (?:to be|as)|which is"
    r"|that is|that's|it's|that makes|(?:we|you|I) (?:get|have|obtain)|brings? (?:us|it|the total|the bill) to|for"
    r"(?= (?:an? )?(?:grand |overall |combined )?total of)|ergibt|ergeben|macht|sind|ist|font|fait|donne)"
    r"(?: (?:us|you|me))?(?: (?:an?|the) (?:(?:grand|overall|combined) )?(?:total|sum|result|answer|bill|cost)"
    r"(?: [a-z]{1,10})? of)?"
)
_OPERATOR_WORDS = "plus +, minus -, times ×, multiplied by ×, divided by /, mal ×, geteilt durch /, moins -, fois ×"
_WORD_OPERATORS = {word: sign for word, _, sign in (written.rpartition(" ") for written in _OPERATOR_WORDS.split(", "))}
_GAP = re.compile(
    rf"(?P<note>\([^()=\d]{{1,40}}\))"
    rf"|(?P<bar>{FRACTION_BAR})"
    r"|(?P<rule>\n[ \t|]*[-=_─—]{2,}[ \t|]*\n)"
    r"|(?P<remark>(?<=\d)[ \t]+(?:#|//)[ \t]*$)"
    r"|(?P<power>(?<=[\d)])\s?(?:\^|\*\*))|(?P<squared>(?<=[\d)])[²³])"
    r"|(?P<equals>={1,2}(?!=)|＝|≈|≃|≅|~=|→|=>)"
    r"|(?P<refused>≡|≠|!=|<=|>=|[<>²³√?%‰^{}≤≥⇒⟹∈±∓∝∞∑∏∫∂…]|\.\.\.|\\[A-Za-z]+|\+=|-=|//|\bmod\b|\bmodulo\b"
    r"|\bremainder\b|\brest\b|\bR\b)"
    r"|(?P<per>/\s?[A-Za-z]{1,12}\b|\b[A-Z]{3}/[a-z]{1,12}\b|\b(?:per|an?|each|je|pro|par)\s[A-Za-z]{1,12}\b|\beach\b)"
    r"|(?P<operator>[+\-−–*×·⋅∙•÷/])"
    rf"|(?P<spoken>\b(?:{'|'.join(sorted(_WORD_OPERATORS, key=len, reverse=True))})\b)"
    rf"|(?P<verb>\b(?:{EQUALS_WORDS})\b|\bi\.e\.)"
    r"|(?P<open>[(\[])|(?P<close>[)\]])"
    r"|(?P<times>(?<=[\s)])[xX](?=[\s(]|$)|(?<=\d)[xX]$)"
    r"|(?P<word>\w+(?:['’-]\w+)*)"
    r"|(?P<break>[,;:.!|\n])",
    re.IGNORECASE,
)
_OPERATOR = re.compile(rf"[+\-−–*×·⋅∙•÷/^²³{FRACTION_BAR}]|x(?<=[\s)\d]x)|{'|'.join(_WORD_OPERATORS)}")
_UNKNOWN = re.compile(r"[a-cijknx-zA-CX-Z]")
"""A letter that, right behind a number, is an unknown: 2x + 3."""
_KINDS = {
    **dict.fromkeys(("power", "operator", "times"), Sign.OPERATOR),
    **dict.fromkeys(("equals", "verb", "rule", "remark"), Sign.EQUALS),
    "open": Sign.OPEN,
    "close": Sign.CLOSE,
    "break": Sign.BREAK,
    "refused": Sign.WORD,
}
_OPERATORS = {"−": "-", "–": "-", "÷": "/", **dict.fromkeys("*·⋅∙•xX", "×")}
_MOST_POWER, _MOST_BASE = 64, 10**6
MAX_CHARS = 40_000
"""Of a longer text, the head and the tail are read."""
REFUSED = "\ue001"
"""Text of a word token that no calculation of this kind may stand beside."""


def has_operator(text: str) -> bool:
    """Tell whether anything in a text may be an operator; without one it holds no calculation in signs."""
    return _OPERATOR.search(text.lower()) is not None


def tokens_of(text: str, quantities: Sequence[Quantity]) -> Iterator[Token]:
    """The quantities of a text without mark-up, in order, and what stands between them."""
    place = 0
    for quantity in quantities:
        yield from _gap(text, place, quantity.start)
        yield Token(Sign.NUMBER, quantity.text, quantity.start, quantity.end, quantity)
        place = quantity.end
    yield from _gap(text, place, len(text))


def _gap(text: str, start: int, end: int) -> Iterator[Token]:
    # A gap of prose holds no calculation: of a long one only its two ends can belong to one.
    if end - start > 200:
        yield from _gap(text, start, start + 80)
        yield Token(Sign.BREAK, "", start + 80, end - 80)
        start = end - 80
    for match in _GAP.finditer(text, start, end):
        if match.lastgroup == "word":  # as nearly all are
            found = match.group()
            written = REFUSED if _is_unknown(text, match.start(), found) else found
            yield Token(Sign.WORD, written, match.start(), match.end())
        else:
            yield from _tokens(text, match, end)


def _tokens(text: str, match: re.Match[str], end: int) -> Iterator[Token]:
    """The tokens of one match, in a gap that ends at ``end``."""
    kind, found = match.lastgroup or "", match.group()
    span = match.start(), match.end()
    if kind == "bar":
        yield Token(Sign.CLOSE, ")", *span)
        yield Token(Sign.OPERATOR, "/", *span)
        yield Token(Sign.OPEN, "(", *span)
    elif kind == "squared":
        power = Fraction(2 if found == "²" else 3)
        yield Token(Sign.OPERATOR, "^", *span)
        yield Token(Sign.NUMBER, str(power), *span, Quantity(power, None, str(power), *span))
    elif kind == "spoken":
        # "2 goes into 9 four times because …" is no product.
        is_sign = text[span[1] : end].strip() in ("", "(", "[")
        yield (
            Token(Sign.OPERATOR, _WORD_OPERATORS[found.casefold()], *span)
            if is_sign
            else Token(Sign.WORD, found, *span)
        )
    elif kind in _KINDS:
        written = {"power": "^", "refused": REFUSED}.get(kind, found)
        yield Token(_KINDS[kind], _OPERATORS.get(written, written) if kind in ("operator", "times") else written, *span)


def _is_unknown(text: str, start: int, word: str) -> bool:
    """Tell whether a word is glued to a number or a bracket as an unknown is."""
    before = text[start - 1 : start]
    is_glued = before.isdigit() or before in (")", "]")
    return is_glued and (_UNKNOWN.fullmatch(word) is not None or "_" in word)


class NotACalculation(ValueError):
    """The tokens do not make an expression."""


def evaluate(tokens: Sequence[Token], worth: Callable[[Quantity], Fraction], *, relative: bool = False) -> Fraction:
    """Work out an expression, each quantity counted as its ``worth``.

    Where it is ``relative``, "80 - 10 %" takes a tenth of the 80 off. It raises :class:`NotACalculation` where the
    tokens do not make an expression, or divide by zero.
    """
    reader = _Reader(tokens, worth, relative)
    value = reader.sum()
    if reader.place != len(tokens):
        raise NotACalculation
    return value


class _Reader:
    """Recursive descent over one expression."""

    def __init__(self, tokens: Sequence[Token], worth: Callable[[Quantity], Fraction], relative: bool) -> None:
        self.tokens = tokens
        self.place = 0
        self.depth = 0
        self._worth = worth
        self._relative = relative

    def sum(self) -> Fraction:
        value = self._product()
        while (operator := self._take("+", "-")) is not None:
            part = self._part_of(value)
            other = self._product() if part is None else part
            value = value + other if operator == "+" else value - other
        return value

    def _part_of(self, value: Fraction) -> Fraction | None:
        """The part that "80 - 10 %" takes off, where percents count as parts of what stands before them."""
        if not self._relative or not self._at(Sign.NUMBER):
            return None
        quantity = self.tokens[self.place].quantity
        if quantity is None or quantity.unit != "%":
            return None
        self.place += 1
        return value * quantity.value / 100

    def _product(self) -> Fraction:
        value = self._power()
        while True:
            operator = self._take("×", "/")
            if operator is None and self._at(Sign.OPEN):
                operator = "×"  # 2(3 + 4)
            if operator is None:
                return value
            other = self._power()
            if operator == "×":
                value *= other
            elif other == 0:
                raise NotACalculation
            else:
                value /= other

    def _power(self) -> Fraction:
        is_number = self._at(Sign.NUMBER)
        value = self._factor()
        if self._take("^") is None:
            return value
        exponent = self._factor()
        if exponent.denominator != 1 or not 0 <= exponent <= _MOST_POWER or abs(value) > _MOST_BASE:
            raise NotACalculation
        power: Fraction = value**exponent.numerator
        return -abs(power) if is_number and value < 0 else power  # "-2^2" is -4

    def _factor(self) -> Fraction:
        if self._take("-") is not None:
            return -self._factor()
        if self._at(Sign.OPEN):
            self.place, self.depth = self.place + 1, self.depth + 1
            if self.depth > 20:
                raise NotACalculation
            value = self.sum()
            if not self._at(Sign.CLOSE):
                raise NotACalculation
            self.place, self.depth = self.place + 1, self.depth - 1
            return value
        if not self._at(Sign.NUMBER):
            raise NotACalculation
        quantity = self.tokens[self.place].quantity
        assert quantity is not None
        self.place += 1
        return self._worth(quantity)

    def _at(self, sign: Sign) -> bool:
        return self.place < len(self.tokens) and self.tokens[self.place].sign is sign

    def _take(self, *operators: str) -> str | None:
        if self._at(Sign.OPERATOR) and self.tokens[self.place].text in operators:
            self.place += 1
            return self.tokens[self.place - 1].text
        return None


def parts_to_read(text: str) -> list[tuple[int, str]]:
    """A text and where it begins: of a long one, its head and its tail."""
    if len(text) <= MAX_CHARS:
        return [(0, text)]
    half = MAX_CHARS // 2
    return [(0, text[:half]), (len(text) - half, text[-half:])]


class TextReader:
    """For whoever looks at the same texts for several things: what was read of one is kept as long as the reader is."""

    def __init__(self) -> None:
        self._plain: dict[str, str] = {}
        self._quantities: dict[str, Sequence[Quantity]] = {}
        self._tokens: dict[str, Sequence[Token]] = {}

    def plain(self, text: str) -> str:
        """As :func:`without_markup`."""
        if text not in self._plain:
            self._plain[text] = without_markup(text)
        return self._plain[text]

    def quantities(self, text: str) -> Sequence[Quantity]:
        """As :func:`quantities_in`."""
        if text not in self._quantities:
            self._quantities[text] = quantities_in(text)
        return self._quantities[text]

    def tokens(self, text: str) -> Sequence[Token]:
        """The quantities of a text without mark-up, and what stands between them."""
        if text not in self._tokens:
            self._tokens[text] = list(tokens_of(text, self.quantities(text)))
        return self._tokens[text]

"""Parts of a reply that can be changed: numbers with their format, sentences, the conclusion, and code."""

from __future__ import annotations

import ast
import re
import warnings
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
        """Position after its last character."""
        return self.start + len(self.text)

    @property
    def value(self) -> Decimal:
        """Value of the number."""
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


_STATEMENT = re.compile(r"(?m)^\s*(?:def |class |import |from \w+ import|return\b|for .*:|if .*:|while .*:|\w+ = )")


def parsed(code: str) -> ast.Module | None:
    """The syntax tree of ``code``; None when it is no valid Python. Warnings about its style stay silent."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def is_code(text: str) -> bool:
    """Tell whether a whole text is Python with a statement in it; prose of one word parses as well."""
    return _STATEMENT.search(text) is not None and parsed(text) is not None


_SENTENCE = re.compile(r"(?:\d{1,2}[.)][ \t]+)?[^\s].*?(?:[.!?](?=[\s\"')*]|$)[\"')*]*|(?=\n)|$)")
_CONCLUSIONS = (
    re.compile(
        r"(?im)(?:^|(?<=[.!?] ))[ \t>*#_-]*(?:the )?(?:final |overall )?(?:answer|result|verdict)[*_]*\s*[:=][*_ \t]*"
        r"(?P<c>\S[^\n]*?)[*_]*[ \t]*$"
    ),
    re.compile(r"\\boxed\{(?P<c>[^{}]*)\}"),
    re.compile(
        r"(?i)\b(?:answer|result|total|verdict|sum|output|solution)(?: \w+){0,4}? "
        r"(?:is|are|equals|would be|comes to|=)[: ]*(?P<c>[^\n]*?)(?=[.!?](?:\s|$)|\n|$)"
    ),
)
_END_WORDS = re.compile(r"[ \t]*\b(?:TERMINATE|TERMINATED|DONE|FINISHED|APPROVED?|STOP|END)\b[.!]?[ \t]*")


@dataclass(frozen=True)
class Span:
    """A stretch of a text."""

    start: int
    end: int

    def of(self, text: str) -> str:
        """Return the part of ``text`` that the span covers."""
        return text[self.start : self.end]


def sentences(text: str) -> list[Span]:
    """The sentences and single lines of a text, fenced code left out."""
    fences = [Span(m.start(), m.end()) for m in FENCE.finditer(text)]
    found: list[Span] = []
    at = 0
    for fence in [*fences, Span(len(text), len(text))]:
        found += [Span(at + m.start(), at + m.end()) for m in _SENTENCE.finditer(text[at : fence.start]) if m.group()]
        at = fence.end
    return found


def has_code(text: str) -> bool:
    """Tell whether the text holds fenced code, or is code."""
    return FENCE.search(text) is not None or is_code(text)


def conclusion(text: str) -> Span | None:
    """Find the text's result: of its answer line, its box, or the last sentence that names a result."""
    fences = [m.span() for m in FENCE.finditer(text)]
    for pattern in _CONCLUSIONS:
        matches = [m for m in pattern.finditer(text) if m.group("c").strip()]
        matches = [m for m in matches if not any(start <= m.start() < end for start, end in fences)]
        if matches:
            return Span(matches[-1].start("c"), matches[-1].end("c"))
    return None


def conclusion_sentence(text: str) -> Span | None:
    """The whole line or sentence in which the conclusion stands."""
    found = conclusion(text)
    if found is None:
        return None
    return next((s for s in sentences(text) if s.start <= found.start and found.end <= s.end), None)


def without(text: str, span: Span) -> str:
    """``text`` without a stretch, and without the white space that this leaves doubled."""
    before, after = text[: span.start], text[span.end :]
    if before.endswith("\n") or not before:
        after = after.lstrip(" \t")
        after = after[1:] if after.startswith("\n") and (not before or before.endswith("\n")) else after
    elif before.endswith(" "):
        before = before[:-1] if not after or after[0] in " \n" else before
    return (before + after).strip()


def keep_end_word(old: str, new: str) -> str:
    """``new`` with the word that ends ``old``, such as ``TERMINATE``, when a team stops at one."""
    match = next(iter(reversed(list(_END_WORDS.finditer(old.rstrip())))), None)
    if match is None or match.end() != len(old.rstrip()) or match.group().strip() in new:
        return new
    return f"{new}\n{match.group().strip()}" if "\n" in old else f"{new} {match.group().strip()}"


def result_line(text: str, result: str) -> str | None:
    """The sentence or line that gives the conclusion of ``text``, with ``result`` in its place; None without one."""
    sentence, found = conclusion_sentence(text), conclusion(text)
    if sentence is None or found is None:
        return None
    return text[sentence.start : found.start] + result + text[found.end : sentence.end]


def content_words(text: str) -> set[str]:
    """The longer words of a text in lower case, to tell what it is about."""
    return {word for word in re.findall(r"[a-z]{3,}", text.lower()) if word not in _COMMON}


_COMMON = frozenset(
    re.findall(
        r"\w+",
        "this that with from have will each they them then than there their what when which would should could must "
        "and the for you are was has had not but can all any one two its his her she how who why out per now get "
        "also into more most only over some such very your about after before other these those were been does",
    )
)

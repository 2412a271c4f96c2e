"""Texts of a run: numbers and quoted strings by value, JSON, prose, and passages to quote word for word."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache

from tracer_hooks._lazy import cached_property
from tracer_hooks._reading import parse_json
from tracer_hooks.schema import Step
from tracer_hooks.values import dates_in, quantities_in, times_in


def parsed_json(text: str) -> object:
    """Read ``text`` as JSON; None for text that is none, or nests deeper than Python's parser goes."""
    try:
        return parse_json(text)
    except ValueError:
        return None


_NUMBER = re.compile(r"(?<![\w.,])[-+]?(?:\d{1,3}(?:,\d{3})+|\d{1,15})(?:\.\d{1,12})?(?![\w]|[.,]\d)")
_MAX_TRIES = 5_000
"""Places that are looked at for one value, so that a megabyte of ones does not take seconds."""
_QUOTED = re.compile(r"(?<!\w)'([^'\n]{1,80})'(?!\w)|\"([^\"\n]{1,80})\"|`([^`\n]{1,80})`|“([^”\n]{1,80})”")


def plain_fields(data: object) -> Iterator[tuple[str, str]]:
    """Keys and plain values of JSON, at any depth."""
    for key, value in data.items() if isinstance(data, dict) else ():
        if isinstance(value, (str, int, float)):
            yield str(key), str(value)
    for each in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from plain_fields(each)


def sole_argument(arguments: object) -> str:
    """The one argument of a call as text; empty where it has none or several."""
    values = list(arguments.values()) if isinstance(arguments, dict) else [arguments]
    return str(values[0]) if len(values) == 1 else ""


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


_COMPOUND = re.compile(r"\d\s?[a-z]+ \d")
_ID = re.compile(r"(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[A-Za-z0-9]{1,20}(?:-[A-Za-z0-9]{1,20}){1,4}(?![\w-])")


def stated_values(text: str) -> list[tuple[str, int]]:
    """Numbers, dates, times, durations and ids of a text with their places; of a date no part is a number."""
    whole = {(date.start, date.end) for date in dates_in(text)} | {(time.start, time.end) for time in times_in(text)}
    if _COMPOUND.search(text):
        whole |= {(each.start, each.end) for each in quantities_in(text) if each.unit and _COMPOUND.search(each.text)}
    whole |= {match.span() for match in _ID.finditer(text)}
    outer = [
        one for one in whole if not any(other != one and other[0] <= one[0] and one[1] <= other[1] for other in whole)
    ]
    found = [(text[start:end], start) for start, end in outer]
    found += [
        (match.group(), match.start())
        for match in numbers_in(text)
        if not any(start < match.end() and match.start() < end for start, end in outer)
    ]
    return sorted(found, key=lambda pair: pair[1])


def is_number(value: str) -> bool:
    """Tell whether ``value`` is a single number."""
    match = _NUMBER.fullmatch(value.strip())
    return match is not None


def find_value(text: str, value: str) -> int:
    """Find where ``value`` stands in ``text`` as a whole word or number, or -1.

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


_NOT_PROSE = re.compile(
    r"```.*?(?:```|\Z)"  # code
    r"|`[^`\n]{1,200}`"
    r"|(?:https?://|www\.)[^\s<>\"')\]]+"  # addresses and their parameters
    r"|\]\([^)\s]{1,2000}\)"
    r"|[?&][\w-]{1,40}=[^\s&]*"
    r"|[\w./-]{1,200}\.[a-z]{1,4}:\d+|\bline \d+\b"  # places in programs
    r"|\b\d{1,6}\s?[x\u00d7]\s?\d{1,6}\s?(?:px|pixels?)\b|\b\d{1,6}\s?(?:px|pixels?)\b"  # sizes of images
    r"|\b[\w:-]{0,40}(?:width|height|size)\W{1,5}\d+"
    r"|\{[^{}\n]{0,400}\}|\[[^\[\]\n]{0,400}\](?!\()"  # JSON
    r"|^[ \t]{0,40}[\"'][^\"'\n]{1,80}[\"'] ?:[^\n]*$",
    re.DOTALL | re.MULTILINE,
)
_LONGEST = 20_000


def prose_of(text: str) -> str:
    """``text`` with code, JSON, addresses and image sizes blanked; every place stays where it was."""
    return _NOT_PROSE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text[:_LONGEST])


MAX_QUOTE = 240
_JSON_KEY = re.compile(r"""(?:"[^"\n\\]{1,80}"|'[^'\n\\]{1,80}')\s{0,4}:""")
_CODE_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_BREAK = re.compile(r"\n|(?<=[.!?])\s")
_NEEDS_ESCAPE = re.compile(r"""["'\\\x00-\x1f]|[^\x00-\x7f]""")


class StepPassage:
    """One text of one step: its content, its error, or a part of a tool call."""

    def __init__(self, raw: str, *, part: str, limit: int) -> None:
        self.raw = raw
        self.part = part
        """``content``, ``error``, ``arguments``, ``result`` or ``tool error``."""
        self._head = limit // 2 if len(raw) > limit else len(raw)
        self._skipped = len(raw) - limit if len(raw) > limit else 0

    @cached_property
    def text(self) -> str:
        """The clipped copy without JSON keys."""
        clipped = self.raw
        if self._skipped:
            clipped = self.raw[: self._head] + self.raw[self._head + self._skipped :]
        return _JSON_KEY.sub(lambda match: " " * len(match.group()), clipped)

    @cached_property
    def prose(self) -> str:
        """The same without fenced code."""
        return _CODE_FENCE.sub(lambda match: " " * len(match.group()), self.text) if "```" in self.text else self.text

    def quote_at(self, start: int, end: int) -> str:
        """The sentence around a place in :attr:`text`, as it stands in the original."""
        return self.quote_raw(self._to_raw(start), self._to_raw(max(start, end - 1)) + 1)

    def quote_raw(self, start: int, end: int) -> str:
        """The sentence around a place in :attr:`raw`."""
        end = min(end, start + MAX_QUOTE)
        room = MAX_QUOTE - (end - start)
        before = self.raw[max(0, start - room // 2) : start]
        after = self.raw[end : end + room - room // 2]
        breaks = [match.end() for match in _BREAK.finditer(before)]
        first = start - len(before) + (breaks[-1] if breaks else 0)
        following = _BREAK.search(after)
        last = end + (following.start() if following else len(after))
        return self.raw[first:last].strip()

    def search(self, pattern: re.Pattern[str], *, prose: bool = False) -> str | None:
        """A quotation around the first match of ``pattern``."""
        match = pattern.search(self.prose if prose else self.text)
        if match is None:
            return None
        return self.quote_at(match.start(), match.end()) or None

    def _to_raw(self, position: int) -> int:
        return position if position < self._head else position + self._skipped


def code_spans(text: str) -> Iterator[tuple[int, int]]:
    """The places of fenced code in ``text``, without its fences.

    Plain string search, since the text may be megabytes long.
    """
    at = 0
    while True:
        opened = text.find("```", at)
        line = text.find("\n", opened) if opened >= 0 else -1
        if line < 0:
            return
        closed = text.find("```", line)
        end = closed if closed >= 0 else len(text)
        yield line + 1, end
        at = end + 3


def passages_of(step: Step, limit: int) -> Iterator[StepPassage]:
    """Every text of ``step``, the agent's own words first."""
    if step.content:
        yield StepPassage(step.content, part="content", limit=limit)
    if step.error:
        yield StepPassage(step.error, part="error", limit=limit)
    for call in step.tool_calls:
        for leaf in _leaves(call.arguments):
            yield StepPassage(leaf, part="arguments", limit=limit)
        if call.result:
            yield StepPassage(call.result, part="result", limit=limit)
        if call.error:
            yield StepPassage(call.error, part="tool error", limit=limit)


def _leaves(value: object, room: int = 200) -> Iterator[str]:
    """The texts and numbers in tool arguments, each as it reads in any way of writing JSON."""
    stack, seen = [value], 0
    while stack and seen < room:
        item = stack.pop()
        seen += 1
        if isinstance(item, dict):
            stack.extend(reversed(list(item.values())))
        elif isinstance(item, list):
            stack.extend(reversed(item))
        elif isinstance(item, str) and item:
            # What JSON would escape cannot be quoted from the written arguments: stop short of it.
            match = None if value is item else _NEEDS_ESCAPE.search(item)
            text = item[: match.start()] if match else item
            if text.strip():
                yield text
        elif isinstance(item, (int, float)) and not isinstance(item, bool):
            yield json.dumps(item)

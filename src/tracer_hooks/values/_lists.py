"""Lists in text: with commas, bullets, numbers, or brackets."""

from __future__ import annotations

import re
from typing import NamedTuple

from tracer_hooks.values._patterns import lazy

_BULLET = lazy(r"^\s{0,12}(?:[-*•–+]|\d{1,3}[.)])\s+(?=\S)")
_SEPARATOR = lazy(r";\s*|,\s*(?=\D)|,\s+|(?<=\D),\s*")
_AND = lazy(r"\s+(?:and|or|und|&)\s+")
_LEADING_AND = lazy(r"^(?:and|or|und|&)\s+", re.IGNORECASE)
_SENTENCE = lazy(r"[.!?:=<>{}()\[\]]|^(?:not|but)\b")
_INTRODUCTION = lazy(r"^.{0,80}?\b(?:are|is|were|was|includes?)\b\s", re.IGNORECASE)
_BRACKETS = {"[": "]", "(": ")", "{": "}"}
_BRACKETED = lazy(r"\[[^\[\]\n]{0,5000}\]|\([^()\n]{0,5000}\)|\{[^{}\n]{0,5000}\}")
_MAX_WORDS = 4


class Listing(NamedTuple):
    """The items of a list."""

    items: tuple[str, ...]
    is_ordered: bool = False
    """In square or round brackets, as programs print lists: the order counts."""


def expected_list(expected: str) -> Listing | None:
    """The list that ``expected`` is, from two items on; None where it is a text."""
    text = expected.strip()
    found = _bracketed(text) or _bulleted(text.splitlines()) or _in_line(text)
    return found if found and (len(found.items) > 1 or found.is_ordered) else None


def answered_list(answer: str, longest: int) -> Listing | None:
    """The list that ``answer`` is and nothing else but an introduction; None where it is prose.

    ``longest`` is how many words the longest expected item has: what has clearly longer ones is prose.
    """
    text = answer.strip()
    lines = [line for line in text.splitlines() if line.strip()]
    if lines and lines[0].rstrip().endswith(":") and len(lines) > 1:
        lines = lines[1:]
    found = _bracketed(text) or _bulleted(lines)
    if found is None and len(lines) == 1:
        line = lines[0].rpartition(": ")[2].rstrip(" .")
        for part in (line, _INTRODUCTION.sub("", line, count=1)):
            found = _in_line(part, _MAX_WORDS)
            if found and all(len(item.split()) <= longest + 1 for item in found.items):
                return found
        return None
    return found


def lists_in_brackets(answer: str) -> list[Listing]:
    """Every list in brackets within ``answer``."""
    found = (_bracketed(match.group()) for match in _BRACKETED.finditer(answer))
    return [listing for listing in found if listing]


def _bracketed(text: str) -> Listing | None:
    if len(text) < 3 or _BRACKETS.get(text[0]) != text[-1]:
        return None
    inner = text[1:-1]
    if any(sign in inner for sign in "[]{}():") or not inner.strip():
        return None
    items = tuple(item.strip().strip("'\"") for item in inner.split(","))
    if items and not items[-1]:
        items = items[:-1]
    return Listing(items, is_ordered=text[0] != "{") if all(items) and items else None


def _bulleted(lines: list[str]) -> Listing | None:
    items = [_BULLET.sub("", line).strip() for line in lines if _BULLET.match(line)]
    return Listing(tuple(items)) if items and len(items) == len([line for line in lines if line.strip()]) else None


def _in_line(text: str, most_words: int = _MAX_WORDS) -> Listing | None:
    """``a, b and c``; several lines, sentences and long items are text."""
    if "\n" in text or len(text) > 5_000:
        return None
    if re.fullmatch(r"-?\d+(?:,-?\d+){2,}", text):
        return Listing(tuple(text.split(",")))
    parts = [part for part in _SEPARATOR.split(text) if part.strip()]
    if not parts:
        return None
    if len(parts) == 1:
        parts = _AND.split(text)
        most_words = 2
    else:
        parts[-1:] = _AND.split(_LEADING_AND.sub("", parts[-1])) if "," in text or ";" in text else parts[-1:]
    items = tuple(part.strip() for part in parts)
    if len(items) < 2 or not all(items):
        return None
    if any(len(item.split()) > most_words or _SENTENCE.search(_without_number(item)) for item in items):
        return None
    return Listing(items)


def _without_number(item: str) -> str:
    return re.sub(r"\d[\d.,:/-]*", "0", item)

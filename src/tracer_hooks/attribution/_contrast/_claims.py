"""What a text commits itself to: numbers, codes, names, tool arguments, sentences, in a form that can be compared."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from tracer_hooks.attribution._reading._numbers import canonical

_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
# Scripts without spaces give one token a character; other tokens keep the joints of dates, mail addresses and ids.
_TOKEN = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+(?:(?:[.@:'\u2019/-]|,(?=\d{{3}}(?!\d))|_+)[^\W_{_CJK}]+)*")
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
_DIGITS = re.compile(r"\d+")
_NAME = re.compile(r"(?<=[^\W\d_][ ,])(?:[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,})+)")
_SENTENCE = re.compile(r"[^.!?\n]+")
_COUNTED = re.compile(r"(\d+)[^\W\d_]{0,2}")
_WORD = re.compile(r"[^\W_]+")
_MIN_SENTENCE_WORDS, _MAX_SENTENCE_WORDS, _MAX_SENTENCES = 5, 40, 12


class ClaimKind(StrEnum):
    """What a claim is about."""

    NUMBER = "number"
    CODE = "code"
    """A token with digits that is no number, a mail address, an abbreviation in capitals: ids, dates, airports."""
    NAME = "name"
    """Several capitalised words inside a sentence."""
    ARGUMENT = "argument"
    """The value of one argument of one tool."""
    SENTENCE = "sentence"


class Claim(NamedTuple):
    """One thing that a step says or uses; equal claims have equal values whatever way they were written."""

    kind: ClaimKind
    value: str
    slot: str = ""
    """Of an argument, the tool and the place in its arguments: ``"refund.amount"``."""


class TextReading(NamedTuple):
    """One text taken apart."""

    words: dict[str, int]
    """How often each token occurs, in comparable form, numbers and codes among them."""
    claims: dict[Claim, str]
    """The claims, each with the words in which the text makes it first."""


def read_text(text: str, *, sentences: bool = False) -> TextReading:
    """Take a text apart.

    Args:
        text: Any text; the caller cuts it to a length that it can afford.
        sentences: Whether whole sentences count as claims too.
    """
    words: dict[str, int] = {}
    claims: dict[Claim, str] = {}
    for token, count in Counter(_TOKEN.findall(text)).items():
        forms, claim = _read_token(token)
        for form in forms:
            words[form] = words.get(form, 0) + count
        if claim is not None:
            claims.setdefault(claim, token)
    for match in _NAME.finditer(text):
        claims.setdefault(Claim(ClaimKind.NAME, match.group().casefold()), match.group())
    if sentences:
        claims.update(_sentences(text))
    return TextReading(words, claims)


@lru_cache(maxsize=50_000)
def _read_token(token: str) -> tuple[tuple[str, ...], Claim | None]:
    """The words that a token counts as, and the claim that it makes."""
    claim = _claim_of(token)
    if claim is not None:
        return (claim.value,), claim
    return tuple(part.casefold() for part in _WORD.findall(token)), None


def _claim_of(token: str) -> Claim | None:
    if token.isalpha():
        is_short_code = 3 <= len(token) <= 5 and token.isascii() and token.isupper()
        return Claim(ClaimKind.CODE, token.casefold()) if is_short_code else None
    if _DIGITS.search(token) is None:
        return Claim(ClaimKind.CODE, token.casefold()) if "@" in token else None
    if _NUMBER.fullmatch(token):
        return Claim(ClaimKind.NUMBER, canonical(token))
    return Claim(ClaimKind.CODE, token.casefold())


def _sentences(text: str) -> Iterator[tuple[Claim, str]]:
    found = 0
    for match in _SENTENCE.finditer(text):
        words = _WORD.findall(match.group())
        if _MIN_SENTENCE_WORDS <= len(words) <= _MAX_SENTENCE_WORDS:
            yield Claim(ClaimKind.SENTENCE, " ".join(words).casefold()), match.group().strip()
            found += 1
            if found == _MAX_SENTENCES:
                return


def argument_claims(tool: str, arguments: object, room: int = 60) -> Iterator[tuple[Claim, str]]:
    """The values in a tool's arguments, each under its place; positions in lists are left out, since order may vary."""
    stack: list[tuple[str, object]] = [(tool, arguments)]
    while stack and room:
        place, value = stack.pop()
        if isinstance(value, dict):
            stack.extend((f"{place}.{key}", inner) for key, inner in reversed(list(value.items())))
        elif isinstance(value, list):
            stack.extend((place, inner) for inner in reversed(value))
        elif value is not None and str(value).strip():
            room -= 1
            surface = str(value)[:400]
            folded = canonical(surface) if len(surface) < 40 else " ".join(surface.casefold().split())
            yield Claim(ClaimKind.ARGUMENT, folded, place), surface


def parts_of(claims: Iterable[Claim]) -> set[Claim]:
    """The claims, and the plain numbers inside their codes: who has read ``2024-05-17`` can say "May 17"."""
    found = set(claims)
    for claim in claims:
        if claim.kind in (ClaimKind.CODE, ClaimKind.ARGUMENT):
            found.update(Claim(ClaimKind.NUMBER, canonical(digits)) for digits in _DIGITS.findall(claim.value[:80]))
        if claim.kind is ClaimKind.ARGUMENT:
            found.update(read_text(claim.value).claims)
    return found


def is_rewording(claim: Claim, known: Set[Claim]) -> bool:
    """Whether a code only writes known numbers in another way: "13th", "19:00" of "19:00:00", "May 26/27"."""
    if claim.kind is not ClaimKind.CODE or _DIGITS.search(claim.value) is None:
        return False
    return all(_is_known_part(part, known) for part in _WORD.findall(claim.value))


def _is_known_part(part: str, known: Set[Claim]) -> bool:
    if part.isalpha():
        return True
    match = _COUNTED.fullmatch(part)
    return match is not None and Claim(ClaimKind.NUMBER, canonical(match[1])) in known


def claim_weight(claim: Claim) -> float:
    """How much a claim says, from 0 to 1: numbers of one or two digits stand in every list and every date."""
    if claim.kind is ClaimKind.NUMBER:
        digits = sum(char.isdigit() for char in claim.value)
        return 0.2 if digits < 2 else 0.6 if digits == 2 else 0.8
    if claim.kind is ClaimKind.CODE:
        return 1.0 if len(claim.value) > 3 and _DIGITS.search(claim.value) else 0.25
    if claim.kind is ClaimKind.NAME:
        return 0.4
    return 1.0 if claim.kind is ClaimKind.ARGUMENT else 0.2

"""The expected answer, which no prompt may give away.

A retry that passes because the prompt held the answer has repaired nothing. So a passage that comes near the expected
answer is left out, even at the price of losing a harmless one.
"""

from __future__ import annotations

import re

from tracer_hooks.attribution import expected_values
from tracer_hooks.schema import Trajectory

_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_CHECK_WORDS = frozenset(
    _WORD.findall(
        "a an and answer be but check did expected false for found from got has in is it no none not of or output"
        " result returned should that the this to true value was with wrong"
    )
)
_LONG = 12
"""From this many words on, an answer is recognised by three of its words in a row instead of by any one of them."""


class Secrets:
    """The expected answer of one run, in every form that can be recognised."""

    def __init__(self, trajectory: Trajectory) -> None:
        self._numbers: set[str] = set()
        self._words: set[str] = set()
        self._runs: set[tuple[str, ...]] = set()
        self._texts: set[str] = set()
        given = set(_fold_words(trajectory.task))
        for value in (*expected_values(trajectory), trajectory.reference or ""):
            self._add(value, given)
        self._words |= _words_of_check(trajectory, given)

    def are_in(self, text: str) -> bool:
        """Whether ``text`` holds the expected answer or a telling part of it."""
        folded = _fold(text)
        if any(secret in folded for secret in self._texts):
            return True
        if self._numbers & {_plain_number(match.group()) for match in _NUMBER.finditer(text)}:
            return True
        words = _fold_words(text)
        if self._words & set(words):
            return True
        return any(run in self._runs for run in zip(words, words[1:], words[2:], strict=False))

    def _add(self, value: str, given: set[str]) -> None:
        folded = _fold(value)
        if not folded:
            return
        words = _fold_words(value)
        # One or two plain characters would be found in every text; as words they are looked for below.
        if len(folded) > 2 or not words or not folded.isascii():
            self._texts.add(folded)
        self._numbers |= {_plain_number(match.group()) for match in _NUMBER.finditer(value)}
        if len(words) >= _LONG:
            self._runs |= set(zip(words, words[1:], words[2:], strict=False))
        else:
            telling = {word for word in words if word not in given}
            self._words |= telling if telling else set(words)


def _words_of_check(trajectory: Trajectory, given: set[str]) -> set[str]:
    """The words of the check's own message: whoever wrote it may have put the answer there, in any wording."""
    reason = (trajectory.outcome_reason or "").casefold()
    if not reason.startswith("check"):
        return set()
    given = given | set(_fold_words(" ".join(trajectory.agent_names)))
    harmless = given | set(_fold_words(trajectory.final_output or "")) | _CHECK_WORDS
    return {word for word in _fold_words(reason) if word not in harmless}


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())


def _fold_words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _plain_number(number: str) -> str:
    plain = number.replace(",", "")
    whole, _, rest = plain.partition(".")
    return (whole.lstrip("0") or "0") + (f".{rest.rstrip('0')}" if rest.rstrip("0") else "")

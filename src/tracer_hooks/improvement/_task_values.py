"""Sentences that are about one task: they would be wrong advice for every other one."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*(?![\w])")
_NAME = re.compile(r"\b[A-Z][a-z]{2,}\b")
_WORDS = (
    "All And Are Assume But Calculate Can Compute Consider Count Create Define Determine Does Each Every "
    "Find For From Give Given Has Have How Implement Let List Make One Please Return Say Show Solve "
    "Suppose The Then There These They This Two Use Using What When Where Which While Who Why Will With "
    "Write You Your"
)
_FIRST_WORDS = frozenset(_WORDS.split())
"""Words in capitals that are no names: a sentence of a task begins with them."""
_QUOTED = re.compile(r"[\"'\u201c\u2018«`]([^\"'\u201d\u2019»`\n]{3,})[\"'\u201d\u2019»`]")
_POINTING = re.compile(
    r"\b(?:first|second|third|fourth|fifth|sixth|this|that|last|previous|above) "
    r"(?:task|run|example|problem|question)\b",
    re.IGNORECASE,
)
_LONG = 2
"""Digits from which on a number alone shows which task a sentence is about."""


def is_about_a_task(sentence: str, before: str, tasks: Sequence[str], said: Sequence[str] = ()) -> bool:
    """Whether a sentence holds values of a task: a long number of it, two short ones, or a name that no other has.

    What stands in the instructions already is no task's own.

    Args:
        sentence: A new sentence.
        before: The instructions that it is to stand in.
        tasks: The tasks that were shown to who wrote it.
        said: What was said in the runs on them; of it, numbers count.
    """
    if _POINTING.search(sentence) and not _POINTING.search(before):
        return True
    if any(_is_about(sentence, before, set(_NUMBER.findall(text)), set()) for text in said):
        return True
    return any(_is_about(sentence, before, *_marks(task, tasks)) for task in tasks)


def _marks(task: str, tasks: Sequence[str]) -> tuple[set[str], set[str]]:
    """The numbers of a task, and the names and quotes that no other task has."""
    others = "\n".join(other for other in tasks if other != task).casefold()
    words = {
        *(name for name in _NAME.findall(task) if name not in _FIRST_WORDS),
        *(quote.strip() for quote in _QUOTED.findall(task)),
    }
    return set(_NUMBER.findall(task)), {word for word in words if word.casefold() not in others}


def _is_about(sentence: str, before: str, numbers: set[str], words: set[str]) -> bool:
    found = {number for number in _NUMBER.findall(sentence) if number in numbers and number not in before}
    if len(found) > 1 or any(len(number) >= _LONG for number in found):
        return True
    return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", sentence) and word not in before for word in words)

"""What new instructions change, line by line and word by word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby

from tracer_hooks.report._excerpts import Passage
from tracer_hooks.report._wording import clean

_LONGEST = 40_000  # characters of a prompt that are compared; matching is quadratic in the worst case
_MOST_LINES = 800
_MOST_WORDS = 600
_CONTEXT = 3


@dataclass(frozen=True)
class DiffLine:
    """One line of the comparison."""

    kind: str
    """``same``, ``removed``, ``added``, or ``gap`` for unchanged lines that are left out."""
    passages: tuple[Passage, ...]
    """The line; changed words are marked."""


@dataclass(frozen=True, kw_only=True)
class PromptDiff:
    """Old and new instructions as the page compares them."""

    lines: tuple[DiffLine, ...]
    note: str
    """What was left out of the comparison; empty when nothing was."""


def prompt_diff(before: str, after: str) -> PromptDiff:
    """The comparison of two prompts."""
    old, new = clean(before), clean(after)
    cut = max(len(old), len(new)) > _LONGEST or max(old.count("\n"), new.count("\n")) >= _MOST_LINES
    return PromptDiff(
        lines=tuple(diff_lines(old, new)),
        note=f"Only the beginning of each prompt is compared ({_LONGEST:,} characters)." if cut else "",
    )


def diff_lines(before: str, after: str) -> list[DiffLine]:
    """``before`` and ``after`` as one list of lines, changed words marked, long unchanged parts left out."""
    old, new = (text[:_LONGEST].split("\n")[:_MOST_LINES] if text else [] for text in (before, after))
    lines: list[DiffLine] = []
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for number, (tag, start, end, new_start, new_end) in enumerate(blocks):
        if tag == "equal":
            lines += _unchanged(old[start:end], is_first=number == 0, is_last=number == len(blocks) - 1)
        else:
            lines += _changed(old[start:end], new[new_start:new_end])
    return lines


def _unchanged(lines: Sequence[str], *, is_first: bool, is_last: bool) -> Iterator[DiffLine]:
    head, tail = 0 if is_first else _CONTEXT, 0 if is_last else _CONTEXT
    hidden = len(lines) - head - tail
    if hidden <= 2:
        head, hidden = len(lines), 0
    for line in lines[:head]:
        yield DiffLine("same", (Passage(line),))
    if hidden:
        yield DiffLine("gap", (Passage(f"{hidden} unchanged lines"),))
        for line in lines[head + hidden :]:
            yield DiffLine("same", (Passage(line),))


def _changed(old: Sequence[str], new: Sequence[str]) -> Iterator[DiffLine]:
    """Removed lines, then added ones; words are compared when lines pair up."""
    pairs = [_words(*pair) for pair in zip(old, new, strict=False)]
    for position, line in enumerate(old):
        yield DiffLine("removed", pairs[position][0] if position < len(pairs) else (Passage(line),))
    for position, line in enumerate(new):
        yield DiffLine("added", pairs[position][1] if position < len(pairs) else (Passage(line),))


def _words(old: str, new: str) -> tuple[tuple[Passage, ...], tuple[Passage, ...]]:
    left, right = (re.findall(r"\w+|\s+|[^\w\s]", line) for line in (old, new))
    if max(len(left), len(right)) > _MOST_WORDS:
        return (Passage(old),), (Passage(new),)
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    if matcher.ratio() < 0.4:  # two lines that have little in common: marking every other word helps nobody
        return (Passage(old),), (Passage(new),)
    removed, added = [], []
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        # A blank between two changed words counts as changed, or the marks would look like a comb.
        changed = tag != "equal" or not "".join(left[start:end]).strip()
        removed.append(Passage("".join(left[start:end]), marked=changed))
        added.append(Passage("".join(right[new_start:new_end]), marked=changed))
    return _joined(removed), _joined(added)


def _joined(passages: Sequence[Passage]) -> tuple[Passage, ...]:
    groups = groupby((each for each in passages if each.text), key=lambda each: each.marked)
    return tuple(Passage("".join(each.text for each in group), marked=marked) for marked, group in groups)

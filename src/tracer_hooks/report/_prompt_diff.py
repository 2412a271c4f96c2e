"""What a prompt rewrite changed, line by line and word by word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby

from tracer_hooks.report._excerpts import Passage
from tracer_hooks.report._wording import clean
from tracer_hooks.schema import ErrorMode

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
class RewriteView:
    """A prompt rewrite as the page shows it."""

    agent: str
    mode: str
    reason: str
    decision: str
    kept: bool | None
    lines: tuple[DiffLine, ...]
    note: str
    """What was left out of the comparison; empty when nothing was."""

    @property
    def verdict(self) -> str:
        """Kept, dropped, or undecided."""
        return {True: "Kept", False: "Dropped", None: "Not decided"}[self.kept]


def rewrite_view(rewrite: Mapping[str, object] | object) -> RewriteView:
    """A rewrite, given as a mapping or an object; a field that it lacks is empty."""
    before, after = clean(_text(rewrite, "before")), clean(_text(rewrite, "after"))
    kept = _field(rewrite, "kept")
    cut = max(len(before), len(after)) > _LONGEST or max(before.count("\n"), after.count("\n")) >= _MOST_LINES
    return RewriteView(
        agent=clean(_text(rewrite, "agent")),
        mode=_mode(_field(rewrite, "error_mode")),
        reason=clean(_text(rewrite, "reason")),
        decision=clean(_text(rewrite, "decision")),
        kept=kept if isinstance(kept, bool) else None,
        lines=tuple(diff_lines(before, after)),
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


def _field(rewrite: Mapping[str, object] | object, name: str) -> object:
    return rewrite.get(name) if isinstance(rewrite, Mapping) else getattr(rewrite, name, None)


def _text(rewrite: Mapping[str, object] | object, name: str) -> str:
    value = _field(rewrite, name)
    return "" if value is None else str(value)


def _mode(value: object) -> str:
    try:
        mode = ErrorMode(str(value))
    except ValueError:
        return "" if value is None else clean(value)
    return f"{mode.value} {mode.title}"

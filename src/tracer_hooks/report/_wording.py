"""Words, excerpts and differences of texts as the pages show them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any

from tracer_hooks._text import on_screen
from tracer_hooks.schema import RunOutcome, StepKind, Trajectory, to_text

if TYPE_CHECKING:
    from rich.text import Text

View = dict[str, Any]
"""What a template shows of something, by name."""
OUTCOMES = {RunOutcome.SUCCEEDED: "Succeeded", RunOutcome.FAILED: "Failed", RunOutcome.UNKNOWN: "Unknown"}
KINDS = {
    StepKind.MESSAGE: "message",
    StepKind.TOOL_CALL: "tool call",
    StepKind.HANDOFF: "hand-off",
    StepKind.ERROR: "error",
}


def clean(value: object) -> str:
    """``value`` as text that is safe in any page or terminal: every invisible control character is made visible."""
    return on_screen(to_text(value).replace("\r\n", "\n"))


def one_line(value: object, limit: int) -> str:
    """``value`` on one line of at most ``limit`` characters."""
    text = " ".join(clean(to_text(value)[: limit * 4]).split())
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def styled(*parts: tuple[str, str]) -> Text:
    """A line for a terminal of texts, each with its style; none of them is read as markup."""
    from rich.text import Text

    return Text.assemble(*parts)


def in_seconds(seconds: float | None) -> str:
    """A duration: ``"340 ms"``, ``"2.5 s"``, ``"3 min 4 s"``, ``"2 h 5 min"``; empty for None."""
    if seconds is None or seconds < 0:
        return ""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def in_bytes(count: int) -> str:
    """A size: ``"912 bytes"``, ``"4.1 kB"``, ``"1.0 MB"``."""
    if count < 1000:
        return f"{count} bytes"
    return f"{count / 1000:.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"


def duration(trajectory: Trajectory) -> float | None:
    """Seconds from the first start to the last end of a step; None when times are missing."""
    starts = [step.started_at for step in trajectory.steps if step.started_at is not None]
    ends = [step.ended_at for step in trajectory.steps if step.ended_at is not None]
    return (max(ends) - min(starts)).total_seconds() if starts and ends else None


def lasted(started_at: datetime | None, ended_at: datetime | None) -> float | None:
    """Seconds between two moments; None when one is missing."""
    return None if started_at is None or ended_at is None else (ended_at - started_at).total_seconds()


LONGEST = 20_000
"""Characters that one text may take in the page."""
SHORTEST = 160
"""Characters that every text may take, however full the page is."""
NO_LIMIT = 6 * LONGEST
"""Bytes of HTML that no text of the longest length needs."""
_PREVIEW = 280
FOLD_FROM = 700
_AROUND_QUOTE = 200
_QUOTE_LONGEST = 2_000


@dataclass(frozen=True)
class Passage:
    """A piece of a text."""

    text: str
    marked: bool = False
    """Whether it is quoted as evidence."""
    left_out: bool = False
    """Whether it is a note that stands for text that was cut."""


@dataclass(frozen=True)
class Excerpt:
    """A text as the page shows it."""

    passages: tuple[Passage, ...]
    """Its pieces, in order."""
    preview: str
    """Its beginning, for the folded state."""
    is_long: bool
    """Whether it is folded."""
    note: str
    """What was cut, with the size of the whole; empty when nothing was."""

    @property
    def marked(self) -> bool:
        """Tell whether a quoted passage stands in it."""
        return any(passage.marked for passage in self.passages)


def fair_limit(texts: Iterable[str], budget: int) -> int:
    """Bytes of HTML that each text may take so that all together stay within ``budget``.

    Short texts are kept whole and what they leave is shared by the long ones.
    """
    costs = sorted(_cost(text) for text in texts if text)
    for position, cost in enumerate(costs):
        share = budget // (len(costs) - position)
        if cost > share:
            return max(SHORTEST, share)
        budget -= cost
    return NO_LIMIT


def excerpt(text: str, *, limit: int, quotes: Sequence[str] = (), fold_from: int = FOLD_FROM) -> Excerpt:
    """``text`` cut to what fits into about ``limit`` bytes of HTML, and to at most ``LONGEST`` characters.

    Args:
        text: The text as recorded.
        limit: What :func:`fair_limit` gave.
        quotes: Passages to mark; they are kept when the text is cut.
        fold_from: Length from which the text is folded.
    """
    shown = clean(text)
    spans = _find(shown, [clean(quote) for quote in quotes if quote.strip()])
    windows = _windows(shown, spans, _affordable(shown, limit))
    passages = tuple(_passages(shown, windows, spans))
    kept = sum(len(passage.text) for passage in passages if not passage.left_out)
    note = ""
    if kept < len(shown):
        size = in_bytes(len(text.encode("utf-8")))
        note = f"{kept:,} of {len(shown):,} characters shown; the whole text has {size}."
    is_long = len(shown) > fold_from or shown.count("\n") > 16
    return Excerpt(passages, _preview(shown) if is_long else "", is_long, note)


def _html_bytes(text: str) -> int:
    return len(escape(text).encode("utf-8", "replace"))


def _cost(text: str) -> int:
    return _html_bytes(text[:LONGEST]) + _preview_cost(text)


def _preview_cost(text: str) -> int:
    return _html_bytes(text[:_PREVIEW]) if len(text) > FOLD_FROM else 0


def _affordable(text: str, limit: int) -> int:
    head = text[:LONGEST]
    left = limit - _preview_cost(text)
    return max(SHORTEST, int(len(head) * min(1.0, left / max(_html_bytes(head), 1))))


def _preview(text: str) -> str:
    lines = text.strip().split("\n", 4)[:4]
    joined = "\n".join(lines)
    return joined[:_PREVIEW].rstrip() + " …"


def _find(text: str, quotes: Sequence[str]) -> list[tuple[int, int]]:
    found = []
    for quote in quotes:
        start = text.find(quote)
        if start < 0:
            start = text.find(quote.strip())
            quote = quote.strip()
        if start >= 0:
            found.append((start, start + len(quote)))
    return _merged(found)


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _windows(text: str, spans: Sequence[tuple[int, int]], limit: int) -> list[tuple[int, int]]:
    """The parts of ``text`` to show: all of it, or its beginning, its end and what surrounds the quotes."""
    if len(text) <= limit:
        return [(0, len(text))]
    tail = limit // 5
    around = [
        (max(0, start - _AROUND_QUOTE), min(len(text), min(end, start + _QUOTE_LONGEST) + _AROUND_QUOTE))
        for start, end in spans[:5]
    ]
    return _merged([(0, limit - tail), (len(text) - tail, len(text)), *around])


def _passages(text: str, windows: Sequence[tuple[int, int]], spans: Sequence[tuple[int, int]]) -> Iterable[Passage]:
    position = 0
    for start, end in windows:
        if start > position:
            yield Passage(f"… {start - position:,} characters left out …", left_out=True)
        cursor = start
        for mark_start, mark_end in spans:
            low, high = max(mark_start, cursor), min(mark_end, end)
            if low >= high:
                continue
            if low > cursor:
                yield Passage(text[cursor:low])
            yield Passage(text[low:high], marked=True)
            cursor = high
        if cursor < end:
            yield Passage(text[cursor:end])
        position = end


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
    told = 0
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(_CONTEXT):
        lines += _left_out(old[told : group[0][1]])
        for tag, start, end, new_start, new_end in group:
            is_same = tag == "equal"
            lines += map(_same, old[start:end]) if is_same else _changed(old[start:end], new[new_start:new_end])
        told = group[-1][2]
    return [*lines, *_left_out(old[told:])]


def _same(line: str) -> DiffLine:
    return DiffLine("same", (Passage(line),))


def _left_out(lines: Sequence[str]) -> Iterable[DiffLine]:
    """A note in the place of lines that are the same, unless they are few."""
    return map(_same, lines) if len(lines) <= 2 else [DiffLine("gap", (Passage(f"{len(lines)} unchanged lines"),))]


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

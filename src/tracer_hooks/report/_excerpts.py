"""Texts cut to what a page can carry, with the quoted passages kept and marked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from tracer_hooks.report._wording import clean, in_bytes

LONGEST = 20_000
"""Characters that one text may take in the page."""
SHORTEST = 160
"""Characters that every text may take, however full the page is."""
NO_LIMIT = 6 * LONGEST
"""Bytes of HTML that no text of the longest length needs."""
_PREVIEW = 280
_FOLD_FROM = 700
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
        """Whether a quoted passage stands in it."""
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


def excerpt(text: str, *, limit: int, quotes: Sequence[str] = (), fold_from: int = _FOLD_FROM) -> Excerpt:
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
    return _html_bytes(text[:_PREVIEW]) if len(text) > _FOLD_FROM else 0


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

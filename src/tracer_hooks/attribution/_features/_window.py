"""The likeness of steps in a long run, at a cost that grows with its length and not with the square of it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.attribution._features._likeness import WINDOW, Likeness, numbered, rarity

_BLOCK = 150
"""Steps that are compared with those before them at once."""
_WIDTH = 16_384
"""Different words that are looked at at once, to bound memory."""


def windowed_likeness(words: Sequence[Counter[str]], agents: Sequence[str]) -> Likeness:
    """The likeness of steps up to :data:`WINDOW` apart, and of those with the very same words."""
    rows = _Rows(words)
    found = Likeness(numbered(agents), rows.between)
    count = len(words)
    for start in range(0, count, _BLOCK):
        first = max(0, start - WINDOW)
        found.add(rows.block(start, first, min(count, start + _BLOCK)), start, first, WINDOW)
    found.overall = rows.overall()
    for group in rows.same_words():
        _mark_copies(found, group, agents)
    return found


class _Rows:
    """The words of the steps as one list of entries, step after step: the number of a word, and its weight."""

    def __init__(self, words: Sequence[Counter[str]]) -> None:
        vocabulary: dict[str, int] = {}
        self._count = len(words)
        self._words = np.array(
            [vocabulary.setdefault(word, len(vocabulary)) for counts in words for word in counts], dtype=np.int64
        )
        self._times = np.array(list(chain.from_iterable(counts.values() for counts in words)), dtype=np.uint64)
        sizes = [len(counts) for counts in words]
        self._starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._steps = np.repeat(np.arange(self._count), sizes)
        raw = (1.0 + np.log(self._times.astype(np.float32))) * rarity(np.bincount(self._words), self._count)[
            self._words
        ]
        norms = np.sqrt(np.bincount(self._steps, weights=raw * raw, minlength=self._count))
        self._weights = (raw / norms[self._steps]).astype(np.float32)

    def block(self, start: int, first: int, end: int) -> NDArray[np.float64]:
        """The likeness of the steps from ``start`` to each from ``first``, both to before ``end``."""
        inside = slice(self._starts[first], self._starts[end])
        steps, weights = self._steps[inside] - first, self._weights[inside]
        _, places, times = np.unique(self._words[inside], return_inverse=True, return_counts=True)
        shared = times > 1  # a word of one step alone makes it like no other
        columns = np.where(shared, np.cumsum(shared) - 1, -1)[places]
        alike = np.zeros((end - start, end - first), dtype=np.float32)
        for low in range(0, int(shared.sum()), _WIDTH):
            chosen = (columns >= low) & (columns < low + _WIDTH)
            matrix = np.zeros((end - first, min(_WIDTH, int(shared.sum()) - low)), dtype=np.float32)
            matrix[steps[chosen], columns[chosen] - low] = weights[chosen]
            alike += matrix[start - first :] @ matrix.T
        return alike.astype(np.float64)

    def overall(self) -> NDArray[np.float64]:
        """The mean likeness of each step to all others, which needs no pairs: the cosine is linear in the other."""
        total = np.bincount(self._words, weights=self._weights)
        weights = self._weights.astype(np.float64)
        summed = np.bincount(self._steps, weights=weights * (total[self._words] - weights), minlength=self._count)
        return np.round(summed / max(1, self._count - 1), 9)  # equal steps stay equal

    def same_words(self) -> Iterator[list[int]]:
        """The steps that have the very same words, as often each, where there are several."""
        marks = np.random.default_rng(0).integers(0, 2**64, size=len(self._words), dtype=np.uint64)
        # Sums of a random number for each word, whatever their order; unequal steps meet by chance once in 2 ** 64.
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(marks[self._words] * self._times)])
        keys = (sums[self._starts[1:]] - sums[self._starts[:-1]]).tolist()
        groups: dict[int, list[int]] = {}
        for step, key in enumerate(keys):
            if self._starts[step] < self._starts[step + 1]:
                groups.setdefault(key, []).append(step)
        return (group for group in groups.values() if len(group) > 1)

    def between(self, one: int, other: int) -> float:
        """The likeness of two steps."""
        mine, theirs = self._entries(one), self._entries(other)
        return sum(weight * theirs[word] for word, weight in mine.items() if word in theirs)

    def _entries(self, step: int) -> dict[int, float]:
        inside = slice(self._starts[step], self._starts[step + 1])
        return dict(zip(self._words[inside].tolist(), self._weights[inside].tolist(), strict=True))


def _mark_copies(found: Likeness, group: list[int], agents: Sequence[str]) -> None:
    """Mark each step of ``group`` as a copy of the others, also where they stand too far apart to be compared."""
    found.earlier[group[1:]] = 1.0
    found.later[group[:-1]] = 1.0
    last: dict[str, int] = {}
    for step in group:
        if agents[step] in last:
            found.own_earlier[step] = found.own_later[last[agents[step]]] = 1.0
        if len(last) > (agents[step] in last):
            found.others_earlier[step] = 1.0
        last[agents[step]] = step
        near = bisect_right(group, step + WINDOW) - bisect_left(group, step - WINDOW)
        found.copies[step] += len(group) - near

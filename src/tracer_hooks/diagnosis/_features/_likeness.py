"""Likeness of the steps of a run in their words, at a cost that grows with its length in a long one."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

WINDOW = 150
"""Steps that two steps of a longer run may stand apart to be compared."""
SAME = 0.9
"""Likeness above which two steps count as copies."""
BESIDE = 3
"""Steps before, and after, that count as a step's neighbours."""


class Likeness:
    """The likeness of every step to the others of its run.

    Args:
        speakers: A number for the agent of each step.
        compare: The likeness of any two steps.
    """

    def __init__(self, speakers: NDArray[np.int64], compare: Callable[[int, int], float]) -> None:
        count = len(speakers)
        self._speakers = speakers
        self._compare = compare
        self.earlier = np.zeros(count)
        """To the earlier step that is most like it."""
        self.own_earlier = np.zeros(count)
        """The same among the steps of its own agent."""
        self.others_earlier = np.zeros(count)
        """The same among the steps of other agents."""
        self.later = np.zeros(count)
        """To the later step that is most like it."""
        self.own_later = np.zeros(count)
        """The same among the steps of its own agent."""
        self.copies = np.zeros(count)
        """How many other steps are copies of it."""
        self.overall = np.zeros(count)
        """To all other steps, on average."""
        self.beside = np.zeros((count, 2 * BESIDE + 1))
        """To the steps from :data:`BESIDE` before it to as many after it, itself in the middle; 0 past the ends."""

    def between(self, one: int, other: int) -> float:
        """The likeness of two steps, however far apart."""
        return self._compare(one, other)

    def add(self, block: NDArray[np.float64], start: int, first: int, reach: int) -> None:
        """Take in the likeness of the steps from ``start`` on to each step from ``first`` on, up to ``reach`` before.

        Args:
            block: One row for each step from ``start`` on, one column for each from ``first`` to the block's last row.
            start: The step of the first row.
            first: The step of the first column, not after ``start``.
            reach: How many steps apart two steps may stand to count.
        """
        end = start + len(block)
        rows, columns = np.arange(start, end), np.arange(first, end)
        apart = rows[:, None] - columns
        before = np.where((apart > 0) & (apart <= reach), block, 0.0)
        own = np.where(self._speakers[rows][:, None] == self._speakers[columns], before, 0.0)
        self.earlier[start:end] = before.max(axis=1, initial=0.0)
        self.own_earlier[start:end] = own.max(axis=1, initial=0.0)
        self.others_earlier[start:end] = (before - own).max(axis=1, initial=0.0)
        self.later[first:end] = np.maximum(self.later[first:end], before.max(axis=0, initial=0.0))
        self.own_later[first:end] = np.maximum(self.own_later[first:end], own.max(axis=0, initial=0.0))
        copies = before > SAME
        self.copies[start:end] += copies.sum(axis=1)
        self.copies[first:end] += copies.sum(axis=0)
        for shift in range(1, BESIDE + 1):
            here = rows[rows - shift >= first]
            self.beside[here, BESIDE - shift] = block[here - start, here - shift - first]
            self.beside[here - shift, BESIDE + shift] = self.beside[here, BESIDE - shift]


def numbered(names: Sequence[str]) -> NDArray[np.int64]:
    """The same number for the same name."""
    known: dict[str, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)


def exact_likeness(words: Sequence[Counter[str]], agents: Sequence[str]) -> Likeness:
    """The likeness of every two steps; time and memory grow with the square of their number."""
    count = len(words)
    vocabulary: dict[str, int] = {}
    for counts in words:
        for word in counts:
            vocabulary.setdefault(word, len(vocabulary))
    matrix = np.zeros((count, max(1, len(vocabulary))), dtype=np.float32)
    for row, counts in enumerate(words):
        for word, times in counts.items():
            matrix[row, vocabulary[word]] = 1.0 + np.log(times)
    matrix *= rarity((matrix > 0).sum(axis=0), count)
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    matrix /= np.where(norms > 0, norms, 1.0)
    alike = np.asarray(matrix @ matrix.T, dtype=np.float64)
    found = Likeness(numbered(agents), lambda one, other: float(alike[one, other]))
    found.add(alike, 0, 0, count)
    found.overall = (alike.sum(axis=1) - np.diag(alike)) / max(1, count - 1)
    return found


def rarity(steps: NDArray[np.int64], count: int) -> NDArray[np.float32]:
    """The weight of words that stand in so many of ``count`` steps."""
    return (np.log((1 + count) / (1 + steps)) + 0.3).astype(np.float32)


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

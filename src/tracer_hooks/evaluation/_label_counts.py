"""Which labels occur in which runs, as numbers."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tracer_hooks.evaluation._measure import Measure
from tracer_hooks.evaluation._resampling import Array, Resampling

Places = npt.NDArray[np.intp]
Sets = Sequence[frozenset[Hashable]]


@dataclass(frozen=True, slots=True)
class Occurrences:
    """Every label of every run: the run's position and the label's number."""

    runs: Places
    labels: Places

    def within(self, mask: npt.NDArray[np.bool_]) -> Occurrences:
        """Those in the runs of ``mask``, whose positions count anew."""
        kept = mask[self.runs]
        position = np.cumsum(mask) - 1
        return Occurrences(position[self.runs[kept]], self.labels[kept])


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelCounts:
    """What was named, what is labelled, and what is both, over the same numbering of labels."""

    right: Occurrences
    said: Occurrences
    gold: Occurrences
    number: int
    """How many different labels there are."""

    @classmethod
    def of(cls, said: Sets, gold: Sets) -> LabelCounts:
        """Count the labels of two sets a run."""
        number: dict[Hashable, int] = {}
        both = [one & other for one, other in zip(said, gold, strict=True)]
        found = [_occurrences(sets, number) for sets in (both, said, gold)]
        return cls(right=found[0], said=found[1], gold=found[2], number=len(number))

    def within(self, mask: npt.NDArray[np.bool_]) -> LabelCounts:
        """The same for the runs of ``mask``."""
        parts = (self.right.within(mask), self.said.within(mask), self.gold.within(mask))
        return LabelCounts(right=parts[0], said=parts[1], gold=parts[2], number=self.number)

    @property
    def labelled(self) -> int:
        """How many different labels are given at least once."""
        return int(np.unique(self.gold.labels).size)


def _occurrences(sets: Sets, number: dict[Hashable, int]) -> Occurrences:
    labels = [number.setdefault(label, len(number)) for label in itertools.chain.from_iterable(sets)]
    sizes = np.array([len(one) for one in sets], dtype=np.intp)
    return Occurrences(np.repeat(np.arange(len(sets)), sizes), np.array(labels, dtype=np.intp))


def macro_f1(counts: LabelCounts, resampling: Resampling, *, runs: int, with_interval: bool = True) -> Measure | None:
    """The mean F1 of the labels that are given at least once; None when none is.

    A label that is only ever named by the answers has no F1 of its own; it counts in the micro average alone. In a
    bootstrap sample the mean is over the labels given in it.

    Args:
        counts: Of these runs.
        resampling: Of the same runs.
        runs: How many there are.
        with_interval: Whether to draw one.
    """
    if not counts.labelled:
        return None
    kinds = (counts.right, counts.said, counts.gold)
    value = float(_mean_f1(*(np.bincount(one.labels, minlength=counts.number).astype(np.float64) for one in kinds)))
    if not with_interval:
        return Measure(value=value, runs=runs)
    drawn = _mean_f1(*(resampling.tallied(one.runs, one.labels, counts.number) for one in kinds))
    return resampling.measure(value, drawn, runs=runs)


def _mean_f1(right: Array, said: Array, gold: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        f1 = np.where(gold > 0, 2 * right / (said + gold), 0.0)
        mean: Array = f1.sum(axis=-1) / (gold > 0).sum(axis=-1)
    return mean

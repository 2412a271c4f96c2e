"""Bootstrap intervals over questions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tracer_hooks.evaluation._measure import Measure

Array = npt.NDArray[np.float64]
LEVEL = 95
"""Per cent of the bootstrap distribution inside an interval."""
_ENOUGH = 2


class Resampling:
    """Draws of whole questions with replacement, the same for every figure, so that differences are paired.

    Args:
        questions: The question of each run; runs of one question are drawn together.
        draws: How many samples; 0 for no intervals.
        seed: Of the draws.
    """

    def __init__(self, questions: Sequence[str], *, draws: int, seed: int) -> None:
        numbers: dict[str, int] = {}
        self._cluster = np.array([numbers.setdefault(one, len(numbers)) for one in questions], dtype=np.intp)
        self.clusters = len(numbers)
        size = self.clusters if self.clusters >= _ENOUGH else 0
        rng = np.random.default_rng(seed)
        counts = rng.multinomial(size, [1 / size] * size, size=draws) if size and draws else np.zeros((0, size))
        self._weights: Array = counts.astype(np.float64)

    def mean(self, values: Array) -> Measure | None:
        """The mean of those values that are numbers, with its interval; None when there are none."""
        known = ~np.isnan(values)
        return self.ratio(np.where(known, values, 0.0), known.astype(np.float64))

    def ratio(self, above: Array, below: Array, *, runs: int | None = None) -> Measure | None:
        """The sum of ``above`` over the sum of ``below``, with its interval; None when the latter is 0."""
        total = float(below.sum())
        if total == 0:
            return None
        return self.measure(float(above.sum()) / total, self._ratios(above, below), runs=_count(below, runs))

    def difference(self, ours: Array, theirs: Array) -> Measure | None:
        """The mean difference over the runs where both are numbers."""
        return self.mean(ours - theirs)

    def ratio_difference(self, ours: tuple[Array, Array], theirs: tuple[Array, Array]) -> Measure | None:
        """The difference of two ratios, both taken over the same draws."""
        if ours[1].sum() == 0 or theirs[1].sum() == 0:
            return None
        value = float(ours[0].sum() / ours[1].sum() - theirs[0].sum() / theirs[1].sum())
        return self.measure(value, self._ratios(*ours) - self._ratios(*theirs), runs=len(ours[0]))

    def measure(self, value: float, drawn: Array, *, runs: int) -> Measure:
        """A figure with the interval of what was drawn of it."""
        usable = drawn[~np.isnan(drawn)]
        if not len(usable):
            return Measure(value=value, runs=runs)
        tail = (100 - LEVEL) / 2
        low, high = np.percentile(usable, [tail, 100 - tail])
        return Measure(value=value, low=float(low), high=float(high), runs=runs)

    def tallied(self, runs: npt.NDArray[np.intp], classes: npt.NDArray[np.intp], number: int) -> Array:
        """How often each class occurs in every draw: (draws, ``number``).

        Args:
            runs: Position of the run of each occurrence.
            classes: Its class, below ``number``.
            number: How many classes there are.
        """
        if not self._weights.size:
            return np.zeros((0, number))
        places = self._cluster[runs] * number + classes
        counts = np.bincount(places, minlength=self.clusters * number).reshape(self.clusters, number)
        result: Array = self._weights @ counts.astype(np.float64)
        return result

    def by_run(self) -> Array:
        """How often each run is drawn: (draws, runs)."""
        if not self._weights.size:
            return np.zeros((0, len(self._cluster)))
        taken: Array = self._weights[:, self._cluster]
        return taken

    def _summed(self, values: Array) -> Array:
        if not self._weights.size:
            return np.zeros(0)
        sums: Array = self._weights @ np.bincount(self._cluster, weights=values, minlength=self.clusters)
        return sums

    def _ratios(self, above: Array, below: Array) -> Array:
        tops, bottoms = self._summed(above), self._summed(below)
        with np.errstate(divide="ignore", invalid="ignore"):
            result: Array = np.where(bottoms > 0, tops / bottoms, np.nan)
        return result


def _count(below: Array, runs: int | None) -> int:
    return int(np.count_nonzero(below)) if runs is None else runs

"""How accuracy grows with the number of labels, and what ten more would bring."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tracer_hooks.attribution._fitting import TenMore

_PARTS = (0.5, 0.75)
"""Parts of the questions that are fitted to beside all of them; the smaller lies within the larger."""
_FEWEST = 30
"""Questions below which nothing is said."""
_DRAWS = 1_000
_MORE = 10


class LearningCurve:
    """Collects which questions were judged right by fits to how many labels.

    Args:
        groups: The question of each trajectory.
        seed: Of the subsamples and the draws.
    """

    def __init__(self, groups: Sequence[str], *, seed: int) -> None:
        self._groups = list(groups)
        self._seed = seed
        self._told: list[tuple[int, float, float]] = []
        """Trajectory, labels that its judge was fitted to, and whether it was right."""

    @property
    def is_measured(self) -> bool:
        """Whether there are enough questions."""
        return len(set(self._groups)) >= _FEWEST

    def parts(self, places: Sequence[int]) -> Iterator[list[int]]:
        """Nested subsamples of whole questions out of the given trajectories; none when there are too few."""
        if not self.is_measured:
            return
        order = sorted({self._groups[place] for place in places})
        np.random.default_rng(self._seed).shuffle(order)
        for part in _PARTS:
            chosen = set(order[: round(part * len(order))])
            yield [place for place in places if self._groups[place] in chosen]

    def tell(self, labels: int, asked: Sequence[int], right: Sequence[float] | np.ndarray) -> None:
        """Take into account what a fit to so many labels got right."""
        self._told += [(place, float(labels), float(one)) for place, one in zip(asked, right, strict=True)]

    def ten_more(self, labels: int) -> TenMore | None:
        """What ten labels more than now would bring, accuracy being taken to grow with the logarithm of their number.

        Args:
            labels: How many there are now.
        """
        if not self.is_measured:
            return None
        unique = sorted(set(self._groups))
        places = np.array([unique.index(self._groups[place]) for place, _, _ in self._told])
        sizes = np.log([count for _, count, _ in self._told])
        right = np.array([one for _, _, one in self._told])
        step = np.log((labels + _MORE) / labels)
        draws = np.random.default_rng(self._seed).multinomial(len(unique), [1 / len(unique)] * len(unique), _DRAWS)
        slopes = [_slope(sizes, right, drawn[places].astype(np.float64)) for drawn in draws]
        low, high = np.percentile(slopes, [2.5, 97.5])
        found = _slope(sizes, right, np.ones(len(right)))
        return TenMore(gain=float(found * step), low=float(low * step), high=float(high * step))


def _slope(sizes: np.ndarray, right: np.ndarray, weights: np.ndarray) -> float:
    centred = sizes - np.average(sizes, weights=weights)
    return float((weights * centred * right).sum() / (weights * centred**2).sum())

"""Is the flip rate with a correction above the one without it? Intervals, and a test that may stop at any time."""

from __future__ import annotations

import math

Z_95 = 1.959963984540054
"""Two-sided 95 % quantile of the normal distribution."""

_ALTERNATIVES = ((0.5, 0.95, 0.05), (0.25, 0.9, 0.5), (0.25, 0.6, 0.05))
"""Weight, flip rate with the correction, flip rate without: a clean effect, one over a noisy control, a rare one."""


def wilson(successes: int, trials: int, *, z: float = Z_95) -> tuple[float, float]:
    """The Wilson score interval of a rate (Wilson 1927); (0, 1) without trials."""
    if trials == 0:
        return 0.0, 1.0
    rate = successes / trials
    centre = (rate + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z * math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials)) / (1 + z * z / trials)
    return max(0.0, centre - half), min(1.0, centre + half)


def difference_interval(with_it: tuple[int, int], without: tuple[int, int], *, z: float = Z_95) -> tuple[float, float]:
    """The interval of a difference of two rates from their Wilson intervals (Newcombe 1998, method 10).

    Args:
        with_it: Flips and trials with the correction.
        without: Flips and trials of the control.
        z: Quantile of the normal distribution.
    """
    (a, n), (b, m) = with_it, without
    rate, other = a / n if n else 0.5, b / m if m else 0.5
    low, high = wilson(a, n, z=z)
    other_low, other_high = wilson(b, m, z=z)
    gap = rate - other
    return (
        max(-1.0, gap - math.hypot(rate - low, other_high - other)),
        min(1.0, gap + math.hypot(high - rate, other - other_low)),
    )


def paired_interval(won: int, lost: int, pairs: int, *, z: float = Z_95) -> tuple[float, float]:
    """Interval of the difference of two shares that were measured on the same things.

    Bonett and Price, "Adjusted Wald Confidence Interval for a Difference of Binomial Proportions Based on Paired Data"
    (2012): one more of each kind is counted, so that it keeps its level with few pairs, and with none that differ.

    Args:
        won: Pairs in which only the first passed.
        lost: Pairs in which only the second passed.
        pairs: All pairs; at least 1.
        z: Quantile of the normal distribution.
    """
    up, down, count = (won + 1) / (pairs + 2), (lost + 1) / (pairs + 2), pairs + 2
    half = z * math.sqrt((up + down - (up - down) ** 2) / count)
    return max(-1.0, up - down - half), min(1.0, up - down + half)


class SequentialTest:
    """Tests, pair by pair, that the flip rate with a correction is not above the control's.

    Each pair is one run with the correction and one without. The evidence is an e-value: the likelihood of the pairs
    under fixed alternatives, averaged, over their likelihood under the nearest common rate. Its expectation is at most
    1 while the hypothesis holds, so that looking after each pair and stopping at ``1 / alpha`` keeps the error below
    ``alpha`` (Turner, Ly and Grünwald, "Generic E-variables for exact sequential k-sample tests", 2024).

    Args:
        alpha: Probability of a false alarm that is allowed.
        max_pairs: How many pairs there may be.
    """

    def __init__(self, *, alpha: float = 0.05, max_pairs: int = 6) -> None:
        self.alpha = alpha
        self.max_pairs = max_pairs
        self.pairs = 0
        self._products = [weight for weight, _, _ in _ALTERNATIVES]

    def add(self, flipped: bool, control_flipped: bool) -> None:
        """Take one pair into account."""
        self.pairs += 1
        self._products = [
            product * _ratio(flipped, control_flipped, rate, control)
            for product, (_, rate, control) in zip(self._products, _ALTERNATIVES, strict=True)
        ]

    @property
    def e_value(self) -> float:
        """The evidence so far; 1 is none."""
        return sum(self._products)

    @property
    def is_significant(self) -> bool:
        """Tell whether the correction makes a difference."""
        return self.e_value >= 1 / self.alpha

    @property
    def is_futile(self) -> bool:
        """Tell whether even flips of all remaining pairs, and of none of their controls, would not be enough."""
        left = self.max_pairs - self.pairs
        best = sum(
            product * _ratio(True, False, rate, control) ** left
            for product, (_, rate, control) in zip(self._products, _ALTERNATIVES, strict=True)
        )
        return best < 1 / self.alpha


def _ratio(flipped: bool, control_flipped: bool, rate: float, control: float) -> float:
    common = (rate + control) / 2
    with_it = (rate / common) if flipped else (1 - rate) / (1 - common)
    without = (control / common) if control_flipped else (1 - control) / (1 - common)
    return with_it * without

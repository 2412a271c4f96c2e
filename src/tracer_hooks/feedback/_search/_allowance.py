"""How much may be lost by trying something else than a plain retry."""

from __future__ import annotations

import math

from tracer_hooks.feedback._search._counts import EffectCounts
from tracer_hooks.feedback._search._features import FROM_SCRATCH

# Chosen by simulation alone (docs/studies/repair.md).
START = 0.7
"""Failures that may be left unsolved for trying other repairs, before anything is known of the team."""
SHARE = 0.004
"""How many more, for each trial of the team."""
DOUBT = 1.0
"""Standard deviations by which the rate of plain retries is held to be above what was seen."""
SURE = 1.645
"""Standard deviations by which a repair must be better than a plain retry to need no allowance: 95 % of belief."""

_PLAIN_PASSES, _PLAIN_FAILURES = 0.8, 1.2
"""What is held of plain retries before the first one: two trials, 40 % of them passed."""


class Allowance:
    """Permission to try something else than a plain retry (a conservative bandit, after Wu et al. 2016).

    Choosing by chance among several repairs nearly always finds one that could be better than a plain retry, also where
    none is. So it is counted what that has cost: the failures that plain retries would have solved in the same trials,
    less those that were. A trial that goes wrong while others are left costs less than the last one: of ``n`` trials
    that pass with probability ``p`` each, one that is given away costs ``p * (1 - p) ** (n - 1)`` of a solved failure.

    Args:
        counts: The team's trials.
        tried: Trials of this failure so far.
        left: Trials that there may still be, the next one included.
    """

    def __init__(self, counts: EffectCounts, *, tried: int = 0, left: int = 1) -> None:
        plain = [row for row in counts.rows if row[0] == FROM_SCRATCH]
        others = [row for row in counts.rows if row[0] != FROM_SCRATCH]
        passes, trials = sum(row[5] for row in plain), sum(row[4] for row in plain)
        known = _PLAIN_PASSES + _PLAIN_FAILURES + trials
        mean = (_PLAIN_PASSES + passes) / known
        self.plain_rate = min(1.0, mean + DOUBT * math.sqrt(mean * (1.0 - mean) / (known + 1.0)))
        """How often plain retries may pass, at best: where they are hardly tried, they are not held for worse."""
        given, gained = sum(row[4] for row in others), sum(row[5] for row in others)
        self.lost = self._weight(tried + left) * (self.plain_rate * given - gained)
        """Solved failures that the other repairs have cost so far; below 0 where they have gained some."""
        self.risk = self.plain_rate * (1.0 - self.plain_rate) ** (left - 1)
        """What the next trial costs if it fails for certain."""
        self.allowed = START + SHARE * counts.trials
        """Solved failures that they may cost."""

    @property
    def is_left(self) -> bool:
        """Tell whether another repair may be tried, should it fail for certain."""
        return self.lost + self.risk <= self.allowed

    def _weight(self, trials: int) -> float:
        """Worth of a pass in solved failures where there are so many trials for each, in the mean over them."""
        rate = max(self.plain_rate, 1e-6)
        return (1.0 - (1.0 - rate) ** trials) / (trials * rate)

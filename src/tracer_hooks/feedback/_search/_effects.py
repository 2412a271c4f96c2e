"""How often each kind of repair helps: a Bayesian logistic regression on the counts, and draws from what is left open.

The log-odds that an action succeeds are those of a plain retry, plus the effect of what is said, plus what is gained
and lost by keeping steps: ``base + text + kept * holds * gain - (1 - holds) * harm``. A plain retry has the base alone.
The posterior is taken as normal around its mode (Laplace), and one draw of all effects judges all actions of a choice
(Thompson sampling): what is not known well is tried as often as it may be best.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.feedback._search._counts import RepairKind
from tracer_hooks.feedback._search._features import UNTOLD, SearchAction, middle

Floats = NDArray[np.float64]

_ITERATIONS = 25
_CLOSE = 1e-6


@dataclass(frozen=True, slots=True)
class Prior:
    """Prior belief in an effect, before anything was counted: normal, in log-odds."""

    mean: float
    width: float


# Effects in log-odds against a plain retry, from natural failures of two teams, one retry each. Word sums (1.5B), 50
# failures: plain 62 %, resumed at the blamed step 79 % where the blame was right and 25 % where it was wrong, rewritten
# instructions 48 %; 197 others: plain 36 %, resumed 5 points better where the blame was right, 23 worse where it was
# wrong. Code, 35 failures (0.5B): plain 6 %, the check's reason in the task 20 %, a model's lesson none; 58 to 101
# others (1.5B): the reason in the task as good as plain, in the message of the blamed agent 3 points better. The widths
# say how little two teams tell of a third; docs/studies/repair.md shows what they cost.
BASE = Prior(math.log(0.4 / 0.6), 1.5)
"""A plain retry, on a team that nothing is known of."""
GAIN = Prior(1.1, 0.8)
"""All of the run kept, and rightly: 36 % kept gave +0.8 on 34 failures, and +0.2 on 75."""
HARM = Prior(1.6, 0.6)
"""The error kept: from 62 % to 25 %, and about as much again."""
TEXTS: Mapping[str, Prior] = {
    "feedback_in_task": Prior(0.3, 0.8),
    "feedback_in_message": Prior(0.3, 0.8),
    "guidance": Prior(-0.5, 0.8),
    "instructions": Prior(-0.6, 0.6),
}
OTHER_TEXT = Prior(0.0, 0.8)
"""A strategy that nothing was measured of."""

_FIXED = (BASE, GAIN, HARM)


class Effects:
    """Belief in the effects, given what was counted.

    Args:
        counts: Trials and passes of each kind.
        strategies: The strategies that will be judged.
    """

    def __init__(self, counts: Mapping[RepairKind, tuple[int, int]], strategies: Iterable[str]) -> None:
        told = {*strategies, *(kind.strategy for kind in counts)} - UNTOLD
        self._place = {name: len(_FIXED) + number for number, name in enumerate(sorted(told))}
        priors = [*_FIXED, *(TEXTS.get(name, OTHER_TEXT) for name in self._place)]
        self._prior_mean = np.array([prior.mean for prior in priors])
        self._precision = np.array([prior.width**-2 for prior in priors])
        rows = [(kind.strategy, *middle(kind.kept, kind.holds)) for kind in counts]
        trials = np.array([count[0] for count in counts.values()], dtype=np.float64)
        passes = np.array([count[1] for count in counts.values()], dtype=np.float64)
        self._mode, self._root = self._fit(self._table(rows), trials, passes)

    def draw(self, random: np.random.Generator) -> Floats:
        """Effects that may be the true ones, as often as they are believed to be."""
        return self._mode + np.linalg.solve(self._root.T, random.standard_normal(len(self._mode)))

    @property
    def best_guess(self) -> Floats:
        """The most probable effects."""
        return self._mode

    def success(self, actions: Sequence[SearchAction], effects: Floats) -> Floats:
        """Return the probability that each action succeeds, were these the effects."""
        table = self._table([(action.strategy, action.kept, action.holds) for action in actions])
        return _logistic(table @ effects)

    def sureness(self, actions: Sequence[SearchAction]) -> Floats:
        """By how many standard deviations each action is believed to be better than a plain retry; 0 for that one."""
        table = self._table([(action.strategy, action.kept, action.holds) for action in actions])
        table[:, 0] = 0.0  # the base is common to both
        spread = np.linalg.norm(np.linalg.solve(self._root, table.T), axis=0)
        return np.asarray((table @ self._mode) / np.maximum(spread, 1e-9), dtype=np.float64)

    def _table(self, rows: Sequence[tuple[str, float, float]]) -> Floats:
        table = np.zeros((len(rows), len(self._prior_mean)))
        if rows:
            kept, holds = np.array([row[1] for row in rows]), np.array([row[2] for row in rows])
            table[:, 0], table[:, 1], table[:, 2] = 1.0, kept * holds, holds - 1.0
        for number, (strategy, _, _) in enumerate(rows):
            if strategy in self._place:
                table[number, self._place[strategy]] = 1.0
        return table

    def _fit(self, table: Floats, trials: Floats, passes: Floats) -> tuple[Floats, Floats]:
        """The most probable effects, and the Cholesky root of the posterior's precision (Newton's method)."""
        effects, root = self._prior_mean.copy(), np.diag(np.sqrt(self._precision))
        for _ in range(_ITERATIONS):
            rate = _logistic(table @ effects)
            slope = table.T @ (passes - trials * rate) - self._precision * (effects - self._prior_mean)
            curve = (table.T * (trials * rate * (1.0 - rate))) @ table + np.diag(self._precision)
            root = np.linalg.cholesky(curve)
            move = np.linalg.solve(curve, slope)
            effects = effects + move / max(1.0, float(np.abs(move).max()) / 2.0)  # far steps may overshoot
            if float(np.abs(move).max()) < _CLOSE:
                break
        return effects, root


def _logistic(log_odds: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(log_odds, -30.0, 30.0))), dtype=np.float64)

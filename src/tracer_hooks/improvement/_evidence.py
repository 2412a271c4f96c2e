"""How strongly paired differences speak for a gain, at any time that one looks."""

from __future__ import annotations

import math
from collections import Counter

from tracer_hooks.errors import ConfigError

_BETS = (0.1, 0.2, 0.35, 0.5, 0.7, 0.9)
"""Shares of the stake that are bet on each pair. All are played side by side, and the winnings are averaged."""
_LARGEST_LOG = 700.0
"""Evidence is reported up to e^700: more is not a float."""
_HALVINGS = 30
"""Steps of the search for an end of an interval: the error is below 1e-8."""


class PairedEvidence:
    """Evidence that the mean of paired differences is above a value, which holds however often one looks.

    A player who starts with 1 bets on each difference that it is above ``null``. While the mean is ``null`` or less, no
    way of betting makes money on average, so that the player ever has ``1 / alpha`` with probability ``alpha`` at most
    (Ville 1939). What the player has is the e-value (Waudby-Smith and Ramdas, "Estimating means of bounded random
    variables by betting", 2024). Here fixed bets are played side by side and averaged: nothing is tuned, and what the
    player has at the end does not depend on the order of the pairs. Where tasks differ in their true means, the
    evidence is about the mean over the pairs so far: each product of bets is at most a martingale times
    ``exp(bet * sum of (true mean - null) / (1 + null))``.

    Args:
        null: The mean that is to be exceeded, above -1 and below 1.
    """

    def __init__(self, *, null: float = 0.0) -> None:
        if not -1.0 < null < 1.0:
            raise ConfigError(f"null is {null!r}; expected a number above -1 and below 1")
        self.null = float(null)
        self._logs = [-math.log(len(_BETS))] * len(_BETS)
        self._counts: Counter[float] = Counter()
        self._sum = 0.0
        self._pairs = 0

    def add(self, difference: float) -> None:
        """Take one pair into account: the score with the new prompts minus the score with the old ones.

        Raises:
            ConfigError: The difference is not a number from -1 to 1; nothing is counted then.
        """
        if not -1.0 <= difference <= 1.0:  # also false for nan
            raise ConfigError(f"The difference of a pair is {difference!r}; expected a number from -1 to 1")
        difference = float(difference)
        win = _win(difference, self.null)
        self._logs = [log + math.log1p(bet * win) for log, bet in zip(self._logs, _BETS, strict=True)]
        self._counts[difference] += 1
        self._sum += difference
        self._pairs += 1

    @property
    def pairs(self) -> int:
        """Pairs so far."""
        return self._pairs

    @property
    def mean(self) -> float:
        """Mean difference; 0 without pairs."""
        return self._sum / self._pairs if self._pairs else 0.0

    @property
    def e_value(self) -> float:
        """The evidence so far: 1 is none, 20 is what a test at 5 % asks for."""
        return math.exp(min(_log_sum(self._logs), _LARGEST_LOG))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """An interval of the mean that holds at all times at once, with probability ``level``.

        It is made of the means against which the evidence is not strong enough, from either side.
        """
        if not 0.0 < level < 1.0:
            raise ConfigError(f"level is {level!r}; expected a number between 0 and 1")
        wanted = math.log(2 / (1 - level))
        low = _lower_end(self._counts, wanted)
        high = -_lower_end(Counter({-value: count for value, count in self._counts.items()}), wanted)
        return low, high


def _win(difference: float, null: float) -> float:
    """What a stake of 1 wins: -1 at the worst, and 0 on average where the mean is ``null``."""
    return max((difference - null) / (1 + null), -1.0)


def _lower_end(counts: Counter[float], wanted: float) -> float:
    """The smallest mean that is not refuted from above; the evidence against a mean falls as the mean grows."""
    low, high = -1.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _log_evidence(counts, middle) >= wanted:
            low = middle
        else:
            high = middle
    return low


def _log_evidence(counts: Counter[float], null: float) -> float:
    wins = [(_win(value, null), count) for value, count in counts.items()]
    return _log_sum([sum(count * math.log1p(bet * win) for win, count in wins) for bet in _BETS]) - math.log(len(_BETS))


def _log_sum(logs: list[float]) -> float:
    """The logarithm of a sum, from the logarithms of what is added."""
    top = max(logs)
    return top + math.log(sum(math.exp(log - top) for log in logs))

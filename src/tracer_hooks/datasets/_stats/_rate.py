"""Shares of trials, with the uncertainty of few trials."""

from __future__ import annotations

import math

from pydantic import Field

from tracer_hooks.schema import Record

_Z95 = 1.959963984540054


class Rate(Record):
    """How many of some trials succeeded."""

    successes: int = Field(ge=0)
    """Trials that succeeded."""
    trials: int = Field(ge=0)
    """All trials."""
    value: float | None = None
    """The share; None without trials."""
    low: float | None = None
    """Lower end of the 95 % Wilson interval."""
    high: float | None = None
    """Upper end of the 95 % Wilson interval."""


def wilson(successes: int, trials: int) -> Rate:
    """``successes`` of ``trials`` with the 95 % score interval of Wilson (1927).

    Raises:
        ValueError: There are more successes than trials, or fewer than none.
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"successes is {successes!r}, expected between 0 and the {trials!r} trials")
    if trials == 0:
        return Rate(successes=0, trials=0)
    share, square = successes / trials, _Z95**2
    middle = (share + square / (2 * trials)) / (1 + square / trials)
    reach = _Z95 * math.sqrt(share * (1 - share) / trials + square / (4 * trials**2)) / (1 + square / trials)
    low = 0.0 if successes == 0 else max(0.0, middle - reach)
    high = 1.0 if successes == trials else min(1.0, middle + reach)
    return Rate(successes=successes, trials=trials, value=share, low=low, high=high)

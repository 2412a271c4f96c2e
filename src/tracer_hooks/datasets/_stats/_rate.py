"""Shares of trials, with the uncertainty of few trials."""

from __future__ import annotations

from pydantic import Field

from tracer_hooks.replay import wilson
from tracer_hooks.schema import Record


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


def rate_of(successes: int, trials: int) -> Rate:
    """``successes`` of ``trials`` with its 95 % interval.

    Raises:
        ValueError: There are more successes than trials, or fewer than none.
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"successes is {successes!r}, expected between 0 and the {trials!r} trials")
    if trials == 0:
        return Rate(successes=0, trials=0)
    low, high = wilson(successes, trials)
    return Rate(successes=successes, trials=trials, value=successes / trials, low=low, high=high)

"""Budgets: what replays, searches and builds may cost, and what they have cost."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from tracer_hooks.schema import Usage


@dataclass(frozen=True, kw_only=True)
class CostCap:
    """Limits of a search or a build; None is no limit."""

    max_runs: int | None = None
    """Runs of the team."""
    max_tokens: int | None = None
    """Tokens read and written by live model calls and by models that write corrections; taped ones cost nothing."""
    max_seconds: float | None = None
    """Wall-clock time."""
    max_cost: float | None = None
    """Money, in the currency of the prices."""
    input_price: float = 0.0
    """Price of a million tokens read."""
    output_price: float = 0.0
    """Price of a million tokens written."""


class Spending:
    """Counts what was spent, and says when a cap is reached. Safe to use from several threads.

    Attributes:
        runs: Runs of the team so far.
        usage: Tokens of live model calls, and of writing corrections, so far.
    """

    def __init__(self, cap: CostCap | None = None) -> None:
        self.cap = cap or CostCap()
        self.runs = 0
        self.usage = Usage()
        self._begun = time.monotonic()
        self._lock = threading.Lock()

    def add(self, usage: Usage) -> None:
        """Count one run with the tokens of its live calls."""
        with self._lock:
            self.runs += 1
            self.usage = self.usage + usage

    def charge(self, usage: Usage) -> None:
        """Count tokens that were spent beside the runs: a model has written a correction."""
        with self._lock:
            self.usage = self.usage + usage

    @property
    def tokens(self) -> int:
        """Tokens read and written so far."""
        return self.usage.total

    @property
    def cost(self) -> float:
        """Money spent so far."""
        return self.usage.cost(self.cap.input_price, self.cap.output_price)

    @property
    def seconds(self) -> float:
        """Time since the beginning."""
        return time.monotonic() - self._begun

    @property
    def refusal(self) -> str | None:
        """Name the limit that is reached, in words; None while there is room."""
        cap = self.cap
        limits = (
            (self.runs, cap.max_runs, "{:g} runs"),
            (self.tokens, cap.max_tokens, "{:g} tokens"),
            (self.seconds, cap.max_seconds, "{:g} seconds"),
            (self.cost, cap.max_cost, "a cost of {:g}"),
        )
        for spent, limit, words in limits:
            if limit is not None and spent >= limit:
                return "the cap of " + words.format(limit) + " is reached"
        return None

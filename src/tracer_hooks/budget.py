"""Budgets: what replays, searches and builds may cost, and what they have cost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tracer_hooks.errors import BudgetSpentError
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

    With :meth:`under_way` caps hold for calls that go on at the same time, too: that of runs exactly, those of tokens
    and money but for what one call takes, and for what the others took above what was set aside for them.

    Attributes:
        runs: Runs of the team so far.
        usage: Tokens of live model calls, and of writing corrections, so far.
    """

    def __init__(self, cap: CostCap | None = None) -> None:
        self.cap = cap or CostCap()
        self.runs = 0
        self.usage = Usage()
        self._begun = time.monotonic()
        self._changed = threading.Condition(threading.RLock())
        self._aside: list[tuple[int, Usage]] = []
        self._largest = Usage()

    def add(self, usage: Usage) -> None:
        """Count one run with the tokens of its live calls."""
        with self._changed:
            self.runs += 1
            self.usage += usage
            self._largest = max(self._largest, usage, key=lambda one: one.total)

    def charge(self, usage: Usage) -> None:
        """Count tokens that were spent beside the runs: a model has written a correction."""
        with self._changed:
            self.usage += usage

    @contextmanager
    def under_way(self, most: Usage | None = None) -> Iterator[Callable[[Usage], None]]:
        """Set aside what a call may take; within, hand what it took to the function that this gives.

        Where a cap would be reached only by what others have set aside, it waits until they have ended.

        Args:
            most: Tokens that the call takes at most; None for a run of the team, which takes as much as the largest
                one so far.

        Raises:
            BudgetSpentError: A cap is reached.
        """
        with self._changed:
            while self._reached(*self._with_aside()) is not None:
                if (spent := self.refusal) is not None:
                    raise BudgetSpentError(f"the budget is spent: {spent}")
                self._changed.wait()
            held = [(1, self._largest) if most is None else (0, most)]
            self._aside += held

        def settle(usage: Usage) -> None:
            with self._changed:
                self._aside.remove(held.pop())
                (self.add if most is None else self.charge)(usage)
                self._changed.notify_all()

        try:
            yield settle
        finally:
            with self._changed:
                for one in held:  # it ended without an answer
                    self._aside.remove(one)
                self._changed.notify_all()

    def _with_aside(self) -> tuple[int, Usage]:
        runs = self.runs + sum(runs for runs, _ in self._aside)
        return runs, sum((usage for _, usage in self._aside), self.usage)

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
        return self._reached(self.runs, self.usage)

    def _reached(self, runs: int, usage: Usage) -> str | None:
        cap = self.cap
        limits = (
            (runs, cap.max_runs, "{:g} runs"),
            (usage.total, cap.max_tokens, "{:g} tokens"),
            (self.seconds, cap.max_seconds, "{:g} seconds"),
            (usage.cost(cap.input_price, cap.output_price), cap.max_cost, "a cost of {:g}"),
        )
        for spent, limit, words in limits:
            if limit is not None and spent >= limit:
                return "the cap of " + words.format(limit) + " is reached"
        return None

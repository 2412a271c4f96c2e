"""One strategy and no other, for those who want it so."""

from __future__ import annotations

from dataclasses import replace

from tracer_hooks.repairs import Failure, PastTrial, Repair, RepairStrategy
from tracer_hooks.schema import Usage


class FixedRepair:
    """Proposes the repairs of one strategy: from scratch where it has one for that, else at the blamed step.

    Has the methods of :class:`RepairSearch`, and learns nothing but what was tried.

    Args:
        failure: The failed run.
        strategy: The strategy.
    """

    def __init__(self, failure: Failure, strategy: RepairStrategy) -> None:
        self.unused = Usage()
        """Tokens of texts that were written and not used: none, since what is proposed is used."""
        self._failure = failure
        self._strategy = strategy

    def choose(self, *, trials_left: int, by_cost: bool) -> Repair:
        """The strategy's repair; a plain retry where it has none.

        Raises:
            Exception: What the strategy raises.
        """
        blamed = self._failure.step if self._failure.step in self._failure.steps else None
        for step in dict.fromkeys((None, blamed)):
            repair = self._strategy.propose(self._failure, step)
            if repair is not None:
                return repair
        return Repair(strategy="from_scratch", reason=f"{self._strategy.name!r} has nothing to propose here")

    def learn(self, trial: PastTrial) -> None:
        """Show the strategy what was tried."""
        self._failure = replace(self._failure, tried=(*self._failure.tried, trial))

"""What the diagnosis of one trajectory may cost."""

from __future__ import annotations

import time
from dataclasses import dataclass

from tracer_hooks.errors import AttributionError, ConfigError
from tracer_hooks.schema import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeBudget:
    """Limits for one trajectory; None sets no limit. Replies from the cache cost nothing.

    Raises:
        ConfigError: A limit is not above 0.
    """

    calls: int | None = 200
    """Model calls; a request that is sent again after a refusal is one call."""
    tokens: int | None = 500_000
    """Tokens read and written; a call is not made when its prompt alone would go beyond."""
    seconds: float | None = 600.0
    """Seconds from the beginning of the diagnosis."""

    def __post_init__(self) -> None:
        for name in ("calls", "tokens", "seconds"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ConfigError(f"JudgeBudget({name}={value!r}): expected a number above 0, or None for no limit")


class BudgetSpentError(AttributionError):
    """No further call may be made; never leaves the attributor, which then gives the best answer so far."""


class Meter:
    """Counts what one diagnosis has cost so far."""

    def __init__(self, budget: JudgeBudget) -> None:
        self._budget = budget
        self._began = time.monotonic()
        self.calls = 0
        self.usage = Usage()

    def admit(self, prompt_tokens: int) -> None:
        """Count one call, or refuse it.

        Raises:
            BudgetSpentError: The call would go beyond a limit.
        """
        budget, used = self._budget, self.usage.total
        if budget.calls is not None and self.calls >= budget.calls:
            raise BudgetSpentError(f"judge budget spent: {self.calls} calls")
        if budget.tokens is not None and used + prompt_tokens > budget.tokens:
            raise BudgetSpentError(f"judge budget spent: {used} of {budget.tokens} tokens, more are needed")
        self.check_time()
        self.calls += 1

    def spend(self, usage: Usage) -> None:
        """Count the tokens of a call."""
        self.usage += usage

    def seconds_left(self) -> float | None:
        """Seconds that are left, not below 0; None when there is no limit."""
        if self._budget.seconds is None:
            return None
        return max(0.0, self._began + self._budget.seconds - time.monotonic())

    def check_time(self) -> None:
        """Refuse to go on when the time is over.

        Raises:
            BudgetSpentError: No second is left.
        """
        if self.seconds_left() == 0.0:
            raise BudgetSpentError(f"judge budget spent: {self._budget.seconds:g} seconds")

"""How often, how long and how dearly a failed run may be repeated."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from tracer_hooks.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Bounds on the retries of one task.

    Raises:
        ConfigError: A bound is negative.
    """

    max_retries: int = 1
    """Most runs after the first one."""
    max_tokens: int | None = None
    """Most tokens, in and out, of the retries together; None for no bound."""
    max_seconds: float | None = None
    """Most seconds from the start of the first run to the start of a retry; None for no bound."""

    def __post_init__(self) -> None:
        for field in ("max_retries", "max_tokens", "max_seconds"):
            value = getattr(self, field)
            if value is not None and not value >= 0:
                raise ConfigError(f"{field} is {value!r}, expected 0 or more")


class RetryBudget:
    """What is left of a :class:`RetryPolicy` in one task.

    Args:
        policy: The bounds.
        clock: Seconds that only go forward.
    """

    def __init__(self, policy: RetryPolicy, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.policy = policy
        self.retries = 0
        """Retries that have been recorded."""
        self.tokens = 0
        """Tokens that they took."""
        self._clock = clock
        self._began = clock()

    @property
    def seconds(self) -> float:
        """Seconds since the budget was opened."""
        return self._clock() - self._began

    @property
    def refusal(self) -> str | None:
        """Why no further retry may begin; None when one may."""
        policy = self.policy
        if self.retries >= policy.max_retries:
            return f"{self.retries} of {policy.max_retries} retries used"
        if policy.max_tokens is not None and self.tokens >= policy.max_tokens:
            return f"{self.tokens} of {policy.max_tokens} tokens used"
        if policy.max_seconds is not None and self.seconds >= policy.max_seconds:
            return f"{self.seconds:.1f} of {policy.max_seconds:g} seconds used"
        return None

    def record(self, *, tokens: int = 0) -> None:
        """Count one retry that was made.

        Raises:
            ConfigError: ``tokens`` is negative.
        """
        if tokens < 0:
            raise ConfigError(f"tokens is {tokens!r}, expected 0 or more")
        self.retries += 1
        self.tokens += tokens

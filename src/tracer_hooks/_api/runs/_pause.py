"""A circuit breaker: how long something that failed is left alone."""

from __future__ import annotations

import time

_FIRST_S = 5.0
_LONGEST_S = 60.0


class Pause:
    """Doubles with every failure, up to a minute, and ends with the first success."""

    def __init__(self) -> None:
        self._length_s = 0.0
        self._until = 0.0

    @property
    def is_on(self) -> bool:
        """Whether it failed, and has not succeeded since."""
        return self._length_s > 0

    @property
    def may_try(self) -> bool:
        """Whether it is time for the next try."""
        return time.monotonic() >= self._until

    @property
    def left_s(self) -> float:
        """Seconds until then."""
        return max(self._until - time.monotonic(), 0.0)

    def begin(self) -> None:
        """It failed: leave it alone."""
        self._length_s = min(max(self._length_s * 2, _FIRST_S), _LONGEST_S)
        self._until = time.monotonic() + self._length_s

    def end(self) -> None:
        """It succeeded."""
        self._length_s = self._until = 0.0

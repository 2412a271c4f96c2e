"""How often each kind of repair was tried and helped: numbers alone, no text of any run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tracer_hooks.feedback._search._features import HOLDS_BINS, KEPT_BINS, SearchAction

OWN_TRIALS = 20
"""Trials from which an error mode is judged by its own trials alone."""

CountRow = tuple[str, int, int, str, int, int]
"""Strategy, part of the run that was kept, part of the belief, error mode, trials, passes."""


class RepairKind(NamedTuple):
    """Kind of repair, whose trials are counted together."""

    strategy: str
    """Name of the strategy."""
    kept: int
    """Part of the run that was kept; 0 from scratch, else 1 to 3."""
    holds: int
    """Part of the belief in the kept steps, 0 to 4."""
    error_mode: str
    """The diagnosed error mode; empty without one."""


class EffectCounts:
    """Trials and passes of each kind of repair; it never changes.

    Args:
        rows: Plain rows, as :attr:`rows` gives them and a store keeps them; those of one kind are added up.

    Raises:
        ValueError: A row has another shape, a part that there is not, or more passes than trials.
    """

    def __init__(self, rows: Iterable[CountRow] = ()) -> None:
        self._counts: dict[RepairKind, tuple[int, int]] = {}
        for strategy, kept, holds, mode, trials, passes in rows:
            if not (0 <= kept <= KEPT_BINS and 0 <= holds < HOLDS_BINS and 0 <= passes <= trials):
                raise ValueError(f"{(strategy, kept, holds, mode, trials, passes)!r} is no count of repairs")
            kind = RepairKind(strategy, kept, holds, mode)
            had = self._counts.get(kind, (0, 0))
            self._counts[kind] = had[0] + trials, had[1] + passes

    @classmethod
    def of_trial(cls, action: SearchAction, error_mode: str, passed: bool) -> EffectCounts:
        """The count of one trial."""
        return cls([(action.strategy, *action.bins, error_mode, 1, int(passed))])

    @property
    def rows(self) -> tuple[CountRow, ...]:
        """The counts as plain rows, sorted."""
        return tuple((*kind, *count) for kind, count in sorted(self._counts.items()))

    @property
    def trials(self) -> int:
        """Number of trials that are counted."""
        return sum(trials for trials, _ in self._counts.values())

    def plus(self, other: EffectCounts) -> EffectCounts:
        """Both together."""
        return EffectCounts([*self.rows, *other.rows])

    def for_mode(self, error_mode: str) -> Mapping[RepairKind, tuple[int, int]]:
        """Trials and passes that speak for failures of this mode: its own where they are enough, else all."""
        own = {kind: count for kind, count in self._counts.items() if kind.error_mode == error_mode}
        enough = sum(trials for trials, _ in own.values()) >= OWN_TRIALS
        return own if enough and error_mode else dict(self._counts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EffectCounts) and self._counts == other._counts

    def __hash__(self) -> int:
        return hash(self.rows)

    def __repr__(self) -> str:
        return f"EffectCounts({list(self.rows)!r})"

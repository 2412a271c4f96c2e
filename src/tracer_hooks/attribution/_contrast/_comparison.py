"""One run beside the passing runs that are nearest to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from tracer_hooks._lazy import cached_property
from tracer_hooks.attribution._contrast._claims import Claim
from tracer_hooks.attribution._contrast._pairing import Pairing, pair
from tracer_hooks.attribution._contrast._run_view import RunView
from tracer_hooks.attribution._contrast._term_vectors import TermVectors, cosine_of_words

_UNKNOWN_AGREEMENT = 0.6
"""How alike passing runs are taken to be when there is only one."""


@dataclass(frozen=True)
class Comparison:
    """A run, paired with each of the others."""

    run: RunView
    pairings: tuple[Pairing, ...]
    """One for each of the others; at least one."""
    closeness: tuple[float, ...]
    """How alike the tasks are, in [0, 1]: what a run of another task says is no measure."""
    agreement: float
    """How alike the nearest of the others is to the rest of them, in [0, 1]: where they differ much, a difference means
    little."""

    @cached_property
    def weights(self) -> tuple[float, ...]:
        """The share of each of the others: nearer runs count more; sums to 1."""
        raw = [near * near * (0.1 + one.likeness) ** 2 for near, one in zip(self.closeness, self.pairings, strict=True)]
        total = sum(raw)
        return tuple(value / total for value in raw) if total else tuple(1.0 / len(raw) for _ in raw)

    @cached_property
    def nearness(self) -> float:
        """How near the others' tasks are on the whole, in [0, 1]."""
        return sum(weight * near for weight, near in zip(self.weights, self.closeness, strict=True))

    def share(self, holds: Callable[[Pairing], bool]) -> float:
        """The weighted share of the others for which something holds."""
        return sum(weight for weight, one in zip(self.weights, self.pairings, strict=True) if holds(one))

    def foreignness(self, claim: Claim) -> float:
        """1 for a claim that none of the others has, falling fast to 0 with the share of those that have it."""
        cached = self._foreignness.get(claim)
        if cached is None:
            cached = self.share(lambda one: claim not in one.other.known) ** 3
            self._foreignness[claim] = cached
        return cached

    @cached_property
    def _foreignness(self) -> dict[Claim, float]:
        return {}


def task_closeness(run: RunView, other: RunView) -> float:
    """How alike two runs' tasks are, in [0, 1]; runs without a task are taken to have the same."""
    if run.trajectory.task.strip() == other.trajectory.task.strip():
        return 1.0
    return cosine_of_words(run.task_words, other.task_words)


def compare(run: RunView, others: Sequence[RunView]) -> Comparison:
    """Pair a run with each of ``others``, of which there must be one at least, the nearest first."""
    vectors = TermVectors([run, *others])
    rows, nearest = vectors.of(run), vectors.of(others[0])
    pairings = [pair(run, others[0], rows, nearest)]
    likeness = []
    for other in others[1:]:  # one after the other, since the rows of many long runs would fill the memory
        theirs = vectors.of(other)
        pairings.append(pair(run, other, rows, theirs))
        likeness.append(pair(others[0], other, nearest, theirs).likeness)
    return Comparison(
        run=run,
        pairings=tuple(pairings),
        closeness=tuple(task_closeness(run, other) for other in others),
        agreement=fmean(likeness) if likeness else _UNKNOWN_AGREEMENT,
    )

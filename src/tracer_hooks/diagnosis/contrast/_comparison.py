"""Comparison of a run with the passing runs nearest to it, and the kinds of differences that are marked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import fmean

from tracer_hooks._lazy import cached_property
from tracer_hooks.diagnosis.contrast._pairing import Pairing, TermVectors, cosine_of_words, pair
from tracer_hooks.diagnosis.contrast._run_view import Claim, RunView
from tracer_hooks.schema import Trajectory

_UNKNOWN_AGREEMENT = 0.6
"""How alike passing runs are taken to be when there is only one."""


@dataclass(frozen=True)
class RunComparison:
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


def compare(run: RunView, others: Sequence[RunView]) -> RunComparison:
    """Pair a run with each of ``others``, of which there must be one at least, the nearest first."""
    vectors = TermVectors([run, *others])
    rows, nearest = vectors.of(run), vectors.of(others[0])
    pairings = [pair(run, others[0], rows, nearest)]
    likeness = []
    for other in others[1:]:  # one after the other, since the rows of many long runs would fill the memory
        theirs = vectors.of(other)
        pairings.append(pair(run, other, rows, theirs))
        likeness.append(pair(others[0], other, nearest, theirs).likeness)
    return RunComparison(
        run=run,
        pairings=tuple(pairings),
        closeness=tuple(task_closeness(run, other) for other in others),
        agreement=fmean(likeness) if likeness else _UNKNOWN_AGREEMENT,
    )


SAME_TASK = 0.9
"""Likeness of the tasks from which two runs count as runs of one task."""
_LEAST_SHARED = 0.5
"""Share of the smaller roster that both teams must have."""
_CLOSENESS_GRAIN = 10
"""Differences of task likeness below a tenth do not decide which run is nearer; the acts do."""
_TASK_GLANCE = 2_000
"""Characters of a task that are looked at to see which runs are worth reading."""


def likely_neighbours(trajectory: Trajectory, others: Iterable[Trajectory], *, at_most: int) -> tuple[Trajectory, ...]:
    """The runs that are worth reading: those with the likeliest tasks, and among these in the order given.

    Each run counts once, by its id, and ``trajectory`` itself is left out.
    """
    words = _task_words(trajectory)
    once = {other.run_id: other for other in others if other.run_id != trajectory.run_id}

    def distance(other: Trajectory) -> int:
        theirs = _task_words(other)
        shared = len(words & theirs) / max(1, len(words | theirs))
        return -round(_CLOSENESS_GRAIN * shared)

    return tuple(sorted(once.values(), key=distance)[:at_most])


def _task_words(trajectory: Trajectory) -> frozenset[str]:
    return frozenset(trajectory.task[:_TASK_GLANCE].casefold().split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """The runs that a run is compared with."""

    passing: tuple[RunView, ...]
    """Passing runs of the team, the nearest first."""
    passing_same_task: tuple[RunView, ...]
    """Those of them that had the same task."""
    failing_same_task: tuple[RunView, ...]
    """Failing runs of the same team and task."""


def neighbours_of(run: RunView, passing: Iterable[RunView], failing: Iterable[RunView]) -> Neighbours:
    """Choose and order the runs that ``run`` can be compared with."""
    near = nearest_first(run, passing)
    return Neighbours(
        passing=near,
        passing_same_task=_of_same_task(run, near),
        failing_same_task=_of_same_task(run, nearest_first(run, failing)),
    )


def nearest_first(run: RunView, others: Iterable[RunView]) -> tuple[RunView, ...]:
    """Those of ``others`` that are of the same team, by the likeness of the task, then by that of the acts."""
    usable = [other for other in others if other.acts and _same_team(run, other)]
    return tuple(sorted(usable, key=lambda other: _distance(run, other)))


def _same_team(run: RunView, other: RunView) -> bool:
    shared = len(run.agents & other.agents)
    return shared >= _LEAST_SHARED * max(1, min(len(run.agents), len(other.agents)))


def _distance(run: RunView, other: RunView) -> tuple[int, float]:
    closeness = round(_CLOSENESS_GRAIN * task_closeness(run, other))
    common = sum((run.act_counts & other.act_counts).values())
    return -closeness, -2.0 * common / max(1, len(run.acts) + len(other.acts))


def _of_same_task(run: RunView, others: Sequence[RunView]) -> tuple[RunView, ...]:
    return tuple(other for other in others if task_closeness(run, other) >= SAME_TASK)


class DivergenceKind(Enum):
    """How a step differs from what the passing runs did."""

    CLAIM = "claim"
    """It says a value that no passing run has."""
    ARGUMENT = "argument"
    """It calls a tool with a value that no passing run used."""
    MISPLACED = "misplaced"
    """It has a value in a place where the passing runs have another one."""
    ACT = "act"
    """It does something else than the passing runs did in this place: another tool, another hand-off."""
    AGENT = "agent"
    """Another agent acts in this place."""
    EXTRA = "extra"
    """The passing runs have no such step."""
    REPEAT = "repeat"
    """The passing runs have no such step, and it does again what was done."""
    MISSING = "missing"
    """The passing runs did something before or in place of it."""
    MISSING_CHECK = "missing check"
    """The passing runs made a check before or in place of it."""
    EARLY_END = "early end"
    """The passing runs went on after it."""
    CONTENT = "content"
    """Its words are unlike those of the steps that it corresponds to."""


VALUES = (DivergenceKind.CLAIM, DivergenceKind.ARGUMENT)
"""What a step says and what it passes to a tool: one kind of difference when it is weighed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instead:
    """What a passing run did in the place of a step."""

    run: int
    """Which of the compared runs, as a position."""
    step: int
    """Its step."""
    value: str = ""
    """The words that count, when there are any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One difference, charged to one step."""

    step: int
    divergence: DivergenceKind
    weight: float
    """How much it counts, at least 0; about 1 for a clear difference from every passing run."""
    words: str = ""
    """The words of the step that differ."""
    claim: Claim | None = None
    """The claim that they make."""
    instead: Instead | None = None
    """What a passing run did instead."""

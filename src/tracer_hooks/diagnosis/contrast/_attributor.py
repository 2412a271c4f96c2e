"""The attributor ``contrast``: its options, its sources of runs, and its diagnosis by comparison."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

from tracer_hooks.diagnosis._protocol import StepScores
from tracer_hooks.diagnosis.contrast._comparison import SAME_TASK, compare, task_closeness
from tracer_hooks.diagnosis.contrast._divergence import (
    Divergences,
    agent_scores,
    error_mode_of,
    evidence_for,
    mode_scores,
    step_scores,
)
from tracer_hooks.diagnosis.contrast._run_view import RunView
from tracer_hooks.diagnosis.ranking._answers import INCOMPLETE, NO_FAULT
from tracer_hooks.errors import ConfigError
from tracer_hooks.schema import Attribution, Candidate, RunOutcome, Trajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class ContrastOptions:
    """How runs are compared.

    Raises:
        ConfigError: A number is out of its range.
    """

    nearest: int = 6
    """How many passing runs a run is aligned with: the nearest by task, then by alignment."""
    at_most: int = 20
    """How many runs of either outcome are read at all."""
    without_passing: bool = False
    """Whether runs of the same task that did not pass may stand in when none passed. What only one of them does is
    then suspicious, which finds faults that differ from run to run and misses those that all of them share."""

    def __post_init__(self) -> None:
        if self.nearest < 1:
            raise ConfigError(f"nearest is {self.nearest!r}, expected at least 1")
        if self.at_most < self.nearest:
            raise ConfigError(f"at_most is {self.at_most!r}, expected at least nearest, {self.nearest!r}")


@runtime_checkable
class RunSource(Protocol):
    """Something that finds runs to compare a run with: a run store, a folder."""

    def runs_like(self, trajectory: Trajectory) -> Sequence[Trajectory]:
        """Runs of the same team, the most useful first, of a bounded number.

        Runs of the same task should come before others, and newer before older ones. The run itself may be among
        them; it is left out of the comparison by its id.
        """
        ...


Runs: TypeAlias = "RunSource | Iterable[Trajectory]"


class GivenRuns:
    """Runs that are there already.

    Args:
        runs: Any number; read once.

    Raises:
        ConfigError: One of them is no trajectory.
    """

    def __init__(self, runs: Iterable[Trajectory]) -> None:
        self._runs = tuple(runs)
        for run in self._runs:
            if not isinstance(run, Trajectory):
                raise ConfigError(f"expected trajectories to compare with, got {run!r:.80}")

    def runs_like(self, trajectory: Trajectory) -> Sequence[Trajectory]:
        """All of them, in the order in which they were given."""
        return self._runs


def source_of(runs: object) -> RunSource:
    """A source for whatever a caller gave.

    Raises:
        ConfigError: It is neither a source nor an iterable of trajectories.
    """
    if isinstance(runs, RunSource):
        return runs
    if runs is None:
        return GivenRuns(())
    if isinstance(runs, (str, bytes, Trajectory)) or not isinstance(runs, Iterable):
        raise ConfigError(
            f"expected trajectories or an object with runs_like() to compare with, got {type(runs).__name__}. "
            "Next: pass [trajectory, ...], or the files with tracer-hooks diagnose --passing PATH"
        )
    return GivenRuns(runs)


VERSION = 1
NO_COMPARISON = "no passing run to compare with"
"""Why the attributor abstains when it was given no run that the trajectory can be compared with."""
_MAX_CANDIDATES = 10
_CACHED = 256
_TRUST = 0.6
"""Confidence in the best step when it takes all of the belief and the passing runs had the same task."""
_NEEDED = {RunOutcome.FAILED: 0.2, RunOutcome.UNKNOWN: 1.9, RunOutcome.SUCCEEDED: 2.1}
"""How strong the clearest difference must be for an answer, by what is known of the outcome: passing runs differ from
each other too, on half of the tau2-bench tasks by 1.9 or more in 5 % and by 2.1 or more in 1 % of them."""


class ContrastAttributor:
    """Compares a run with passing runs of the same team and names the point of divergence.

    The run is aligned with the nearest passing runs; every difference is charged to the step that first made it, so
    that a wrong value is blamed on the step that brought it in and not on those that took it over. No model is used and
    nothing is fitted. ``reference`` is taken for the protocol's sake and not looked at.

    Args:
        passing: Runs that passed, or a source of them; one whose outcome says that it failed counts as failing.
        runs: Runs of either outcome, or a source of them; their ``outcome`` tells which passed and which failed.
        options: How to compare.

    Raises:
        ConfigError: ``passing`` or ``runs`` is neither a source nor an iterable of trajectories.
    """

    name = "contrast"

    def __init__(
        self, passing: Runs | None = None, runs: Runs | None = None, *, options: ContrastOptions | None = None
    ) -> None:
        self._passing, self._runs = source_of(passing), source_of(runs)
        self._options = options or ContrastOptions()
        self._views: OrderedDict[int, RunView] = OrderedDict()

    def score(self, trajectory: Trajectory, *, reference: str | None = None) -> StepScores | None:
        """Score every step; None when there is no run to compare with or no step to compare."""
        divergences = self.divergences(trajectory)
        if divergences is None:
            return None
        scores = step_scores(divergences)
        top = max(range(len(scores)), key=lambda index: (scores[index], -index))
        return StepScores(
            steps=scores,
            agents=agent_scores(divergences),
            modes=mode_scores(divergences),
            evidence=evidence_for(divergences, top),
        )

    def attribute(self, trajectory: Trajectory, *, reference: str | None = None) -> Attribution:
        """Diagnose one run; see :class:`~tracer_hooks.diagnosis.Attributor`."""
        began = time.perf_counter()
        answer = self._judge(trajectory)
        return answer.model_copy(update={"elapsed_s": time.perf_counter() - began})

    def divergences(self, trajectory: Trajectory) -> Divergences | None:
        """Every difference from the passing runs; None when there is nothing to compare."""
        run = self._view(trajectory)
        if run.is_empty:
            return None
        passing, failing = self._neighbours(run)
        nearest = (passing or (failing if self._options.without_passing else ()))[: self._options.nearest]
        if not nearest:
            return None
        return Divergences(compare(run, nearest))

    def _judge(self, trajectory: Trajectory) -> Attribution:
        blank = Attribution(run_id=trajectory.run_id, attributor=f"{self.name}/{VERSION}")
        run = self._view(trajectory)
        if run.is_empty:
            return blank.model_copy(update={"abstained": True, "abstained_reason": INCOMPLETE})
        divergences = self.divergences(trajectory)
        if divergences is None:
            return blank.model_copy(update={"abstained": True, "abstained_reason": NO_COMPARISON})
        failed = trajectory.outcome is RunOutcome.FAILED
        if (divergences.strongest if failed else divergences.alarm) < _NEEDED[trajectory.outcome]:
            return blank.model_copy(update={"abstained": True, "abstained_reason": NO_FAULT})
        return _answer(blank, divergences)

    def _neighbours(self, run: RunView) -> tuple[tuple[RunView, ...], tuple[RunView, ...]]:
        """The passing runs of the team, and the failing ones of the same task; the nearest first."""
        given = [*self._passing.runs_like(run.trajectory)]
        either = [*self._runs.runs_like(run.trajectory)]
        passing = [other for other in given if other.outcome is not RunOutcome.FAILED]
        passing += [other for other in either if other.outcome is RunOutcome.SUCCEEDED]
        failing = [other for other in (*given, *either) if other.outcome is RunOutcome.FAILED]
        like = tuple(other for other in self._nearest(run, failing) if task_closeness(run, other) >= SAME_TASK)
        return self._nearest(run, passing), like

    def _nearest(self, run: RunView, trajectories: Sequence[Trajectory]) -> tuple[RunView, ...]:
        """Those of the same team, by the likeness of the task, then by that of the acts."""
        read = [self._view(each) for each in likely_neighbours(run.trajectory, trajectories, self._options.at_most)]
        usable = [other for other in read if other.acts and _same_team(run, other)]
        return tuple(sorted(usable, key=lambda other: _distance(run, other)))

    def _view(self, trajectory: Trajectory) -> RunView:
        # By identity: hashing a trajectory would read all of it, and a view keeps its trajectory alive.
        key = id(trajectory)
        view = self._views.pop(key, None) or RunView(trajectory)
        self._views[key] = view
        if len(self._views) > _CACHED:
            self._views.popitem(last=False)
        return view


def _answer(blank: Attribution, divergences: Divergences) -> Attribution:
    scores = StepScores(steps=step_scores(divergences))
    trust = _TRUST * (0.2 + 0.8 * divergences.comparison.nearness)
    belief = [trust * value for value in scores.belief()]
    run = divergences.comparison.run
    ranked = sorted(run.acts, key=lambda index: (-belief[index], index))[:_MAX_CANDIDATES]
    steps = run.trajectory.steps
    candidates = tuple(
        Candidate(agent=steps[index].agent, step=index, score=round(belief[index], 6)) for index in ranked
    )
    first = candidates[0]
    return blank.model_copy(
        update={
            "agent": first.agent,
            "step": first.step,
            "error_mode": error_mode_of(divergences, first.step),
            "confidence": first.score,
            "candidates": candidates,
            "evidence": evidence_for(divergences, first.step),
        }
    )


_LEAST_SHARED = 0.5
"""Share of the smaller roster that both teams must have."""
_CLOSENESS_GRAIN = 10
"""Differences of task likeness below a tenth do not decide which run is nearer; the acts do."""
_TASK_GLANCE = 2_000
"""Characters of a task that are looked at to see which runs are worth reading."""


def likely_neighbours(trajectory: Trajectory, others: Iterable[Trajectory], at_most: int) -> tuple[Trajectory, ...]:
    """The runs that are worth reading: those with the likeliest tasks, and among these in the order given.

    Each run counts once, by its id, and ``trajectory`` itself is left out.
    """
    words = set(trajectory.task[:_TASK_GLANCE].casefold().split())
    once = {other.run_id: other for other in others if other.run_id != trajectory.run_id}

    def distance(other: Trajectory) -> int:
        theirs = set(other.task[:_TASK_GLANCE].casefold().split())
        return -round(_CLOSENESS_GRAIN * len(words & theirs) / max(1, len(words | theirs)))

    return tuple(sorted(once.values(), key=distance)[:at_most])


def _same_team(run: RunView, other: RunView) -> bool:
    shared = len(run.agents & other.agents)
    return shared >= _LEAST_SHARED * max(1, min(len(run.agents), len(other.agents)))


def _distance(run: RunView, other: RunView) -> tuple[int, float]:
    closeness = round(_CLOSENESS_GRAIN * task_closeness(run, other))
    common = sum((run.act_counts & other.act_counts).values())
    return -closeness, -2.0 * common / max(1, len(run.acts) + len(other.acts))

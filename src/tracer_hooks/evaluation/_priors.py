"""Answers that read nothing: whatever was to blame most often in the failures that were learnt from."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence

from tracer_hooks.evaluation._method_rows import CaseAnswer, group_of
from tracer_hooks.evaluation._names import fold
from tracer_hooks.schema import DecisiveStep, LabeledTrajectory


def position_prior(training: Sequence[LabeledTrajectory]) -> CaseAnswer:
    """Names the step that was decisive most often."""
    counts = _Counts(training, lambda gold: gold.step)

    def answer(case: LabeledTrajectory) -> tuple[int, str] | None:
        steps = case.trajectory.steps
        known = counts.of(case)
        best = max(range(len(steps)), key=lambda place: (known[place], -place))
        return best, steps[best].agent

    return answer


def agent_prior(training: Sequence[LabeledTrajectory]) -> CaseAnswer:
    """Names the first step of the agent that was to blame most often."""
    counts = _Counts(training, lambda gold: fold(gold.agent))

    def answer(case: LabeledTrajectory) -> tuple[int, str] | None:
        known = counts.of(case)
        best = max(case.trajectory.steps, key=lambda step: (known[fold(step.agent)], -step.index))
        return best.index, best.agent

    return answer


class _Counts:
    """What was to blame how often, in the same kind of failures: of the same team, or of all where it has none."""

    def __init__(self, training: Sequence[LabeledTrajectory], what: Callable[[DecisiveStep], Hashable]) -> None:
        self._by_team: defaultdict[tuple[str, str], Counter[Hashable]] = defaultdict(Counter)
        self._by_group: defaultdict[str, Counter[Hashable]] = defaultdict(Counter)
        for one in training:
            if one.decisive is not None:
                self._by_team[_team(one), group_of(one)][what(one.decisive)] += 1
                self._by_group[group_of(one)][what(one.decisive)] += 1

    def of(self, case: LabeledTrajectory) -> Counter[Hashable]:
        """How often each was to blame."""
        return self._by_team.get((_team(case), group_of(case))) or self._by_group[group_of(case)]


def _team(one: LabeledTrajectory) -> str:
    return f"{one.trajectory.framework}/{one.trajectory.team}"

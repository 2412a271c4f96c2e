"""Methods side by side on labelled failures: what each one names, and two priors that read nothing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

import numpy as np

from tracer_hooks.diagnosis import Attributor, diagnose_trajectory
from tracer_hooks.errors import AttributionError
from tracer_hooks.evaluation import Measure
from tracer_hooks.extension import Array, Resampling, fold_name, grouped_folds, question_of, ranked_steps
from tracer_hooks.schema import DecisiveStep, LabeledTrajectory, LabelSource, Record

POSITION = "most frequent step"
AGENT = "most frequent agent, first step"
INJECTED = "injected faults"
NATURAL = "natural failures"


class AdaptationRow(Record):
    """One method on one kind of failures."""

    method: str
    """Who answers."""
    group: str
    """Which failures."""
    step: Measure
    """Exact-step accuracy."""
    agent: Measure
    """Exact-agent accuracy."""
    step_gain: Measure | None = None
    """Exact-step accuracy minus that of the method that it is compared with, here the attributor as shipped unless
    said otherwise, over the same draws of questions."""
    agent_gain: Measure | None = None
    """The same for the agent."""
    righted: int | None = None
    """Runs whose step it names and that method does not; None for that one itself."""
    wronged: int | None = None
    """Runs whose step that method names and it does not."""


Answers = list[tuple[int, str] | None]
"""Step and agent for each run; None where there is no answer."""
CaseAnswer = Callable[[LabeledTrajectory], tuple[int, str] | None]
"""Answers about one run."""


def answers_by(attributor: Attributor, unusable: list[LabeledTrajectory] | None = None) -> CaseAnswer:
    """Return what an attributor answers; one that abstains is taken at its first candidate.

    Args:
        attributor: Who is asked.
        unusable: Takes the runs that it cannot answer about, as a reply that stays unreadable is a wrong answer; None
            raises its error.
    """

    def answer(case: LabeledTrajectory) -> tuple[int, str] | None:
        try:
            ranking = ranked_steps(diagnose_trajectory(case.trajectory, attributor=attributor))
        except AttributionError:
            if unusable is None:
                raise
            unusable.append(case)
            return None
        return (ranking[0], case.trajectory.steps[ranking[0]].agent) if ranking else None

    return answer


def group_of(case: LabeledTrajectory) -> str:
    """Return which kind of failure it is: :data:`INJECTED` or :data:`NATURAL`."""
    return INJECTED if case.label_source is LabelSource.INJECTED else NATURAL


def method_rows(
    cases: Sequence[LabeledTrajectory],
    questions: Sequence[str],
    answers: Mapping[str, Answers],
    *,
    beside: str,
    seed: int,
    draws: int,
) -> Iterator[AdaptationRow]:
    """One row for each method on each kind of failures, weak labels left out."""
    for group in (NATURAL, INJECTED):
        places = [position for position, case in enumerate(cases) if group_of(case) == group and not case.is_weak]
        if not places:
            continue
        resampling = Resampling([questions[position] for position in places], draws=draws, seed=seed)
        hits = {
            method: hits_of([cases[p] for p in places], [given[p] for p in places]) for method, given in answers.items()
        }
        others = hits[beside]
        for method, (steps, agents) in hits.items():
            step, agent = resampling.mean(steps), resampling.mean(agents)
            if step is None or agent is None:
                continue
            gained = method != beside
            yield AdaptationRow(
                method=method,
                group=group,
                step=step,
                agent=agent,
                step_gain=resampling.difference(steps, others[0]) if gained else None,
                agent_gain=resampling.difference(agents, others[1]) if gained else None,
                righted=int((steps > others[0]).sum()) if gained else None,
                wronged=int((steps < others[0]).sum()) if gained else None,
            )


def hits_of(cases: Sequence[LabeledTrajectory], given: Answers) -> tuple[Array, Array]:
    """Tell whether each answer names the labelled step, and whether it names the labelled agent; 1 or 0."""
    steps, agents = [], []
    for case, answer in zip(cases, given, strict=True):
        gold = case.decisive
        steps.append(float(answer is not None and gold is not None and answer[0] == gold.step))
        agents.append(float(answer is not None and gold is not None and fold_name(answer[1]) == fold_name(gold.agent)))
    return np.array(steps), np.array(agents)


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
    counts = _Counts(training, lambda gold: fold_name(gold.agent))

    def answer(case: LabeledTrajectory) -> tuple[int, str] | None:
        known = counts.of(case)
        best = max(case.trajectory.steps, key=lambda step: (known[fold_name(step.agent)], -step.index))
        return best.index, best.agent

    return answer


class _Counts:
    """Counts of what was to blame in the same kind of failures: of the same team, or of all where it has none."""

    def __init__(self, training: Sequence[LabeledTrajectory], what: Callable[[DecisiveStep], Hashable]) -> None:
        self._by_team: defaultdict[tuple[str, str], Counter[Hashable]] = defaultdict(Counter)
        self._by_group: defaultdict[str, Counter[Hashable]] = defaultdict(Counter)
        for case in training:
            if case.decisive is not None:
                self._by_team[_team(case), group_of(case)][what(case.decisive)] += 1
                self._by_group[group_of(case)][what(case.decisive)] += 1

    def of(self, case: LabeledTrajectory) -> Counter[Hashable]:
        """Return how often each was to blame."""
        return self._by_team.get((_team(case), group_of(case))) or self._by_group[group_of(case)]


def _team(case: LabeledTrajectory) -> str:
    return f"{case.trajectory.framework}/{case.trajectory.team}"


def held_out_apart(
    labeled: Sequence[LabeledTrajectory], *, parts: int = 3, seed: int = 0
) -> tuple[list[LabeledTrajectory], list[LabeledTrajectory]]:
    """Failures to learn from, and one of ``parts`` of the questions to judge by, each kind of failures in both.

    Runs of one question, or of tasks with the same words, stay together. Weak labels are in the first list only, and
    none of a question that is judged by.

    Raises:
        ConfigError: There are fewer questions than parts.
    """
    proven = [case for case in labeled if not case.is_weak]
    keys = [_key(case) for case in proven]
    folds = grouped_folds(keys, parts, seed=seed, strata=[group_of(case) for case in proven])
    judged = {key for key, fold in zip(keys, folds, strict=True) if fold == 0}
    learnt = [case for case in labeled if _key(case) not in judged]
    return learnt, [case for case, key in zip(proven, keys, strict=True) if key in judged]


def _key(case: LabeledTrajectory) -> str:
    return " ".join(case.trajectory.task.casefold().split()) or question_of(case)

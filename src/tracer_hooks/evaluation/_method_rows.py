"""What several methods answered about the same failures, as rows of figures beside one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from tracer_hooks.attribution import Attributor, diagnose_trajectory
from tracer_hooks.evaluation._adaptation_report import INJECTED, NATURAL, AdaptationRow
from tracer_hooks.evaluation._names import fold
from tracer_hooks.evaluation._resampling import Array, Resampling
from tracer_hooks.evaluation._step_scores import ranked_steps
from tracer_hooks.schema import LabeledTrajectory, LabelSource

Answers = list[tuple[int, str] | None]
"""Step and agent for each run; None where there is no answer."""
CaseAnswer = Callable[[LabeledTrajectory], tuple[int, str] | None]
"""Answers about one run."""


def answers_by(attributor: Attributor) -> CaseAnswer:
    """What an attributor answers; one that abstains is taken at its first candidate."""

    def answer(case: LabeledTrajectory) -> tuple[int, str] | None:
        ranking = ranked_steps(diagnose_trajectory(case.trajectory, attributor=attributor))
        return (ranking[0], case.trajectory.steps[ranking[0]].agent) if ranking else None

    return answer


def group_of(one: LabeledTrajectory) -> str:
    """Which kind of failure it is: :data:`INJECTED` or :data:`NATURAL`."""
    return INJECTED if one.label_source is LabelSource.INJECTED else NATURAL


def method_rows(
    cases: Sequence[LabeledTrajectory],
    questions: Sequence[str],
    answers: Mapping[str, Answers],
    *,
    beside: str,
    seed: int,
    draws: int,
) -> Iterator[AdaptationRow]:
    """One row for each method on each kind of failures, weak labels left out.

    Args:
        cases: The labelled failures.
        questions: The question of each.
        answers: What each method answered, in the order of the cases.
        beside: The method that the others are compared with.
        seed: Of the draws.
        draws: Bootstrap draws of whole questions.
    """
    for group in (NATURAL, INJECTED):
        places = [position for position, one in enumerate(cases) if group_of(one) == group and not one.is_weak]
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
    """Whether each answer names the labelled step, and whether it names the labelled agent; 1 or 0."""
    steps, agents = [], []
    for case, answer in zip(cases, given, strict=True):
        gold = case.decisive
        steps.append(float(answer is not None and gold is not None and answer[0] == gold.step))
        agents.append(float(answer is not None and gold is not None and fold(answer[1]) == fold(gold.agent)))
    return np.array(steps), np.array(agents)

"""Adapting the structural attributor to labelled trajectories."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tracer_hooks._optional import require
from tracer_hooks.attribution._features import features_of
from tracer_hooks.attribution._fitting import FitReport
from tracer_hooks.attribution._pooling import with_agents
from tracer_hooks.attribution._reading._roles import fold
from tracer_hooks.attribution._structural._adapt import Case, adapt
from tracer_hooks.attribution._structural._model import StructuralModel
from tracer_hooks.errors import AttributionError
from tracer_hooks.schema import LabeledTrajectory

FEWEST = 5
"""Labelled decisive steps below which nothing can be learnt."""
FEWEST_QUESTIONS = 2
"""Questions below which nothing can be measured."""


def fit_structural(
    labeled: Sequence[LabeledTrajectory], *, shipped: StructuralModel, seed: int
) -> tuple[StructuralModel, FitReport]:
    """A model adapted to the trajectories that have a decisive step, and what it gained on questions it had not seen.

    Raises:
        AttributionError: There are fewer than :data:`FEWEST` such trajectories, or they all have one question.
        MissingExtraError: scikit-learn or scipy is not installed.
    """
    require("sklearn", extra="fit", feature="fitting an attributor")
    require("scipy", extra="fit", feature="fitting an attributor")
    usable = [one for one in labeled if one.decisive is not None and one.trajectory.steps]
    if len(usable) < FEWEST:
        raise AttributionError(
            f"{len(usable)} of {len(labeled)} trajectories have a decisive step, expected at least {FEWEST}. "
            "Label more of them (schema: LabeledTrajectory.decisive), or use the attributor as it is shipped"
        )
    cases = [_case(one) for one in usable]
    questions = len({case.group for case in cases})
    if questions < FEWEST_QUESTIONS:
        raise AttributionError(
            f"the {len(cases)} trajectories belong to {questions} question, expected at least {FEWEST_QUESTIONS}: what "
            "is learnt from one has to be tried on another. Label runs of other questions as well"
        )
    adapted = adapt(cases, seed=seed)
    before = [shipped.logits(case.table) for case in cases]
    step_before, agent_before = _accuracy(usable, before)
    after = [
        with_agents(np.log(belief), [step.agent for step in one.trajectory.steps])
        for one, belief in zip(usable, adapted.beliefs, strict=True)
    ]
    step_after, agent_after = _accuracy(usable, after)
    report = FitReport(
        trajectories=len(cases),
        questions=questions,
        shipped_step=step_before,
        shipped_agent=agent_before,
        fitted_step=step_after,
        fitted_agent=agent_after,
        chosen=adapted.chosen,
    )
    return adapted.model, report


def _case(labeled: LabeledTrajectory) -> Case:
    if labeled.decisive is None:
        raise AttributionError(f"the trajectory {labeled.trajectory.run_id!r} has no decisive step")
    trajectory = labeled.trajectory
    return Case.of(
        features_of(trajectory),
        target=labeled.decisive.step,
        group=labeled.question_id or trajectory.task or trajectory.run_id,
    )


def _accuracy(labeled: Sequence[LabeledTrajectory], beliefs: Sequence[NDArray[np.float64]]) -> tuple[float, float]:
    """Exact step and agent, names compared without case and punctuation."""
    steps = agents = 0
    for one, belief in zip(labeled, beliefs, strict=True):
        if one.decisive is None:
            continue
        best = int(belief.argmax())
        steps += best == one.decisive.step
        agents += fold(one.trajectory.steps[best].agent) == fold(one.decisive.agent)
    return steps / len(labeled), agents / len(labeled)

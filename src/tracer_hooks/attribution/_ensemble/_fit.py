"""Fitting the members of an ensemble, and their shares to beliefs about questions that they had not seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tracer_hooks._folds import grouped_folds
from tracer_hooks._lazy import require
from tracer_hooks.attribution._fitting import FitReport, Fittable, fitted_only
from tracer_hooks.attribution._pooling import Logits, fit_shares, normalised, pool
from tracer_hooks.attribution._reading._roles import fold
from tracer_hooks.attribution._scores import Scorer, StepScores
from tracer_hooks.errors import AttributionError
from tracer_hooks.schema import LabeledTrajectory, Trajectory

_FOLDS = 4
_FEWEST = 5


def fit_ensemble(
    members: Mapping[str, Scorer],
    labeled: Sequence[LabeledTrajectory],
    *,
    shipped: Callable[[Trajectory], StepScores | None],
    seed: int,
) -> tuple[dict[str, Scorer], dict[str, float], FitReport]:
    """The fitted members, their shares, and what the whole gained.

    Args:
        members: The methods by name; those that are not fittable stay as they are.
        labeled: Trajectories, some of them with a decisive step.
        shipped: How steps were scored before.
        seed: Of the folds.

    Raises:
        AttributionError: Fewer than five of them have a decisive step.
    """
    require("scipy", extra="fit", feature="fitting an attributor")
    usable = [one for one in labeled if one.decisive is not None and one.trajectory.steps]
    if len(usable) < _FEWEST:
        raise AttributionError(
            f"{len(usable)} of {len(labeled)} trajectories have a decisive step, expected at least {_FEWEST}. "
            "Label more of them (schema: LabeledTrajectory.decisive), or use the attributor as it is shipped"
        )
    beliefs = _out_of_fold(members, usable, seed)
    targets = [one.decisive.step for one in usable if one.decisive is not None]
    shares = fit_shares(beliefs, targets).tolist()
    fitted = {name: _fitted(member, usable, seed) for name, member in members.items()}
    pooled = [pool(one, shares) for one in beliefs]
    before = [scores.steps if (scores := shipped(one.trajectory)) is not None else (0.0,) for one in usable]
    report = FitReport(
        trajectories=len(usable),
        questions=len({_group(one) for one in usable}),
        shipped_step=_step_accuracy(usable, [np.array(one) for one in before]),
        shipped_agent=_agent_accuracy(usable, [np.array(one) for one in before]),
        fitted_step=_step_accuracy(usable, pooled),
        fitted_agent=_agent_accuracy(usable, pooled),
        chosen=", ".join(f"{name} x {share:.2f}" for name, share in zip(members, shares, strict=True)),
    )
    return fitted, dict(zip(members, shares, strict=True)), report


def _out_of_fold(members: Mapping[str, Scorer], labeled: Sequence[LabeledTrajectory], seed: int) -> list[list[Logits]]:
    """For each trajectory the log-beliefs of each member, fitted without the trajectory's question."""
    groups = [_group(one) for one in labeled]
    folds = grouped_folds(groups, min(_FOLDS, len(set(groups))), shuffle=np.random.default_rng(seed).shuffle)
    beliefs: list[list[Logits]] = [[] for _ in labeled]
    for member in members.values():
        for number in sorted(set(folds)):
            judge = _fitted(member, [one for one, own in zip(labeled, folds, strict=True) if own != number], seed)
            for place, own in enumerate(folds):
                if own == number:
                    beliefs[place].append(_belief(judge, labeled[place].trajectory))
    return beliefs


def _fitted(member: Scorer, labeled: Sequence[LabeledTrajectory], seed: int) -> Scorer:
    if not isinstance(member, Fittable):
        return member
    judge = fitted_only(member, labeled, seed=seed)
    return judge if isinstance(judge, Scorer) else member


def _belief(judge: Scorer, trajectory: Trajectory) -> Logits:
    scores = judge.score(trajectory)
    return normalised(np.zeros(len(trajectory.steps)) if scores is None else np.array(scores.steps))


def _group(labeled: LabeledTrajectory) -> str:
    return labeled.question_id or labeled.trajectory.task or labeled.trajectory.run_id


def _step_accuracy(labeled: Sequence[LabeledTrajectory], logits: Sequence[Logits]) -> float:
    hits = [
        one.decisive is not None and int(own.argmax()) == one.decisive.step
        for one, own in zip(labeled, logits, strict=True)
    ]
    return sum(hits) / len(hits)


def _agent_accuracy(labeled: Sequence[LabeledTrajectory], logits: Sequence[Logits]) -> float:
    hits = [
        one.decisive is not None and fold(one.trajectory.steps[int(own.argmax())].agent) == fold(one.decisive.agent)
        for one, own in zip(labeled, logits, strict=True)
    ]
    return sum(hits) / len(hits)

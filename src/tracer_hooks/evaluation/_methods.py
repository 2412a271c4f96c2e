"""Methods under evaluation: who is asked, fold by fold, what they answer, and what they could not."""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tracer_hooks._folds import grouped_folds
from tracer_hooks.diagnosis import Attributor, Fittable, diagnose_each, diagnose_trajectory
from tracer_hooks.errors import ConfigError, MissingExtraError
from tracer_hooks.evaluation._cases import Case, question_of, without_reference
from tracer_hooks.schema import Attribution, LabeledTrajectory, RunOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatedMethod:
    """One row of the tables."""

    name: str
    """As the caller named it."""
    attributor_for: Callable[[int], Attributor]
    """The attributor for the run at this position."""


def evaluated_methods(
    attributors: Mapping[str, Attributor], cases: Sequence[Case], folds: int | None, seed: int
) -> list[EvaluatedMethod]:
    """Every attributor as it is and, with ``folds``, fitted to the other folds of the labelled cases."""
    found = [EvaluatedMethod(name=name, attributor_for=_always(attributor)) for name, attributor in attributors.items()]
    if folds is None:
        return found
    if all(case.labeled is None for case in cases):
        raise ConfigError("cannot cross-validate on runs that are only graded, expected labelled ones")
    for name, attributor in attributors.items():
        if not isinstance(attributor, Fittable):
            raise ConfigError(
                f"attributor {name!r} cannot be fitted to labels, so it cannot be cross-validated. "
                "Run it without --cross-validate"
            )
        fitted = _by_fold(attributor, cases, folds, seed)
        found.append(EvaluatedMethod(name=f"{name}, fitted ({folds} folds)", attributor_for=fitted))
    return found


def _always(attributor: Attributor) -> Callable[[int], Attributor]:
    return lambda position: attributor


def _by_fold(fittable: Fittable, cases: Sequence[Case], folds: int, seed: int) -> Callable[[int], Attributor]:
    """Runs without a label are judged by the fold that their question falls into, like the labelled ones."""
    where = grouped_folds([case.question for case in cases], folds, seed=seed, strata=[case.group for case in cases])

    @functools.cache
    def fitted(fold: int) -> Attributor:
        labeled = [case.labeled for case, place in zip(cases, where, strict=True) if place != fold]
        attributor, _ = fittable.fit([one for one in labeled if one is not None], seed=seed)
        return attributor

    return lambda position: fitted(where[position])


Progress = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOptions:
    """Options of what to measure beside the accuracy without the expected answer."""

    with_reference: bool = False
    """Also measure with the expected answer, as rows of their own."""
    detection: bool = True
    """Also measure who is blamed when the outcome of the run is not told; this diagnoses every run once more."""
    cross_validate: int | None = None
    """Number of folds; each attributor that can be fitted is then also measured fitted to the other folds."""
    draws: int = 2000
    """Bootstrap samples behind each interval; 0 for no intervals."""
    seed: int = 0
    """Of the folds and of the bootstrap."""

    def __post_init__(self) -> None:
        if self.cross_validate is not None and self.cross_validate < 2:
            raise ConfigError(f"cross_validate is {self.cross_validate!r}, expected at least 2 folds")
        if self.draws < 0:
            raise ConfigError(f"draws is {self.draws!r}, expected 0 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Answer of an attributor about one run."""

    attribution: Attribution | None
    """None when the attributor failed; counts as an abstention."""
    seconds: float
    """Wall-clock time of the diagnosis."""
    error: str | None = None
    """Why the attributor failed."""

    @property
    def given(self) -> Attribution | None:
        """The attribution, unless it is an abstention."""
        found = self.attribution
        return None if found is None or found.abstained or found.agent is None else found


def ask(
    entrant: EvaluatedMethod,
    cases: Sequence[Case],
    *,
    told: bool = False,
    withheld: bool = False,
    progress: Progress | None = None,
) -> list[Answer]:
    """One answer for each case; an attributor that fails on a run is recorded and the rest goes on.

    Args:
        entrant: Who is asked.
        cases: About which runs.
        told: Whether the expected answer is told.
        withheld: Whether it is withheld how the runs ended.
        progress: Told after each answer.

    Raises:
        MissingExtraError: The attributor needs something that is not installed.
        ConfigError: The attributor cannot work as it is configured.
    """
    unknown = {"outcome": RunOutcome.UNKNOWN, "outcome_reason": None} if withheld else {}
    answers: list[Answer] = []
    for attributor, group in itertools.groupby(enumerate(cases), key=lambda one: entrant.attributor_for(one[0])):
        asked = ((case.trajectory.model_copy(update=unknown), case.reference if told else None) for _, case in group)
        began = time.perf_counter()
        for answer in diagnose_each(asked, attributor=attributor):
            if isinstance(answer, (MissingExtraError, ConfigError)):  # no run would fare better
                raise answer
            seconds = time.perf_counter() - began
            if isinstance(answer, Exception):
                error = f"{type(answer).__name__}: {answer}"
                answers.append(Answer(attribution=None, seconds=seconds, error=error))
            else:  # the attributor knows better how long it took where it asked about several runs at once
                answers.append(Answer(attribution=answer, seconds=answer.elapsed_s or seconds))
            began = time.perf_counter()
            if progress is not None:
                progress(entrant.name, len(answers), len(cases))
    return answers


Fit = Callable[[Sequence[LabeledTrajectory]], Attributor]
"""Fits an attributor to labelled trajectories."""


def cross_validate(
    labeled: Sequence[LabeledTrajectory], fit: Fit, *, folds: int = 5, seed: int = 0
) -> list[Attribution]:
    """The answer for each trajectory by an attributor that was fitted to none of its question's.

    Args:
        labeled: Labelled trajectories. Those with the same ``question_id``, or without one the same task, stay
            together. The expected answer is shown neither to ``fit`` nor to the attributor.
        fit: Fits an attributor; called once for each fold, with the trajectories outside it.
        folds: How many.
        seed: Of the split.

    Returns:
        One answer a trajectory, in the same order.

    Raises:
        ConfigError: There are fewer questions than folds.
    """
    shown = [without_reference(case) for case in labeled]
    where = grouped_folds([question_of(case) for case in shown], folds, seed=seed)
    answers: dict[int, Attribution] = {}
    for fold in range(folds):
        attributor = fit([case for case, place in zip(shown, where, strict=True) if place != fold])
        for position, case in enumerate(shown):
            if where[position] == fold:
                answers[position] = diagnose_trajectory(case.trajectory, attributor=attributor)
    return [answers[position] for position in range(len(shown))]

"""An evaluation: every attributor on every run, beside what can be had for nothing."""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tracer_hooks._folds import grouped_folds
from tracer_hooks._version import __version__
from tracer_hooks.diagnosis import Attributor, Fittable, diagnose_each, diagnose_trajectory
from tracer_hooks.diagnosis.ranking._fit import question_of
from tracer_hooks.errors import ConfigError, MissingExtraError
from tracer_hooks.evaluation._cases import Case, EvaluationData, without_reference
from tracer_hooks.evaluation._report import EvaluationReport, GroupReport, Problem, Resampling
from tracer_hooks.evaluation._scores import (
    Answer,
    DetectedRuns,
    Mask,
    ScoredFaults,
    ScoredSteps,
    chosen_rows,
    detection_section,
    fault_guess_of,
    fault_section,
    guess_of,
    score_faults,
    score_guesses,
    step_section,
)
from tracer_hooks.evaluation.baselines import fault_baselines, step_baselines
from tracer_hooks.schema import Attribution, LabeledTrajectory, RunOutcome

_AttributorFor = Callable[[int], Attributor]
"""Gives the attributor for the run at a position."""


def evaluated_methods(
    attributors: Mapping[str, Attributor], cases: Sequence[Case], folds: int | None, seed: int
) -> dict[str, _AttributorFor]:
    """By name, every attributor as it is and, with ``folds``, fitted to the other folds of the labelled cases."""
    found = {name: _always(attributor) for name, attributor in attributors.items()}
    if folds is None:
        return found
    if all(case.labeled is None for case in cases):
        raise ConfigError("cannot cross-validate on runs that are only graded, expected labelled ones")
    where = grouped_folds([case.question for case in cases], folds, seed=seed, strata=[case.group for case in cases])
    labeled = [case.labeled for case in cases]
    for name, attributor in attributors.items():
        if not isinstance(attributor, Fittable):
            raise ConfigError(
                f"attributor {name!r} cannot be fitted to labels, so it cannot be cross-validated. "
                "Run it without --cross-validate"
            )
        fit = functools.partial(_fitted, attributor, seed)
        found[f"{name}, fitted ({folds} folds)"] = _by_fold(where, labeled, fit)
    return found


def _always(attributor: Attributor) -> _AttributorFor:
    return lambda position: attributor


def _fitted(fittable: Fittable, seed: int, labeled: Sequence[LabeledTrajectory]) -> Attributor:
    return fittable.fit(labeled, seed=seed)[0]


Fit = Callable[[Sequence[LabeledTrajectory]], Attributor]
"""Fits an attributor to labelled trajectories."""


def _by_fold(where: Sequence[int], labeled: Sequence[LabeledTrajectory | None], fit: Fit) -> _AttributorFor:
    """The attributor for the run at a position, labelled or not: fitted to the labelled runs of the other folds."""

    @functools.cache
    def fitted(fold: int) -> Attributor:
        return fit([label for label, place in zip(labeled, where, strict=True) if place != fold and label is not None])

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
    fitted = _by_fold(where, shown, fit)
    return [diagnose_trajectory(case.trajectory, attributor=fitted(at)) for at, case in enumerate(shown)]


POOLED = "all"
"""The group that holds the runs of all others."""


def evaluate(
    data: EvaluationData,
    attributors: Mapping[str, Attributor] | Attributor,
    options: EvaluationOptions | None = None,
    *,
    progress: Progress | None = None,
) -> EvaluationReport:
    """Measure attributors on labelled or graded runs.

    Each run is diagnosed once as it was found, without the expected answer; once more with it, and once more with the
    outcome withheld, as the options say. A run that an attributor fails on counts as an abstention and is listed.

    Args:
        data: The runs.
        attributors: One, or several by name.
        options: What else to measure.
        progress: Told after each diagnosis.

    Returns:
        All figures; the same data, attributors and options give the same report, but for the seconds.

    Raises:
        ConfigError: An attributor cannot be fitted although the options ask for it, or ``data`` holds no run.
        MissingExtraError: An attributor needs something that is not installed.
    """
    options = options or EvaluationOptions()
    if not data.cases:
        raise ConfigError(
            "there is no run to evaluate on, expected at least one. See tracer_hooks.evaluation.read_data"
        )
    named = attributors if isinstance(attributors, Mapping) else {attributors.name: attributors}
    methods = evaluated_methods(named, data.cases, options.cross_validate, options.seed)
    work = _Work(data.cases, options, progress)
    for name, attributor_for in methods.items():
        work.measure(name, attributor_for)
    work.add_baselines()
    expected_answers = sum(case.reference is not None for case in data.cases)
    expected = f"{expected_answers} of {len(data.cases)} runs have an expected answer to tell"
    return EvaluationReport(
        tracer_hooks=__version__,
        dataset=data.dataset,
        data=data.source,
        attributors=work.versions,
        runs=len(data.cases),
        draws=options.draws,
        seed=options.seed,
        groups=tuple(work.groups()),
        # a run is asked about more than once, and may fail alike each time
        problems=tuple(dict.fromkeys((*data.problems, *work.problems))),
        notes=(*data.notes, *([expected] if options.with_reference else [])),
    )


class _Work:
    """The answers and scores as they come in."""

    def __init__(self, cases: Sequence[Case], options: EvaluationOptions, progress: Progress | None) -> None:
        self._cases, self._options, self._progress = cases, options, progress
        self._has_step: Mask = np.array([case.gold_agent is not None for case in cases], dtype=np.bool_)
        self._has_fault: Mask = np.array([case.faults is not None for case in cases], dtype=np.bool_)
        self._step_cases = [case for case in cases if case.gold_agent is not None]
        self._fault_cases = [case for case in cases if case.faults is not None]
        self._steps: list[ScoredSteps] = []
        self._faults: list[ScoredFaults] = []
        self._detected: list[DetectedRuns] = []
        self.problems: list[Problem] = []
        self.versions: dict[str, str] = {}

    def measure(self, name: str, attributor_for: _AttributorFor) -> None:
        """Ask an attributor everything, and score it."""
        found = self._ask(name, attributor_for)
        self.versions[name] = next((one.attribution.attributor for one in found if one.attribution), "")
        self._score(name, found, told=False)
        if self._options.with_reference:
            self._score(name, self._ask(name, attributor_for, told=True), told=True)
        if self._options.detection:
            if any(case.outcome is not RunOutcome.UNKNOWN for case in self._cases):
                withheld = self._ask(name, attributor_for, withheld=True)
                self._detected.append(DetectedRuns(name=name, told=False, answers=withheld))
            self._detected.append(DetectedRuns(name=name, told=True, answers=found))

    def add_baselines(self) -> None:
        """Score what reads nothing."""
        if self._step_cases:
            self._steps += step_baselines(self._step_cases)
        if self._fault_cases:
            self._faults += fault_baselines(self._fault_cases)

    def groups(self) -> list[GroupReport]:
        """The figures of each group and, when there are several, of all together."""
        names = list(dict.fromkeys(case.group for case in self._cases))
        masks = {name: np.array([case.group == name for case in self._cases], dtype=np.bool_) for name in names}
        if len(names) > 1:
            masks[POOLED] = np.ones(len(self._cases), dtype=np.bool_)
        return [self._group(name, mask) for name, mask in masks.items()]

    def _ask(
        self, name: str, attributor_for: _AttributorFor, *, told: bool = False, withheld: bool = False
    ) -> list[Answer]:
        """One answer for each run; an attributor that fails on a run is recorded and the rest goes on.

        Args:
            name: Who is asked.
            attributor_for: The same as attributors.
            told: Whether the expected answer is told.
            withheld: Whether it is withheld how the runs ended.

        Raises:
            MissingExtraError: The attributor needs something that is not installed.
            ConfigError: The attributor cannot work as it is configured.
        """
        unknown = {"outcome": RunOutcome.UNKNOWN, "outcome_reason": None} if withheld else {}
        answers: list[Answer] = []
        placed = enumerate(self._cases)
        for attributor, group in itertools.groupby(placed, key=lambda one: attributor_for(one[0])):
            cases = [case for _, case in group]
            asked = ((case.trajectory.model_copy(update=unknown), case.reference if told else None) for case in cases)
            began = time.perf_counter()
            for case, answer in zip(cases, diagnose_each(asked, attributor=attributor), strict=True):
                if isinstance(answer, (MissingExtraError, ConfigError)):  # no run would fare better
                    raise answer
                seconds = time.perf_counter() - began
                if isinstance(answer, Exception):
                    reason = f"attributor {name!r}: {type(answer).__name__}: {answer}"
                    self.problems.append(Problem(source=case.source, reason=reason))
                    answers.append(Answer(attribution=None, seconds=seconds))
                else:  # the attributor knows better how long it took where it asked about several runs at once
                    answers.append(Answer(attribution=answer, seconds=answer.elapsed_s or seconds))
                began = time.perf_counter()
                if self._progress is not None:
                    self._progress(name, len(answers), len(self._cases))
        return answers

    def _score(self, name: str, answers: list[Answer], *, told: bool) -> None:
        if self._step_cases:
            mine = chosen_rows(answers, self._has_step)
            guesses = [guess_of(answer) for answer in mine]
            scores = score_guesses(self._step_cases, guesses)
            self._steps.append(ScoredSteps(name=name, told=told, scores=scores, guesses=guesses, answers=mine))
        if self._fault_cases:
            mine = chosen_rows(answers, self._has_fault)
            counts = score_faults(self._fault_cases, [fault_guess_of(answer) for answer in mine])
            self._faults.append(ScoredFaults(name=name, told=told, scores=counts, answers=mine))

    def _group(self, name: str, mask: Mask) -> GroupReport:
        with_step, with_fault = mask[self._has_step], mask[self._has_fault]
        whole = self._resampling(self._cases, mask)
        return GroupReport(
            name=name,
            runs=int(mask.sum()),
            questions=whole.clusters,
            steps=step_section(self._step_cases, self._steps, with_step, self._resampling(self._step_cases, with_step)),
            faults=fault_section(
                self._fault_cases, self._faults, with_fault, self._resampling(self._fault_cases, with_fault)
            ),
            detection=detection_section(self._cases, self._detected, mask, whole),
        )

    def _resampling(self, cases: Sequence[Case], mask: Mask) -> Resampling:
        questions = [case.question for case, taken in zip(cases, mask, strict=True) if taken]
        return Resampling(questions, draws=self._options.draws, seed=self._options.seed)

"""An evaluation: every attributor on every run, beside what can be had for nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tracer_hooks._version import __version__
from tracer_hooks.diagnosis import Attributor
from tracer_hooks.errors import ConfigError
from tracer_hooks.evaluation._cases import Case, EvaluationData
from tracer_hooks.evaluation._measures import Resampling
from tracer_hooks.evaluation._methods import (
    Answer,
    EvaluatedMethod,
    EvaluationOptions,
    Progress,
    ask,
    evaluated_methods,
)
from tracer_hooks.evaluation._report import EvaluationReport, GroupReport, Problem
from tracer_hooks.evaluation._scores import (
    DetectedRuns,
    Mask,
    ScoredFaults,
    ScoredSteps,
    chosen_rows,
    fault_guess_of,
    guess_of,
    score_faults,
    score_guesses,
)
from tracer_hooks.evaluation._sections import detection_section, fault_section, step_section
from tracer_hooks.evaluation.baselines import fault_baselines, step_baselines
from tracer_hooks.schema import RunOutcome

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
    entrants = evaluated_methods(named, data.cases, options.cross_validate, options.seed)
    work = _Work(data.cases, options, progress)
    for entrant in entrants:
        work.measure(entrant)
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

    def measure(self, entrant: EvaluatedMethod) -> None:
        """Ask an attributor everything, and score it."""
        found = self._ask(entrant)
        self.versions[entrant.name] = next((one.attribution.attributor for one in found if one.attribution), "")
        self._score(entrant, found, told=False)
        if self._options.with_reference:
            self._score(entrant, self._ask(entrant, told=True), told=True)
        if self._options.detection:
            if any(case.outcome is not RunOutcome.UNKNOWN for case in self._cases):
                withheld = self._ask(entrant, withheld=True)
                self._detected.append(DetectedRuns(name=entrant.name, told=False, answers=withheld))
            self._detected.append(DetectedRuns(name=entrant.name, told=True, answers=found))

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

    def _ask(self, entrant: EvaluatedMethod, *, told: bool = False, withheld: bool = False) -> list[Answer]:
        answers = ask(entrant, self._cases, told=told, withheld=withheld, progress=self._progress)
        self.problems += [
            Problem(source=case.source, reason=f"attributor {entrant.name!r}: {answer.error}")
            for case, answer in zip(self._cases, answers, strict=True)
            if answer.error is not None
        ]
        return answers

    def _score(self, entrant: EvaluatedMethod, answers: list[Answer], *, told: bool) -> None:
        if self._step_cases:
            mine = chosen_rows(answers, self._has_step)
            guesses = [guess_of(answer) for answer in mine]
            scores = score_guesses(self._step_cases, guesses)
            self._steps.append(ScoredSteps(name=entrant.name, told=told, scores=scores, guesses=guesses, answers=mine))
        if self._fault_cases:
            mine = chosen_rows(answers, self._has_fault)
            counts = score_faults(self._fault_cases, [fault_guess_of(answer) for answer in mine])
            self._faults.append(ScoredFaults(name=entrant.name, told=told, scores=counts, answers=mine))

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

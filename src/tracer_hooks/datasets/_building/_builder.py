"""Building labelled data: run teams, put faults into what succeeded, replay what failed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tracer_hooks.datasets._building._journal import Journal
from tracer_hooks.datasets._building._labels import (
    clean_record,
    discarded_failure,
    discarded_fault,
    injected_label,
    natural_label,
)
from tracer_hooks.datasets._building._options import BuildOptions
from tracer_hooks.datasets._building._recorded import (
    FAULT,
    NATURAL,
    PLAN,
    RUN,
    RecordedRun,
    RunUnit,
    broken_result,
    recorded_run,
    run_result,
)
from tracer_hooks.datasets._building._subject import Subject
from tracer_hooks.datasets._building._work import Work
from tracer_hooks.datasets._labeled import LabeledSet
from tracer_hooks.errors import ConfigError, DatasetError, FaultError, ReplayError
from tracer_hooks.faults import FaultSpec, Injector, plan_faults
from tracer_hooks.replay import DecisiveSearch, Spending, StepReplay, find_decisive_step
from tracer_hooks.schema import LabeledTrajectory, RunKind, Usage
from tracer_hooks.suites import SuiteTask

_BROKEN_IN_A_ROW = 8
"""So many broken runs one after the other say that there is no point in going on."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a phase of a build is."""

    phase: str
    """``runs``, ``faults`` or ``failures``."""
    done: int
    """Units that are done, earlier sessions included."""
    total: int
    """All units of the phase."""
    kept: int
    """Of those, how many gave what was wanted: runs that succeeded, verified faults, labelled failures."""


class DatasetBuilder:
    """Builds one data set in a folder; a build that was broken off goes on where it was.

    Args:
        folder: Where the data set is built.
        subjects: The teams.
        tasks: What they work on, by the name of the subject.
        options: How.
        on_progress: Told after every unit.

    Raises:
        DatasetError: The folder cannot be used.
        ConfigError: There is no team, or a team has no task.
    """

    def __init__(
        self,
        folder: Path,
        subjects: Sequence[Subject],
        tasks: Callable[[Subject], Sequence[SuiteTask]],
        options: BuildOptions,
        *,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> None:
        self.folder = folder
        self.options = options
        self.journal = Journal(folder)
        self.spending = Spending(options.cap)
        self._units = [
            RunUnit(subject=subject, task=task, repeat=repeat)
            for repeat in range(options.repeats)
            for subject in subjects
            for task in tasks(subject)
        ]
        if not self._units:
            raise ConfigError("there is nothing to run: expected at least one team and one task")
        self._on_progress = on_progress or (lambda progress: None)
        self._broken = 0

    def build(self) -> LabeledSet:
        """Do what is left to do, within the caps, and write what there is; gives the whole data set.

        Raises:
            DatasetError: Nothing but broken runs comes, or the disk is full; what was done is kept.
        """
        self._run_teams()
        if self.options.faults_per_run:
            self._inject_faults()
        if self.options.natural:
            self._replay_failures()
        found = self.collected()
        found.save(self.folder)
        return found

    # --- runs ------------------------------------------------------------------------------------------------------
    def _run_teams(self) -> None:
        units = [(RUN + unit.name, unit) for unit in self._units]
        for _name, result in self._watched("runs", units, self._run_team, _is_success):
            self._broken = self._broken + 1 if result["broken"] else 0
            if self._broken >= _BROKEN_IN_A_ROW:
                raise DatasetError(
                    f"the last {self._broken} runs were broken off: {_reason(result)}. Expected a model that answers "
                    "and a check that judges; see to that, and give the same command again"
                )

    def _run_team(self, unit: RunUnit) -> dict[str, Any]:
        try:
            trial = unit.subject.runner(unit.task).run(kind=RunKind.LIVE)
        except ReplayError as error:  # the check raised
            return broken_result(str(error))
        self.spending.add(trial.trajectory.usage)
        return run_result(unit, trial)

    def runs(self) -> Iterator[RecordedRun]:
        """The runs that were made so far, in the order of the plan."""
        for unit in self._units:
            if RUN + unit.name in self.journal:
                run = recorded_run(unit, self.journal[RUN + unit.name])
                if run is not None:
                    yield run

    # --- faults ----------------------------------------------------------------------------------------------------
    def _inject_faults(self) -> None:
        planned = self._planned([run for run in self.runs() if run.passed])
        wanted = self.options.wanted_injected
        for _ in self._watched("faults", planned, self._inject_fault, _is_label):
            if wanted is not None and self._found(FAULT) >= wanted:
                return

    def _planned(self, runs: Sequence[RecordedRun]) -> list[tuple[str, tuple[RecordedRun, FaultSpec]]]:
        """Faults for each run; a plan is kept, so that a build which goes on tries the same ones."""
        new = [run for run in runs if PLAN + run.unit.name not in self.journal]
        options = self.options
        plan = plan_faults(
            [run.trial.trajectory for run in new],
            modes=options.modes,
            strategies=options.strategies,
            per_trajectory=options.faults_per_run,
            seed=options.seed + len(runs) - len(new),
            writer=options.writer,
        )
        specs: dict[str, list[FaultSpec]] = {run.trial.trajectory.run_id: [] for run in new}
        for trajectory, spec in plan:
            specs[trajectory.run_id].append(spec)
        for run in new:
            chosen = [spec.model_dump(mode="json") for spec in specs[run.trial.trajectory.run_id]]
            self.journal.add(PLAN + run.unit.name, {"specs": chosen})
        return [
            (f"{FAULT}{run.unit.name}/{spec.fault_id}", (run, spec))
            for run in runs
            for spec in map(FaultSpec.model_validate, self.journal[PLAN + run.unit.name]["specs"])
        ]

    def _inject_fault(self, unit: tuple[RecordedRun, FaultSpec]) -> dict[str, Any]:
        run, spec = unit
        injector = Injector(
            run.unit.subject.runner(run.unit.task), run.trial, self.options.inject, spending=self.spending
        )
        injection = injector.inject(spec)
        if not injection.is_verified:
            return {"discarded": discarded_fault(run.unit, injection)}
        return {"labeled": injected_label(run.unit, injection, seed=spec.seed).model_dump(mode="json")}

    # --- failures --------------------------------------------------------------------------------------------------
    def _replay_failures(self) -> None:
        failed = [run for run in self.runs() if run.failed][: self.options.max_natural]
        units = [(NATURAL + run.unit.name, run) for run in failed]
        wanted = self.options.wanted_natural
        for _ in self._watched("failures", units, self._replay_failure, _is_label):
            if wanted is not None and self._found(NATURAL) >= wanted:
                return

    def _found(self, prefix: str) -> int:
        return sum(map(_is_label, self.journal.results(prefix)))

    def _replay_failure(self, run: RecordedRun) -> dict[str, Any]:
        begun = time.monotonic()
        own = _Shared(self.spending)
        runner = run.unit.subject.runner(run.unit.task)
        replay = StepReplay(runner, run.trial, replace(self.options.replay, cap=self.options.cap), spending=own)
        trajectory = run.trial.trajectory.model_copy(update={"reference": None})
        try:
            attribution = self.options.attribute(trajectory) if self.options.attribute is not None else None
            search = find_decisive_step(replay, attribution=attribution, proposer=self.options.proposer)
        except (ReplayError, FaultError) as error:
            return {"discarded": discarded_failure(run, str(error), own, seconds=time.monotonic() - begun)}
        seconds = time.monotonic() - begun
        if search.decisive is None:
            return {
                "discarded": discarded_failure(run, search.reason, own, seconds=seconds),
                "search": _summary(search),
            }
        label = natural_label(run, search, seed=self.options.seed, seconds=seconds)
        return {"labeled": label.model_dump(mode="json"), "search": _summary(search)}

    # --- the data set ----------------------------------------------------------------------------------------------
    def collected(self) -> LabeledSet:
        """Everything that was found so far."""
        results = [result for prefix in (FAULT, NATURAL) for result in self.journal.results(prefix)]
        labeled = [LabeledTrajectory.model_validate(r["labeled"]) for r in results if "labeled" in r]
        discarded = [r["discarded"] for r in results if "discarded" in r]
        clean = [clean_record(run, seed=self.options.seed) for run in self.runs() if run.passed]
        return LabeledSet(labeled=tuple(labeled), clean=tuple(clean), discarded=tuple(discarded), path=self.folder)

    def _watched(
        self,
        phase: str,
        units: Sequence[tuple[str, Any]],
        work: Callable[[Any], dict[str, Any]],
        is_kept: Callable[[dict[str, Any]], bool],
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        known = [self.journal[name] for name, _ in units if name in self.journal]
        done, kept = len(known), sum(map(is_kept, known))
        self._on_progress(Progress(phase=phase, done=done, total=len(units), kept=kept))
        for name, result in Work[Any](self.journal, self.spending, workers=self.options.workers).do(units, work):
            done, kept = done + 1, kept + is_kept(result)
            self._on_progress(Progress(phase=phase, done=done, total=len(units), kept=kept))
            yield name, result


class _Shared(Spending):
    """Counts what one search spends, and charges it to the build."""

    def __init__(self, whole: Spending) -> None:
        super().__init__(whole.cap)
        self._whole = whole

    def add(self, usage: Usage) -> None:
        super().add(usage)
        self._whole.add(usage)

    @property
    def refusal(self) -> str | None:
        return self._whole.refusal


def _is_success(result: dict[str, Any]) -> bool:
    return bool(result["outcome"] == "succeeded")


def _is_label(result: dict[str, Any]) -> bool:
    return "labeled" in result


def _reason(result: dict[str, Any]) -> str:
    return str(result.get("reason") or result.get("trajectory", {}).get("outcome_reason"))


def _summary(search: DecisiveSearch) -> dict[str, Any]:
    """The search without the corrections' texts, for the journal."""
    dumped: dict[str, Any] = search.model_dump(mode="json", exclude={"tested": {"__all__": {"correction"}}})
    return dumped

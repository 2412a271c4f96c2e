"""Building of labelled data: run teams, put planned faults into what succeeded, replay what failed."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tracer_hooks.budget import Spending
from tracer_hooks.datasets import LabeledSet
from tracer_hooks.errors import ConfigError, DatasetError
from tracer_hooks.journal import Journal
from tracer_hooks.tasks import SuiteTask
from tracer_hooks_lab.datasets._bench import LocalBench, MakeBench
from tracer_hooks_lab.datasets._build_plan import FAULT, NATURAL, PLAN, RUN, BuildOptions, RunUnit, Subject
from tracer_hooks_lab.datasets._build_work import (
    BuildObserver,
    RecordedRun,
    Work,
    is_broken,
    recorded_run,
)
from tracer_hooks_lab.datasets._labels import (
    collected,
)
from tracer_hooks_lab.datasets._units import UNJUDGED
from tracer_hooks_lab.faults import FaultSpec, plan_faults


def planned_faults(
    journal: Journal, runs: Sequence[RecordedRun], options: BuildOptions
) -> list[tuple[str, tuple[RecordedRun, FaultSpec]]]:
    """The faults of ``runs``, with the ids of their units.

    Runs that have no plan get one together, in one line of the journal, so that a plan is there as a whole or not at
    all. Where more faults a run are wanted than in an earlier session, the rest is planned beside them.
    """
    specs, asked = _known(journal)
    missing: dict[int, list[RecordedRun]] = defaultdict(list)
    for run in runs:
        short = options.faults_per_run - asked[run.unit.name]
        if short > 0:
            missing[short].append(run)
    for short, group in sorted(missing.items()):
        _plan(journal, group, short, options)
    if missing:
        specs, _ = _known(journal)
    # The first fault of every run comes before the second of any: a build that has enough has it from many tasks.
    rounds = zip_longest(*([(run, spec) for spec in specs[run.unit.name]] for run in runs))
    pairs = [pair for one_round in rounds for pair in one_round if pair is not None]
    return [(f"{FAULT}{run.unit.name}/{spec.fault_id}", (run, spec)) for run, spec in pairs]


def _known(journal: Journal) -> tuple[dict[str, list[FaultSpec]], dict[str, int]]:
    """The faults of each run, and how many were asked for; fewer may have fitted."""
    specs: dict[str, list[FaultSpec]] = defaultdict(list)
    asked: dict[str, int] = defaultdict(int)
    for result in journal.results(PLAN):
        for name, chosen in result["specs"].items():
            specs[name] += map(FaultSpec.model_validate, chosen)
            asked[name] += result["faults_per_run"]
    return specs, asked


def _plan(journal: Journal, runs: Sequence[RecordedRun], count: int, options: BuildOptions) -> None:
    number = len(list(journal.results(PLAN)))
    plan = plan_faults(
        [run.trial.trajectory for run in runs],
        modes=options.mutators,
        strategies=options.strategies,
        per_trajectory=count,
        seed=options.seed + number,
        writer=options.writer,
    )
    names = {run.trial.trajectory.run_id: run.unit.name for run in runs}
    specs: dict[str, list[object]] = {run.unit.name: [] for run in runs}
    for trajectory, spec in plan:
        specs[names[trajectory.run_id]].append(spec.model_dump(mode="json"))
    journal.add(f"{PLAN}{number}", {"faults_per_run": count, "specs": specs})


_TOO_MANY_BROKEN = 8
"""So many broken units, in a row or more of them than others, say that there is no point in going on."""
_TOO_MANYUNJUDGED = 25
"""The same of runs in a row that the check could not judge, where it could judge others."""


class DatasetBuilder:
    """Builds one data set in a folder; a build that was broken off goes on where it was.

    Args:
        folder: Where the data set is built.
        subjects: The teams.
        tasks: What they work on, by the name of the subject.
        options: How.
        on_progress: Told after every unit.
        bench: Makes where units are worked on.

    Attributes:
        units: The runs that are planned.
        journal: What is done.
        spending: What this session has cost.
        broken_off: How many units of this session came to nothing, for want of a model; the next one does them again.

    Raises:
        DatasetError: The folder cannot be used.
        ConfigError: There is no team, or a team has no task, or two have one name.
    """

    def __init__(
        self,
        folder: Path,
        subjects: Sequence[Subject],
        tasks: Callable[[Subject], Sequence[SuiteTask]],
        options: BuildOptions,
        *,
        on_progress: Callable[[BuildObserver], None] | None = None,
        bench: MakeBench = LocalBench,
    ) -> None:
        self.folder = folder
        self.options = options
        self.units = [
            RunUnit(subject=subject, task=task, repeat=repeat)
            for repeat in range(options.repeats)
            for subject in subjects
            for task in tasks(subject)
        ]
        if not self.units:
            raise ConfigError("there is nothing to run: expected at least one team and one task")
        names = [unit.name for unit in self.units]
        if len(set(names)) < len(names):
            double = next(name for name in names if names.count(name) > 1)
            raise ConfigError(f"two runs would be called {double!r}: expected teams and tasks with names of their own")
        self.journal = Journal(folder)
        self.spending = Spending(options.cap)
        self._on_progress = on_progress or (lambda progress: None)
        self._make_bench = bench
        self.broken_off = self._broken = self._unjudged = 0
        self._judged = any(not is_broken(result) for result in self.journal.results(RUN))

    def build(self) -> LabeledSet:
        """Do what is left to do, within the caps, and write what there is; gives the whole data set.

        What was found is also written when the build is broken off, by an exception or by the user.

        Raises:
            DatasetError: Nothing but broken runs comes, or the disk is full; what was done is kept.
        """
        with self.journal.held():
            try:
                with contextlib.closing(self._make_bench(self.options, self.spending)) as self._bench:
                    self._run_teams()
                    if self.options.faults_per_run:
                        self._inject_faults()
                    if self.options.natural:
                        self._replay_failures()
            except BaseException:
                with contextlib.suppress(DatasetError):  # the first error says more
                    self.collected().save(self.folder)
                raise
            found = self.collected()
            found.save(self.folder)
            return found

    def collected(self) -> LabeledSet:
        """Everything that was found so far."""
        return collected(self.journal, self.units, self.runs(), seed=self.options.seed, path=self.folder)

    # --- runs ------------------------------------------------------------------------------------------------------
    def _run_teams(self) -> None:
        units = [(RUN + unit.name, unit) for unit in self.units]
        last: dict[str, Any] = {}
        with self._watched("runs", units, _is_success) as results:
            for result in results:
                last = result
        if is_broken(last) and not any(self.runs()):
            raise DatasetError(f"no run could be made: {last['again']}. See to that, and give the same command again")

    def runs(self) -> Iterator[RecordedRun]:
        """The runs that were made so far, in the order of the plan."""
        for unit in self.units:
            if RUN + unit.name in self.journal:
                run = recorded_run(unit, self.journal[RUN + unit.name])
                if run is not None:
                    yield run

    # --- faults ----------------------------------------------------------------------------------------------------
    def _inject_faults(self) -> None:
        planned = planned_faults(self.journal, [run for run in self.runs() if run.passed], self.options)
        self._until_found(FAULT, self.options.wanted_injected, "faults", planned)

    # --- failures --------------------------------------------------------------------------------------------------
    def _replay_failures(self) -> None:
        failed = [run for run in self.runs() if run.failed][: self.options.max_natural]
        units = [(NATURAL + run.unit.name, run) for run in failed]
        self._until_found(NATURAL, self.options.wanted_natural, "failures", units)

    # --- units -----------------------------------------------------------------------------------------------------
    def _until_found(
        self,
        prefix: str,
        wanted: int | None,
        phase: str,
        units: Sequence[tuple[str, Any]],
    ) -> None:
        found = sum(map(_is_label, self.journal.results(prefix)))
        with self._watched(phase, units, _is_label) as results:
            if wanted is not None and found >= wanted:
                return
            for result in results:
                found += _is_label(result)
                if wanted is not None and found >= wanted:
                    return

    @contextlib.contextmanager
    def _watched(
        self,
        phase: str,
        units: Sequence[tuple[str, Any]],
        is_kept: Callable[[dict[str, Any]], bool],
    ) -> Iterator[Iterator[dict[str, Any]]]:
        """The results of units as they come, told to the display; leaving it ends the work."""
        known = [self.journal[name] for name, _ in units if name in self.journal]
        state = BuildObserver(
            phase=phase, done=len(known), total=len(units), kept=sum(map(is_kept, known)), resumed=len(known)
        )
        self._on_progress(state)
        done = Work(self.journal, self.spending, self._bench, workers=self.options.workers).do(units, phase)

        def told() -> Generator[dict[str, Any], None, None]:
            now = state
            for _, result in done:
                now = replace(now, done=now.done + 1, kept=now.kept + is_kept(result))
                self._on_progress(now)
                self._expect_sense(result)
                yield result

        # Closed by hand: the frames of an exception would keep the generators, and with them the work, alive.
        with contextlib.closing(done), contextlib.closing(told()) as results:
            yield results

    def _expect_sense(self, result: dict[str, Any]) -> None:
        self.broken_off += is_broken(result)
        if result.get(UNJUDGED):
            self._unjudged += 1
        elif not is_broken(result):
            self._judged, self._unjudged = True, 0
        # A check that raises on some tasks is no reason to leave the others.
        is_bearable = bool(result.get(UNJUDGED)) and self._judged
        # Units that need no model succeed all the same, so one of them does not make up for all that were broken off.
        if is_broken(result) and not is_bearable:
            self._broken += 1
        elif not is_broken(result):
            self._broken = max(0, self._broken - 1)
        if self._broken >= _TOO_MANY_BROKEN or self._unjudged >= _TOO_MANYUNJUDGED:
            raise DatasetError(
                f"run after run was broken off, the last one so: {result['again']}. Expected a model that answers, a "
                "team that can be built and a check that judges; see to that, and give the same command again"
            )


def _is_success(result: dict[str, Any]) -> bool:
    return result.get("outcome") == "succeeded"


def _is_label(result: dict[str, Any]) -> bool:
    """Tell whether it is one of the labels that are wanted; weak ones come on top."""
    return "labeled" in result and result["labeled"].get("weight", 1.0) >= 1.0

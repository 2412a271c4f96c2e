"""Which faults are tried in the runs of a build; kept, so that a build which goes on tries the same ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import zip_longest

from tracer_hooks.datasets._builder._journal import Journal
from tracer_hooks.datasets._builder._options import BuildOptions
from tracer_hooks.datasets._builder._recorded import RecordedRun
from tracer_hooks.datasets._builder._units import FAULT, PLAN
from tracer_hooks.faults import FaultSpec, plan_faults


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

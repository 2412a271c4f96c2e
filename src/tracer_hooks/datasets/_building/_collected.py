"""The data set that the results of a build make."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tracer_hooks.datasets._building._journal import Journal
from tracer_hooks.datasets._building._labels import clean_record
from tracer_hooks.datasets._building._recorded import FAULT, NATURAL, RUN, RecordedRun, RunUnit
from tracer_hooks.datasets._labeled import LabeledSet
from tracer_hooks.schema import LabeledTrajectory


def collected(
    journal: Journal, units: Sequence[RunUnit], runs: Iterable[RecordedRun], *, seed: int, path: Path
) -> LabeledSet:
    """Everything that was found, in the order of the plan whatever the order in which it was done."""
    place = {unit.name: number for number, unit in enumerate(units)}

    def of_plan(prefix: str) -> list[dict[str, Any]]:
        def key(result: dict[str, Any]) -> tuple[int, str]:
            name = str(result["unit"]).removeprefix(prefix)
            return place.get(name.rpartition("/")[0] if prefix == FAULT else name, len(place)), name

        return sorted(journal.results(prefix), key=key)

    results = [result for prefix in (RUN, FAULT, NATURAL) for result in of_plan(prefix)]
    return LabeledSet(
        labeled=tuple(LabeledTrajectory.model_validate(r["labeled"]) for r in results if "labeled" in r),
        clean=tuple(clean_record(run, seed=seed) for run in runs if run.passed),
        discarded=tuple(r["discarded"] for r in results if "discarded" in r),
        path=path,
    )

"""Labelled trajectories from what injection and replay have found, and the data set that they make."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tracer_hooks.budget import Spending
from tracer_hooks.datasets import LabeledSet
from tracer_hooks.journal import Journal
from tracer_hooks.replay import DecisiveSearch
from tracer_hooks.schema import DecisiveStep, Json, LabeledTrajectory, LabelSource, Step, Trajectory
from tracer_hooks_lab.datasets._build_plan import FAULT, NATURAL, RUN, RunUnit
from tracer_hooks_lab.datasets._build_work import RecordedRun
from tracer_hooks_lab.faults import Injection

_LEAST = timedelta(milliseconds=10)
"""A shorter step says more of the state of the machine than of the team."""


def injected_label(unit: RunUnit, injection: Injection) -> LabeledTrajectory:
    """The failed run of a verified fault, with its label."""
    labeled = injection.labeled(question_id=unit.task.id, reference=unit.task.reference, origin=_origin(unit))
    return labeled.model_copy(update={"trajectory": _evened(labeled.trajectory)})


def natural_label(run: RecordedRun, search: DecisiveSearch, *, seed: int, seconds: float) -> LabeledTrajectory:
    """A run that failed by itself, with the step that replays have found."""
    evidence, decisive = search.evidence, search.decisive
    assert decisive is not None, "only found steps are labels"
    assert evidence is not None, "a step is found by what was tested"
    verification: dict[str, Json] = {
        **_origin(run.unit),
        "trials": evidence.corrected.trials,
        "flips": evidence.corrected.flips,
        "controls": evidence.control.trials,
        "control_flips": evidence.control.flips,
        "interval": list(evidence.interval),
        "random_trials": evidence.placebo.trials,
        "random_flips": evidence.placebo.flips,
        "e_value": evidence.e_value,
        "proposer": evidence.correction.source,
        "runs": search.runs,
        "tokens": search.usage.total,
        "seconds": round(seconds, 3),
    }
    return LabeledTrajectory(
        trajectory=_with_reference(run.trial.trajectory, run.unit),
        decisive=DecisiveStep(agent=decisive.agent, step=decisive.step, reason=decisive.reason),
        label_source=LabelSource.COUNTERFACTUAL,
        question_id=run.unit.task.id,
        seed=seed,
        verification=verification,
    )


def weak_label(
    run: RecordedRun, search: DecisiveSearch, *, least: float, seed: int, seconds: float
) -> LabeledTrajectory | None:
    """A run that failed by itself, with the step that replays point at without proving it; None where they do not.

    Args:
        run: The run.
        search: That ended without a step.
        least: The probability that the likeliest step must have.
        seed: Of the build.
        seconds: What the search took.
    """
    tested = {one.step for one in search.tested}
    likeliest = next(iter(search.suspects), None)
    if likeliest is None or likeliest.score < least or likeliest.step not in tested:
        return None
    verification: dict[str, Json] = {
        **_origin(run.unit),
        "probability": likeliest.score,
        "runs": search.runs,
        "tokens": search.usage.total,
        "seconds": round(seconds, 3),
    }
    reason = f"replays do not prove it; after {search.runs} runs its probability is {likeliest.score:.0%}"
    return LabeledTrajectory(
        trajectory=_with_reference(run.trial.trajectory, run.unit),
        decisive=DecisiveStep(agent=likeliest.agent, step=likeliest.step, reason=reason),
        label_source=LabelSource.COUNTERFACTUAL,
        weight=min(0.99, likeliest.score),
        question_id=run.unit.task.id,
        seed=seed,
        verification=verification,
    )


def clean_record(run: RecordedRun, *, seed: int) -> LabeledTrajectory:
    """A run that succeeded: nothing in it went wrong."""
    return LabeledTrajectory(
        trajectory=_with_reference(run.trial.trajectory, run.unit),
        label_source=LabelSource.COUNTERFACTUAL,
        question_id=run.unit.task.id,
        seed=seed,
        verification=_origin(run.unit),
    )


def discarded_fault(unit: RunUnit, injection: Injection) -> dict[str, Any]:
    """An attempt that gave no label, for ``discarded.jsonl``."""
    spec, checked = injection.spec, injection.verification
    return {
        **_discarded(unit, injection.discarded or "", runs=checked.runs, tokens=checked.tokens),
        "unit": f"{unit.name}/{spec.fault_id}",
        "mode": spec.mode.value if spec.mode is not None else None,
        "strategy": spec.strategy.value,
        "kind": spec.kind,
        "agent": spec.agent,
        "step": spec.step,
        "seconds": round(checked.seconds, 3),
    }


def discarded_failure(unit: RunUnit, reason: str, spent: Spending) -> dict[str, Any]:
    """A failure that replays could not explain, for ``discarded.jsonl``."""
    found = _discarded(unit, reason, runs=spent.runs, tokens=spent.tokens)
    return {**found, "seconds": round(spent.seconds, 3)}


def discarded_run(unit: RunUnit, reason: str) -> dict[str, Any]:
    """A run that could not be made or judged, for ``discarded.jsonl``."""
    return _discarded(unit, reason, runs=1, tokens=0)


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


def _discarded(unit: RunUnit, reason: str, *, runs: int, tokens: int) -> dict[str, Any]:
    return {
        **_origin(unit),
        "unit": unit.name,
        "reason": reason,
        "mode": None,
        "strategy": None,
        "kind": None,
        "agent": None,
        "step": None,
        "question_id": unit.task.id,
        "runs": runs,
        "tokens": tokens,
        "seconds": 0.0,
    }


def _origin(unit: RunUnit) -> dict[str, Any]:
    return {"subject": unit.subject.name, "architecture": unit.subject.architecture, "suite": unit.task.suite}


def _with_reference(trajectory: Trajectory, unit: RunUnit) -> Trajectory:
    return _evened(trajectory.model_copy(update={"reference": unit.task.reference}))


def _evened(run: Trajectory) -> Trajectory:
    """``run`` with steps of at least :data:`_LEAST`; what comes after them begins as much later.

    In a run with a fault, the steps up to it keep the times of the clean run, and the others were measured later, in a
    process that had warmed up. Between steps that take microseconds that would show where the fault is.
    """
    steps: list[Step] = []
    later = timedelta()
    reached: datetime | None = None
    for step in run.steps:
        if step.started_at is None or step.ended_at is None:
            steps.append(step)
            continue
        starts_after_the_last = reached is None or step.started_at >= reached
        begin = step.started_at + later
        missing = max(_LEAST - (step.ended_at - step.started_at), timedelta())
        steps.append(step.model_copy(update={"started_at": begin, "ended_at": step.ended_at + later + missing}))
        if starts_after_the_last:  # a step beside another one moves nothing else
            later += missing
        reached = step.ended_at if reached is None else max(reached, step.ended_at)
    return run.model_copy(update={"steps": tuple(steps)})

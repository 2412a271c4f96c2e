"""Labelled trajectories from what injection and replay have found."""

from __future__ import annotations

from typing import Any

from tracer_hooks.datasets._building._recorded import RecordedRun, RunUnit
from tracer_hooks.datasets._building._times import evened
from tracer_hooks.faults import Injection
from tracer_hooks.replay import DecisiveSearch, Spending
from tracer_hooks.schema import DecisiveStep, Json, LabeledTrajectory, LabelSource, Trajectory


def injected_label(unit: RunUnit, injection: Injection) -> LabeledTrajectory:
    """The failed run of a verified fault, with its label."""
    labeled = injection.labeled(question_id=unit.task.id, reference=unit.task.reference, origin=_origin(unit))
    return labeled.model_copy(update={"trajectory": evened(labeled.trajectory)})


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
        "tokens": search.usage.input_tokens + search.usage.output_tokens,
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
    return evened(trajectory.model_copy(update={"reference": unit.task.reference}))

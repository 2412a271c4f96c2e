"""Labelled trajectories from what injection and replay have found."""

from __future__ import annotations

from typing import Any

from tracer_hooks.datasets._building._recorded import RecordedRun, RunUnit
from tracer_hooks.faults import Injection
from tracer_hooks.replay import DecisiveSearch, Spending
from tracer_hooks.schema import AgentFault, DecisiveStep, Json, LabeledTrajectory, LabelSource, Trajectory

_REASON_CHARS = 300


def injected_label(unit: RunUnit, injection: Injection, *, seed: int) -> LabeledTrajectory:
    """The failed run of a verified fault, with its label."""
    spec, checked, applied = injection.spec, injection.verification, injection.applied
    assert applied is not None, "only verified faults are labels"
    assert applied.step is not None, "a fault without a step is never verified"
    assert injection.faulty is not None, "a verified fault has its failed run"
    faults = (AgentFault(agent=applied.agent, error_mode=spec.mode),)
    reason = f"{applied.kind}: {applied.before[:_REASON_CHARS]!r} -> {applied.after[:_REASON_CHARS]!r}"
    verification: dict[str, Json] = {
        **_origin(unit),
        "strategy": spec.strategy.value,
        "kind": applied.kind,
        "writer": spec.writer,
        "clean_run_id": injection.clean.run_id,
        "faulty_runs": checked.faulty_runs,
        "faulty_failures": checked.faulty_failures,
        "control_runs": checked.control_runs,
        "control_passes": checked.control_passes,
        "runs": checked.runs,
        "tokens": checked.usage.input_tokens + checked.usage.output_tokens,
        "seconds": round(checked.seconds, 3),
    }
    return LabeledTrajectory(
        trajectory=_with_reference(injection.faulty, unit),
        decisive=DecisiveStep(agent=applied.agent, step=applied.step, error_mode=spec.mode, reason=reason),
        faults=faults,
        label_source=LabelSource.INJECTED,
        question_id=unit.task.id,
        seed=seed,
        fault_id=spec.fault_id,
        verification=verification,
    )


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
        **_origin(unit),
        "unit": f"{unit.name}/{spec.fault_id}",
        "reason": injection.discarded,
        "mode": spec.mode.value if spec.mode is not None else None,
        "strategy": spec.strategy.value,
        "agent": spec.agent,
        "step": spec.step,
        "question_id": unit.task.id,
        "runs": checked.runs,
        "tokens": checked.usage.input_tokens + checked.usage.output_tokens,
        "seconds": round(checked.seconds, 3),
    }


def discarded_failure(run: RecordedRun, reason: str, spent: Spending, *, seconds: float) -> dict[str, Any]:
    """A failure that replays could not explain, for ``discarded.jsonl``."""
    return {
        **_origin(run.unit),
        "unit": run.unit.name,
        "reason": reason,
        "mode": None,
        "strategy": None,
        "agent": None,
        "step": None,
        "question_id": run.unit.task.id,
        "runs": spent.runs,
        "tokens": spent.tokens,
        "seconds": round(seconds, 3),
    }


def _origin(unit: RunUnit) -> dict[str, Any]:
    return {"subject": unit.subject.name, "architecture": unit.subject.architecture, "suite": unit.task.suite}


def _with_reference(trajectory: Trajectory, unit: RunUnit) -> Trajectory:
    return trajectory.model_copy(update={"reference": unit.task.reference})

"""Runs that a build has recorded, as they stand in its journal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tracer_hooks.datasets._building._subject import Subject
from tracer_hooks.replay import Tape, Trial
from tracer_hooks.schema import RunOutcome, Trajectory
from tracer_hooks.suites import SuiteTask

RUN = "run/"
PLAN = "plan/"
FAULT = "fault/"
NATURAL = "natural/"


@dataclass(frozen=True, kw_only=True)
class RunUnit:
    """One run of one team on one task."""

    subject: Subject
    task: SuiteTask
    repeat: int

    @property
    def name(self) -> str:
        """The unit's id."""
        return f"{self.subject.name}/{self.task.suite}/{self.task.id}/{self.repeat}"


@dataclass(frozen=True, kw_only=True)
class RecordedRun:
    """A run with its tape."""

    unit: RunUnit
    trial: Trial
    is_broken: bool
    """Whether something else than the team's work ended it: a model that could not be reached, a check that raised."""

    @property
    def passed(self) -> bool:
        """Whether it succeeded."""
        return self.trial.passed

    @property
    def failed(self) -> bool:
        """Whether the team failed by itself."""
        return self.trial.failed and not self.is_broken


def run_result(unit: RunUnit, trial: Trial) -> dict[str, Any]:
    """A run for the journal."""
    trajectory = trial.trajectory.model_copy(update={"reference": unit.task.reference})
    return {
        "outcome": trajectory.outcome.value,
        "broken": any(call.error for call in trial.tape.model_calls) and trial.error is not None,
        "trajectory": trajectory.model_dump(mode="json"),
        "tape": trial.tape.model_dump(mode="json", exclude_defaults=True),
        "seconds": trial.duration_s,
    }


def broken_result(reason: str) -> dict[str, Any]:
    """A run that could not be made or judged, for the journal."""
    return {"outcome": RunOutcome.UNKNOWN.value, "broken": True, "reason": reason}


def recorded_run(unit: RunUnit, result: Mapping[str, Any]) -> RecordedRun | None:
    """The run as it was; None where there was none."""
    if "trajectory" not in result:
        return None
    trajectory = Trajectory.model_validate(result["trajectory"])
    trial = Trial(
        trajectory=trajectory,
        tape=Tape.model_validate(result["tape"]),
        output=trajectory.final_output or "",
        duration_s=float(result["seconds"]),
    )
    return RecordedRun(unit=unit, trial=trial, is_broken=bool(result["broken"]))

"""Runs that a build has recorded, as they stand in its journal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tracer_hooks.datasets._builder._journal import AGAIN
from tracer_hooks.datasets._builder._units import RunUnit
from tracer_hooks.replay import Tape, Trial
from tracer_hooks.schema import Trajectory


@dataclass(frozen=True, kw_only=True)
class RecordedRun:
    """A run with its tape."""

    unit: RunUnit
    trial: Trial

    @property
    def passed(self) -> bool:
        """Whether it succeeded."""
        return self.trial.passed

    @property
    def failed(self) -> bool:
        """Whether the team failed."""
        return self.trial.failed


def run_result(unit: RunUnit, trial: Trial) -> dict[str, Any]:
    """A run for the journal; one that a model call broke off is to be made again."""
    trajectory = trial.trajectory.model_copy(update={"reference": unit.task.reference})
    lost = lost_call(trial)
    return {
        **({} if lost is None else broken_off(lost)),
        "outcome": trajectory.outcome.value,
        "trajectory": trajectory.model_dump(mode="json"),
        "tape": trial.tape.model_dump(mode="json", exclude_defaults=True),
        "seconds": trial.duration_s,
    }


def lost_call(trial: Trial, *, since: int = 0) -> str | None:
    """The failed model call that ended a run, from step ``since`` on; None where the team ended it itself."""
    if trial.error is None:
        return None
    lost = next((call for call in trial.tape.model_calls if call.step >= since and call.error), None)
    return None if lost is None else f"a model call of step {lost.step} failed: {lost.error}"


def broken_off(reason: str) -> dict[str, Any]:
    """A unit that came to nothing for a reason outside the team's work: it is done again in the next session."""
    return {AGAIN: reason, "broken": True}


def left_over(reason: str) -> dict[str, Any]:
    """A unit that a cap has stopped: it is done again in the next session, and nothing is wrong with it."""
    return {AGAIN: reason, "broken": False}


def is_broken(result: Mapping[str, Any]) -> bool:
    """Whether a unit was broken off."""
    return bool(result.get("broken"))


def recorded_run(unit: RunUnit, result: Mapping[str, Any]) -> RecordedRun | None:
    """The run as it was; None where something else than the team's work ended it."""
    if is_broken(result):
        return None
    trajectory = Trajectory.model_validate(result["trajectory"])
    trial = Trial(
        trajectory=trajectory,
        tape=Tape.model_validate(result["tape"]),
        output=trajectory.final_output or "",
        duration_s=float(result["seconds"]),
    )
    return RecordedRun(unit=unit, trial=trial)

"""Runs with labels, and attributors that say what they are told to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tracer_hooks.datasets import LoadedRecord
from tracer_hooks.diagnosis import FitReport
from tracer_hooks.evaluation._cases import Case, make_case
from tracer_hooks.schema import (
    AgentFault,
    Attribution,
    Candidate,
    DecisiveStep,
    ErrorMode,
    LabeledTrajectory,
    LabelSource,
    RunOutcome,
    Step,
    Trajectory,
)

M11, M12, M13, M23 = ErrorMode.FM_1_1, ErrorMode.FM_1_2, ErrorMode.FM_1_3, ErrorMode.FM_2_3


def run(*speakers: str, run_id: str = "r", task: str = "", **fields: Any) -> Trajectory:
    """One step a speaker; a speaker ``"A: text"`` says that text."""
    steps = tuple(
        Step(index=k, agent=one.partition(": ")[0], content=one.partition(": ")[2] or "x")
        for k, one in enumerate(speakers)
    )
    return Trajectory(run_id=run_id, task=task or run_id, steps=steps, **{"outcome": RunOutcome.FAILED, **fields})


def labeled(
    trajectory: Trajectory,
    agent: str | None = None,
    step: int = 0,
    *,
    mode: ErrorMode | None = None,
    question: str | None = None,
    faults: Sequence[tuple[str, ErrorMode | None]] = (),
    faulty_steps: Sequence[int] = (),
) -> LabeledTrajectory:
    return LabeledTrajectory(
        trajectory=trajectory,
        decisive=None if agent is None else DecisiveStep(agent=agent, step=step, error_mode=mode),
        faults=tuple(AgentFault(agent=name, error_mode=how) for name, how in faults),
        label_source=LabelSource.HUMAN,
        question_id=question,
        verification={"faulty_steps": list(faulty_steps)} if faulty_steps else {},
    )


def case(one: LabeledTrajectory | Trajectory, *, group: str = "g", dataset: str = "trajectory", **fields: Any) -> Case:
    label = one if isinstance(one, LabeledTrajectory) else None
    trajectory = one.trajectory if isinstance(one, LabeledTrajectory) else one
    record = LoadedRecord(source=trajectory.run_id, trajectory=trajectory, labeled=label)
    return make_case(record, group, dataset, **fields)


def answer(
    agent: str, step: int, *others: tuple[str, int, float], confidence: float = 0.5, **fields: Any
) -> Attribution:
    candidates = (Candidate(agent=agent, step=step, score=confidence),) if confidence else ()
    more = tuple(Candidate(agent=name, step=where, score=score) for name, where, score in others)
    return Attribution(
        run_id="r", agent=agent, step=step, confidence=confidence, candidates=(*candidates, *more), **fields
    )


def abstention(**fields: Any) -> Attribution:
    return Attribution(run_id="r", abstained=True, abstained_reason="no sign of failure", **fields)


class Scripted:
    """Answers as ``say`` does, and remembers what it was shown."""

    def __init__(self, say: Callable[[Trajectory], Attribution], name: str = "scripted") -> None:
        self.name = name
        self._say = say
        self.seen: list[tuple[Trajectory, str | None]] = []

    def attribute(self, trajectory: Trajectory, *, reference: str | None = None) -> Attribution:
        self.seen.append((trajectory, reference))
        return self._say(trajectory)


def blames(step: int, confidence: float = 0.5) -> Scripted:
    """Blames whoever acts at ``step``, or at the last one of a shorter run."""

    def say(trajectory: Trajectory) -> Attribution:
        place = min(step, len(trajectory.steps) - 1)
        return answer(trajectory.steps[place].agent, place, confidence=confidence, attributor="scripted/1")

    return Scripted(say)


def fit_report(trajectories: int) -> FitReport:
    figures: dict[str, Any] = dict.fromkeys(("shipped_step", "shipped_agent", "fitted_step", "fitted_agent"), 0)
    return FitReport(trajectories=trajectories, questions=1, chosen="the most frequent", **figures)

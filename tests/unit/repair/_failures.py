"""Failed runs to repair, and strategies to repair them with."""

from __future__ import annotations

from typing import Any

from tracer_hooks.repair import Failure, PastTrial, Repair, RepairTarget
from tracer_hooks.schema import (
    AgentSpec,
    Attribution,
    Candidate,
    ErrorMode,
    Evidence,
    RunOutcome,
    Step,
    Trajectory,
    Usage,
)

PLANNER = "You plan. Split the task."
SOLVER = "You are a solver. Reply with the number."


def run(
    *contents: str, reference: str | None = None, reason: str | None = None, solver: str | None = SOLVER
) -> Trajectory:
    """A planner's step and a solver's steps."""
    steps = ("Add 3 and 38.", *(contents or ("The sum is 42.",)))
    return Trajectory(
        run_id="r",
        task="What is 3 + 38?",
        outcome=RunOutcome.FAILED,
        outcome_reason=reason,
        reference=reference,
        agents=(AgentSpec(name="planner", instructions=PLANNER), AgentSpec(name="solver", instructions=solver)),
        steps=tuple(
            Step(index=index, agent="planner" if index == 0 else "solver", content=text)
            for index, text in enumerate(steps)
        ),
    )


def blame(*evidence: Evidence, mode: ErrorMode | None = ErrorMode.FM_3_2) -> Attribution:
    """A diagnosis that blames the solver."""
    return Attribution(run_id="r", agent="solver", step=1, error_mode=mode, evidence=evidence)


def found(quote: str, why: str = "It is wrong.", *, step: int = 1, kind: str = "value") -> Evidence:
    """A finding."""
    return Evidence(step=step, quote=quote, why=why, kind=kind)  # type: ignore[arg-type]


def failure(
    trajectory: Trajectory | None = None,
    attribution: Attribution | None = None,
    *,
    feedback: str | None = None,
    tried: tuple[PastTrial, ...] = (),
) -> Failure:
    """What strategies are given."""
    return Failure.of(trajectory or run(), attribution, feedback=feedback, steps=(0, 1), tried=tried)


TEXTS = ("feedback_in_task", "feedback_in_message", "guidance")


class Telling:
    """Says one thing, always the same unless told otherwise."""

    def __init__(self, name: str, text: str | None = "look again") -> None:
        self.name = name
        self.text = text
        self.asked: list[int | None] = []

    def propose(self, failure: Failure, step: int | None) -> Repair | None:
        self.asked.append(step)
        if self.text is None:
            return None
        return Repair(strategy=self.name, target=RepairTarget.TASK, text=self.text, resume_from=step)


class Raising(Telling):
    def propose(self, failure: Failure, step: int | None) -> Repair | None:
        raise RuntimeError("no model is there")


class Returning(Telling):
    """Returns what no strategy may."""

    def __init__(self, name: str, returned: Any) -> None:
        super().__init__(name)
        self.returned = returned

    def propose(self, failure: Failure, step: int | None) -> Repair | None:
        return self.returned


def run_of(steps: int, *, tokens: int | None = 100) -> Trajectory:
    usage = None if tokens is None else Usage(input_tokens=tokens)
    return Trajectory(
        run_id="failed",
        steps=tuple(Step(index=i, agent="abc"[i % 3], content="some words", usage=usage) for i in range(steps)),
        outcome=RunOutcome.FAILED,
    )


def suspect(**scores: float) -> Attribution:
    """A diagnosis by the scores of the steps, ``s3=0.7``, the first named."""
    named = {int(name[1:]): score for name, score in scores.items()}
    step, confidence = next(iter(named.items()))
    return Attribution(
        run_id="failed",
        agent="abc"[step % 3],
        step=step,
        confidence=confidence,
        candidates=tuple(Candidate(agent="abc"[s % 3], step=s, score=score) for s, score in named.items()),
    )


def failure_of(length: int = 8, attribution: Attribution | None = None, **fields: Any) -> Failure:
    return Failure.of(run_of(length), attribution, **{"steps": range(length), **fields})


def trial_of(repair: Repair, *, passed: bool = False) -> PastTrial:
    return PastTrial(repair=repair, outcome=RunOutcome.SUCCEEDED if passed else RunOutcome.FAILED)

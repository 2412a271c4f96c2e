"""Failed runs and strategies to search with."""

from __future__ import annotations

from typing import Any

from tracer_hooks.repairs import Failure, PastTrial, Repair, RepairTarget
from tracer_hooks.schema import Attribution, Candidate, RunOutcome, Step, Trajectory, Usage

TEXTS = ("feedback_in_task", "feedback_in_message", "guidance", "instructions")


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


def blame(**scores: float) -> Attribution:
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

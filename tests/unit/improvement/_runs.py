"""Judged runs of a made-up team of a planner and a solver."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tracer_hooks.improvement import JudgedRun
from tracer_hooks.schema import AgentSpec, Attribution, Candidate, Evidence, RunOutcome, Step, Trajectory
from tracer_hooks.tasks import SuiteTask

OWN = {
    "planner": "You are the planner. Say what to add. Write nothing else.",
    "solver": "You are the solver. Add the numbers. Write only the number.",
}
AGENTS = tuple(OWN)


def task(number: int) -> SuiteTask:
    return SuiteTask(id=f"t{number}", text=f"Anna has {100 + number} pens and buys {200 + number}. How many has she?")


def judged(
    given: SuiteTask,
    *,
    passed: bool = False,
    blamed: str | None = "solver",
    said: str = "29",
    reference: str | None = None,
    quote: str = "29",
    feedback: str | None = "it is not the sum",
) -> JudgedRun:
    """A run of two steps; a failed one is laid on ``blamed``."""
    steps = (Step(index=0, agent="planner", content="add them"), Step(index=1, agent="solver", content=said))
    trajectory = Trajectory(
        run_id=f"run-{given.id}-{passed}-{blamed}",
        team="sums",
        framework="python",
        task=given.text,
        agents=tuple(AgentSpec(name=name, instructions=text) for name, text in OWN.items()),
        steps=steps,
        outcome=RunOutcome.SUCCEEDED if passed else RunOutcome.FAILED,
        final_output=said,
        reference=reference,
    )
    found = None
    if not passed and blamed is not None:
        step = AGENTS.index(blamed)
        found = Attribution(
            run_id=trajectory.run_id,
            agent=blamed,
            step=step,
            confidence=0.8,
            candidates=(Candidate(agent=blamed, step=step, score=0.8),),
            evidence=(Evidence(step=step, quote=quote, why="the sum is wrong"),),
        )
    return JudgedRun(
        task=given.id,
        score=float(passed),
        passed=passed,
        trajectory=trajectory,
        attribution=found,
        feedback=None if passed else feedback,
    )


class MadeUpTrials:
    """Trials of a team whose runs pass where ``passes`` says so; keeps what was asked."""

    def __init__(self, passes: Callable[[SuiteTask, Mapping[str, str]], bool], blamed: str | None = "solver") -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []
        self._passes, self._blamed = passes, blamed

    def run(self, tasks: Sequence[SuiteTask], prompts: Mapping[str, str]) -> list[JudgedRun]:
        self.asked += [(one.id, dict(prompts)) for one in tasks]
        return [judged(one, passed=self._passes(one, prompts), blamed=self._blamed) for one in tasks]

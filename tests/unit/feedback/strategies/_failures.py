"""Failed runs to repair."""

from __future__ import annotations

from tracer_hooks.repairs import Failure, PastTrial
from tracer_hooks.schema import AgentSpec, Attribution, ErrorMode, Evidence, RunOutcome, Step, Trajectory

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

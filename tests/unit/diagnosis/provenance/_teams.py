"""Small runs of a team, written in one line a step."""

from __future__ import annotations

from typing import Any

from tracer_hooks.diagnosis._provenance import Departure, provenance_of
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.schema import RunOutcome, Step, StepKind, ToolCall, Trajectory

Said = str | tuple[str, dict[str, Any], str]
"""What an agent says, or the name, the arguments and the result of its tool call."""


def team(task: str, *said: Said) -> Trajectory:
    """A failed run in which each step is a new agent's: "a0", "a1" and so on."""
    steps = []
    for index, one in enumerate(said):
        if isinstance(one, str):
            steps.append(Step(index=index, agent=f"a{index}", content=one))
        else:
            name, arguments, result = one
            call = ToolCall(name=name, arguments=arguments, result=result)
            steps.append(Step(index=index, agent=f"a{index}", kind=StepKind.TOOL_CALL, tool_calls=(call,)))
    return Trajectory(
        run_id="team",
        team="team",
        framework="python",
        task=task,
        steps=tuple(steps),
        outcome=RunOutcome.FAILED,
        final_output=steps[-1].content if steps else "",
    )


def departures(task: str, *said: Said) -> tuple[Departure, ...]:
    """Every departure of such a run, the likeliest first."""
    return provenance_of(RunReading(team(task, *said))).departures


def strong(task: str, *said: Said, least: float = 0.55) -> list[Departure]:
    """The departures that are more than a guess."""
    return [one for one in departures(task, *said) if one.strength >= least]

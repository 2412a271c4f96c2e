"""Runs in short: a speaker and its words for each step."""

from collections.abc import Callable

import pytest

from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.schema import AgentSpec, RunOutcome, Step, StepKind, ToolCall, Trajectory

Said = tuple[str, str] | tuple[str, str, list[ToolCall]]
ReadRun = Callable[..., RunReading]


@pytest.fixture
def read() -> ReadRun:
    """Make the reading of a run of the given steps."""

    def make(
        *said: Said,
        task: str = "How many people live in Delft?",
        final: str | None = None,
        tools: tuple[str, ...] = (),
        outcome: RunOutcome = RunOutcome.FAILED,
    ) -> RunReading:
        steps = tuple(
            Step(
                index=index,
                agent=one[0],
                kind=StepKind.MESSAGE,
                content=one[1],
                tool_calls=tuple(one[2] if len(one) > 2 else ()),
            )
            for index, one in enumerate(said)
        )
        names = dict.fromkeys(one[0] for one in said)
        return RunReading(
            Trajectory(
                run_id="run-1",
                task=task,
                agents=tuple(AgentSpec(name=name, tools=tools) for name in names),
                steps=steps,
                outcome=outcome,
                final_output=final,
            )
        )

    return make

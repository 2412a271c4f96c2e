"""Small runs with a known point of divergence."""

from typing import Any

from tracer_hooks.schema import AgentSpec, RunOutcome, Step, StepKind, ToolCall, Trajectory

TASK = "What do 17 crates at 12 dollars each cost?"
PASSED = (
    ("planner", "We need the price of 17 crates at 12 dollars each."),
    ("solver", "17 * 12 = 204, so the crates cost 204 dollars."),
    ("verifier", "I multiplied again: 204 dollars is right."),
    ("writer", "The crates cost 204 dollars."),
)


def run(run_id, turns, *, outcome=RunOutcome.SUCCEEDED, task=TASK, **more: Any) -> Trajectory:
    """A trajectory of (agent, text), (agent, tool, arguments, result) or (agent, "->", recipient)."""
    steps = tuple(_step(index, turn) for index, turn in enumerate(turns))
    return Trajectory(run_id=run_id, task=task, outcome=outcome, steps=steps, **more)


def _step(index, turn) -> Step:
    if len(turn) == 2:
        return Step(index=index, agent=turn[0], content=turn[1])
    if turn[1] == "->":
        return Step(index=index, agent=turn[0], kind=StepKind.HANDOFF, recipient=turn[2])
    agent, tool, arguments, result = turn
    call = ToolCall(name=tool, arguments=arguments, result=result)
    return Step(index=index, agent=agent, kind=StepKind.TOOL_CALL, tool_calls=(call,))


def failed(turns, run_id: str = "failed", **more: Any):
    return run(run_id, turns, outcome=RunOutcome.FAILED, **more)


def passed(count: int = 2):
    """Passing runs that differ a little in words."""
    extra = ("", " Let me see.", " Fine.", " Very well.")
    return [run(f"passed-{k}", [(agent, text + extra[k]) for agent, text in PASSED]) for k in range(count)]


def specs(*names: Any):
    return tuple(AgentSpec(name=name) for name in names)

"""Small runs to look for findings in."""

from tracer_hooks.diagnosis import findings_of
from tracer_hooks.schema import Finding, FindingKind, RunOutcome, Step, StepKind, ToolCall, Trajectory


def say(agent: str, content: str) -> Step:
    return Step(index=0, agent=agent, content=content)


def call(agent: str, tool: str, arguments: object = None, result: str | None = None, error: str | None = None) -> Step:
    made = ToolCall(name=tool, arguments=arguments, result=result, error=error)  # type: ignore[arg-type]
    return Step(index=0, agent=agent, kind=StepKind.TOOL_CALL, tool_calls=(made,))


def run_of(*steps: Step, task: str = "Work it out.", reason: str | None = None, **fields: object) -> Trajectory:
    placed = tuple(step.model_copy(update={"index": index}) for index, step in enumerate(steps))
    values = {"run_id": "r", "task": task, "outcome": RunOutcome.FAILED, "outcome_reason": reason, **fields}
    return Trajectory(steps=placed, **values)  # type: ignore[arg-type]


def found(run: Trajectory, kind: FindingKind, reference: str | None = None) -> list[Finding]:
    return [each for each in findings_of(run, reference=reference) if each.kind is kind]

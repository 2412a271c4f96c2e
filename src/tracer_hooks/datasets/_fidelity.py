"""What a trajectory that was read from a trace does not tell."""

from __future__ import annotations

from collections.abc import Sequence

from tracer_hooks.schema import Step, ToolCall, Trajectory

_UNNAMED = "assistant"
"""What an agent is called whose spans give no name, in a trace without a team."""


def lacks(trajectory: Trajectory) -> tuple[str, ...]:
    """What ``trajectory`` lacks, in plain words to be read after "the trace lacks"; empty where nothing is missing.

    Traces hold what their instrumentation chose to write. What is not there can be no evidence, so say it beside a
    diagnosis. Words that stand alone ("inputs", "tool results") mean that none is there; "some inputs" that part is.
    """
    steps = trajectory.steps
    if not steps:
        return ("steps",)
    found = ["agent names"] if _is_unnamed(trajectory) else []
    if not _has_text(trajectory):
        return (*found, "texts (recorded without content)")
    calls = [call for step in steps for call in step.tool_calls]
    found += [] if any(step.content for step in steps) else ["texts"]
    found += _part("inputs", [_was_shown_something(step) for step in _first_steps(steps)])
    found += ["tool calls"] if _hides_tool_calls(trajectory) else []
    found += _part("tool arguments", [call.arguments is not None for call in calls])
    found += _part("tool results", [_has_result(call) for call in calls])
    found += [] if trajectory.task else ["the task"]
    found += [] if trajectory.final_output else ["the final answer"]
    return tuple(found)


def _part(what: str, present: Sequence[bool]) -> list[str]:
    if all(present):
        return []
    return [f"some {what}" if any(present) else what]


def _is_unnamed(trajectory: Trajectory) -> bool:
    """Whether the only agent bears the name that is given where none is known, and nothing else is known of it."""
    names = {step.agent for step in trajectory.steps}
    told = any(spec.instructions for spec in trajectory.agents)
    return names <= {_UNNAMED, trajectory.team} and not told


def _hides_tool_calls(trajectory: Trajectory) -> bool:
    """Whether members have tools and neither a call nor any model call, which would show that none was asked for."""
    seen = any(step.tool_calls or step.model or step.usage is not None for step in trajectory.steps)
    return not seen and any(spec.tools for spec in trajectory.agents)


def _has_text(trajectory: Trajectory) -> bool:
    """Whether any content was recorded: names, counts and errors stand in a trace without content, too."""
    for step in trajectory.steps:
        calls = any(call.arguments is not None or call.result for call in step.tool_calls)
        if step.content or calls or any(item.text for item in step.inputs):
            return True
    return False


def _first_steps(steps: Sequence[Step]) -> list[Step]:
    """Each agent's first step: something must have reached it before. Its later ones may follow without a word."""
    found: dict[str, Step] = {}
    for step in steps:
        found.setdefault(step.agent, step)
    return list(found.values())


def _was_shown_something(step: Step) -> bool:
    return any(item.text for item in step.inputs)


def _has_result(call: ToolCall) -> bool:
    return call.result is not None or call.error is not None

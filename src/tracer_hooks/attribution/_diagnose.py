"""A diagnosis whose answer is checked against the trajectory, whoever gave it."""

from __future__ import annotations

from tracer_hooks.attribution._protocol import Attributor
from tracer_hooks.attribution._registry import AUTO, get_attributor
from tracer_hooks.errors import AttributionError
from tracer_hooks.schema import Attribution, Trajectory


def diagnose_trajectory(
    trajectory: Trajectory, *, attributor: str | Attributor = AUTO, reference: str | None = None
) -> Attribution:
    """Name the agent and the step that made the run fail.

    Args:
        trajectory: What happened.
        attributor: A name, or an attributor of one's own.
        reference: The expected answer, when it may be used; ``trajectory.reference`` is not looked at.

    Raises:
        ConfigError: ``attributor`` is not known.
        AttributionError: The attributor gave no attribution, or named an agent or a step that the trajectory does not
            have.
    """
    chosen = get_attributor(attributor)
    answer: object = chosen.attribute(trajectory, reference=reference)
    fault = fault_of_answer(answer, trajectory)
    if fault is not None or not isinstance(answer, Attribution):
        raise AttributionError(f"attributor {chosen.name!r} {fault}")
    return answer


def fault_of_answer(answer: object, trajectory: Trajectory) -> str | None:
    """What is wrong with an attributor's answer: it is none, or names an agent or a step that the run does not have.

    Returns:
        The end of a sentence that begins with the attributor, such as "named step 9, expected one below 4"; None for an
        answer that is about the run.
    """
    if not isinstance(answer, Attribution):
        return f"gave {type(answer).__name__!r}, expected an Attribution"
    agents = {answer.agent, *(one.agent for one in answer.candidates), *(one.agent for one in answer.faults)}
    steps = {answer.step, *(one.step for one in answer.candidates)}
    steps |= {one.step for one in (*answer.evidence, *answer.spread)}
    steps |= {step for one in answer.provenance for step in (one.step, one.source)}
    names, count = set(trajectory.agent_names), len(trajectory.steps)
    for agent in agents - names - {None}:
        return f"named the agent {agent!r}, expected one of {sorted(names)}"
    for step in steps - {None}:
        if step is not None and not 0 <= step < count:
            return f"named step {step}, expected one from 0 and below {count}"
    return None

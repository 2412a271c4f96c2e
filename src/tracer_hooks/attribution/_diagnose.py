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
        AttributionError: The attributor named an agent or a step that the trajectory does not have.
    """
    chosen = get_attributor(attributor)
    attribution = chosen.attribute(trajectory, reference=reference)
    _check_names(attribution, trajectory, by=chosen.name)
    return attribution


def _check_names(attribution: Attribution, trajectory: Trajectory, *, by: str) -> None:
    names, count = set(trajectory.agent_names), len(trajectory.steps)
    agents = {
        attribution.agent,
        *(one.agent for one in attribution.candidates),
        *(one.agent for one in attribution.faults),
    }
    steps = {attribution.step, *(one.step for one in attribution.candidates)}
    steps |= {one.step for one in (*attribution.evidence, *attribution.spread)}
    for agent in agents - names - {None}:
        raise AttributionError(f"attributor {by!r} named the agent {agent!r}, expected one of {sorted(names)}")
    for step in steps - {None}:
        if step is not None and step >= count:
            raise AttributionError(f"attributor {by!r} named step {step}, expected one below {count}")

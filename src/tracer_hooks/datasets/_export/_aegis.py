"""Aegis' schema (ICLR 2026), the flat kind: sets of faulty agents with their error modes, no step."""

from __future__ import annotations

from typing import Any

from tracer_hooks.datasets._labeled import step_text
from tracer_hooks.schema import AgentFault, LabeledTrajectory


def aegis_obstacle(item: LabeledTrajectory) -> str | None:
    """Why Aegis cannot hold the run; None when it can."""
    if not item.trajectory.steps:
        return "no steps: Aegis needs a conversation"
    if not all(step.agent for step in item.trajectory.steps) or not all(fault.agent for fault in _faults(item)):
        return "an agent without a name: Aegis names the speaker of every turn"
    return None


def to_aegis(item: LabeledTrajectory) -> dict[str, Any]:
    """The run as one Aegis record; a passing run has no faulty agents, a mode that is not known is null.

    The turns count from 1, as Aegis' own do. Tool calls stand in the turn's text.
    """
    run = item.trajectory
    return {
        "id": run.run_id,
        "question": run.task,
        "trajectory": [
            {"step": step.index + 1, "agent_name": step.agent, "content": step_text(step)} for step in run.steps
        ],
        "faulty_agents": [
            {"agent_name": fault.agent, "error_type": fault.error_mode.value if fault.error_mode else None}
            for fault in _faults(item)
        ],
        "metadata": {"framework": run.team},
        "final_output": run.final_output,
        "ground_truth": {"correct_answer": run.reference},
    }


def _faults(item: LabeledTrajectory) -> tuple[AgentFault, ...]:
    if item.faults or item.decisive is None:
        return item.faults
    return (AgentFault(agent=item.decisive.agent, error_mode=item.decisive.error_mode),)

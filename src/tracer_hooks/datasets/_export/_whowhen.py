"""Who&When's schema (ICML 2025, arXiv 2505.00212), the algorithm-generated kind."""

from __future__ import annotations

from typing import Any

from tracer_hooks.datasets._labeled import is_clean, step_text
from tracer_hooks.errors import DatasetError
from tracer_hooks.schema import DecisiveStep, LabeledTrajectory, RunOutcome

_LEVEL = "-"


def whowhen_obstacle(item: LabeledTrajectory) -> str | None:
    """Why Who&When cannot hold the run; None when it can."""
    if is_clean(item):
        return "a passing run: Who&When holds failed runs only"
    if item.decisive is None:
        return "no decisive step: Who&When labels one agent and one step"
    if item.decisive.step >= len(item.trajectory.steps):
        return f"the decisive step {item.decisive.step} is outside the {len(item.trajectory.steps)} steps of the run"
    if not item.decisive.agent or not all(step.agent for step in item.trajectory.steps):
        return "an agent without a name: Who&When names the speaker of every message"
    return None


def to_whowhen(item: LabeledTrajectory) -> dict[str, Any]:
    """The run as one Who&When record; ``id`` keeps the run's own name beside Who&When's fields.

    A message is the step's text with its tool calls, since Who&When has no place of their own for those.

    Raises:
        DatasetError: The run has no decisive step; see :func:`whowhen_obstacle`.
    """
    run, decisive = item.trajectory, item.decisive
    if decisive is None:
        raise DatasetError(f"run {run.run_id!r}: {whowhen_obstacle(item)}")
    return {
        "id": run.run_id,
        "is_correct": run.outcome is RunOutcome.SUCCEEDED,
        "question": run.task,
        "question_ID": item.question_id or run.run_id,
        "level": _LEVEL,
        "ground_truth": run.reference,
        "history": [{"content": step_text(step), "role": "assistant", "name": step.agent} for step in run.steps],
        "mistake_agent": decisive.agent,
        "mistake_step": str(decisive.step),
        "mistake_reason": _reason(decisive),
        "system_prompt": {spec.name: spec.instructions or "" for spec in run.agents},
    }


def _reason(decisive: DecisiveStep) -> str:
    if decisive.reason is not None or decisive.error_mode is None:
        return decisive.reason or ""
    mode = decisive.error_mode
    return f"{mode.value} {mode.title}: {mode.definition}"

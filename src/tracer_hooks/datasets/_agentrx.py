"""Records of AgentRx (arXiv 2602.02475): failed runs, all their failures, and which of these is the root cause.

A trajectory (``trajectory_id``, ``instruction``, ``steps`` of ``substeps`` with ``role`` and ``content``) and its
annotation (``failures`` with ``failure_id``, ``step_number``, ``failure_category``, ``failed_agent``; ``root_cause``)
stand in two files or in one record. ``step_number`` counts from 1 over ``steps``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracer_hooks.datasets._record import (
    LoadedRecord,
    broadcast_inputs,
    content_text,
    digest,
    letters,
    turn_of,
)
from tracer_hooks.errors import TrajectoryError
from tracer_hooks.schema import (
    AgentFault,
    DecisiveStep,
    ErrorMode,
    LabeledTrajectory,
    LabelSource,
    RunOutcome,
    Step,
    StepInput,
    StepKind,
    ToolCall,
    Trajectory,
    to_text,
)

_STEPS = ("steps", "trajectory_snippet")
_TOOL_ROLES = {"tool", "function", "observation"}
_TAU_PREFIX = "tau_retail_"

MODES: Mapping[str, ErrorMode] = {
    "instructionplanadherencefailure": ErrorMode.FM_1_1,
    "instructionadherencefailure": ErrorMode.FM_1_1,
    "planadherencefailure": ErrorMode.FM_1_1,
    "intentplanmisalignment": ErrorMode.FM_2_3,
    "underspecifieduserintent": ErrorMode.FM_2_2,
}
"""The categories that say the same as an error mode, by their letters alone: not keeping to instructions or plan is
FM-1.1, pursuing another objective FM-2.3, going on with missing information FM-2.2. The others (invented information,
invalid invocation, misread tool output, unsupported intent, guardrails, system failure, inconclusive) have no
counterpart among the 14 and stay without a mode."""


def is_agentrx_trajectory(data: Mapping[str, Any]) -> bool:
    """Tell whether a record holds the steps of a run in this shape."""
    if isinstance(data.get("trajectory_snippet"), list):
        return True
    steps = data.get("steps")
    first = steps[0] if isinstance(steps, list) and steps else None
    return "trajectory_id" in data and isinstance(first, Mapping) and ("substeps" in first or "role" in first)


def is_agentrx_annotation(data: Mapping[str, Any]) -> bool:
    """Tell whether a record holds failures."""
    return isinstance(data.get("failures"), list)


def agentrx_key(data: Mapping[str, Any]) -> str:
    """Key that a trajectory and its annotation share; tau-bench's trajectories have a prefix that annotations lack."""
    return to_text(data.get("trajectory_id", "")).removeprefix(_TAU_PREFIX)


def read_agentrx(data: Mapping[str, Any], source: str, annotation: Mapping[str, Any] | None = None) -> LoadedRecord:
    """Read one run.

    The root cause becomes the decisive step, every failure a fault, and the steps of all failures stand in
    ``verification["faulty_steps"]``. A step number outside the run is left out; when it is the root cause's, no
    decisive step is labelled.
    """
    found = annotation if annotation is not None else data
    trajectory = _trajectory(data)
    labeled = _labeled(found, trajectory) if is_agentrx_annotation(found) else None
    return LoadedRecord(source=source, trajectory=trajectory, labeled=labeled, question_id=trajectory.run_id)


def _trajectory(data: Mapping[str, Any]) -> Trajectory:
    entries = next((data[key] for key in _STEPS if isinstance(data.get(key), list)), None)
    if not entries:
        raise TrajectoryError(f"the trajectory has no steps: expected a list under {' or '.join(map(repr, _STEPS))}")
    parts = [_substeps(entry, position) for position, entry in enumerate(entries)]
    turns = [turn_of(part[0], f"steps[{position}]") for position, part in enumerate(parts)]
    inputs = broadcast_inputs([speaker for speaker, _ in turns])
    task = data.get("instruction", data.get("task_instruction"))
    return Trajectory(
        run_id=agentrx_key(data) or f"agentrx-{digest([task, entries])}",
        framework="agentrx",
        task=content_text(task),
        steps=tuple(_step(k, turns[k], parts[k], inputs[k]) for k in range(len(parts))),
        outcome=RunOutcome.FAILED,
    )


def _substeps(entry: object, position: int) -> list[Mapping[str, Any]]:
    parts = entry.get("substeps", [entry]) if isinstance(entry, Mapping) else None
    if not isinstance(parts, list) or not parts or not all(isinstance(part, Mapping) for part in parts):
        raise TrajectoryError(f"steps[{position}] must be an object with 'substeps' or 'role'")
    return parts


def _step(
    index: int, turn: tuple[str, str | None], parts: list[Mapping[str, Any]], inputs: tuple[StepInput, ...]
) -> Step:
    texts, calls = [content_text(parts[0].get("content"))], []
    for part in parts[1:]:
        role, text = part.get("role"), content_text(part.get("content"))
        if isinstance(role, str) and role in _TOOL_ROLES:
            calls.append(ToolCall(name=to_text(part.get("name") or "tool"), result=text))
        else:
            texts.append(f"{to_text(role or '')}: {text}")
    speaker, recipient = turn
    return Step(
        index=index,
        agent=speaker,
        kind=StepKind.TOOL_CALL if calls else StepKind.HANDOFF if recipient else StepKind.MESSAGE,
        content="\n".join(texts),
        recipient=recipient,
        inputs=inputs,
        tool_calls=tuple(calls),
    )


def _labeled(data: Mapping[str, Any], trajectory: Trajectory) -> LabeledTrajectory:
    failures = [failure for failure in data["failures"] if isinstance(failure, Mapping)]
    if len(failures) < len(data["failures"]):
        raise TrajectoryError("'failures' must be a list of objects")
    cause = data.get("root_cause")
    wanted = (cause.get("failure_id") if isinstance(cause, Mapping) else None) or data.get("root_cause_failure_id")
    root = next((failure for failure in failures if str(failure.get("failure_id")) == str(wanted)), None)
    steps = {_position(failure, trajectory) for failure in failures}
    return LabeledTrajectory(
        trajectory=trajectory,
        decisive=None if root is None else _decisive(root, trajectory),
        faults=tuple(dict.fromkeys(_fault(failure) for failure in failures if failure.get("failed_agent"))),
        label_source=LabelSource.HUMAN,
        question_id=trajectory.run_id,
        verification={"faulty_steps": [*sorted(step for step in steps if step is not None)]},
    )


def _position(failure: Mapping[str, Any], trajectory: Trajectory) -> int | None:
    """The 0-based step of a failure; None when the run has no such step."""
    try:
        position = int(failure.get("step_number", 0)) - 1
    except (TypeError, ValueError, OverflowError):
        return None
    return position if 0 <= position < len(trajectory.steps) else None


def _decisive(root: Mapping[str, Any], trajectory: Trajectory) -> DecisiveStep | None:
    step = _position(root, trajectory)
    if step is None:
        return None
    category, reason = to_text(root.get("failure_category") or ""), content_text(root.get("step_reason"))
    return DecisiveStep(
        agent=to_text(root.get("failed_agent") or trajectory.steps[step].agent),
        step=step,
        error_mode=MODES.get(letters(category)),
        reason=f"{category}: {reason}" if category else reason or None,
    )


def _fault(failure: Mapping[str, Any]) -> AgentFault:
    category = to_text(failure.get("failure_category") or "")
    return AgentFault(agent=to_text(failure["failed_agent"]), error_mode=MODES.get(letters(category)))

"""Records of Aegis (ICLR 2026): trajectories with injected faults, labelled with sets of agents and modes.

Two shapes: the flat one (``question``, ``trajectory``, ``faulty_agents``) and upstream's nested one (``metadata``,
``input``, ``output``, ``ground_truth``). There is no step label.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tracer_hooks.datasets._record import LoadedRecord
from tracer_hooks.datasets._speakers import broadcast_inputs, content_text, digest
from tracer_hooks.errors import TrajectoryError
from tracer_hooks.schema import (
    AgentFault,
    ErrorMode,
    LabeledTrajectory,
    LabelSource,
    RunOutcome,
    Step,
    Trajectory,
    to_text,
)

_CODE = re.compile(r"\b([123]\.\d)\b")
_MODES = {mode.value: mode for mode in ErrorMode}


def read_aegis(data: Mapping[str, Any], source: str) -> LoadedRecord:
    """Read one record of either shape.

    Raises:
        TrajectoryError: The trajectory is missing, empty, or not a list of turns.
    """
    given, truth = _inner(data, "input"), _inner(data, "ground_truth")
    labels = data.get("faulty_agents", _inner(data, "output").get("faulty_agents"))
    turns = data["trajectory"] if "trajectory" in data else given.get("conversation_history")
    question = content_text(data.get("question", given.get("query")))
    answer, output = truth.get("correct_answer"), given.get("final_output", data.get("final_output"))
    trajectory = Trajectory(
        run_id=to_text(data.get("id") or f"aegis-{digest([question, turns])}"),
        team=content_text(_inner(data, "metadata").get("framework")),
        framework="aegis",
        task=question,
        steps=_steps(turns),
        outcome=RunOutcome.UNKNOWN if labels == [] else RunOutcome.FAILED,
        final_output=None if output is None else content_text(output),
        reference=None if answer is None else content_text(answer),
    )
    labeled = None
    if labels is not None:
        labeled = LabeledTrajectory(
            trajectory=trajectory,
            faults=_faults(labels),
            label_source=LabelSource.INJECTED,
            question_id=digest(question),
        )
    return LoadedRecord(source=source, trajectory=trajectory, labeled=labeled)


def _inner(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = data.get(key)
    return value if isinstance(value, Mapping) else {}


def _steps(turns: object) -> tuple[Step, ...]:
    if not isinstance(turns, list):
        raise TrajectoryError(f"the trajectory must be a list of turns, got {type(turns).__name__}")
    if not turns:
        raise TrajectoryError("the trajectory has no steps")
    for position, turn in enumerate(turns):
        if not isinstance(turn, Mapping) or not turn.get("agent_name"):
            raise TrajectoryError(f"turn {position} names no speaker: expected an object with 'agent_name'")
    inputs = broadcast_inputs([to_text(turn["agent_name"]) for turn in turns])
    # the file's own step numbers count from 1 and jump; the position is what counts
    return tuple(
        Step(index=k, agent=turn["agent_name"], content=content_text(turn.get("content")), inputs=inputs[k])
        for k, turn in enumerate(turns)
    )


def _faults(labels: object) -> tuple[AgentFault, ...]:
    if not isinstance(labels, list):
        raise TrajectoryError(f"'faulty_agents' must be a list, got {type(labels).__name__}")
    return tuple(_fault(label) for label in labels)


def _fault(label: object) -> AgentFault:
    if isinstance(label, str):
        return AgentFault(agent=label)
    if not isinstance(label, Mapping) or not label.get("agent_name"):
        raise TrajectoryError(f"a faulty agent must be an object with 'agent_name', got {str(label)[:80]!r}")
    code = _CODE.search(str(label.get("error_type") or ""))
    return AgentFault(agent=label["agent_name"], error_mode=_MODES.get(f"FM-{code[1]}") if code else None)

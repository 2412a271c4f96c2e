"""Records of Who&When (ICML 2025, arXiv 2505.00212), of any log in the same shape, and of Aegis (ICLR 2026)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tracer_hooks.datasets._record import LoadedRecord, broadcast_inputs, content_text, digest, turn_of
from tracer_hooks.errors import TrajectoryError
from tracer_hooks.schema import (
    AgentFault,
    AgentSpec,
    DecisiveStep,
    ErrorMode,
    LabeledTrajectory,
    LabelSource,
    RunOutcome,
    Step,
    StepInput,
    StepKind,
    Trajectory,
    to_text,
)

_OWN_KEYS = ("question_ID", "mistake_agent", "mistake_step", "is_corrected")
_PEOPLE = ("human", "user")


def read_whowhen(data: Mapping[str, Any], source: str) -> LoadedRecord:
    """Read one record.

    A label whose step is missing or outside the history keeps its agent, as a fault without a step.
    """
    framework = "whowhen" if any(key in data for key in _OWN_KEYS) else "unknown"
    trajectory = Trajectory(
        run_id=to_text(data.get("id") or f"{framework}-{digest([data.get('question'), data['history']])}"),
        framework=framework,
        task=content_text(data.get("question")) or _first_request(data["history"]),
        agents=_agents(data.get("system_prompt")),
        steps=_steps(data.get("history")),
        outcome=_outcome(data),
        reference=content_text(data["ground_truth"]) if data.get("ground_truth") is not None else None,
    )
    return LoadedRecord(
        source=source, trajectory=trajectory, labeled=_labeled(data, trajectory), question_id=_question_id(data)
    )


def _steps(history: object) -> tuple[Step, ...]:
    if not isinstance(history, list):
        raise TrajectoryError(f"'history' must be a list of messages, got {type(history).__name__}")
    if not history:
        raise TrajectoryError("the trajectory has no steps: 'history' is empty")
    turns = [turn_of(entry, f"history[{position}]") for position, entry in enumerate(history)]
    inputs = broadcast_inputs([speaker for speaker, _ in turns])
    return tuple(
        _step(position, *turns[position], content_text(entry.get("content")), inputs[position])
        for position, entry in enumerate(history)
    )


def _step(index: int, speaker: str, recipient: str | None, content: str, inputs: tuple[StepInput, ...]) -> Step:
    kind = StepKind.HANDOFF if recipient else StepKind.MESSAGE
    return Step(index=index, agent=speaker, kind=kind, content=content, recipient=recipient, inputs=inputs)


def _first_request(history: object) -> str:
    for entry in history if isinstance(history, list) else ():
        if isinstance(entry, Mapping) and any(entry.get(key) in _PEOPLE for key in ("name", "role")):
            return content_text(entry.get("content"))
    return ""


def _agents(prompts: object) -> tuple[AgentSpec, ...]:
    if not isinstance(prompts, Mapping):
        return ()
    return tuple(AgentSpec(name=to_text(name), instructions=content_text(text)) for name, text in prompts.items())


def _outcome(data: Mapping[str, Any]) -> RunOutcome:
    """Return what the record's own verdict says; a label says that it failed. A bare conversation says nothing."""
    verdict = data.get("is_correct", data.get("is_corrected"))
    if verdict in (True, "true", "True"):
        return RunOutcome.SUCCEEDED
    return RunOutcome.FAILED if verdict is not None or data.get("mistake_agent") else RunOutcome.UNKNOWN


def _labeled(data: Mapping[str, Any], trajectory: Trajectory) -> LabeledTrajectory | None:
    agent = data.get("mistake_agent")
    if not agent:
        return None
    step = _step_number(data.get("mistake_step"))
    reason = content_text(data["mistake_reason"]) if data.get("mistake_reason") else None
    is_inside = step is not None and step < len(trajectory.steps)
    return LabeledTrajectory(
        trajectory=trajectory,
        decisive=DecisiveStep(agent=agent, step=step, reason=reason) if is_inside and step is not None else None,
        faults=() if is_inside else (AgentFault(agent=agent),),
        label_source=LabelSource.HUMAN,
        question_id=_question_id(data),
    )


def _question_id(data: Mapping[str, Any]) -> str | None:
    """The question, or the task of tau2-bench, whose simulated user words it anew in every run."""
    if data.get("question_ID"):
        return to_text(data["question_ID"])
    if data.get("task_id") is None:
        return None
    return f"{to_text(data.get('domain') or '')}/{to_text(data['task_id'])}"


def _step_number(value: object) -> int | None:
    text = str(value).strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


_CODE = re.compile(r"\b([123]\.\d)\b")
_MODES = {mode.value: mode for mode in ErrorMode}


def read_aegis(data: Mapping[str, Any], source: str) -> LoadedRecord:
    """Read one record of either shape."""
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
        steps=_aegis_steps(turns),
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


def _aegis_steps(turns: object) -> tuple[Step, ...]:
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

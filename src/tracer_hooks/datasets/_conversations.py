"""Flat conversations as steps: records of Who&When, of any log in the same shape, of Aegis and of AgentRx.

Who&When is of ICML 2025 (arXiv 2505.00212), Aegis of ICLR 2026. AgentRx (arXiv 2602.02475) has failed runs, all their
failures, and which of these is the root cause: a trajectory (``trajectory_id``, ``instruction``, ``steps`` of
``substeps`` with ``role`` and ``content``) and its annotation (``failures`` with ``failure_id``, ``step_number``,
``failure_category``, ``failed_agent``; ``root_cause``) stand in two files or in one record. ``step_number`` counts from
1 over ``steps``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tracer_hooks._reading import too_many
from tracer_hooks.datasets._record import LoadedRecord, content_text, digest, letters
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
    ToolCall,
    Trajectory,
    to_text,
)

_ROLE = re.compile(r"^(?P<speaker>.*?)\s*\((?P<note>[^()]*)\)\s*$", re.DOTALL)


def _turn_of(entry: object, place: str) -> tuple[str, str | None]:
    """Return who speaks in a message, and whom the turn is handed to.

    The speaker stands under ``name``, else under ``role`` with a note behind it, ``(thought)`` or ``(-> WebSurfer)``.
    """
    if not isinstance(entry, Mapping):
        raise TrajectoryError(f"{place} must be an object, got {type(entry).__name__}")
    if entry.get("name"):
        return to_text(entry["name"]), None
    role = to_text(entry.get("role") or "")
    if not role:
        raise TrajectoryError(f"{place} names no speaker: expected 'name' or 'role'")
    match = _ROLE.match(role)
    if match is None or not match["speaker"]:
        return role, None
    note = match["note"].strip()
    return match["speaker"], note.removeprefix("->").strip() or None if note.startswith("->") else None


_Saying = tuple[str, tuple[ToolCall, ...]]
"""The words of a turn, and the tools that it called."""


def _steps_of(turns: Sequence[tuple[str, str | None]], sayings: Iterable[_Saying]) -> tuple[Step, ...]:
    """The steps of a conversation; what each saw when all speak in one room is every turn since its speaker's last one.

    Args:
        turns: Who speaks, and whom the turn is handed to.
        sayings: What is said in each turn.
    """
    if reason := too_many([speaker for speaker, _ in turns]):
        raise TrajectoryError(reason)
    # Names and positions only; the texts stand in the steps.
    seen = [StepInput(source=speaker, step=position) for position, (speaker, _) in enumerate(turns)]
    last: dict[str, int] = {}
    steps = []
    for index, ((speaker, recipient), (text, calls)) in enumerate(zip(turns, sayings, strict=True)):
        kind = StepKind.TOOL_CALL if calls else StepKind.HANDOFF if recipient else StepKind.MESSAGE
        inputs = tuple(seen[last.get(speaker, -1) + 1 : index])
        step = Step(
            index=index, agent=speaker, kind=kind, content=text, recipient=recipient, inputs=inputs, tool_calls=calls
        )
        steps.append(step)
        last[speaker] = index
    return tuple(steps)


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
    turns = [_turn_of(entry, f"history[{position}]") for position, entry in enumerate(history)]
    return _steps_of(turns, ((content_text(entry.get("content")), ()) for entry in history))


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
    # the file's own step numbers count from 1 and jump; the position is what counts
    turns_of = [(to_text(turn["agent_name"]), None) for turn in turns]
    return _steps_of(turns_of, ((content_text(turn.get("content")), ()) for turn in turns))


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


_STEPS = ("steps", "trajectory_snippet")
_TOOL_ROLES = {"tool", "function", "observation"}
_TAU_PREFIX = "tau_retail_"

AGENTRX_MODES: Mapping[str, ErrorMode] = {
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
    trajectory = _agentrx_trajectory(data)
    labeled = _agentrx_labeled(found, trajectory) if is_agentrx_annotation(found) else None
    return LoadedRecord(source=source, trajectory=trajectory, labeled=labeled, question_id=trajectory.run_id)


def _agentrx_trajectory(data: Mapping[str, Any]) -> Trajectory:
    entries = next((data[key] for key in _STEPS if isinstance(data.get(key), list)), None)
    if not entries:
        raise TrajectoryError(f"the trajectory has no steps: expected a list under {' or '.join(map(repr, _STEPS))}")
    parts = [_substeps(entry, position) for position, entry in enumerate(entries)]
    turns = [_turn_of(part[0], f"steps[{position}]") for position, part in enumerate(parts)]
    task = data.get("instruction", data.get("task_instruction"))
    return Trajectory(
        run_id=agentrx_key(data) or f"agentrx-{digest([task, entries])}",
        framework="agentrx",
        task=content_text(task),
        steps=_steps_of(turns, map(_saying, parts)),
        outcome=RunOutcome.FAILED,
    )


def _substeps(entry: object, position: int) -> list[Mapping[str, Any]]:
    parts = entry.get("substeps", [entry]) if isinstance(entry, Mapping) else None
    if not isinstance(parts, list) or not parts or not all(isinstance(part, Mapping) for part in parts):
        raise TrajectoryError(f"steps[{position}] must be an object with 'substeps' or 'role'")
    return parts


def _saying(parts: Sequence[Mapping[str, Any]]) -> _Saying:
    texts, calls = [content_text(parts[0].get("content"))], []
    for part in parts[1:]:
        role, text = part.get("role"), content_text(part.get("content"))
        if isinstance(role, str) and role in _TOOL_ROLES:
            calls.append(ToolCall(name=to_text(part.get("name") or "tool"), result=text))
        else:
            texts.append(f"{to_text(role or '')}: {text}")
    return "\n".join(texts), tuple(calls)


def _agentrx_labeled(data: Mapping[str, Any], trajectory: Trajectory) -> LabeledTrajectory:
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
        faults=tuple(dict.fromkeys(_agentrx_fault(failure) for failure in failures if failure.get("failed_agent"))),
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
        error_mode=AGENTRX_MODES.get(letters(category)),
        reason=f"{category}: {reason}" if category else reason or None,
    )


def _agentrx_fault(failure: Mapping[str, Any]) -> AgentFault:
    category = to_text(failure.get("failure_category") or "")
    return AgentFault(agent=to_text(failure["failed_agent"]), error_mode=AGENTRX_MODES.get(letters(category)))

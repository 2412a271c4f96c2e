"""What the encoder reads of a step: the task, the message it answers, its own words, and the reply it got."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from tracer_hooks.attribution._reading._roles import Role, fold, roles_of
from tracer_hooks.schema import Step, Trajectory, to_text

_NO_AGENT = frozenset(("system", "developer"))
# Far more characters than any budget of tokens needs; spares the tokenizer pages of a tool's output.
_LONGEST = 1200


@dataclass(frozen=True, slots=True)
class StepText:
    """The four texts of one step; any of them may be empty."""

    task: str
    """What the team was asked."""
    before: str
    """The message that the step answers."""
    own: str
    """What the agent wrote, and what its tools gave."""
    after: str
    """The next step's words."""


@dataclass(frozen=True, slots=True)
class TrajectoryText:
    """A trajectory as the encoder reads it; every tuple has one entry for each step."""

    steps: tuple[StepText, ...]
    agents: tuple[str, ...]
    """Names of the agents that acted, in the order of their first step; people and system prompts are left out."""
    speakers: tuple[int, ...]
    """Position in :attr:`agents` of who acted; -1 for a person or a system prompt, who cannot be at fault."""
    reporters: tuple[bool, ...]
    """Whether the step only says what a machine printed."""


def text_of(trajectory: Trajectory) -> TrajectoryText:
    """The texts, speakers and roles of a trajectory's steps."""
    spoken = [_said(step) for step in trajectory.steps]
    roles = roles_of(trajectory)
    agents: dict[str, int] = {}
    speakers = [
        -1 if role is Role.PERSON or fold(step.agent) in _NO_AGENT else agents.setdefault(step.agent, len(agents))
        for step, role in zip(trajectory.steps, roles, strict=True)
    ]
    task = _clip(trajectory.task)
    steps = tuple(
        StepText(
            task=task,
            before=_answered(step, spoken),
            own=spoken[k],
            after=spoken[k + 1] if k + 1 < len(spoken) else "",
        )
        for k, step in enumerate(trajectory.steps)
    )
    return TrajectoryText(steps, tuple(agents), tuple(speakers), tuple(role is Role.REPORTER for role in roles))


def _answered(step: Step, spoken: list[str]) -> str:
    for source in reversed(step.inputs):
        if source.text:
            return _clip(source.text)
        if source.step is not None and 0 <= source.step < step.index:
            return spoken[source.step]
    return spoken[step.index - 1] if step.index else ""


def _said(step: Step) -> str:
    parts = [_unwrapped(step.content)]
    for call in step.tool_calls:
        parts.append(f"{call.name}({'' if call.arguments is None else to_text(call.arguments)})")
        parts.append(f"error: {call.error}" if call.error is not None else call.result or "")
    if step.error:
        parts.append(f"error: {step.error}")
    if step.recipient:
        parts.append(f"to {step.recipient}")
    return _clip("\n".join(part for part in parts if part))


def _unwrapped(content: str) -> str:
    """The text of a list of content parts that was logged as Python or JSON source, else the content as it is."""
    if not content.startswith("[{") or ("'text'" not in content[:40] and '"text"' not in content[:40]):
        return content
    try:
        parts = ast.literal_eval(content)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return content
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, dict) and "text" in part) or content


def _clip(text: str) -> str:
    text = text.strip()
    return text if len(text) <= 2 * _LONGEST else f"{text[:_LONGEST]}\n{text[-_LONGEST:]}"

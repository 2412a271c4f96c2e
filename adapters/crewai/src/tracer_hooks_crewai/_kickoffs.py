"""What goes into a kickoff and what comes out, as text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tracer_hooks.frameworks import RunResult, TeamCall
from tracer_hooks.schema import to_text
from tracer_hooks.telemetry import Message, assistant_message, message_text
from tracer_hooks_crewai._replies import plain_text, to_messages

TASK_KEYS = ("task", "question", "topic", "query")
"""Names of inputs that are taken for the task."""

_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_\-]*)}")


def task_text(team: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """The task of a run as text, from the arguments of its kickoff.

    An agent's messages; for crews and flows the input that is called ``task``, ``question``, ``topic`` or ``query``, or
    the only input; else what the crew's tasks say, with the inputs filled in.
    """
    given = args[0] if args else kwargs.get("inputs", kwargs.get("messages"))
    if hasattr(team, "backstory"):
        return _request(given)
    inputs = given if isinstance(given, Mapping) else {}
    named = next((inputs[key] for key in TASK_KEYS if inputs.get(key)), None)
    if named is None and len(inputs) == 1:
        named = next(iter(inputs.values()))
    if named is not None:
        return to_text(named)
    descriptions = [_filled(_template(task, "description"), inputs) for task in getattr(team, "tasks", None) or ()]
    return "\n\n".join(text for text in descriptions if text)


def task_inputs(team: Any, task: str) -> dict[str, str]:
    """The inputs that carry a task given as text into a crew's templates, or into a flow's state."""
    names = _state_fields(team) if not hasattr(team, "tasks") else _placeholders(team)
    known = [name for name in TASK_KEYS if name in names]
    if not known and hasattr(team, "tasks") and len(names) == 1:
        known = list(names)
    return dict.fromkeys(known or ["task"], task)


def run_result(native: Any) -> RunResult:
    """What a kickoff returned."""
    interrupted = type(native).__name__ == "HumanFeedbackPending"
    text = "" if interrupted else plain_text(native)
    return RunResult(text=text, native=native, messages=_messages(native), interrupted=interrupted)


def text_call(team: Any, task: str) -> TeamCall:
    """The native call that runs a team on a task given as text."""
    if hasattr(team, "backstory"):
        return TeamCall(team=team, method="kickoff", args=(task,), task=task)
    return TeamCall(team=team, method="kickoff", kwargs={"inputs": task_inputs(team, task)}, task=task)


def _messages(native: Any) -> list[Message]:
    outputs: Sequence[Any] = getattr(native, "tasks_output", None) or ()
    return [assistant_message(plain_text(out), name=to_text(getattr(out, "agent", None) or "")) for out in outputs]


def _request(messages: Any) -> str:
    said = to_messages(messages)
    users = [message for message in said if message.get("role") == "user"]
    return message_text((users or list(said) or [{}])[-1])


def _template(holder: Any, field: str) -> str:
    return to_text(getattr(holder, f"_original_{field}", None) or getattr(holder, field, None) or "")


def _filled(template: str, inputs: Mapping[str, Any]) -> str:
    return _PLACEHOLDER.sub(lambda found: to_text(inputs.get(found[1], found[0])), template)


def _placeholders(crew: Any) -> set[str]:
    # Not crew.fetch_inputs(): it reads the public fields, which hold no placeholder any more after the first kickoff.
    texts = [_template(task, field) for task in crew.tasks for field in ("description", "expected_output")]
    texts += [_template(agent, field) for agent in crew.agents for field in ("role", "goal", "backstory")]
    return {name for text in texts for name in _PLACEHOLDER.findall(text)}


def _state_fields(flow: Any) -> set[str]:
    return set(getattr(type(getattr(flow, "state", None)), "model_fields", None) or ())

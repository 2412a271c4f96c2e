"""What each agent received before it acted, and which earlier step it came from."""

from __future__ import annotations

from collections.abc import Sequence

from tracer_hooks.schema import Step, StepInput, to_text
from tracer_hooks.telemetry._acts import Act, to_step
from tracer_hooks.telemetry._messages import Message, message_text, parts_of

_MIN_EMBEDDED = 12
"""Shorter texts occur inside others by chance; they count when they are a line of their own."""


def link_inputs(acts: Sequence[Act]) -> tuple[Step, ...]:
    """Build the steps of a run, each with the inputs that are new since its agent's previous step."""
    steps: list[Step] = []
    shown: dict[str, list[Message]] = {}
    for index, act in enumerate(acts):
        messages = act.seen
        new = _new_messages(messages, shown.get(act.agent, []))
        if messages:
            shown[act.agent] = messages
        steps.append(_with_results(to_step(act, index, _inputs(act, new, steps)), acts[index + 1 :]))
    return tuple(steps)


def _new_messages(messages: list[Message], before: list[Message]) -> list[Message]:
    common = 0
    for old, new in zip(before, messages, strict=False):
        if old is not new and old != new:
            break
        common += 1
    # A conversation that shares nothing with the agent's last one is a new one.
    return messages[common:]


def _inputs(act: Act, messages: Sequence[Message], steps: Sequence[Step]) -> tuple[StepInput, ...]:
    inputs: list[StepInput] = []
    for message in messages:
        role = message.get("role")
        text = message_text(message)
        if role == "system" or not text:
            continue
        if role == "tool":
            own = _step_of_result(message, act.agent, steps)
            inputs.append(StepInput(source=own.agent if own else "tool", step=own.index if own else None, text=text))
            continue
        found = _sources(text, steps)
        if role == "assistant" and (not found or all(step.agent == act.agent for step in found)):
            continue  # the agent's own words, shown to it again
        inputs += [StepInput(source=step.agent, step=step.index, text=step.content or text) for step in found]
        if not (len(found) == 1 and text.strip() in _said_by(found[0])):
            inputs.append(StepInput(source=to_text(message.get("name") or "user"), text=text))
    return tuple(inputs)


def _said_by(step: Step) -> set[str]:
    return {step.content.strip(), *(call.result.strip() for call in step.tool_calls if call.result is not None)}


def _sources(text: str, steps: Sequence[Step]) -> list[Step]:
    """The steps whose text a message is, or contains."""
    stripped = text.strip()
    for step in reversed(steps):
        if step.content.strip() == stripped:
            return [step]
    # A team may show a tool's result to the others as its caller's message, as AutoGen's hand-offs do.
    for step in reversed(steps):
        if any(call.result is not None and call.result.strip() == stripped for call in step.tool_calls):
            return [step]
    lines = {line.strip() for line in text.splitlines()}
    found: dict[str, Step] = {}
    for step in steps:
        content = step.content.strip()
        if (len(content) >= _MIN_EMBEDDED and content in text) or (content and content in lines):
            found[content] = step
    return list(found.values())


def _step_of_result(message: Message, agent: str, steps: Sequence[Step]) -> Step | None:
    ids = {part["id"] for part in parts_of(message) if isinstance(part.get("id"), str)}
    for step in reversed(steps):
        if any(call.call_id in ids for call in step.tool_calls if call.call_id):
            return step
    return next((step for step in reversed(steps) if step.agent == agent and step.tool_calls), None)


def _with_results(step: Step, later: Sequence[Act]) -> Step:
    """Fill in results that only the next model call shows: traces without tool spans, calls refused before they ran."""
    missing = {c.call_id for c in step.tool_calls if c.call_id and c.result is None and c.error is None}
    if not missing:
        return step
    results: dict[str, str] = {}
    for act in later:
        for message in act.seen:
            for part in parts_of(message):
                call = part.get("id")
                if isinstance(call, str) and call in missing and part.get("response") is not None:
                    results.setdefault(call, to_text(part["response"]))
        if results.keys() >= missing:
            break
    calls = [
        c.model_copy(update={"result": results[c.call_id]}) if c.call_id in results and c.result is None else c
        for c in step.tool_calls
    ]
    return step.model_copy(update={"tool_calls": tuple(calls)})

"""What a step shows of itself in a prompt: its words, what it received, its tool calls with their results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from tracer_hooks.attribution._judge._fence import flat
from tracer_hooks.schema import Step, Trajectory


@dataclass(frozen=True, slots=True)
class StepText:
    """The texts of one step, not yet cut."""

    agent: str
    kind: str
    notes: tuple[str, ...]
    """Short lines: where its inputs came from, whom it hands over to."""
    parts: tuple[tuple[str, str], ...]
    """A caption and a text, in the order in which they are read."""


def step_texts(trajectory: Trajectory) -> list[StepText]:
    """The texts of every step."""
    task, found = trajectory.task.split(), []
    before: dict[str, int] = {}
    for step in trajectory.steps:
        since = range(before.get(step.agent, -1) + 1, step.index)
        found.append(
            StepText(
                agent=flat(step.agent),
                kind=step.kind.value,
                notes=tuple(_notes(step, since)),
                parts=tuple(_parts(step, task)),
            )
        )
        before[step.agent] = step.index
    return found


def _notes(step: Step, since: range) -> Iterator[str]:
    """Sources are named only when they say something: in a plain conversation everybody hears everything."""
    received = sorted({each.step for each in step.inputs if each.step is not None})
    if received and received != list(since):
        yield "received the output of step" + ("s " if len(received) > 1 else " ") + ", ".join(map(str, received))
    if step.recipient:
        yield f"hands over to {flat(step.recipient)}"


def _parts(step: Step, task: list[str]) -> Iterator[tuple[str, str]]:
    for each in step.inputs:
        if each.step is None and each.text and each.text.strip() and each.text.split() != task:
            yield f"received from {flat(each.source)}: ", each.text
    if step.content.strip():
        yield "", step.content
    for call in step.tool_calls:
        arguments = call.arguments
        written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        yield f"calls the tool {flat(call.name)} with: ", written
        if call.result is not None:
            yield "result: ", call.result
        if call.error is not None:
            yield "the tool failed: ", call.error
    if step.error:
        yield "the step failed: ", step.error

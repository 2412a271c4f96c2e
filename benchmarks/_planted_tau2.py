"""Faults planted in passing tau2-bench runs: one value, invented or mixed up with another, from one step on."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from _contrast_tau2 import MIN_OTHERS, Task
from _planted_values import Value, forms, invented, mixed_up, places

from tracer_hooks.schema import RunOutcome, Step, Trajectory

AGENT, TOOLS = "agent", "environment"


class Fault(StrEnum):
    """What is done to a value."""

    INVENTED = "invented"
    """Replaced by one that stands nowhere in the run."""
    MIXED_UP = "mixed up"
    """Replaced by another of its kind that stands in an earlier tool reply of the run."""


@dataclass(frozen=True)
class PlantedValue:
    """A passing run with one value changed from one step on, and marked as failed."""

    trajectory: Trajectory
    original: Trajectory
    others: tuple[Trajectory, ...]
    """The other passing runs of the task."""
    step: int
    fault: Fault
    place: str
    """``argument`` of a tool call or ``message``."""
    value: Value
    wrong: str
    task: Task


def plant_values(tasks: Sequence[Task], *, per_run: int, seed: int) -> Iterator[PlantedValue]:
    """Up to ``per_run`` faults of each kind in every passing run that has enough passing companions, one a copy."""
    for task in tasks:
        if len(task.passing) <= MIN_OTHERS:
            continue
        for run in task.passing:
            others = tuple(one for one in task.passing if one is not run)
            for fault in Fault:
                rng = random.Random(f"{seed} {run.run_id} {fault}")
                for step, place, value, wrong in _faults(run, fault, per_run, rng):
                    bad = _corrupted(run, step, value, wrong, fault)
                    yield PlantedValue(bad, run, others, step, fault, place, value, wrong, task)


def _faults(run: Trajectory, fault: Fault, at_most: int, rng: random.Random) -> Iterator[tuple[int, str, Value, str]]:
    everything = "\n".join(text for step in run.steps for text in step_texts(step))
    found = [(step, *place) for step in run.steps if step.agent == AGENT for place in places(step)]
    rng.shuffle(found)
    made = 0
    for step, value, place in found:
        if made == at_most:
            return
        if fault is Fault.INVENTED:
            wrong = invented(value, everything, rng)
        else:
            wrong = mixed_up(value, list(replies_before(run, step.index)), rng)
        if wrong is not None:
            made += 1
            yield step.index, place, value, wrong


def replies_before(run: Trajectory, index: int) -> Iterator[str]:
    """What tools gave back before a step."""
    for step in run.steps[:index]:
        if step.agent == TOOLS:
            yield step.content
        for call in step.tool_calls:
            yield call.result or ""


def _corrupted(run: Trajectory, first: int, value: Value, wrong: str, fault: Fault) -> Trajectory:
    """From ``first`` on, the agent and the user have the wrong value; what the tools give back stays."""
    changes = dict(zip(forms(value.text), forms(wrong), strict=True))
    alone = {old: re.compile(rf"(?<![\w.]){re.escape(old)}(?![\w])") for old in changes}

    def change(text: str) -> str:
        for old, new in changes.items():
            text = alone[old].sub(new, text)
        return text

    steps = list(run.steps)
    for step in run.steps[first:]:
        if step.agent == TOOLS:
            continue
        calls = tuple(
            call.model_copy(update={"arguments": json.loads(change(json.dumps(call.arguments, ensure_ascii=False)))})
            for call in step.tool_calls
        )
        steps[step.index] = step.model_copy(update={"content": change(step.content), "tool_calls": calls})
    run_id = f"{run.run_id}-{first}-{fault}-{value.text}-{wrong}"
    return run.model_copy(update={"steps": tuple(steps), "run_id": run_id, "outcome": RunOutcome.FAILED})


def step_texts(step: Step) -> Iterator[str]:
    """All texts of a step."""
    yield step.content
    for call in step.tool_calls:
        yield json.dumps(call.arguments, ensure_ascii=False)
        yield call.result or ""

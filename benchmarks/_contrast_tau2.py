"""Graded tau2-bench runs as trajectories, and faults planted in passing ones."""

from __future__ import annotations

import hashlib
import json
import lzma
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracer_hooks.schema import Json, RunOutcome, Step, StepKind, ToolCall, Trajectory

_CALL = re.compile(r"\[tool call\] (\w+)\((.*?)\)\s*(?=\[tool call\]|\Z)", re.DOTALL)
_VALUE = re.compile(r"(?<![\w.])(?:[A-Za-z_]*\d[\w.-]*\w|\d{2,})(?![\w])")
MIN_OTHERS = 2
"""Other passing runs of the task that a planted fault needs."""


@dataclass(frozen=True)
class Task:
    """The runs of one task."""

    key: str
    passing: tuple[Trajectory, ...]
    failing: tuple[Trajectory, ...]

    @property
    def is_held_out(self) -> bool:
        """Half of the tasks, by a hash of their name; no weight was chosen on them."""
        return hashlib.sha256(self.key.encode()).digest()[0] % 2 == 1


@dataclass(frozen=True)
class Planted:
    """A passing run with one value changed from one step on."""

    trajectory: Trajectory
    others: tuple[Trajectory, ...]
    step: int
    kind: str
    """``argument``: of a tool call; ``copied``: a value that stood in the run before; ``new``: one that did not."""
    task: Task


def read_tasks(path: Path, *, merged: bool) -> list[Task]:
    """Every task with its runs.

    Args:
        path: JSON lines, plain or packed with xz.
        merged: Whether a tool's reply becomes part of the step that called it, as tracer-hooks records runs itself;
            else every message is a step.
    """
    opener: Callable[..., Any] = lzma.open if path.suffix == ".xz" else open
    runs: dict[str, list[Trajectory]] = defaultdict(list)
    with opener(path, "rt", encoding="utf-8") as file:
        for number, line in enumerate(file):
            data = json.loads(line)
            key = f"{data['domain']} {data['task_id']}"
            runs[key].append(_trajectory(data, key, number, merged))
    return [
        Task(
            key,
            tuple(one for one in found if one.outcome is RunOutcome.SUCCEEDED),
            tuple(one for one in found if one.outcome is RunOutcome.FAILED),
        )
        for key, found in sorted(runs.items())
    ]


def _trajectory(data: dict[str, Any], key: str, number: int, merged: bool) -> Trajectory:
    steps: list[Step] = []
    for message in data["history"]:
        content = message.get("content") or ""
        last = steps[-1] if steps else None
        if merged and message["role"] == "tool" and last is not None and last.tool_calls:
            steps[-1] = last.model_copy(update={"tool_calls": _answered(last.tool_calls, content)})
            continue
        calls = tuple(_calls(content)) if merged and message["role"] == "assistant" else ()
        steps.append(
            Step(
                index=len(steps),
                agent=message["name"],
                kind=StepKind.TOOL_CALL if calls else StepKind.MESSAGE,
                content=_CALL.sub("", content).strip() if calls else content,
                tool_calls=calls,
            )
        )
    outcome = RunOutcome.SUCCEEDED if data["is_correct"] else RunOutcome.FAILED
    return Trajectory(
        run_id=f"tau2-{number}", framework="tau2", team="tau2", task=key, steps=tuple(steps), outcome=outcome
    )


def _calls(content: str) -> Iterator[ToolCall]:
    for match in _CALL.finditer(content):
        try:
            arguments: Json = json.loads(match[2]) if match[2].strip() else {}
        except ValueError:
            arguments = match[2]
        yield ToolCall(name=match[1], arguments=arguments)


def _answered(calls: tuple[ToolCall, ...], result: str) -> tuple[ToolCall, ...]:
    place = next((k for k, call in enumerate(calls) if call.result is None), len(calls) - 1)
    return tuple(call.model_copy(update={"result": result}) if k == place else call for k, call in enumerate(calls))


def plant(tasks: Sequence[Task], *, per_run: int, seed: int) -> Iterator[Planted]:
    """Up to ``per_run`` faults in every passing run that has enough passing companions, one a copy."""
    for task in tasks:
        if len(task.passing) <= MIN_OTHERS:
            continue
        for run in task.passing:
            rng = random.Random(f"{seed} {run.run_id}")
            others = tuple(one for one in task.passing if one is not run)
            places = list(_places(run))
            rng.shuffle(places)
            for step, value, kind in places[:per_run]:
                wrong = _other_value(value, rng, " ".join(_texts(run)))
                if wrong is not None:
                    yield Planted(_corrupted(run, step, value, wrong), others, step, kind, task)


def plant_recurring(tasks: Sequence[Task], *, per_task: int, seed: int) -> Iterator[Planted]:
    """The same wrong value in up to three runs of a task, the rest passing: a fault that recurs.

    The value stands in agent steps of all the corrupted runs; ``others`` holds the other corrupted runs as failing ones
    and the untouched ones as passing ones.
    """
    for task in tasks:
        if len(task.passing) < 2 * MIN_OTHERS:
            continue
        rng = random.Random(f"{seed} {task.key}")
        first_places = [_first_places(run) for run in task.passing]
        values = sorted({value for places in first_places for value in places})
        rng.shuffle(values)
        made = 0
        for value in values:
            having = [k for k, places in enumerate(first_places) if value in places]
            wrong = _other_value(value, rng, " ".join(text for run in task.passing for text in _texts(run)))
            if len(having) < 2 or wrong is None or made == per_task:
                continue
            chosen = rng.sample(having, k=min(len(having), 3, len(task.passing) - MIN_OTHERS))
            if len(chosen) < 2:
                continue
            made += 1
            bad = {k: _corrupted(task.passing[k], first_places[k][value], value, wrong) for k in chosen}
            good = tuple(run for k, run in enumerate(task.passing) if k not in bad)
            for k, run in bad.items():
                rest = tuple(other for j, other in bad.items() if j != k)
                yield Planted(run, good + rest, first_places[k][value], "recurring", task)


def _first_places(run: Trajectory) -> dict[str, int]:
    """Where the agent first writes each value or passes it to a tool."""
    first: dict[str, int] = {}
    for step, value, _ in _places(run):
        first.setdefault(value, step)
    return first


def _places(run: Trajectory) -> Iterator[tuple[int, str, str]]:
    """Values that the agent writes or passes to a tool, one place for each kind of value in a step."""
    before = run.task
    for step in run.steps:
        if step.agent == "agent":
            arguments = json.dumps([call.arguments for call in step.tool_calls], ensure_ascii=False)
            for value in dict.fromkeys(_VALUE.findall(arguments)):
                yield step.index, value, "argument"
            for value in dict.fromkeys(_VALUE.findall(step.content)):
                yield step.index, value, "copied" if value in before else "new"
        before += " ".join(_step_texts(step))


def _other_value(value: str, rng: random.Random, everything: str) -> str | None:
    """The value with one to three of its digits changed, so that it stands nowhere in the run."""
    digits = [place for place, char in enumerate(value) if char.isdigit()]
    for _ in range(20):
        changed = list(value)
        for place in rng.sample(digits, k=min(len(digits), rng.randint(1, 3))):
            changed[place] = rng.choice([d for d in "123456789" if d != changed[place]])
        if "".join(changed) not in everything:
            return "".join(changed)
    return None


def _corrupted(run: Trajectory, first: int, value: str, wrong: str) -> Trajectory:
    """From ``first`` on, the agent and the user say the wrong value; what the tools give back stays."""
    pattern = re.compile(rf"(?<![\w.]){re.escape(value)}(?![\w])")

    def change(text: str) -> str:
        return pattern.sub(wrong, text)

    steps = list(run.steps)
    for step in run.steps[first:]:
        if step.agent == "environment":
            continue
        calls = tuple(
            call.model_copy(update={"arguments": json.loads(change(json.dumps(call.arguments, ensure_ascii=False)))})
            for call in step.tool_calls
        )
        steps[step.index] = step.model_copy(update={"content": change(step.content), "tool_calls": calls})
    update = {"steps": tuple(steps), "run_id": f"{run.run_id}-{first}-{wrong}", "outcome": RunOutcome.FAILED}
    return run.model_copy(update=update)


def _texts(run: Trajectory) -> Iterator[str]:
    for step in run.steps:
        yield from _step_texts(step)


def _step_texts(step: Step) -> Iterator[str]:
    yield step.content
    for call in step.tool_calls:
        yield json.dumps(call.arguments, ensure_ascii=False)
        yield call.result or ""

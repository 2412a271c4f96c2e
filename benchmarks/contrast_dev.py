"""How well comparison with passing runs names the point of divergence, beside rules that read nothing.

    python benchmarks/contrast_dev.py --tau2 FILE [--aegis FILE] [--parts NAME...] [--json OUT]

``FILE`` of ``--tau2`` is a JSONL (or ``.jsonl.xz``) of graded tau2-bench runs, several of each task; ``--aegis``
holds Aegis rows, several of each question. Neither has step labels, so faults are planted in passing tau2 runs, and on
Aegis the agents are ranked. Tasks and questions are split in halves by a hash of their name: weights were chosen on the
first half ("chosen on"), figures to quote are those of the second ("held out"). Intervals are 95 % bootstrap intervals
over tasks or questions.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from _contrast_tau2 import Planted, Task, plant, plant_recurring, read_tasks

from tracer_hooks.datasets import load
from tracer_hooks.diagnosis.contrast import ContrastAttributor, ContrastOptions, DivergenceKind, Divergences
from tracer_hooks.diagnosis.contrast._divergence import agent_scores
from tracer_hooks.schema import LabeledTrajectory, RunOutcome, Trajectory

MIN_ROWS = 4
"""Rows of one question and roster, so that each has three to be compared with."""
Scorer = Callable[[Divergences], Mapping[str, float]]


def fold(name: str) -> str:
    return "".join(char for char in name.casefold() if char.isalnum())


def agent_novelty(path: Path, *, held_out: bool, at_most: int) -> dict[str, list[tuple[str, float]]]:
    """For each method, the area under the ROC curve of faulty against other agents, one value a row.

    Args:
        path: Aegis rows.
        held_out: Which half of the questions.
        at_most: How many rows; whole groups in random order.
    """
    values: dict[str, list[tuple[str, float]]] = defaultdict(list)
    done = 0
    for group in _groups(path, held_out):
        for row in group:
            measured = _measure(row, group) if done < at_most else None
            if measured is None:
                continue
            done += 1
            for name, area in measured.items():
                values[name].append((row.trajectory.task, area))
                values[f"{name}; {_team(row)}"].append((row.trajectory.task, area))
    return {name: found for name, found in values.items() if len(found) >= 30}


def _groups(path: Path, held_out: bool) -> list[list[LabeledTrajectory]]:
    groups: dict[tuple[str, str], list[LabeledTrajectory]] = defaultdict(list)
    for record in load(path, format="aegis"):
        if record.labeled is not None:
            groups[record.labeled.trajectory.task, " ".join(sorted(_speakers(record.labeled)))].append(record.labeled)
    chosen = [
        group
        for (question, _), group in sorted(groups.items())
        if len(group) >= MIN_ROWS and (hashlib.sha256(question.encode()).digest()[0] % 2 == 1) is held_out
    ]
    random.Random(0).shuffle(chosen)
    return chosen


def _speakers(row: LabeledTrajectory) -> set[str]:
    return {fold(step.agent) for step in row.trajectory.steps}


def _team(row: LabeledTrajectory) -> str:
    speakers = sorted({name.rstrip("0123456789") for name in _speakers(row)})
    return "/".join(speakers)


def _measure(row: LabeledTrajectory, group: Sequence[LabeledTrajectory]) -> dict[str, float] | None:
    faulty = {fold(fault.agent) for fault in row.faults}
    speakers = _speakers(row)
    if not faulty & speakers or not speakers - faulty:
        return None
    others = [other.trajectory for other in group if other is not row]
    attributor = ContrastAttributor(runs=others, options=ContrastOptions(without_passing=True))
    divergences = attributor.divergences(row.trajectory)
    if divergences is None:
        return None
    ranked = {
        "number of steps (reads nothing)": _steps_of(divergences, lambda step: 1.0, sum),
        "earlier first step (reads nothing)": _steps_of(divergences, lambda step: -float(step), max),
        "length of its texts (reads nothing else)": _steps_of(
            divergences, lambda step: float(len(row.trajectory.steps[step].content)), fmean
        ),
        "contrast: agents": {fold(name): value for name, value in agent_scores(divergences).items()},
        "contrast: clearest step": _steps_of(divergences, lambda step: divergences.strengths[step], max),
        "contrast: unlike content only": _steps_of(
            divergences, lambda step: divergences.by_step[step].get(DivergenceKind.CONTENT, 0.0), fmean
        ),
    }
    found = {name: _area(values, faulty) for name, values in ranked.items()}
    return {name: area for name, area in found.items() if area is not None}


def _steps_of(
    divergences: Divergences, value: Callable[[int], float], combine: Callable[[Iterator[float]], float]
) -> dict[str, float]:
    run = divergences.comparison.run
    steps: dict[str, list[float]] = defaultdict(list)
    for index in run.acts:
        steps[run.steps[index].act.agent].append(value(index))
    return {agent: combine(iter(values)) for agent, values in steps.items()}


def _area(scores: Mapping[str, float], faulty: set[str]) -> float | None:
    bad = [value for agent, value in scores.items() if agent in faulty]
    good = [value for agent, value in scores.items() if agent not in faulty]
    if not bad or not good:
        return None
    wins = [(one > other) + 0.5 * (one == other) for one in bad for other in good]
    return sum(wins) / len(wins)


SEED = 0
_RESAMPLES = 2_000
HALVES = {"chosen on": False, "held out": True}


@dataclass(frozen=True)
class Figure:
    """A mean with its interval."""

    mean: float
    low: float
    high: float
    cases: int

    def __str__(self) -> str:
        return f"{self.mean:6.3f} [{self.low:.3f}, {self.high:.3f}]"


def figure(values: Iterable[tuple[str, float]]) -> Figure:
    """The mean of values with an interval from resampling the groups that they belong to."""
    groups: dict[str, list[float]] = defaultdict(list)
    for group, value in values:
        groups[group].append(value)
    sums = np.array([sum(found) for found in groups.values()])
    sizes = np.array([len(found) for found in groups.values()])
    rng = np.random.default_rng(SEED)
    drawn = rng.integers(0, len(sums), size=(_RESAMPLES, len(sums)))
    means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return Figure(float(sums.sum() / sizes.sum()), float(low), float(high), int(sizes.sum()))


@dataclass(frozen=True)
class Answer:
    """A planted fault with the steps in the order in which a method suspects them."""

    case: Planted
    order: Sequence[int]


def _agent_steps(run: Trajectory) -> list[int]:
    return [step.index for step in run.steps if step.agent == "agent"]


def _ranked(divergences: Divergences, scores: Sequence[float]) -> list[int]:
    return sorted(divergences.comparison.run.acts, key=lambda step: (-scores[step], step))


def rank_figures(answers: Sequence[Answer]) -> dict[str, Figure]:
    rows = [(one.case.task.key, one.case.step, one.order) for one in answers]
    return {
        "exact": figure((key, order[0] == step) for key, step, order in rows),
        "within 1": figure((key, abs(order[0] - step) <= 1) for key, step, order in rows),
        "top 3": figure((key, step in order[:3]) for key, step, order in rows),
    }


def random_figures(cases: Sequence[Planted]) -> dict[str, Figure]:
    """The expectation of naming one of the agent's steps at random."""

    def hits(case: Planted, near: int) -> float:
        steps = _agent_steps(case.trajectory)
        return sum(1.0 for step in steps if abs(step - case.step) <= near) / len(steps)

    return {
        "exact": figure((case.task.key, hits(case, 0)) for case in cases),
        "within 1": figure((case.task.key, hits(case, 1)) for case in cases),
        "top 3": figure((case.task.key, min(1.0, 3 * hits(case, 0))) for case in cases),
    }


def planted(tasks: Sequence[Task]) -> dict[str, dict[str, Figure]]:
    cases = list(plant(tasks, per_run=5, seed=SEED))
    answers = []
    for case in cases:
        found = compared(ContrastAttributor(case.others), case.trajectory)
        answers.append(Answer(case, _ranked(found, found.strengths)))
    rows = {
        "random step of the agent": random_figures(cases),
        "last step of the agent": rank_figures([Answer(one, _agent_steps(one.trajectory)[::-1]) for one in cases]),
        "first step of the agent": rank_figures([Answer(one, _agent_steps(one.trajectory)) for one in cases]),
        "contrast": rank_figures(answers),
    }
    for kind in sorted({case.kind for case in cases}):
        rows[f"contrast, value: {kind}"] = rank_figures([one for one in answers if one.case.kind == kind])
    return rows


def compared(attributor: ContrastAttributor, trajectory: Trajectory) -> Divergences:
    found = attributor.divergences(trajectory)
    if found is None:
        raise SystemExit(f"{trajectory.run_id!r} has nothing to be compared with")
    return found


def recurring(tasks: Sequence[Task]) -> dict[str, dict[str, Figure]]:
    answers = []
    for case in plant_recurring(tasks, per_task=6, seed=SEED):
        found = compared(ContrastAttributor(runs=case.others), case.trajectory)
        answers.append(Answer(case, _ranked(found, found.strengths)))
    return {"contrast": rank_figures(answers)}


@dataclass(frozen=True)
class Graded:
    """One run, judged beside passing runs of its task without being told its outcome."""

    task: str
    failed: bool
    strength: float
    blamed: Mapping[RunOutcome, bool]


def graded(tasks: Sequence[Task]) -> list[Graded]:
    """Every run of the tasks with two passing runs or more, each beside the same number of passing runs."""
    rows = []
    for task in tasks:
        if len(task.passing) < 2:
            continue
        rng = np.random.default_rng(sum(task.key.encode()))
        for run in (*task.passing, *task.failing):
            others = [other for other in task.passing if other is not run]
            if run in task.failing:
                others.pop(int(rng.integers(len(others))))
            attributor = ContrastAttributor(others)
            divergences = compared(attributor, run)
            is_failing = run in task.failing
            blamed = {
                told: not attributor.attribute(run.model_copy(update={"outcome": told})).abstained
                for told in (RunOutcome.UNKNOWN, RunOutcome.FAILED if is_failing else RunOutcome.SUCCEEDED)
            }
            rows.append(Graded(task.key, is_failing, divergences.alarm, blamed))
    return rows


def alarms(tasks: Sequence[Task]) -> dict[str, dict[str, Figure]]:
    rows = graded(tasks)
    pairs = [
        (bad.task, (bad.strength > good.strength) + 0.5 * (bad.strength == good.strength))
        for bad in rows
        for good in rows
        if bad.failed and not good.failed and bad.task == good.task
    ]
    passed, failed = [row for row in rows if not row.failed], [row for row in rows if row.failed]
    figures = {"AUC, failing against passing runs of the same task": figure(pairs)}
    for told in (RunOutcome.UNKNOWN, RunOutcome.SUCCEEDED):
        figures[f"blamed, passing run told {told}"] = figure((row.task, row.blamed[told]) for row in passed)
    for told in (RunOutcome.UNKNOWN, RunOutcome.FAILED):
        figures[f"blamed, failing run told {told}"] = figure((row.task, row.blamed[told]) for row in failed)
    return {name: {"": value} for name, value in figures.items()}


MEASURES = {"planted": planted, "recurring": recurring, "alarms": alarms}
PARTS = (*MEASURES, "aegis")


def show(title: str, rows: Mapping[str, Mapping[str, Figure]]) -> None:
    print(f"\n{title}")
    for name, figures in rows.items():
        cells = "   ".join(f"{key} {value}" for key, value in figures.items())
        cases = next(iter(figures.values())).cases
        print(f"  {name:52} n={cases:<5} {cells}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tau2", type=Path, required=True, help="graded tau2-bench runs")
    parser.add_argument("--aegis", type=Path, help="Aegis rows")
    parser.add_argument("--aegis-rows", type=int, default=1_500, help="how many Aegis rows to judge at most")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="what to measure")
    parser.add_argument("--plain", action="store_true", help="read every tau2 message as a step of its own")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    tasks = read_tasks(options.tau2, merged=not options.plain)
    results: dict[str, Any] = {}
    for half, held_out in HALVES.items():
        some = [task for task in tasks if task.is_held_out is held_out]
        results[half] = {}
        for part in (name for name in MEASURES if name in options.parts):
            results[half][part] = rows = MEASURES[part](some)
            show(f"tau2, {part}, half {half!r} ({len(some)} tasks)", rows)
        if options.aegis and "aegis" in options.parts:
            values = agent_novelty(options.aegis, held_out=held_out, at_most=options.aegis_rows // 2)
            results[half]["aegis"] = rows = {name: {"AUC of faulty agents": figure(v)} for name, v in values.items()}
            show(f"Aegis, runs of one question and roster beside each other, half {half!r}", rows)
    if options.json:
        options.json.write_text(json.dumps(results, indent=2, default=vars) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

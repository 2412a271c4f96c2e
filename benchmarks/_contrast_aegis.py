"""Aegis: several runs of one question by one team, all of them failing, each with its own injected faults.

No label of any row is looked at but that of the row being measured, and that only to measure. Aegis made its rows by
injecting different faults into the same question, so an agent that was left alone tends to say the same in several
rows; teams that are sampled at a temperature agree less.
"""

from __future__ import annotations

import hashlib
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from tracer_hooks.attribution._contrast import ContrastAttributor, ContrastOptions, Divergence, Divergences
from tracer_hooks.attribution._contrast._combine import agent_scores
from tracer_hooks.datasets import load
from tracer_hooks.schema import LabeledTrajectory

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
            divergences, lambda step: divergences.by_step[step].get(Divergence.CONTENT, 0.0), fmean
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

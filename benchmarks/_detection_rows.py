"""Runs for the failure detector: where each comes from, whether it failed, and what every signal finds in it."""

from __future__ import annotations

import json
import lzma
import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from _contrast_tau2 import read_tasks
from _detection_teams import plays, record
from structural_dev import read_graded

from tracer_hooks.attribution import get_attributor
from tracer_hooks.attribution._detection import SIGNALS, findings_of
from tracer_hooks.datasets import load
from tracer_hooks.datasets._aegis import read_aegis
from tracer_hooks.schema import LabeledTrajectory, RunOutcome, Step, Trajectory

SUBSETS = ("Algorithm-Generated", "Hand-Crafted")
_CLEAN = ("debate", "dylan", "macnet")
"""Architectures whose members answer the whole task one by one, so that what was said before a fault is complete."""
_MEMBERS = {
    "magentic": {"MagenticOneOrchestrator"},
    "smolagents": {"Manager", "Searcher", "System"},
    "agentverse": {"RoleAssigner", "Solver", "Critic", "Evaluator"},
    "dylan": {"Ranker", "Assistant4", "Programmer", "AlgorithmDeveloper", "Mathematician", "Economist"}
    | {"Psychologist", "Tester"},
}


@dataclass(frozen=True)
class Row:
    """One run."""

    source: str
    """``tau2``, ``own``, ``clean``, ``aegis`` or ``whowhen``."""
    system: str
    """What is held out as a whole: a domain, an architecture, the project's own teams."""
    form: str
    """How the run was read: ``flat`` or ``merged`` for tau2-bench, the family for own teams, else empty."""
    failed: bool
    steps: int
    values: list[float]
    """One for each signal."""
    rules: bool
    """Whether the rules blame somebody when they are not told the outcome."""


def _row(origin: tuple[str, str, str], failed: bool, trajectory: Trajectory) -> Row:
    unknown = trajectory.model_copy(update={"outcome": RunOutcome.UNKNOWN, "reference": None})
    found = findings_of(unknown)
    blamed = not get_attributor("rules").attribute(unknown).abstained
    source, system, form = origin
    return Row(source, system, form, failed, len(unknown.steps), [found[name].value for name in SIGNALS], blamed)


def tau2_rows(path: Path) -> Iterator[Row]:
    """Every graded run, once with each message as a step and once with tool replies in the calling step."""
    opener: Callable[..., Any] = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        domains = [json.loads(line)["domain"] for line in file]
    flat = list(read_graded(path))
    for domain, (trajectory, passed) in zip(domains, flat, strict=True):
        yield _row(("tau2", f"tau2 {domain}", "flat"), not passed, trajectory)
    asked = {trajectory.run_id: trajectory.task for trajectory, _ in flat}
    for task in read_tasks(path, merged=True):
        for run in (*task.passing, *task.failing):
            trajectory = run.model_copy(update={"task": asked[run.run_id]})
            failed = run.outcome is RunOutcome.FAILED
            yield _row(("tau2", f"tau2 {task.key.split()[0]}", "merged"), failed, trajectory)


def own_rows(per_family: int, seed: int) -> Iterator[Row]:
    """The project's own scripted teams, recorded through the hooks, with and without a recorded answer."""
    for play in plays(per_family, seed):
        for keeps_output in (True, False):
            yield _row(("own", "own teams", play.family), play.failed, record(play, keeps_output=keeps_output))


def aegis_rows(path: Path, per_architecture: int, seed: int) -> Iterator[Row]:
    """Failed runs of the six architectures, and from three of them what was said before any fault."""
    opener: Callable[..., Any] = lzma.open if path.suffix == ".xz" else open
    by_architecture: dict[str, list[str]] = defaultdict(list)
    with opener(path, "rt", encoding="utf-8") as file:
        for line in file:
            by_architecture[_architecture(json.loads(line))].append(line)
    rng = random.Random(seed)
    for architecture, lines in sorted(by_architecture.items()):
        rng.shuffle(lines)
        labelled = [_labelled(json.loads(line)) for line in lines[: 2 * per_architecture]]
        for one in labelled[:per_architecture]:
            yield _row(("aegis", f"aegis {architecture}", ""), True, one.trajectory)
        for one in labelled[per_architecture:] if architecture in _CLEAN else ():
            clean = _before_any_fault(one, asked_anew=architecture == "debate")
            if clean is not None:
                yield _row(("clean", f"aegis {architecture}", ""), False, clean)


def whowhen_rows(folder: Path) -> Iterator[Row]:
    """Failed runs that nothing is fitted to or chosen on."""
    for subset in SUBSETS:
        for record_ in load(folder / subset, format="whowhen"):
            if record_.trajectory is not None:
                yield _row(("whowhen", f"whowhen {subset}", ""), True, record_.trajectory)


def cached(path: Path | None, rows: Callable[[], Iterator[Row]]) -> list[Row]:
    """The rows, kept in a file for the next time."""
    if path is None:
        return list(rows())
    if path.exists():
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["signals"] == list(SIGNALS):
            return [Row(**row) for row in data["rows"]]
    found = list(rows())
    path.write_text(json.dumps({"signals": list(SIGNALS), "rows": [asdict(row) for row in found]}), encoding="utf-8")
    return found


def _architecture(data: dict[str, Any]) -> str:
    names = {turn["agent_name"] for turn in data["trajectory"]}
    if any(name.startswith("Node") for name in names):
        return "macnet"
    return next((name for name, members in _MEMBERS.items() if names & members), "debate")


def _labelled(data: dict[str, Any]) -> LabeledTrajectory:
    labelled = read_aegis(data, data["id"]).labeled
    if labelled is None:
        raise SystemExit(f"the Aegis row {data['id']!r} has no labels; expected 'faulty_agents'")
    return labelled


def _before_any_fault(labelled: LabeledTrajectory, *, asked_anew: bool) -> Trajectory | None:
    """Only what members without a fault said, before any faulty one could be read; they are presumed to be right."""
    faulty = {_fold(fault.agent) for fault in labelled.faults}
    kept: list[Step] = []
    for step in labelled.trajectory.steps:
        is_faulty = _fold(step.agent) in faulty
        if is_faulty and not asked_anew:
            break
        if not is_faulty and (not asked_anew or step.agent not in {one.agent for one in kept}):
            kept.append(step)
    if not any(len(step.content) > 150 for step in kept if _fold(step.agent) != "user"):
        return None
    steps = tuple(step.model_copy(update={"index": place, "inputs": ()}) for place, step in enumerate(kept))
    return labelled.trajectory.model_copy(update={"steps": steps, "final_output": None})


def _fold(name: str) -> str:
    return "".join(char for char in name.casefold() if char.isalnum())

"""The runs on which diagnoses are read and graded: recorded, scripted, and public ones by their ids."""

from __future__ import annotations

import json
import lzma
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from _contrast_tau2 import read_tasks
from _planted_tau2 import AGENT, plant_values

from tracer_hooks.datasets import load
from tracer_hooks.evaluation._cases import fold_name, resolve_name
from tracer_hooks.schema import RunOutcome, Trajectory, from_json, load_jsonl

FINDINGS = Path(__file__).parent / "data" / "findings"
HALVES = ("dev", "held_out")
UNREAD_SEED = 2026112416
FROM_TAU2 = {"planted": 28, "clean": 24}


def load_runs(public: Path | None, half: str) -> list[Trajectory]:
    """Load the runs of one half.

    Args:
        public: The folder of ``whowhen-dev``, ``aegis`` and ``tau2``; None leaves the public rows out.
        half: ``"dev"`` or ``"held_out"``.
    """
    if half not in HALVES:
        raise ValueError(f"half is {half!r}, expected one of {', '.join(HALVES)}")
    halves = json.loads((FINDINGS / "halves.json").read_text(encoding="utf-8"))
    own = [run for run in load_jsonl(FINDINGS / "runs.jsonl", Trajectory) if halves[run.run_id] == half]
    return own if public is None else [*own, *_public_runs(public, half)]


def _public_runs(public: Path, half: str) -> Iterator[Trajectory]:
    rows = json.loads((FINDINGS / "public_rows.json").read_text(encoding="utf-8"))
    chosen = {part: [row["id"] for row in listed if row["half"] == half] for part, listed in rows.items()}
    for part in ("Hand-Crafted", "Algorithm-Generated"):
        for name in chosen[f"whowhen {part}"]:
            run = _only(public / "whowhen-dev" / part / f"{name}.json")
            yield run.model_copy(update={"run_id": f"whowhen-{part}-{name}"})
    yield from _aegis(public / "aegis" / "train.jsonl.xz", set(chosen["aegis"]))
    yield from _tau2(public / "tau2" / "runs.jsonl.xz", set(chosen["tau2 failures"]) | set(chosen["tau2 passes"]))


def _aegis(path: Path, ids: set[str]) -> Iterator[Trajectory]:
    for row in _rows(path):
        if row["id"] in ids:
            with tempfile.TemporaryDirectory() as folder:
                (single := Path(folder) / "run.json").write_text(json.dumps(row), encoding="utf-8")
                yield _only(single).model_copy(update={"outcome": RunOutcome.FAILED})


def _tau2(path: Path, ids: set[str]) -> Iterator[Trajectory]:
    questions = {f"tau2-{number}": row["question"] for number, row in enumerate(_rows(path))}
    for task in read_tasks(path, merged=True):
        for run in (*task.failing, *task.passing):
            if run.run_id in ids:
                yield run.model_copy(update={"task": questions[run.run_id]})


def _only(path: Path) -> Trajectory:
    record = next(load(path))
    if record.trajectory is None:
        raise record.error or ValueError(f"{path} holds no run")
    return record.trajectory


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def unread_runs(public: Path) -> Iterator[tuple[Trajectory, dict[str, Any]]]:
    """Runs that no rule was written on, each with its label.

    ``part`` is ``aegis`` or ``own`` (failed by itself), ``scripted`` or ``tau2`` (one planted wrong value) or ``clean``
    (nothing wrong, and called failed). Agents ``at_fault`` are written as :func:`fold_name` does.
    """
    labels = {line["run_id"]: line for line in map(json.loads, (FINDINGS / "unread/labels.jsonl").open("rt"))}
    faulty = {row["id"]: row["faulty_agents"] for row in _rows(public / "aegis/train.jsonl.xz") if row["id"] in labels}
    for run in _aegis(public / "aegis/train.jsonl.xz", set(faulty)):
        speakers = {fold_name(agent) for agent in run.agent_names}
        wrong = [resolve_name(fault["agent_name"], speakers) for fault in faulty[run.run_id]]
        yield run, labels[run.run_id] | {"part": "aegis", "at_fault": wrong}
    with lzma.open(FINDINGS / "unread/runs.jsonl.xz", "rt", encoding="utf-8") as file:
        for run in (from_json(line, Trajectory) for line in file):
            yield run, labels[run.run_id] | {"at_fault": [fold_name(each) for each in labels[run.run_id]["at_fault"]]}
    tasks = [task for task in read_tasks(public / "tau2/runs.jsonl.xz", merged=True) if task.is_held_out]
    chance = random.Random(UNREAD_SEED)
    for case in chance.sample(list(plant_values(tasks, per_run=1, seed=UNREAD_SEED)), FROM_TAU2["planted"]):
        yield case.trajectory, {"part": "tau2", "at_fault": [AGENT], "step": case.step}
    for run in chance.sample([run for task in tasks for run in task.passing], FROM_TAU2["clean"]):
        yield run.model_copy(update={"outcome": RunOutcome.FAILED}), {"part": "clean", "at_fault": []}

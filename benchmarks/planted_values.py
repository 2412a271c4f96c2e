"""Whether the step is found at which an agent with tools got one value wrong, told only that the run failed.

    python benchmarks/planted_values.py --tau2 FILE [--plain] [--attributors NAME...] [--json OUT]

``FILE`` is a JSONL (or ``.jsonl.xz``) of graded tau2-bench runs, several of each task. In passing runs one value of one
step of the agent, in a message or an argument of a tool, is replaced: ``invented`` by one that stands nowhere in the
run, ``mixed up`` by another of its kind (a date by a date, an id by an id, a price by a price, of the same shape) that
stands in an earlier reply of a tool. From there on the agent and the user go on with the wrong value, and the tools
give back what they gave back. ``contrast`` has the other passing runs of the task, of which there are two at least.
An answer counts when it names exactly this step; an abstention does not count. Tasks are split in halves by a hash of
their name: what is chosen is chosen on the first half ("chosen on"); figures to quote are those of the second ("held
out"). Intervals are 95 % bootstrap intervals over tasks.

A tool's reply is part of the step that called it, as tracer-hooks records runs itself; ``--plain`` makes every message
a step of its own.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from _contrast_tau2 import Task, read_tasks
from _planted_tau2 import AGENT, Fault, PlantedValue, plant_values
from contrast_dev import HALVES, SEED, Figure, figure

from tracer_hooks.diagnosis import get_attributor
from tracer_hooks.diagnosis.contrast import ContrastAttributor
from tracer_hooks.schema import Trajectory

PER_RUN = 2
Named = Callable[[PlantedValue], float]


def _agent_steps(run: Trajectory) -> list[int]:
    return [step.index for step in run.steps if step.agent == AGENT]


def _structural() -> Named:
    attributor = get_attributor("structural")
    return lambda case: attributor.attribute(case.trajectory).step == case.step


def _contrast() -> Named:
    return lambda case: ContrastAttributor(case.others).attribute(case.trajectory).step == case.step


METHODS: Mapping[str, Callable[[], Named]] = {
    "structural": _structural,
    "contrast": _contrast,
    "random act (expected)": lambda: lambda case: 1 / len(_agent_steps(case.trajectory)),
    "first act": lambda: lambda case: _agent_steps(case.trajectory)[0] == case.step,
    "last act": lambda: lambda case: _agent_steps(case.trajectory)[-1] == case.step,
}


def measured(cases: Sequence[PlantedValue], names: Sequence[str]) -> dict[str, dict[str, Figure]]:
    """For each method the share of the cases whose step it names, by kind of fault and by where the value stood."""
    rows: dict[str, dict[str, Figure]] = {}
    for name in names:
        named = METHODS[name]()
        hits = [(case, float(named(case))) for case in cases]
        rows[name] = {}
        for fault in Fault:
            for place in ("", "argument", "message"):
                some = [(c.task.key, hit) for c, hit in hits if c.fault is fault and place in ("", c.place)]
                if some:
                    rows[name][f"{fault}, {place}" if place else str(fault)] = figure(some)
    return rows


def show(half: str, tasks: Sequence[Task], rows: Mapping[str, Mapping[str, Figure]]) -> None:
    print(f"\nexact step, half {half!r}, {len(tasks)} tasks")
    for name, figures in rows.items():
        for kind, value in figures.items():
            print(f"  {name:24} {kind:20} n={value.cases:<5} {value}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tau2", type=Path, required=True, help="graded tau2-bench runs")
    parser.add_argument("--plain", action="store_true", help="read every message as a step of its own")
    parser.add_argument("--attributors", nargs="+", choices=tuple(METHODS), default=tuple(METHODS))
    parser.add_argument("--halves", nargs="+", choices=tuple(HALVES), default=tuple(HALVES))
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    tasks = read_tasks(options.tau2, merged=not options.plain)
    results = {}
    for half in options.halves:
        some = [task for task in tasks if task.is_held_out is HALVES[half]]
        cases = list(plant_values(some, per_run=PER_RUN, seed=options.seed))
        results[half] = measured(cases, options.attributors)
        show(half, sorted({case.task.key for case in cases}), results[half])
    if options.json:
        options.json.write_text(json.dumps(results, indent=2, default=vars) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

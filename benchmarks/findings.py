"""How often each kind of finding is told, how often the step that it blames is the labelled one, and false alarms.

    python benchmarks/findings.py --public DIR [--json OUT]

``DIR`` holds ``whowhen-dev`` and ``tau2/runs.jsonl.xz``. The attributor is told that a run failed and nothing else.
Beside each share stands that of a step drawn at random. These are development data: the kinds were written on them.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from _contrast_tau2 import read_tasks
from _finding_runs import load_runs
from _planted_tau2 import plant_values
from contrast_dev import SEED

from tracer_hooks.datasets import load
from tracer_hooks.diagnosis import diagnose_trajectory, findings_of
from tracer_hooks.schema import RunOutcome, Trajectory

HERE = Path(__file__).parent
Labelled = Iterator[tuple[Trajectory, int]]


def labelled(*places: Path, **options: Any) -> Labelled:
    """Failed runs with the index of their decisive step, without the expected answer."""
    for place in places:
        for read in load(place, **options):
            found = read.labeled
            if found is not None and found.decisive is not None and found.trajectory.outcome is RunOutcome.FAILED:
                yield found.trajectory.model_copy(update={"reference": None}), found.decisive.step


def planted(public: Path) -> Labelled:
    """Values planted in passing runs of tau2, of tasks held out."""
    tasks = [task for task in read_tasks(public / "tau2/runs.jsonl.xz", merged=True) if task.is_held_out]
    for case in plant_values(tasks, per_run=2, seed=SEED):
        yield case.trajectory, case.step


def figures(runs: Labelled) -> dict[str, Any]:
    """Counts by certainty and by kind."""
    certainty: Counter[str] = Counter()
    right: Counter[str] = Counter()
    kinds: dict[str, Counter[str]] = {}
    count, chance = 0, 0.0
    for run, step in runs:
        count, chance = count + 1, chance + 1 / len(run.steps)
        answer = diagnose_trajectory(run)
        word = answer.certainty or "nobody named"
        certainty[word] += 1
        right[word] += answer.step == step
        for found in answer.findings:
            own = kinds.setdefault(f"{found.kind.value} {found.detail}".strip(), Counter())
            own.update(told=1, leads=found.leads_to_answer, right=found.leads_to_answer and found.step == step)
    shares = {word: {"right": right[word], "of": certainty[word]} for word in sorted(certainty)}
    return {"runs": count, "at random": round(chance / max(1, count), 3), "certainty": shares, "kinds": kinds}


def alarms(runs: Iterable[Trajectory]) -> dict[str, int]:
    """Passing runs, and those of them with a finding."""
    told = [bool(findings_of(run)) for run in runs if run.outcome is RunOutcome.SUCCEEDED]
    return {"runs": len(told), "with a finding": sum(told)}


def main() -> None:
    """Print the table, and write it where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--public", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    folders = [asked.public / "whowhen-dev" / name for name in ("Algorithm-Generated", "Hand-Crafted")]
    passing = (record.trajectory for record in load(asked.public / "tau2/runs.jsonl.xz"))
    found = {
        "Who&When, development half": figures(labelled(*folders, format="whowhen")),
        "recorded failures of small teams": figures(labelled(HERE / "data/real_failures/real_failures.parquet")),
        "values planted in tau2": figures(planted(asked.public)),
        "passing runs of tau2": alarms(run for run in passing if run is not None),
        "passing runs of the own set": alarms(load_runs(None, "dev") + load_runs(None, "held_out")),
    }
    for name, table in found.items():
        print(f"{name}: {table['runs']} runs")
        for word, share in table.get("certainty", {}).items():
            print(f"  {word:<14}{share['right']:>4} of {share['of']:<4} right (at random {table['at random']:.0%})")
        for kind, counts in sorted(table.get("kinds", {}).items()):
            print(f"  {kind:<34} told {counts['told']:>3}, leading {counts['leads']:>3}, right {counts['right']:>3}")
        if "with a finding" in table:
            print(f"  with a finding: {table['with a finding']}")
    if asked.json is not None:
        asked.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Diagnoses of labelled runs, saved, and set beside those of another commit run by run.

    python benchmarks/paired.py --whowhen DIR [--aegis FILE] [--attributor NAME] --save HERE.json
    python benchmarks/paired.py --whowhen DIR [--aegis FILE] --save NEW.json --against OLD.json

To measure an older commit, run this file with PYTHONPATH set to the ``src`` of a checkout of it. The answer is never
told. Who&When and ``benchmarks/data/real_failures`` have a labelled step; of Aegis a fixed sample is
read, and a diagnosis is right when it names a faulty agent. Each subset's line says how many runs are right now and
were right before, and how many changed sides.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tracer_hooks.attribution import get_attributor
from tracer_hooks.attribution._reading._roles import fold
from tracer_hooks.datasets import load
from tracer_hooks.schema import LabeledTrajectory, RunOutcome

REAL_FAILURES = Path(__file__).parent / "data" / "real_failures" / "real_failures.parquet"
_AEGIS = 400


def cases_of(args: argparse.Namespace) -> Iterator[tuple[str, LabeledTrajectory]]:
    """Subset and labelled run."""
    if args.whowhen is not None:
        for subset in ("Algorithm-Generated", "Hand-Crafted"):
            for record in load(args.whowhen / subset, format="whowhen"):
                if record.labeled is not None and record.labeled.decisive is not None:
                    yield subset, record.labeled
    if REAL_FAILURES.exists():
        for record in load(REAL_FAILURES):
            if record.labeled is not None and record.labeled.trajectory.outcome is RunOutcome.FAILED:
                yield "real_failures", record.labeled
    if args.aegis is not None:
        yield from _aegis(args.aegis)


def _aegis(path: Path) -> Iterator[tuple[str, LabeledTrajectory]]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        sample = random.Random(0).sample(file.readlines(), k=_AEGIS)
    with tempfile.TemporaryDirectory(prefix="paired-") as folder:
        (Path(folder) / "sample.jsonl").write_text("".join(sample), encoding="utf-8")
        for record in load(Path(folder) / "sample.jsonl", format="aegis"):
            if record.labeled is not None:
                yield "Aegis, a sample", record.labeled


def is_right(case: LabeledTrajectory, agent: str | None, step: int | None) -> tuple[bool, bool]:
    """Whether the agent is right, and agent and step."""
    if agent is None:
        return False, False
    if case.decisive is not None:
        named = fold(agent) == fold(case.decisive.agent)
        return named, named and step == case.decisive.step
    faulty = {fold(fault.agent) for fault in case.faults}
    return fold(agent) in faulty, fold(agent) in faulty


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--whowhen", type=Path)
    parser.add_argument("--aegis", type=Path)
    parser.add_argument("--attributor", default="structural")
    parser.add_argument("--save", type=Path, required=True)
    parser.add_argument("--against", type=Path)
    args = parser.parse_args(argv)
    attributor = get_attributor(args.attributor)
    rows: dict[str, dict[str, Any]] = {}
    for number, (subset, case) in enumerate(cases_of(args)):
        untold = case.trajectory.model_copy(update={"reference": None})
        answer = attributor.attribute(untold)
        agent_right, both_right = is_right(case, answer.agent, answer.step)
        rows[f"{subset} {number} {case.trajectory.run_id}"] = {
            "subset": subset,
            "agent": agent_right,
            "step": both_right,
            "confidence": answer.confidence,
            "certainty": getattr(answer, "certainty", None),
        }
    args.save.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    before = json.loads(args.against.read_text(encoding="utf-8")) if args.against else {}
    report(rows, before)
    return 0


def report(rows: dict[str, dict[str, Any]], before: dict[str, dict[str, Any]]) -> None:
    subsets = list(dict.fromkeys(row["subset"] for row in rows.values()))
    print(f"{'subset':28s} {'runs':>5s} {'agent':>6s} {'both':>6s}   before: agent, both; won, lost (both)")
    for subset in subsets:
        own = {key: row for key, row in rows.items() if row["subset"] == subset}
        line = f"{subset:28s} {len(own):5d} {total(own, 'agent'):6d} {total(own, 'step'):6d}"
        old = {key: before[key] for key in own if key in before}
        if old:
            won = sum(own[key]["step"] and not old[key]["step"] for key in old)
            lost = sum(old[key]["step"] and not own[key]["step"] for key in old)
            line += f"   {total(old, 'agent'):6d} {total(old, 'step'):6d}   +{won} -{lost}"
        print(line)
    for certainty in ("clear", "likely", "weak"):
        own = {key: row for key, row in rows.items() if row["certainty"] == certainty}
        if own:
            print(f"{certainty:28s} {len(own):5d} {total(own, 'agent'):6d} {total(own, 'step'):6d}")


def total(rows: dict[str, dict[str, Any]], what: str) -> int:
    return sum(bool(row[what]) for row in rows.values())


if __name__ == "__main__":
    sys.exit(main())

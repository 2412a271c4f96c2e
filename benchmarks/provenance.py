"""Is the guilty agent and step found when all that is known is that a check said no?

    python benchmarks/provenance.py [--cases FILE ...] [--sums FILE ...] [--recorded FILE] [--anew] [--show]

Pipelines of three to eight agents in plain Python, AutoGen, CrewAI and LangGraph, on a scripted model. One agent, never
the first, makes a mistake, and the others carry it on: a wrong sum, a tool reply that is misread, an item that is
dropped, an answer that is copied wrongly, operands that are swapped, a date that is off by one. The check returns
False and no more. Right is who names the agent and the step. One half of the cases may be read by whoever works on the
diagnosis; of the other half, ``held_out``, only counts are shown. The clean twins, the same runs without the mistake,
count false findings. The second part takes single texts with a calculation that holds or does not.

The runs are recorded once, which takes minutes, and measured from the recording, which takes seconds. The recording is
by the digest of each case; ``--anew`` records all of them again, for a version that records differently.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from _provenance_cases import DATA, FAULTS, read_cases
from _provenance_runs import Run, recorded
from _provenance_sums import (
    HELD_OUT,
    Answer,
    Sums,
    answers,
    baselines,
    clean,
    grouped,
    in_all_frameworks,
    measure_sums,
    share,
)

from tracer_hooks.diagnosis import get_attributor

FRAMEWORKS = ("plain", "autogen", "crewai", "langgraph")
WIDTH = 21


def main() -> None:
    options = _options()
    document: dict[str, Any] = {}
    paths = [path for path in options.cases if path.exists()]
    if paths:
        cases = [(path.stem, case) for path in paths for case in read_cases(path)]
        runs = recorded(cases, options.framework, options.recorded, anew=options.anew)
        document["attribution"] = measured(runs, options)
    document["sums"] = [_sums_json(one) for one in sums(options)]
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(document, indent=1, ensure_ascii=False), encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    halves = ("dev", HELD_OUT)
    parser.add_argument("--cases", type=Path, nargs="*", default=[DATA / f"{half}.jsonl" for half in halves])
    parser.add_argument("--sums", type=Path, nargs="*", default=[DATA / f"sums_{half}.jsonl" for half in halves])
    results = Path(__file__).parent / "results"
    parser.add_argument("--recorded", type=Path, default=results / "provenance_runs.jsonl", help="the recorded runs")
    parser.add_argument("--anew", action="store_true", help="record all runs again")
    parser.add_argument("--framework", nargs="*", choices=FRAMEWORKS, default=FRAMEWORKS)
    parser.add_argument("--attributor", default="structural")
    parser.add_argument("--show", action="store_true", help="the cases that are not right; never those held out")
    parser.add_argument("--json", type=Path, default=results / "provenance.json")
    return parser.parse_args()


def measured(runs: Sequence[Run], options: argparse.Namespace) -> dict[str, Any]:
    """Print the tables; gives the same as JSON."""
    attributor = get_attributor(options.attributor)
    document: dict[str, Any] = {"attributor": options.attributor, "halves": {}}
    for half, of_half in _by_half(runs):
        rows = answers(attributor, of_half)
        found = _table(half, rows, options.framework)
        twins = clean(attributor, of_half)
        print(f"clean runs, not known to have failed, with a fault found: {twins.unknown}")
        print(f"clean runs that a check rejects, with a finding that is called clear: {twins.clear}\n")
        found["clean"] = {"unknown": twins.unknown.as_json(), "clear": twins.clear.as_json()}
        if not half.startswith(HELD_OUT):
            found["cases"] = [_case_json(row) for row in rows]
            if options.show:
                _show(rows)
                _show(twins.false)
        document["halves"][half] = found
    return document


def _by_half(runs: Sequence[Run]) -> Iterator[tuple[str, list[Run]]]:
    for half in dict.fromkeys(run.half for run in runs):
        yield half, [run for run in runs if run.half == half]


def _table(half: str, rows: Sequence[Answer], frameworks: Sequence[str]) -> dict[str, Any]:
    cases = len({row.run.case for row in rows})
    print(f"{half}: {cases} cases, {len(rows)} runs; agent and step right, 95 % Wilson intervals")
    print(f"{'fault':<18}" + "".join(f"{name:<{WIDTH}}" for name in (*frameworks, "in all", "agent alone")))
    by_fault = grouped(rows, lambda row: row.run.fault)
    document: dict[str, Any] = {"cases": cases, "faults": {}}
    for fault in [*(fault for fault in FAULTS if fault in by_fault), "all"]:
        own = rows if fault == "all" else by_fault[fault]
        of = grouped(own, lambda row: row.run.framework)
        cells = {name: share(row.is_right for row in of[name]) for name in frameworks}
        cells |= {"in all": in_all_frameworks(own), "agent alone": share(row.is_agent_right for row in own)}
        print(f"{fault:<18}" + "".join(f"{cell!s:<{WIDTH}}" for cell in cells.values()))
        document["faults"][fault] = {name: cell.as_json() for name, cell in cells.items()}
    document["all runs"] = share(row.is_right for row in rows).as_json()
    document["baselines"] = baselines(rows)
    print("by reading nothing: " + ", ".join(f"{name} {value:.1%}" for name, value in document["baselines"].items()))
    document["certainty"] = {}
    for certainty, own in sorted(grouped(rows, lambda row: row.certainty).items()):
        right = share(row.is_right for row in own)
        document["certainty"][certainty] = right.as_json()
        print(f"{certainty}: {right} right, {len(own) / len(rows):.0%} of the runs")
    return document


def _case_json(row: Answer) -> dict[str, Any]:
    return {
        "case": row.run.case,
        "framework": row.run.framework,
        "right": row.is_right,
        "agent": row.agent,
        "step": row.step,
        "guilty": row.run.agent,
        "guilty_step": row.run.step,
        "certainty": row.certainty,
        "error_mode": row.error_mode,
        "evidence": row.evidence,
    }


def _show(rows: Sequence[Answer]) -> None:
    for row in rows:
        if not row.is_right:
            guilty = f"{row.run.agent} at {row.run.step}" if row.run.twin == "failed" else "nobody"
            named = f"{row.agent} at {row.step}, {row.certainty}"
            print(f"{row.run.case} {row.run.framework}: it was {guilty}, named {named}: {row.evidence}")
    print()


def sums(options: argparse.Namespace) -> Iterator[Sums]:
    """Print what is found in single calculations."""
    for path in options.sums:
        if path.exists():
            one = measure_sums(path)
            print(f"{one.half}, parser of calculations: {one.found} wrong ones found, {one.accused} right ones accused")
            if options.show and not one.half.startswith(HELD_OUT):
                for line in one.wrong:
                    print(f"    {'accused' if line.holds else 'missed'}: {line.text!r} ({line.note})")
            yield one


def _sums_json(one: Sums) -> dict[str, Any]:
    return {
        "rule": "parser of calculations",
        "half": one.half,
        "found": one.found.as_json(),
        "accused": one.accused.as_json(),
    }


if __name__ == "__main__":
    main()

"""Is the ladder ever worse than trying again, where it is known what cures a failure? In four frameworks.

    python benchmarks/planted_cures.py [--cases 100] [--frameworks plain,autogen,crewai,langgraph] [--json FILE]

Each case is a scripted team of four to seven agents, one of which errs. A quarter are cured by asking that agent again
with the steps before it kept, a quarter by telling it what the check says, a quarter by a lesson in its instructions,
and a quarter by nothing. The check names no agent. The diagnosis is right as often as it says (``--right``), and proves
nothing. Each arm gets the same cases and as many retries.

Printed by arm and cure: how many were recovered in how many trials, whether a budget was ever exceeded, and how often
"nothing helped" was said and was true. What resuming saves is measured by ``resume_cost.py``.
"""

from __future__ import annotations

import argparse
import json
import logging
import statistics
import sys
import time
import warnings
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from _planted_cures import Cure, PlantedAttributor, PlantedCase, PlantedScript, planted_cases
from _provenance_teams import build

import tracer_hooks
from tracer_hooks.repair import RetryPolicy
from tracer_hooks.testing import ScriptedLLM

FRAMEWORKS = ("plain", "autogen", "crewai", "langgraph")
ARMS = ("plain", "auto")


@dataclass(frozen=True)
class Row:
    """What came of one case."""

    arm: str
    framework: str
    number: int
    cure: str
    recovered: bool
    trials: int
    by: str
    stopped: str
    over_budget: bool
    notes: tuple[str, ...]


def main() -> None:
    """Run the cases and print the tables."""
    asked = arguments()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    rows: list[Row] = []
    for framework in asked.frameworks.split(","):
        begun = time.monotonic()
        for case in planted_cases(asked.cases, asked.seed, right_blame=asked.right):
            rows += [play(arm, framework, case, asked) for arm in asked.arms.split(",")]
        print(f"{framework}: {asked.cases} cases in {time.monotonic() - begun:.0f} s", file=sys.stderr)
    show(rows)
    if asked.json:
        asked.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--frameworks", default=",".join(FRAMEWORKS))
    parser.add_argument("--arms", default=",".join(ARMS), help="what repair= is")
    parser.add_argument("--retries", type=int, default=3)
    parser.add_argument("--tokens", type=int, help="default: no bound")
    parser.add_argument("--right", type=float, default=0.75, help="how often the diagnosis is right")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def play(arm: str, framework: str, case: PlantedCase, asked: argparse.Namespace) -> Row:
    """One failure and its recovery."""
    script = PlantedScript(case)
    policy = RetryPolicy(max_retries=asked.retries, max_tokens=asked.tokens, seed=1_000 * asked.seed + case.number)

    def check(result: Any) -> tracer_hooks.Verdict:
        reason = case.check(result.text)
        return tracer_hooks.Verdict(passed=reason is None, reason=reason)

    with ScriptedLLM(rules=script.rules) as llm:
        built = build(framework, case.case, llm)
        hooked = tracer_hooks.hook(
            built.team,
            check=check,
            retries=policy,
            repair=arm,
            attributor=PlantedAttributor(case),
            diagnose="inline",
            store="off",
        )
        built.start(hooked, case.task)
        run = tracer_hooks.last_run(hooked)
        assert run is not None, "the team was hooked"
        run.wait(60)
    return row_of(arm, framework, case, run, asked)


def row_of(arm: str, framework: str, case: PlantedCase, run: tracer_hooks.TeamRun, asked: argparse.Namespace) -> Row:
    log = run.repair
    assert log is not None, "the first attempt fails"
    last = log.trials[-1]
    before_last = log.usage.total - last.usage.total
    return Row(
        arm=arm,
        framework=framework,
        number=case.number,
        cure=case.cure.value,
        recovered=log.recovered,
        trials=len(log.trials),
        by=last.repair.strategy if log.recovered else "",
        stopped=log.stopped,
        over_budget=len(log.trials) > asked.retries or (asked.tokens is not None and before_last >= asked.tokens),
        notes=tuple(trial.note for trial in log.trials if trial.note),
    )


def show(rows: list[Row]) -> None:
    """Print the tables."""
    groups: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.framework, row.cure, row.arm].append(row)
    print("| framework | cure | repair | recovered | trials (median, most) | by | over |")
    print("|---|---|---|---|---|---|---|")
    for (framework, cure, arm), group in groups.items():
        done = [row for row in group if row.recovered]
        trials = [row.trials for row in done] or [row.trials for row in group]
        by = Counter(row.by for row in done)
        told = ", ".join(f"{name} {count}" for name, count in by.most_common())
        many, over = f"{statistics.median(trials):g}, {max(trials)}", sum(row.over_budget for row in group)
        print(f"| {framework} | {cure} | {arm} | {len(done)} of {len(group)} | {many} | {told} | {over} |")
    for arm in dict.fromkeys(row.arm for row in rows):
        own = [row for row in rows if row.arm == arm]
        curable = [row for row in own if row.cure != Cure.NONE]
        none = [row for row in own if row.cure == Cure.NONE]
        print(f"\n{arm}: recovered where something helps: {sum(row.recovered for row in curable)} of {len(curable)}")
        print(
            f"{arm}: said that nothing helped where nothing does: {sum(not r.recovered for r in none)} of {len(none)}"
        )
    notes = [note for row in rows for note in row.notes]
    print(f"trials that did not go as planned: {len(notes)}")
    for note in dict.fromkeys(notes):
        print(f"  {note}")


if __name__ == "__main__":
    main()

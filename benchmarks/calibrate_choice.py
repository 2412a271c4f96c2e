"""Does `calibrate` keep the right fit? Scripted teams whose agents slip at random, and fresh failures of theirs.

    python benchmarks/calibrate_choice.py --out FILE.jsonl [--first 0] [--teams 20] [--tasks 40] [--fresh 40]

In each team one agent is wrong in 40 % of its calls and another in 20 %; which ones, and how they word it, comes from
the team's number. A calibration runs the team on its tasks, injects faults, replays failures and keeps a fit. It is
then judged on fresh failures, of other tasks, in which the first wrong value is known: how many steps the kept
attributor names, and how many the one as shipped, and each fit that was not kept; and the same apart for failures in
which one agent slipped and in which several did. The same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tracer_hooks
from tracer_hooks._api import CalibrateOptions, Calibrator
from tracer_hooks.attribution import get_attributor
from tracer_hooks.evaluation import AdaptationReport, training_labels, without_reference
from tracer_hooks.schema import Trajectory
from tracer_hooks.suites import SuiteTask, check_of

ROLES = ("planner", "solver", "checker")
SLIPS = (0.4, 0.2)
_FEW = 40
"""Fresh failures that fits which were not kept are judged on."""
_FITS = ("fitted to injected faults", "fitted to natural failures", "fitted to both")


def tasks_of(first: int, count: int) -> list[SuiteTask]:
    """Sums, each with its answer."""
    return [
        SuiteTask(id=f"t{i}", text=f"What is {i} plus {i + 3}?", reference=str(2 * i + 3))
        for i in range(first, first + count)
    ]


class Team:
    """A planner, a solver and a checker, two of whom slip; remembers who slipped in the run that goes on."""

    def __init__(self, number: int) -> None:
        self._random = random.Random(number)
        self._lock = threading.Lock()
        often, seldom = self._random.sample(ROLES, 2)
        self.slips = {often: SLIPS[0], seldom: SLIPS[1]}
        self.slipped: list[str] = []

    def build(self, prompts: Any = None) -> Callable[[str], str]:
        """The team."""

        @tracer_hooks.model(name="scripted")
        def ask(messages: list[dict[str, str]]) -> str:
            role = next(name for name in ROLES if f"the {name}" in messages[0]["content"])
            return self._reply(role, messages[-1]["content"])

        def member(name: str) -> Callable[[str, str], str]:
            @tracer_hooks.agent(name=name)
            def act(task: str, said: str) -> str:
                told = {"role": "system", "content": f"You are the {name}."}
                return ask([told, {"role": "user", "content": f"{task}\n{said}"}])

            return act

        planner, solver, checker = (member(name) for name in ROLES)

        def sums(task: str) -> str:
            plan = planner(task, "")
            return checker(task, solver(task, plan))

        return sums

    def _reply(self, role: str, text: str) -> str:
        numbers = [int(word.strip("?.")) for word in text.splitlines()[0].split() if word.strip("?.").isdigit()]
        said = [line.removeprefix("It makes ") for line in text.splitlines() if line.startswith("It makes ")]
        value = said[-1].rstrip(".") if said else str(sum(numbers))
        with self._lock:
            slips = self._random.random() < self.slips.get(role, 0.0)
            if slips and value.lstrip("-").isdigit():
                value = str(int(value) + self._random.randint(1, 9))
                self.slipped.append(role)
        return f"ANSWER: {value}" if role == "checker" else f"It makes {value}"


@dataclass(frozen=True)
class Failure:
    """A fresh failure, and who was wrong in it."""

    run: Trajectory
    first: int
    """The step of the first slip, after which nobody can be right."""
    slips: int
    """How many agents slipped."""


def fresh_failures(team: Team, count: int) -> list[Failure]:
    """Failed runs of other tasks."""
    found: list[Failure] = []
    for task in tasks_of(500, 20 * count):
        team.slipped = []
        trial = tracer_hooks.rerunner(team.build, task.text, check=check_of(task)).run()
        steps = [step.index for step in trial.trajectory.steps if team.slipped and step.agent == team.slipped[0]]
        if steps and trial.trajectory.outcome.value == "failed":
            run = trial.trajectory.model_copy(update={"reference": None})
            found.append(Failure(run, steps[0], len(team.slipped)))
        if len(found) == count:
            break
    return found


def hits(attributor: Any, failures: list[Failure]) -> list[bool]:
    """Of which failures the step is named."""
    return [attributor.attribute(each.run).step == each.first for each in failures]


def share(named: list[bool]) -> float:
    """How many; 0 of none."""
    return sum(named) / max(1, len(named))


def one(number: int, asked: argparse.Namespace) -> dict[str, Any]:
    """One calibration, judged."""
    began, team = time.perf_counter(), Team(number)
    options = CalibrateOptions(injected=20, faults_per_run=3, workers=1, trials=4, seed=number)
    with tempfile.TemporaryDirectory(prefix="calibrate-choice-") as folder:
        calibrator = Calibrator(team.build, tasks_of(4, asked.tasks), folder=Path(folder) / "data", options=options)
        data = calibrator.build()
        built = time.perf_counter() - began
        made = calibrator.fit(data, out=Path(folder) / "attributors")
        took = time.perf_counter() - began - built
        kept = get_attributor(made.folder or "structural")
        failures = fresh_failures(team, asked.fresh)
        few = failures[:_FEW]
        labeled = [without_reference(each) for each in data.labeled if each.decisive is not None]
        others = {
            method: share(hits(get_attributor("structural").fitted(training_labels(labeled, method), seed=number), few))  # type: ignore[attr-defined]
            for method in _FITS
            if made.report.row(method, made.report.judged_on) is not None
        }
        named, named_as_shipped = hits(kept, failures), hits(get_attributor("structural"), failures)
        several = [place for place, each in enumerate(failures) if each.slips > 1]
        return {
            "team": number,
            "slips": team.slips,
            "labels": made.report.labels,
            "kept": made.kept,
            "right": share(named),
            "right_of_few": share(named[: len(few)]),
            "shipped": share(named_as_shipped),
            "shipped_of_few": share(named_as_shipped[: len(few)]),
            "fresh": len(failures),
            "several": len(several),
            "right_of_several": share([named[place] for place in several]),
            "shipped_of_several": share([named_as_shipped[place] for place in several]),
            **others,
            "promised": promised(made.report),
            "build_s": round(built, 1),
            "fit_s": round(took, 1),
        }


def promised(report: AdaptationReport) -> float | None:
    """Exact steps that the report gives for what was kept."""
    row = report.row(report.best, report.judged_on)
    return None if row is None else row.step.value


def tell(rows: list[dict[str, Any]]) -> None:
    """How many calibrations kept what."""
    above = sum(row["right"] > 0.8 for row in rows)
    below = sum(row["right"] < row["shipped"] for row in rows)
    beaten = sum(row["right_of_few"] < max(row.get(method, 0.0) for method in _FITS) - 0.1 for row in rows)
    mean, shipped = (sum(row[key] for row in rows) / len(rows) for key in ("right", "shipped"))
    print(f"{len(rows)} calibrations: {above} kept one that is right on more than 80 % of fresh failures")
    few = sum(row["right_of_few"] > 0.8 for row in rows)
    print(f"on the first {_FEW} of them alone: {few}")
    print(f"{below} kept one below the attributor as shipped; {beaten} one that another fit beats by over ten points")
    print(f"right on fresh failures in the mean: kept {mean:.1%}, as shipped {shipped:.1%}")
    fresh, several = (sum(row[key] for row in rows) for key in ("fresh", "several"))
    for name, key in (("kept", "right"), ("as shipped", "shipped")):
        of_several = sum(row[f"{key}_of_several"] * row["several"] for row in rows)
        of_one = sum(row[key] * row["fresh"] for row in rows) - of_several
        print(
            f"{name}: {of_one / max(1, fresh - several):.1%} of the {fresh - several} failures in which one agent "
            f"slipped, {of_several / max(1, several):.1%} of the {several} in which several did"
        )


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--first", type=int, default=0, help="number of the first team")
    parser.add_argument("--teams", type=int, default=20)
    parser.add_argument("--tasks", type=int, default=40)
    parser.add_argument("--fresh", type=int, default=40)
    asked = parser.parse_args()
    rows = []
    if asked.out.exists():
        rows = [json.loads(line) for line in asked.out.read_text(encoding="utf-8").splitlines()]
    for number in range(asked.first, asked.first + asked.teams):
        if number not in {row["team"] for row in rows}:
            rows.append(one(number, asked))
            with asked.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(rows[-1]) + "\n")
            print(rows[-1], file=sys.stderr, flush=True)
    tell(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""How well the structural rules do on labelled runs, beside rules that read nothing.

    python benchmarks/structural_dev.py --data DIR [--tau2 FILE] [--json OUT]

``DIR`` holds the Who&When folders ``Algorithm-Generated`` and ``Hand-Crafted``; ``FILE`` is a JSONL (or ``.jsonl.xz``)
of graded tau2-bench runs, whose passes give the rate of false alarms. The rules are not fitted to either.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracer_hooks.attribution import get_attributor
from tracer_hooks.attribution._reading._roles import fold
from tracer_hooks.datasets import load
from tracer_hooks.schema import Attribution, RunOutcome, Step, Trajectory

SUBSETS = ("Algorithm-Generated", "Hand-Crafted")
_MARKER = re.compile(r"exitcode: [1-9]|Traceback \(most recent call last\)|execution failed")


@dataclass(frozen=True)
class Labelled:
    trajectory: Trajectory
    agent: str
    step: int


def read_labelled(folder: Path) -> Iterator[Labelled]:
    for record in load(folder, format="whowhen"):
        labelled = record.labeled
        if labelled is None or labelled.decisive is None:
            print(f"passed over {record.source}: {record.error or 'no label'}", file=sys.stderr)
            continue
        trajectory = labelled.trajectory
        yield Labelled(trajectory, labelled.decisive.agent, labelled.decisive.step)


def without_reference(case: Labelled) -> Labelled:
    """As one has a failed run in earnest: without the expected answer."""
    return Labelled(case.trajectory.model_copy(update={"reference": None}), case.agent, case.step)


def read_graded(path: Path) -> Iterator[tuple[Trajectory, bool]]:
    opener: Callable[..., Any] = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        for number, line in enumerate(file):
            data = json.loads(line)
            steps = tuple(
                Step(index=index, agent=message["name"], content=message.get("content") or "")
                for index, message in enumerate(data["history"])
            )
            trajectory = Trajectory(run_id=f"tau2-{number}", framework="tau2", task=data["question"], steps=steps)
            yield trajectory, bool(data["is_correct"])


def random_choice(cases: list[Labelled]) -> dict[str, float]:
    agent = step = near = 0.0
    for case in cases:
        steps = len(case.trajectory.steps)
        agent += 1 / len({fold(one.agent) for one in case.trajectory.steps})
        step += 1 / steps
        near += sum(0 <= case.step + shift < steps for shift in (-1, 0, 1)) / steps
    return {"agent": agent / len(cases), "step": step / len(cases), "within_1": near / len(cases)}


def first_of_busiest(trajectory: Trajectory) -> int:
    """The first step of the agent with most steps that is not the one which only runs code."""
    turns = Counter(step.agent for step in trajectory.steps if "terminal" not in fold(step.agent))
    busiest = turns.most_common(1)[0][0] if turns else trajectory.steps[0].agent
    return next(step.index for step in trajectory.steps if step.agent == busiest)


def before_marker(trajectory: Trajectory) -> int:
    for step in trajectory.steps:
        if step.index and _MARKER.search(step.content):
            return step.index - 1
    return min(1, len(trajectory.steps) - 1)


def accuracy(cases: list[Labelled], choose: Callable[[Trajectory], int | None]) -> dict[str, float]:
    agent = step = near = 0
    for case in cases:
        chosen = choose(case.trajectory)
        if chosen is None:
            continue
        agent += fold(case.trajectory.steps[chosen].agent) == fold(case.agent)
        step += chosen == case.step
        near += abs(chosen - case.step) <= 1
    total = len(cases)
    return {"agent": agent / total, "step": step / total, "within_1": near / total}


def evaluate(cases_told: list[Labelled]) -> dict[str, dict[str, float]]:
    attributor = get_attributor("structural")
    cases = [without_reference(case) for case in cases_told]
    answers: dict[str, Attribution] = {}
    began = time.perf_counter()
    for case in cases:
        answers[case.trajectory.run_id] = attributor.attribute(case.trajectory)
    seconds = (time.perf_counter() - began) / len(cases)
    told = [attributor.attribute(case.trajectory, reference=case.trajectory.reference).step for case in cases_told]
    steps_told = {case.trajectory.run_id: step for case, step in zip(cases_told, told, strict=True)}
    ours = accuracy(cases, lambda one: answers[one.run_id].step)
    ours["top_3"] = sum(
        case.step in [one.step for one in answers[case.trajectory.run_id].candidates[:3]] for case in cases
    ) / len(cases)
    ours["confidence"] = sum(one.confidence for one in answers.values()) / len(cases)
    ours["answered"] = sum(not one.abstained for one in answers.values()) / len(cases)
    ours["seconds"] = seconds
    return {
        "random (expectation)": random_choice(cases),
        "always step 1": accuracy(cases, lambda one: min(1, len(one.steps) - 1)),
        "busiest speaker, its first step": accuracy(cases, first_of_busiest),
        "last speaker": accuracy(cases, lambda one: len(one.steps) - 1),
        "before first error marker, else step 1": accuracy(cases, before_marker),
        "structural": ours,
        "structural, told the expected answer": accuracy(cases, lambda one: steps_told[one.run_id]),
    }


def calibration(cases: list[Labelled]) -> dict[str, dict[str, float]]:
    attributor = get_attributor("structural")
    bins: dict[str, list[tuple[float, bool]]] = {}
    for case in cases:
        answer = attributor.attribute(case.trajectory)
        right = answer.step == case.step and answer.agent is not None and fold(answer.agent) == fold(case.agent)
        low = int(answer.confidence * 10) / 10
        bins.setdefault(f"{low:.1f}-{low + 0.1:.1f}", []).append((answer.confidence, right))
    return {
        name: {
            "runs": len(rows),
            "confidence": sum(one for one, _ in rows) / len(rows),
            "accuracy": sum(one for _, one in rows) / len(rows),
        }
        for name, rows in sorted(bins.items())
    }


def alarms(path: Path) -> dict[str, float]:
    """Share of runs in which somebody is blamed, by how much the attributor is told."""
    attributor = get_attributor("structural")
    counts = {"passes": 0, "passes, told so": 0, "passes, not told": 0, "failures": 0, "failures, not told": 0}
    for trajectory, passed in read_graded(path):
        blamed = not attributor.attribute(trajectory).abstained
        counts["passes" if passed else "failures"] += 1
        counts["passes, not told" if passed else "failures, not told"] += blamed
        if passed:
            told = trajectory.model_copy(update={"outcome": RunOutcome.SUCCEEDED})
            counts["passes, told so"] += not attributor.attribute(told).abstained
    return {
        "passes": counts["passes"],
        "failures": counts["failures"],
        "blamed, pass and told so": counts["passes, told so"] / max(1, counts["passes"]),
        "blamed, pass and not told": counts["passes, not told"] / max(1, counts["passes"]),
        "blamed, failure and not told": counts["failures, not told"] / max(1, counts["failures"]),
    }


def show(title: str, rows: dict[str, dict[str, float]]) -> None:
    print(f"\n{title}")
    for name, figures in rows.items():
        cells = "  ".join(
            f"{key} {value * 1000:.1f} ms"
            if key == "seconds"
            else f"{key} {value:.0f}"
            if key == "runs"
            else f"{key} {value:.1%}"
            for key, value in figures.items()
        )
        print(f"  {name:40} {cells}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the Who&When subsets")
    parser.add_argument("--tau2", type=Path, help="graded tau2-bench runs")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    figures: dict[str, Any] = {}
    everything: list[Labelled] = []
    for subset in SUBSETS:
        cases = list(read_labelled(options.data / subset))
        if not cases:
            print(f"no labelled runs in {str(options.data / subset)!r}", file=sys.stderr)
            return 1
        everything += [without_reference(case) for case in cases]
        figures[subset] = evaluate(cases)
        show(f"{subset} ({len(cases)} runs)", figures[subset])
    figures["calibration"] = calibration(everything)
    show("confidence against accuracy (agent and step), both subsets", figures["calibration"])
    if options.tau2:
        figures["tau2"] = alarms(options.tau2)
        print("\ntau2-bench")
        for name, value in figures["tau2"].items():
            print(f"  {name:40} {value:.0f}" if name in ("passes", "failures") else f"  {name:40} {value:.1%}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

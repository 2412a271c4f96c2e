"""Build labelled failures of real teams on a local model: injected faults, and natural failures labelled by replay.

    python benchmarks/local_engine.py MODEL.gguf --port 8124 --slots 24 --dtype int8 --name qwen
    python benchmarks/real_failures.py --out DIR --base-url http://127.0.0.1:8124/v1 --model qwen

Runs may be broken off, and go on with the same command. Ends with statistics, the audit and the data card in DIR.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from _real_teams import TEAMS, ShortSpokenTeam, short_tasks

from tracer_hooks.budget import CostCap
from tracer_hooks.datasets import LabeledSet
from tracer_hooks.diagnosis import get_attributor
from tracer_hooks.endpoint import Endpoint
from tracer_hooks.replay import ReplayOptions
from tracer_hooks_lab.datasets import BuildObserver, BuildOptions, DatasetBuilder, HowBuilt, audit, stats, write_card
from tracer_hooks_lab.faults import FaultStrategy

EVERY_S = 30.0
IN_PLACE = (
    "changed_given",
    "dropped_constraint",
    "turned_condition",
    "other_unit",
    "older_value",
    "own_older_result",
    "leaves_a_fact_out",
    "leaves_a_clause_out",
    "own_number_for_theirs",
    "other_conclusion",
    "opposite_conclusion",
    "wrong_working",
    "first_number_as_result",
)
"""Mutators that change what a reply says and write nothing of their own: the teams speak in formulas."""


def main() -> None:
    """Build, and write the card."""
    asked = arguments()
    place = Endpoint(
        base_url=asked.base_url, model=asked.model, api_key="none", temperature=asked.temperature, max_tokens=64
    )
    teams = [ShortSpokenTeam(framework, architecture, place) for framework, architecture in TEAMS]
    tasks = short_tasks(asked.tasks, asked.seed)
    options = BuildOptions(
        faults_per_run=asked.faults,
        kinds=() if asked.every_mutator else IN_PLACE,
        strategies=(FaultStrategy.RESPONSE_CORRUPTION,),
        wanted_injected=asked.injected,
        wanted_natural=asked.natural,
        replay=ReplayOptions(trials=asked.trials, placebo=False),
        attribute=get_attributor("structural").attribute,
        workers=asked.workers,
        cap=CostCap(max_seconds=asked.max_seconds),
        seed=asked.seed,
    )
    data = DatasetBuilder(asked.out, teams, lambda team: tasks, options, on_progress=Printed()).build()
    describe(data, asked)


def describe(data: LabeledSet, asked: argparse.Namespace) -> None:
    """Write statistics, audit and card beside the data."""
    how = HowBuilt(
        command="python benchmarks/real_failures.py --out DIR --base-url URL --model NAME "
        f"--tasks {asked.tasks} --faults {asked.faults} --trials {asked.trials} --seed {asked.seed}",
        model=asked.describe_model,
        seeds=(asked.seed,),
        summary="Teams of three architectures (planner, solver and checker; a document pipeline; a debate) in "
        "LangGraph and AutoGen, on short word sums. Faults were injected at one step of runs that succeeded; runs that "
        "failed by themselves were labelled by counterfactual replay.",
        limits=(
            "One small model, one kind of task, teams of three or four steps.",
            "A natural failure that no single correction saves has no label: those that have one are the easier ones.",
        ),
        licence="Apache-2.0, as the model and the tasks.",
    )
    write_card(asked.out, stats(data), audit(data, seed=asked.seed), title="Failures of small real teams", how=how)
    print(f"{len(data.labeled)} labelled, {len(data.clean)} passing, {len(data.discarded)} discarded: {asked.out}")


class Printed:
    """Prints progress, but not with every unit."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._last = -EVERY_S

    def __call__(self, progress: BuildObserver) -> None:
        now = time.monotonic() - self._begun
        if now - self._last >= EVERY_S or progress.done == progress.total:
            self._last = now
            print(
                f"{now:6.0f} s  {progress.phase}: {progress.done} of {progress.total}, {progress.kept} kept", flush=True
            )


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--describe-model", default="Qwen2.5-Coder-1.5B-Instruct Q4_K_M, int8 on CPU, temperature 0.7")
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--faults", type=int, default=3)
    parser.add_argument("--every-mutator", action="store_true")
    parser.add_argument("--trials", type=int, default=4)
    parser.add_argument("--injected", type=int, default=None)
    parser.add_argument("--natural", type=int, default=None)
    parser.add_argument("--temperature", type=float, default=0.7)
    parser.add_argument("--workers", type=int, default=20)
    parser.add_argument("--max-seconds", type=float, default=None)
    parser.add_argument("--seed", type=int, default=7)
    return parser.parse_args()


if __name__ == "__main__":
    main()

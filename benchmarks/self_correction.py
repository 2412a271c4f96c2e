"""Is a failed run better repaired than tried again? Arms with a plain retry as control, on a real small model.

    python benchmarks/local_engine.py MODEL --port 8123 --slots 64 --dtype bfloat16 --name qwen
    python benchmarks/self_correction.py --base-url http://127.0.0.1:8123/v1 --model qwen --minutes 60
    python benchmarks/self_correction.py --report

Planner, solver and checker on word sums; solver and checker on code (the suite's exercises and HumanEval's); a chain of
eight agents with one sum each; a chain that writes a record out in five forms.
First attempts are run until enough of them failed by themselves; every arm then retries the same failures. The journal
holds every run; a second start goes on where the first one stopped. ``--report`` only reads the journal.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Final

from _self_correction_chains import LOOK_UPS, SUM_CHAIN, chain_tasks
from _self_correction_journal import LADDERS, Journal
from _self_correction_report import report
from _self_correction_run import Experiment, Phase, Queue, Schedule, work_off
from _self_correction_tasks import CODE, WORD_SUMS, asker, code_tasks, plan_for, word_sums

from tracer_hooks.endpoint import Endpoint

RESULTS: Final = Path(__file__).parent / "results"
_MAX_TOKENS: Final = {WORD_SUMS: 64, CODE: 400, SUM_CHAIN: 18, LOOK_UPS: 64}
_MOST_TASKS: Final = 1_600

FIRST: Final = ("plain", "resume", "feedback_in_task", "feedback_in_message", "resume_oracle")
SECOND: Final = ("resume+feedback_in_message", "oracle_resume+feedback")
LATER: Final = ("plain", "resume", "feedback_in_task", "resume_oracle")
CHAIN_ARMS: Final = ("plain", "resume_oracle", "resume_random", "resume", *LADDERS)
CODE_FIRST: Final = ("plain", "feedback_in_task", "feedback_in_message", "resume", "resume_oracle")
PHASES: Final = {
    WORD_SUMS: (
        Phase(0, FIRST),
        Phase(0.5, LATER, rounds=3, late=5.2),
        Phase(0.6, SECOND, late=6),
        Phase(5, ("plain",), rounds=3),
    ),
    CODE: (Phase(2, CODE_FIRST), Phase(5.1, ("plain", "feedback_in_task"), rounds=3)),
    SUM_CHAIN: (Phase(0, CHAIN_ARMS),),
    LOOK_UPS: (Phase(2, CHAIN_ARMS),),
}
"""What is run first; below 1 comes before the first attempts at word sums, below 3 before those at code: the engine
still holds what it has read of a failure's prompts, so that trials are cheapest right after the failure."""
ATTEMPTS: Final = {WORD_SUMS: 1, CODE: 3, SUM_CHAIN: 1, LOOK_UPS: 1}
"""First attempts at each task, at most."""
URGENCY: Final = {WORD_SUMS: 1.0, CODE: 3.0, SUM_CHAIN: 1.0, LOOK_UPS: 3.0}
WANTED: Final = {WORD_SUMS: 300, CODE: 110, SUM_CHAIN: 115, LOOK_UPS: 115}
"""Failures; with a difference in 45 of 100 pairs 86 show a gain of 20 points with 80 % power, 350 one of 10."""


def main() -> int:
    """Run a slice, or report."""
    asked = arguments()
    if asked.save_outcomes:
        Journal(asked.journal).save_outcomes(asked.save_outcomes)
        return 0
    if asked.report:
        return report(asked.journal, asked.json)
    journal, queue = Journal(asked.journal), Queue()
    schedule = Schedule(journal, queue)
    for suite in asked.suites:
        wanted = WANTED[suite] if asked.failures is None else asked.failures
        schedule.add(experiment_on(suite, asked), URGENCY[suite], wanted, ATTEMPTS[suite], PHASES[suite])
    work_off(queue, asked.workers, 60 * asked.minutes, lambda: _progress(journal))
    journal.close()
    return 0


def experiment_on(suite: str, asked: argparse.Namespace) -> Experiment:
    """The team and the tasks of a suite, on the endpoint that was named."""
    most = _MAX_TOKENS[suite]
    place = Endpoint(base_url=asked.base_url, model=asked.model, temperature=asked.temperature, max_tokens=most)
    makers = {WORD_SUMS: partial(word_sums, _MOST_TASKS), CODE: lambda seed: code_tasks()}
    tasks = makers.get(suite, partial(chain_tasks, suite))(asked.seed)
    return Experiment(suite, plan_for(suite, place), tasks, asker(place))


def _progress(journal: Journal) -> str:
    parts = []
    for suite in WANTED:
        firsts = [row for row in list(journal.firsts.values()) if row["suite"] == suite]
        trials = [row for row in list(journal.trials.values()) if row["suite"] == suite]
        failed = sum(not row["passed"] for row in firsts)
        parts.append(f"{suite}: {failed} of {len(firsts)} first attempts failed, {len(trials)} trials")
    return "; ".join(parts)


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base-url", default="http://127.0.0.1:8123/v1")
    parser.add_argument("--model", default="qwen")
    parser.add_argument("--temperature", type=float, default=0.7)
    parser.add_argument("--journal", type=Path, default=RESULTS / "self_correction.jsonl")
    parser.add_argument("--minutes", type=float, default=60.0, help="no run begins after this time")
    parser.add_argument("--workers", type=int, default=72, help="runs at once; more than the engine's slots")
    parser.add_argument("--suites", nargs="+", choices=WANTED, default=tuple(WANTED))
    parser.add_argument("--failures", type=int, metavar="N", help="of each suite, instead of the default number")
    parser.add_argument("--seed", type=int, default=11, help="of the tasks")
    parser.add_argument("--report", action="store_true", help="only read the journal")
    parser.add_argument(
        "--save-outcomes", type=Path, metavar="FILE", help="write the journal without its texts, as .xz"
    )
    parser.add_argument("--json", type=Path, default=RESULTS / "self_correction.json")
    return parser.parse_args(given)


if __name__ == "__main__":
    sys.exit(main())

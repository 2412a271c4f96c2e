"""Is a failed run better repaired than tried again? Arms with a plain retry as control, on a real small model.

    python benchmarks/local_engine.py MODEL --port 8123 --slots 64 --dtype bfloat16 --name qwen
    python benchmarks/self_correction.py --base-url http://127.0.0.1:8123/v1 --model qwen --minutes 60
    python benchmarks/self_correction.py --report

Two teams: planner, solver and checker on word sums; solver and checker on code (the suite's exercises and HumanEval's).
First attempts are run until enough of them failed by themselves; every arm then retries the same failures. The journal
holds every run; a second start goes on where the first one stopped. ``--report`` only reads the journal.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Final

from _self_correction_journal import Journal
from _self_correction_report import report
from _self_correction_run import Experiment, Phase, Queue, Schedule, work_off
from _self_correction_search import SEARCHES, searched
from _self_correction_tasks import CODE, WORD_SUMS, asker, code_tasks, plan_for, word_sums

from tracer_hooks.endpoint import Endpoint

RESULTS: Final = Path(__file__).parent / "results"
_MAX_TOKENS: Final = {WORD_SUMS: 64, CODE: 400}
_SEED: Final = 11
_MOST_TASKS: Final = 1_600

FIRST: Final = ("plain", "resume", "feedback_in_task", "feedback_in_message", "resume_oracle")
SECOND: Final = ("resume+feedback_in_message", "oracle_resume+feedback", "rewritten_instructions")
LATER: Final = ("plain", "resume", "feedback_in_task", "resume_oracle")
CODE_FIRST: Final = ("plain", "feedback_in_task", "feedback_in_message", "resume", "resume_oracle")
PHASES: Final = {
    WORD_SUMS: (
        Phase(0, FIRST),
        Phase(0.5, LATER, rounds=3, late=5.2),
        Phase(0.6, SECOND, late=6),
        Phase(5, ("plain",), rounds=3),
    ),
    CODE: (
        Phase(2, CODE_FIRST),
        Phase(5.1, ("plain", "feedback_in_task"), rounds=3),
        Phase(6.1, ("rewritten_instructions",)),
    ),
}
"""What is run first; below 1 comes before the first attempts at word sums, below 3 before those at code: the engine
still holds what it has read of a failure's prompts, so that trials are cheapest right after the failure."""


ATTEMPTS: Final = {WORD_SUMS: 1, CODE: 3}
"""First attempts at each task, at most."""
URGENCY: Final = {WORD_SUMS: 1.0, CODE: 3.0}
URGENCY_OF_SEARCH: Final = 4.5


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
    wanted = {WORD_SUMS: asked.word_sums, CODE: asked.code}
    for suite, count in wanted.items():
        if not count:
            continue
        experiment = experiment_on(suite, asked)
        schedule.add(experiment, URGENCY[suite], count, ATTEMPTS[suite], PHASES[suite])
        for arm in SEARCHES if suite in asked.search else ():
            queue.put(URGENCY_OF_SEARCH, partial(search, journal, schedule, experiment, arm, queue))
    work_off(queue, asked.workers, 60 * asked.minutes, lambda: _progress(journal))
    journal.close()
    return 0


def experiment_on(suite: str, asked: argparse.Namespace) -> Experiment:
    """The team and the tasks of a suite, on the endpoint that was named."""
    place = Endpoint(
        base_url=asked.base_url, model=asked.model, temperature=asked.temperature, max_tokens=_MAX_TOKENS[suite]
    )
    tasks = word_sums(_MOST_TASKS, _SEED) if suite == WORD_SUMS else code_tasks()
    return Experiment(suite, plan_for(suite, place), tasks, asker(place))


def search(journal: Journal, schedule: Schedule, experiment: Experiment, arm: str, queue: Queue) -> None:
    """Let the library's search choose the retries of all failures, until the queue is stopped."""
    failures = journal.failures(experiment.suite)
    run_trial = partial(schedule.once, experiment)
    for failure, trials in searched(failures, run_trial, SEARCHES[arm]):
        actions = [action for action, _ in trials]
        journal.add({"kind": "searched", "arm": arm, "failure": failure["id"], "actions": actions})
        if queue.is_stopped:
            return


def _progress(journal: Journal) -> str:
    parts = []
    for suite in (WORD_SUMS, CODE):
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
    parser.add_argument("--word-sums", type=int, default=300, metavar="N", help="failures of word sums; 0 for none")
    parser.add_argument("--code", type=int, default=110, metavar="N", help="failures of code; 0 for none")
    suites = (WORD_SUMS, CODE)
    parser.add_argument("--search", nargs="*", choices=suites, default=suites, help="where the library's search runs")
    parser.add_argument("--report", action="store_true", help="only read the journal")
    parser.add_argument(
        "--save-outcomes", type=Path, metavar="FILE", help="write the journal without its texts, as .xz"
    )
    parser.add_argument("--json", type=Path, default=RESULTS / "self_correction.json")
    return parser.parse_args(given)


if __name__ == "__main__":
    sys.exit(main())

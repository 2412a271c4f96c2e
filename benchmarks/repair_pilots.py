"""Pilots: is the search worth something on two other kinds of team, a document pipeline on code and a team with tools?

    python benchmarks/local_engine.py MODEL --port 8123 --slots 64 --dtype bfloat16 --name qwen
    python benchmarks/repair_pilots.py --base-url http://127.0.0.1:8123/v1 --model qwen --minutes 30
    python benchmarks/repair_pilots.py --report

The teams are the suites' own architectures in plain Python: ``sop_pipeline`` (analyst, designer, engineer, reviewer) on
the suite ``code``, and ``supervisor`` with its tools on ``orders``. Each task is tried once; what fails by itself is
tried again by every arm, up to three times: ``plain`` from scratch, ``feedback_in_task`` with the check's reason behind
the task, and ``search``, which learns from failure to failure. All arms share the first attempt. A pilot is small: it
shows whether anything is badly wrong, not whether something helps a little. The journal is resumable.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tracer_hooks._api.rerunning import SuiteTeam
from tracer_hooks.attribution import get_attributor
from tracer_hooks.errors import TracerHooksError
from tracer_hooks.feedback import EffectCounts, FeedbackInTask, RepairSearch, strategies_of
from tracer_hooks.repairs import Failure, PastTrial, Repair, feedback_of
from tracer_hooks.replay import TeamRunner, ToolRules, Trial, resume_tape
from tracer_hooks.schema import RunOutcome
from tracer_hooks.suites import Endpoint, SuiteTask, get_suite

PILOTS: Final = {"sop_pipeline": "code", "supervisor": "orders"}
"""Architecture and suite."""
ARMS: Final = ("plain", "feedback_in_task", "search")
ROUNDS: Final = 3
RESULTS: Final = Path(__file__).parent / "results" / "repair_pilots.jsonl"
_PLAIN: Final = Repair(strategy="from_scratch")
_TOOLS: Final = ToolRules.of("rebuilt")
_DRAWS: Final = 2_000


@dataclass
class Shared:
    """What all threads write to."""

    journal: Path
    counts: dict[str, EffectCounts]
    lock: threading.Lock
    ends: float

    def write(self, record: dict[str, Any]) -> None:
        with self.lock, self.journal.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")


def main() -> int:
    """Run what is left, and report."""
    asked = arguments()
    if not asked.report:
        asked.journal.parent.mkdir(parents=True, exist_ok=True)
        run(asked)
    report(asked.journal)
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--base-url", default="http://127.0.0.1:8123/v1")
    parser.add_argument("--model", default="qwen")
    parser.add_argument("--pilots", default=",".join(PILOTS))
    parser.add_argument("--failures", type=int, default=40, help="of each pilot")
    parser.add_argument("--tasks", type=int, default=120, help="of each pilot, at most")
    parser.add_argument("--workers", type=int, default=24)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--temperature", type=float, default=0.7)
    parser.add_argument("--max-tokens", type=int, default=320)
    parser.add_argument("--journal", type=Path, default=RESULTS)
    parser.add_argument("--report", action="store_true", help="only read the journal")
    return parser.parse_args()


def run(asked: argparse.Namespace) -> None:
    """First attempts until enough of them failed, each failure with all its arms."""
    place = Endpoint(
        base_url=asked.base_url,
        model=asked.model,
        api_key="none",
        temperature=asked.temperature,
        max_tokens=asked.max_tokens,
    )
    known = list(records(asked.journal))
    done = {(record["pilot"], record["task"]) for record in known}
    counts = {pilot: counts_of(known, pilot) for pilot in PILOTS}
    shared = Shared(asked.journal, counts, threading.Lock(), time.monotonic() + 60 * asked.minutes)
    for pilot in asked.pilots.split(","):
        failed = sum(1 for record in known if record["pilot"] == pilot and not record["passed"])
        team = SuiteTeam(framework="python", architecture=pilot, endpoint=place)
        tasks = [task for task in tasks_of(PILOTS[pilot], asked.tasks) if (pilot, task.id) not in done]
        with ThreadPoolExecutor(asked.workers) as pool:
            waiting = {pool.submit(work, shared, team, pilot, task) for task in tasks}
            for future in as_completed(waiting):
                failed += future.result() is False
                if failed >= asked.failures:
                    for other in waiting:
                        other.cancel()
                    break
        print(f"{pilot}: {failed} failures", file=sys.stderr)


def tasks_of(suite: str, most: int) -> list[SuiteTask]:
    """Tasks of all difficulties, shuffled."""
    found = [
        task
        for difficulty in ("easy", "medium", "hard")
        for task in get_suite(suite).tasks(most // 3, seed=5, difficulty=difficulty)
    ]
    random.Random(5).shuffle(found)
    return found[:most]


def work(shared: Shared, team: SuiteTeam, pilot: str, task: SuiteTask) -> bool | None:
    """One task with all arms; whether the first attempt passed, None where there was no time or no verdict."""
    if time.monotonic() > shared.ends:
        return None
    runner = team.runner(task)
    try:
        first = runner.run()
        if isinstance(first.error, OSError):
            raise first.error
        if not first.passed and not first.failed:
            return None
        record = {"pilot": pilot, "task": task.id, "passed": first.passed, "tokens": first.trajectory.usage.total}
        if first.failed:
            failure = failure_of(first)
            record["arms"] = {
                "plain": repeated(runner, first, lambda: _PLAIN),
                "feedback_in_task": repeated(runner, first, lambda: FeedbackInTask().propose(failure, None) or _PLAIN),
                "search": searched(shared, pilot, runner, first, failure),
            }
    except (TracerHooksError, OSError) as error:
        print(f"{pilot} {task.id}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
        return None
    shared.write(record)
    return first.passed


def failure_of(first: Trial) -> Failure:
    run = first.trajectory
    reason = (run.outcome_reason or "").removeprefix("check: ")
    told = feedback_of("masked", None, reason, run.reference, answer=run.final_output or "")
    return Failure.of(
        run,
        get_attributor("structural").attribute(run),
        feedback=told.text if told.is_specific else None,
        steps={call.step for call in first.tape.model_calls},
    )


def repeated(runner: TeamRunner, first: Trial, repair: Any) -> list[dict[str, Any]]:
    """The same repair until it helps."""
    made: list[dict[str, Any]] = []
    while len(made) < ROUNDS and not any(one["passed"] for one in made):
        made.append(tried(runner, first, repair()))
    return made


def searched(shared: Shared, pilot: str, runner: TeamRunner, first: Trial, failure: Failure) -> list[dict[str, Any]]:
    """What the search chooses, with what it has learned of the team so far."""
    with shared.lock:
        counts = shared.counts[pilot]
    search = RepairSearch(failure, strategies_of("search").all, counts, seed=random.Random(runner.task).getrandbits(32))
    made: list[dict[str, Any]] = []
    while len(made) < ROUNDS and not any(one["passed"] for one in made):
        repair = search.choose(trials_left=ROUNDS - len(made), by_cost=False)
        made.append(tried(runner, first, repair))
        outcome = RunOutcome.SUCCEEDED if made[-1]["passed"] else RunOutcome.FAILED
        search.learn(PastTrial(repair=repair, outcome=outcome))
    with shared.lock:
        shared.counts[pilot] = shared.counts[pilot].plus(search.gained)
    made[-1]["gained"] = [list(row) for row in search.gained.rows]
    return made


def tried(runner: TeamRunner, first: Trial, repair: Repair) -> dict[str, Any]:
    """One trial."""
    resumed = resume_tape(runner, first.tape, repair, tools=_TOOLS)
    if isinstance(resumed.trial.error, OSError):
        raise resumed.trial.error  # the engine is gone, which says nothing of a team
    usage = resumed.trial.trajectory.usage.total - resumed.kept_usage.total
    return {
        "strategy": repair.strategy,
        "resume_from": repair.resume_from,
        "passed": resumed.trial.passed,
        "tokens": usage,
        "note": resumed.note[:120],
    }


# --- reading the journal ---------------------------------------------------------------------------------------------
def records(journal: Path) -> Iterator[dict[str, Any]]:
    """Every record; a last line that was broken off is left out."""
    if not journal.exists():
        return
    for line in journal.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def counts_of(known: Sequence[dict[str, Any]], pilot: str) -> EffectCounts:
    """What the search had learned when the journal ended."""
    counts = EffectCounts()
    for record in known:
        if record["pilot"] == pilot and not record["passed"]:
            rows = record["arms"]["search"][-1].get("gained", [])
            counts = counts.plus(EffectCounts([tuple(row) for row in rows]))
    return counts


def report(journal: Path) -> None:
    """Print what came of the arms, with bootstrap intervals over the failures."""
    by_pilot: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in records(journal):
        by_pilot[record["pilot"]].append(record)
    draw = random.Random(0)
    for pilot, found in by_pilot.items():
        failed = [record for record in found if not record["passed"]]
        print(f"\n{pilot} on {PILOTS[pilot]}: {len(failed)} of {len(found)} first attempts failed\n")
        print("| arm | solved in 1 | in 3 | minus plain in 1 | in 3 | tokens for 3, of plain's | by |")
        print("|---|---|---|---|---|---|---|")
        for arm in ARMS:
            print(_row(arm, failed, draw))


def _row(arm: str, failed: Sequence[dict[str, Any]], draw: random.Random) -> str:
    by: dict[str, int] = defaultdict(int)
    for record in failed:
        for trial in record["arms"][arm]:
            place = "" if trial["resume_from"] is None else " resumed"
            by[f"{trial['strategy']}{place}"] += 1
    shares, gaps = [], []
    for rounds in (1, ROUNDS):
        own = [_solved(record, arm, rounds) for record in failed]
        other = [_solved(record, "plain", rounds) for record in failed]
        shares.append(f"{100 * sum(own) / max(1, len(own)):.0f} %")
        gaps.append(_interval([a - b for a, b in zip(own, other, strict=True)], draw))
    spent = sum(trial["tokens"] for record in failed for trial in record["arms"][arm])
    plain = sum(trial["tokens"] for record in failed for trial in record["arms"]["plain"])
    told = ", ".join(f"{name} {count}" for name, count in sorted(by.items(), key=lambda each: -each[1]))
    return (
        f"| {arm} | {shares[0]} | {shares[1]} | {gaps[0]} | {gaps[1]} | {100 * spent / max(1, plain):.0f} % | {told} |"
    )


def _solved(record: dict[str, Any], arm: str, rounds: int) -> int:
    return int(any(trial["passed"] for trial in record["arms"][arm][:rounds]))


def _interval(gaps: Sequence[int], draw: random.Random) -> str:
    if not gaps:
        return "-"
    means = sorted(sum(draw.choices(gaps, k=len(gaps))) / len(gaps) for _ in range(_DRAWS))
    low, high = means[int(0.025 * _DRAWS)], means[int(0.975 * _DRAWS)]
    return f"{100 * sum(gaps) / len(gaps):+.0f} [{100 * low:+.0f}, {100 * high:+.0f}]"


if __name__ == "__main__":
    sys.exit(main())

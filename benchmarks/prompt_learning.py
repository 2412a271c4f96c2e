"""Do prompts that are improved from several diagnosed failures make a team better on tasks that nobody has seen?

    python benchmarks/local_engine.py MODEL --port 8123 --slots 96 --max-context 2048 --dtype bfloat16 --name qwen
    python benchmarks/prompt_learning.py --base-url http://127.0.0.1:8123/v1 --model qwen --suite word_sums --minutes 60
    python benchmarks/prompt_learning.py --report

Arms at 200 runs of the team each: no change; ``gepa`` alone; ours (agents by blame, failures with diagnoses, our
rewriter, GEPA as engine); ours with diagnoses drawn at random. Then every arm's prompts go through the acceptance test
on other tasks, and are run on tasks that were never used. A second start goes on where the first one stopped.
"""

from __future__ import annotations

import argparse
import random
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from _prompt_learning_arms import AGAIN, ARMS, LARGE_MODEL, NO_CHANGE, Arm, edited_by_large_model, file_name, searched
from _prompt_learning_report import report, save_outcomes
from _self_correction_tasks import code_tasks, judge, word_sums
from _self_correction_teams import CODE, WORD_SUMS, asker, plan_for, recorded_team

from tracer_hooks import Verdict
from tracer_hooks._api.improving import JournaledChat, PromptedTeam, TeamTrials, TrialOptions
from tracer_hooks.attribution import get_attributor
from tracer_hooks.datasets import Journal
from tracer_hooks.frameworks import RunResult
from tracer_hooks.replay import Spending
from tracer_hooks.suites import Endpoint, SuiteTask

RESULTS: Final = Path(__file__).parent / "results"
_MAX_TOKENS: Final = {WORD_SUMS: 64, CODE: 400}
_WRITING_TOKENS: Final = 120


@dataclass(frozen=True)
class Sizes:
    """How many tasks each part has."""

    read: int
    compare: int
    accept: int
    unused: int

    @property
    def all(self) -> int:
        """Tasks in all."""
        return self.read + self.compare + self.accept + self.unused


SIZES: Final = {WORD_SUMS: Sizes(20, 20, 40, 100), CODE: Sizes(20, 20, 40, 100)}


@dataclass(frozen=True)
class Parts:
    """The tasks of one repetition."""

    read: Sequence[SuiteTask]
    compare: Sequence[SuiteTask]
    accept: Sequence[SuiteTask]
    unused: Sequence[SuiteTask]


def parts_of(suite: str, seed: int) -> Parts:
    """Other tasks for each seed: word sums are drawn anew, exercises are shuffled."""
    size = SIZES[suite]
    tasks = word_sums(size.all, 1_000 + seed) if suite == WORD_SUMS else code_tasks()
    random.Random(seed).shuffle(tasks)
    ends = [size.read, size.read + size.compare, size.read + size.compare + size.accept, size.all]
    first, second, third, fourth = (tasks[a:b] for a, b in zip([0, *ends], ends, strict=False))
    return Parts(first, second, third, fourth)


class Repetition:
    """All arms on one suite with one seed.

    Args:
        suite: The suite.
        seed: The seed.
        asked: The command line.
    """

    def __init__(self, suite: str, seed: int, asked: argparse.Namespace) -> None:
        place = Endpoint(
            base_url=asked.base_url, model=asked.model, temperature=asked.temperature, max_tokens=_MAX_TOKENS[suite]
        )
        self.suite, self.seed = suite, seed
        self.parts = parts_of(suite, seed)
        self.folder = asked.journal / f"{asked.model}-{suite}-{seed}"
        self.plan = plan_for(suite, place)
        self.own = dict(self.plan.instructions)
        self._by_text = {task.text: task for task in self._all}
        writer = replace(place, max_tokens=_WRITING_TOKENS)
        complete = asker(writer)
        self._chat = lambda messages: _told(complete([dict(one) for one in messages]))
        self._journals: dict[str, Journal] = {}
        self._lock = threading.Lock()
        self._workers = asked.workers

    @property
    def _all(self) -> list[SuiteTask]:
        parts = self.parts
        return [*parts.read, *parts.compare, *parts.accept, *parts.unused]

    def build(self, prompts: Mapping[str, str] | None = None) -> Callable[[str], str]:
        """The team."""
        return recorded_team(replace(self.plan, instructions={**self.own, **(prompts or {})}))

    def trials(self, name: str) -> TeamTrials:
        """Runs of the team, in a journal of their own."""
        team = PromptedTeam(self.build, check=self.check, own=self.own)
        options = TrialOptions(attributor=get_attributor("structural"), workers=self._workers)
        return TeamTrials(team, self.journal(name), Spending(), options)

    def chat(self, name: str) -> JournaledChat:
        """The model that writes, in the same journal."""
        return JournaledChat(self._chat, self.journal(name), Spending())

    def journal(self, name: str) -> Journal:
        """The journal of one part."""
        with self._lock:
            if name not in self._journals:
                self._journals[name] = Journal(self.folder / file_name(name))
            return self._journals[name]

    def check(self, result: RunResult, task: str) -> Verdict:
        """What the suite says of an answer; of what it says, the team is told what is no answer."""
        judged = judge(self.suite, self._by_text[task], result.text)
        return Verdict(passed=judged.passed, score=judged.score, reason=judged.reason, feedback=judged.feedback or None)

    def search(self, arm: Arm) -> dict[str, Any]:
        """What an arm finds; kept when it is done."""
        journal = self.journal(arm.name)
        if "result" not in journal:
            trials, chat = self.trials(arm.name), self.chat(arm.name)
            found = searched(arm, self.own, (self.parts.read, self.parts.compare), trials, chat, self.seed)
            best = found.best
            row = {
                "best": dict(best.texts),
                "score": best.score,
                "own_score": found.candidates[0].score,
                "candidates": len(found.candidates),
                "refused": [[one.agent, one.text, one.why] for one in found.refused],
                "writing": found.usage.model_dump(mode="json"),
                "stopped": found.stopped,
            }
            journal.add("result", row)
        print(f"{time.strftime('%H:%M:%S')} {self.suite} {self.seed} {arm.name}: {self._said(journal)}", flush=True)
        return dict(journal["result"])

    def _said(self, journal: Journal) -> str:
        row = journal["result"]
        changed = [name for name, text in row["best"].items() if text != self.own[name]]
        return f"{row['own_score']:.2f} -> {row['score']:.2f}, {row['candidates']} candidates, changed {changed}"

    def edited(self) -> dict[str, str] | None:
        """The prompts with the edits of a large model, from the reading tasks as our arm has run them."""
        known = self.trials("ours").run(self.parts.read, self.own)
        return edited_by_large_model(self.folder.name, self.own, known)

    def outcomes(self, name: str, prompts: Mapping[str, str], part: str) -> None:
        """One run a task of a part with these prompts."""
        tasks = getattr(self.parts, part)
        journal = self.journal(f"{part} {name}")
        if "outcomes" in journal:  # an earlier session's, of which the runs may not be kept
            return
        runs = self.trials(f"{part} {name}").run(tasks, prompts)
        done = {"tasks": [run.task for run in runs], "scores": [run.score for run in runs]}
        done |= {"passed": [run.passed for run in runs], "tokens": sum(run.usage.total for run in runs)}
        journal.add("outcomes", done)


def run(repetitions: Sequence[Repetition], pool: ThreadPoolExecutor, *, is_written: bool) -> list[Future[Any]]:
    """Everything at once; the engine is best used with many requests."""

    def course(one: Repetition, arm: Arm) -> None:
        best = one.search(arm)["best"]
        for part in ("accept", "unused"):
            one.outcomes(arm.name, best, part)

    def edited(one: Repetition) -> None:
        prompts = one.edited()
        for part in ("accept", "unused") if prompts is not None else ():
            one.outcomes(LARGE_MODEL, prompts or {}, part)

    if is_written:
        return [pool.submit(edited, one) for one in repetitions]
    jobs = [pool.submit(course, one, arm) for one in repetitions for arm in ARMS]
    for one in repetitions:
        for name in (NO_CHANGE, AGAIN):
            jobs += [pool.submit(one.outcomes, name, one.own, part) for part in ("accept", "unused")]
    return jobs


def _told(message: Mapping[str, Any]) -> dict[str, Any]:
    return {"content": message["content"], "usage": message.get("usage")}


def main() -> int:
    """Run, or report."""
    asked = arguments()
    if asked.save_outcomes:
        save_outcomes(asked.journal, asked.save_outcomes)
        return 0
    if asked.report:
        return report(asked.journal, asked.json)
    repetitions = [Repetition(asked.suite, seed, asked) for seed in asked.seeds]
    with ThreadPoolExecutor(64) as pool:
        jobs = run(repetitions, pool, is_written=asked.large_model)
        failed = [error for job in jobs if (error := job.exception()) is not None]
    for error in failed:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    return bool(failed)


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base-url", default="http://127.0.0.1:8123/v1")
    parser.add_argument("--model", default="qwen")
    parser.add_argument("--temperature", type=float, default=0.7)
    parser.add_argument("--suite", choices=(WORD_SUMS, CODE), default=WORD_SUMS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--journal", type=Path, default=RESULTS / "prompt_learning")
    parser.add_argument("--workers", type=int, default=24, help="runs at once, for each arm")
    parser.add_argument("--large-model", action="store_true", help="only run the edits of a large model, on file")
    parser.add_argument("--report", action="store_true", help="only read the journals")
    parser.add_argument("--save-outcomes", type=Path, metavar="FOLDER", help="write the journals without the runs")
    parser.add_argument("--json", type=Path, default=RESULTS / "prompt_learning.json")
    return parser.parse_args(given)


if __name__ == "__main__":
    sys.exit(main())

"""Are lessons that do nothing kept out, those that help kept, and those that stop helping retired in time?

    python benchmarks/lessons.py [--parts trial,drift,stream,kinds] [--runs 1000] [--streams 4] [--seed 1000]
        [--mix good|poor] [--json FILE]
    python benchmarks/lessons.py --base-url http://127.0.0.1:8123/v1 --model qwen --suite word_sums --seeds 1 2
    python benchmarks/lessons.py --report

Without an endpoint: simulated runs of which the true rates are known; no model is called. What is measured is the
library's own code.

*trial*: one row for each kind of lesson. Half of the runs, by a fair coin, have it; each run is fed to a
``LessonTrial``, which is looked at after every run. Printed: the share kept, retired early, and retired since the
400 runs were spent, with 95 % Wilson intervals, and the mean number of runs.

*drift*: a lesson that gains 20 points is kept, and after 200 more runs it stops helping: either runs with it fall to
the rate without, or runs without it rise to the rate with it. It is watched by a ``LessonWatch``, and tried anew by a
``LessonTrial`` where that doubts it. Printed: runs of its kind until it is retired, and the share retired of lessons
that go on helping.

*stream*: tasks of three kinds, by chance, of which half pass without any lesson. As soon as a kind has three failures
that nobody has learnt from and no living lesson, a lesson is learnt. With ``--mix good`` one half of them gain 20
points, four in ten do nothing, one in ten loses 20; with ``poor`` two, five and three in ten. After a third of the
tasks, and again after two thirds, one kind changes so that its lessons do nothing any more. Lessons live in a
``LessonStore``, and are found, counted, kept and retired by the code that a hooked team uses. Printed: the share of
tasks passed without lessons, with them, and where the same lessons are given to every run and none is retired; with
the lowest and the highest gain of a stream.

*kinds*: how near tasks of the library's own suites are to three others of their suite and to those of other ones.

With ``--base-url`` a real team works on a stream of tasks whose kinds drift, three times over: without lessons, with
lessons that are learnt from its failures, and with lessons for other kinds of task in their place
(``_lessons_stream.py``). ``--report`` prints first-try success, paired by task, with 95 % intervals. A second start
goes on where the first one stopped; ``--save-outcomes FOLDER`` writes what the report needs.

The number of runs of a trial and the rule of the watch were chosen on simulations with other seeds: those of a report
begin at ``--seed`` times 1,000.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tracer_hooks._api.conducting._team_lessons import TeamLessons
from tracer_hooks.improvement import NEAR, LessonDecision, LessonRule, LessonTrial, LessonWatch, kind_of, nearness
from tracer_hooks.replay import wilson
from tracer_hooks.store import LessonDraft, LessonOutcome, LessonStore, RunStore
from tracer_hooks.suites import get_suite

Row = dict[str, Any]
TRIALS = (
    ("nothing, 20 % pass", 0.2, 0.2),
    ("nothing, 50 % pass", 0.5, 0.5),
    ("nothing, 80 % pass", 0.8, 0.8),
    ("+10, 50 to 60 %", 0.5, 0.6),
    ("+20, 30 to 50 %", 0.3, 0.5),
    ("+20, 50 to 70 %", 0.5, 0.7),
    ("+20, 70 to 90 %", 0.7, 0.9),
    ("-10, 50 to 40 %", 0.5, 0.4),
    ("-20, 50 to 30 %", 0.5, 0.3),
)
"""Name, rate without the lesson, rate with it."""
DRIFTS = (
    ("with it falls to 50 %", 0.5, 0.5),
    ("without it rises to 70 %", 0.7, 0.7),
    ("with it falls to 30 %", 0.5, 0.3),
)
"""Name, rate without and with it afterwards; before, 50 % and 70 %."""
QUIET_RUNS = 200
GOOD_RUNS = 1000
MOST_RUNS = 4000
BASE, GAIN = 0.5, 0.2
KINDS = (
    "What is {} plus {}, and how much is left of {} after that?",
    "Translate the sentence about the {} birds over house {} into plain French, please. Page {}.",
    "Write a Python function that returns the {} largest items of a list of {} numbers in {} lines.",
)
QUALITIES = {
    "good": ((GAIN, 0.5), (0.0, 0.4), (-GAIN, 0.1)),
    "poor": ((GAIN, 0.2), (0.0, 0.5), (-GAIN, 0.3)),
}
"""What lessons gain, and how often, by how well the model writes."""
TASKS = 3000
TEAM = "simulated-1"


def trial_of(rng: random.Random, without: float, with_it: float, rule: LessonRule) -> LessonTrial:
    """A trial that came to its end."""
    trial = LessonTrial(rule)
    while trial.decision is LessonDecision.UNDECIDED:
        given = rng.random() < 0.5
        trial.add(given=given, passed=rng.random() < (with_it if given else without))
    return trial


def trial_rows(runs: int, seed: int) -> Iterator[Row]:
    """One row for each kind of lesson."""
    rule = LessonRule()
    for at, (name, without, with_it) in enumerate(TRIALS):
        trials = [trial_of(random.Random(f"trial {seed} {at} {one}"), without, with_it, rule) for one in range(runs)]
        kept = sum(one.decision is LessonDecision.KEEP for one in trials)
        spent = sum(one.decision is LessonDecision.RETIRE and one.runs >= rule.most_runs for one in trials)
        yield {
            "lesson": name,
            "kept": kept / runs,
            "interval": wilson(kept, runs),
            "retired_early": 1 - (kept + spent) / runs,
            "spent": spent / runs,
            "mean_runs": statistics.mean(one.runs for one in trials),
        }


class Life:
    """A lesson that was kept, run by run: watched, tried again, and at last retired."""

    def __init__(self, rng: random.Random, rule: LessonRule) -> None:
        self.rng, self.rule = rng, rule
        self.is_retired = False
        self._trial: LessonTrial | None = None
        self._watch = LessonWatch(rule, trial_runs=0, trial_passes=0)
        while True:  # as it came to be kept
            trial = trial_of(rng, BASE, BASE + GAIN, rule)
            if trial.decision is LessonDecision.KEEP:
                self._keep(trial)
                break

    def run(self, without: float, with_it: float) -> None:
        """One more run of its kind."""
        share = 1 - self.rule.control_share if self._trial is None else 0.5
        given = self.rng.random() < share
        passed = self.rng.random() < (with_it if given else without)
        if self._trial is None:
            self._watch.add(given=given, passed=passed)
            if self._watch.is_doubtful:
                self._trial = LessonTrial(self.rule)
            return
        self._trial.add(given=given, passed=passed)
        if self._trial.decision is LessonDecision.KEEP:
            self._keep(self._trial)
        elif self._trial.decision is LessonDecision.RETIRE:
            self.is_retired = True

    def _keep(self, trial: LessonTrial) -> None:
        facts: Any = trial.evidence
        self._trial = None
        self._watch = LessonWatch(self.rule, trial_runs=facts["with_runs"], trial_passes=facts["with_passes"])


def drift_rows(runs: int, seed: int) -> Iterator[Row]:
    """Runs until a lesson is retired that stopped helping, and how many are retired that did not."""
    rule = LessonRule()
    for at, (name, without, with_it) in enumerate(DRIFTS):
        waited, early = [], 0
        for one in range(runs):
            life = Life(random.Random(f"drift {seed} {at} {one}"), rule)
            for _ in range(QUIET_RUNS):
                life.run(BASE, BASE + GAIN)
                if life.is_retired:
                    break
            if life.is_retired:
                early += 1
                continue
            count = 0
            while not life.is_retired and count < MOST_RUNS:
                life.run(without, with_it)
                count += 1
            waited.append(count)
        parts = statistics.quantiles(waited, n=20)
        yield {"lesson": name, "median": statistics.median(waited), "p90": parts[17], "retired_before": early / runs}
    retired = 0
    for one in range(runs):
        life = Life(random.Random(f"good {seed} {one}"), rule)
        for _ in range(GOOD_RUNS):
            if not life.is_retired:
                life.run(BASE, BASE + GAIN)
        retired += life.is_retired
    yield {"lesson": f"goes on helping, {GOOD_RUNS} runs", "retired": retired / runs, "interval": wilson(retired, runs)}


@dataclass
class Stream:
    """One stream of tasks through a store of its own."""

    store: LessonStore
    rng: random.Random
    mix: str = "good"
    """How well the model writes; see :data:`QUALITIES`."""
    gains: dict[int, tuple[int, float]] = field(default_factory=dict)
    """Of each lesson by number: the kind, and what it gains there until the kind changes."""
    failures: dict[int, list[tuple[str, str]]] = field(default_factory=dict)
    dead: set[int] = field(default_factory=set)
    """Lessons that do nothing any more."""

    def run(self) -> tuple[float, float, float]:
        """The share of tasks that pass: without lessons, with them, and with all of them untested."""
        lessons = TeamLessons(self.store.path, TEAM)
        passed = [0, 0, 0]
        untested = [0.0] * len(KINDS)
        for turn in range(TASKS):
            if turn in (TASKS // 3, 2 * TASKS // 3):
                changed = self.rng.randrange(len(KINDS))
                self.dead |= {number for number, (kind, _) in self.gains.items() if kind == changed}
                untested[changed] = 0.0
            kind = self.rng.randrange(len(KINDS))
            task = KINDS[kind].format(*(self.rng.randrange(10, 999) for _ in range(3)))
            luck = self.rng.random()
            near = [(one, lessons.share(one)) for one in lessons.near(task, 2)]
            drawn = [(one, share, self.rng.random() < share) for one, share in near]
            gain = sum(self._gain(one.number) for one, _, given in drawn if given)
            is_passed = luck < BASE + gain
            passed[0] += luck < BASE
            passed[1] += is_passed
            passed[2] += luck < min(max(BASE + untested[kind], 0.05), 0.95)
            for one, share, given in drawn:
                outcome = LessonOutcome(
                    run_id=f"run {turn}",
                    period=one.period,
                    given=given,
                    passed=is_passed,
                    share=share,
                    counted_at=datetime.now(UTC),
                )
                self._count(lessons, one.number, outcome)
            if not is_passed:
                self.failures.setdefault(kind, []).append((f"run {turn}", task))
            new = self._learnt(kind, is_covered=bool(near))
            if new is not None:
                lessons._fresh_until = 0.0  # it is noticed within two seconds, which are many runs here
                untested[kind] += new
        return passed[0] / TASKS, passed[1] / TASKS, passed[2] / TASKS

    def _count(self, lessons: TeamLessons, number: int, outcome: LessonOutcome) -> None:
        part = lessons.counting(number, outcome)
        with RunStore(self.store.path).writing() as writing:
            is_new = part.write(writing)
        if is_new and part.then is not None:
            part.then()

    def _gain(self, number: int) -> float:
        return 0.0 if number in self.dead else self.gains[number][1]

    def _learnt(self, kind: int, *, is_covered: bool) -> float | None:
        """What a new lesson gains; None where none is learnt."""
        failed = self.failures.get(kind, [])
        if is_covered or len(failed) < 3:
            return None
        runs, tasks = zip(*failed[-3:], strict=True)
        draft = LessonDraft(agent="solver", text=f"Lesson from {runs[0]}.", kind=kind_of(tasks), runs=runs)
        lesson = self.store.propose(TEAM, draft)
        assert lesson is not None
        qualities = QUALITIES[self.mix]
        gain = self.rng.choices([one for one, _ in qualities], [weight for _, weight in qualities])[0]
        self.gains[lesson.number] = kind, gain
        self.failures[kind] = []
        return gain


def stream_rows(streams: int, seed: int, mix: str = "good") -> Iterator[Row]:
    """The success of whole streams."""
    shares, lessons = [], 0
    for one in range(streams):
        with tempfile.TemporaryDirectory() as folder, LessonStore(Path(folder) / "runs.sqlite") as store:
            shares.append(Stream(store, random.Random(f"stream {seed} {one}"), mix).run())
            lessons += len(store.lessons(TEAM))
        print(f"stream {one + 1} of {streams}: {shares[-1]}", file=sys.stderr, flush=True)
    yield {"tasks": TASKS, "streams": streams, "lessons_a_stream": lessons / streams}
    for at, name in enumerate(("without lessons", "with lessons", "every lesson given, none retired")):
        yield {"arm": name, "passed": statistics.mean(share[at] for share in shares)}
    for at, name in ((1, "with lessons"), (2, "every lesson given, none retired")):
        gains = [share[at] - share[0] for share in shares]
        yield {"gain_of": name, "mean": statistics.mean(gains), "range": (min(gains), max(gains))}


def kind_rows(seed: int) -> Iterator[Row]:
    """How near tasks are to others of their suite, and of other suites."""
    names = ("arithmetic", "word_sums", "orders", "code", "logic")
    tasks = {name: [task.text for task in get_suite(name).tasks(12, seed=seed)] for name in names}
    for name in names:
        kind = kind_of(tasks[name][:3])
        own = [nearness(kind, kind_of([task])) for task in tasks[name][3:]]
        others = {
            other: max(nearness(kind, kind_of([task])) for task in tasks[other]) for other in names if other != name
        }
        nearest = max(others, key=lambda other: others[other])
        near = sum(one >= NEAR for one in own) / len(own)
        yield {"suite": name, "own_near": near, "own_median": statistics.median(own), nearest: others[nearest]}


def shown(value: object) -> str:
    """A figure for the table."""
    if isinstance(value, tuple):
        return " to ".join(shown(one) for one in value)
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def main() -> int:
    """Simulate, run a real model, or report."""
    given = arguments()
    if given.base_url is None and not given.report and given.save_outcomes is None:
        simulate(given)
        return 0
    # Only here: the simulation needs none of what the real teams do.
    from _lessons_stream import Stream
    from _lessons_stream_report import report, save_outcomes

    if given.save_outcomes is not None:
        save_outcomes(given.journal, given.save_outcomes)
        return 0
    if not given.report:
        with ThreadPoolExecutor(given.workers) as pool:
            for seed in given.seeds:
                Stream(given.suite, seed, given).run(pool)
    return report(given.journal, given.json)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--parts", default="trial,drift,stream,kinds")
    parser.add_argument("--runs", type=int, default=1000, help="simulated lessons a row")
    parser.add_argument("--streams", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--mix", choices=sorted(QUALITIES), default="good", help="how well lessons are written")
    parser.add_argument("--json", type=Path)
    real = parser.add_argument_group("a real model")
    real.add_argument("--base-url", help="run a real team behind this OpenAI-compatible endpoint")
    real.add_argument("--model", default="qwen")
    real.add_argument("--temperature", type=float, default=0.7)
    real.add_argument("--suite", choices=("word_sums", "code"), default="word_sums")
    real.add_argument("--tasks", type=int, default=180, help="tasks of a stream; code has 191")
    real.add_argument("--batch", type=int, default=15, help="tasks between two looks at the failures")
    real.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    real.add_argument("--workers", type=int, default=24, help="runs at once")
    real.add_argument("--journal", type=Path, default=Path(__file__).parent / "results" / "lessons")
    real.add_argument("--report", action="store_true", help="only read the journals")
    real.add_argument("--save-outcomes", type=Path, metavar="FOLDER", help="write the journals without the runs")
    given = parser.parse_args()
    unknown = [one for one in given.parts.split(",") if one not in PARTS]
    if unknown:
        parser.error(f"unknown part {unknown[0]!r}, expected some of: {', '.join(PARTS)}")
    return given


PARTS = ("trial", "drift", "stream", "kinds")


def simulate(given: argparse.Namespace) -> None:
    """Measure, print and write."""
    parts = {
        "trial": lambda: trial_rows(given.runs, given.seed),
        "drift": lambda: drift_rows(max(given.runs // 5, 2), given.seed),
        "stream": lambda: stream_rows(given.streams, given.seed, given.mix),
        "kinds": lambda: kind_rows(given.seed),
    }
    found: dict[str, list[Row]] = {}
    for part in given.parts.split(","):
        print(f"\n{part}")
        found[part] = []
        for row in parts[part]():
            found[part].append(row)
            print("  " + "  ".join(f"{name}: {shown(value)}" for name, value in row.items()), flush=True)
    if given.json is not None:
        given.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main())

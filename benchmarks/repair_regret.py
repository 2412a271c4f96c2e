"""Does the search for repairs lose against always trying again, and does it find what works?

    python benchmarks/repair_regret.py [--worlds plain,resume] [--seeds 100] [--failures 50] [--json FILE]

Simulated teams of which the success rate of every repair is known; no model is called. Each team fails ``--failures``
times, one failure after another, and what is learned of one is kept for the next. A trial succeeds with the rate of its
world: that of a plain retry, times the odds of the text that is said, times what is gained where the kept steps are
free of the error, or lost where they are not. The decisive step of each failure is drawn, and the diagnosis names it as
often as it says, which is in 40 to 96 % of the failures, 68 % in the mean; else it names another step. A failure that
is not solved is tried again, up to the trials allowed.

Printed for each world: solved by plain retries alone, solved by the search, and the difference in points with a 95 %
interval over the seeds; after how many failures, in the median over seeds, half of ten first trials in a row were good
ones (they had half of what can be gained or, where nothing can, lost nothing); and how many of the last ten were.

How much trying other repairs may cost (``_allowance.py`` of the search) was chosen on these simulations, and on nothing
else; the means of the priors are measured ones, and their widths were not tuned. The worlds are caricatures: what they
show is what exploring costs where there is nothing to find, and how fast it ends where there is.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tracer_hooks.feedback import EffectCounts, RepairSearch
from tracer_hooks.repairs import Failure, PastTrial, Repair, RepairTarget
from tracer_hooks.schema import Attribution, Candidate, RunOutcome, Step, Trajectory, Usage

STEPS = 6
LEAST_SURE, MOST_SURE = 0.4, 0.96
TEXTS = ("feedback_in_task", "feedback_in_message", "guidance", "instructions")
MEASURED_HARM = {"feedback_in_task": 0.0, "feedback_in_message": 0.0, "guidance": -0.6, "instructions": -0.6}
NEVER = -20.0


@dataclass(frozen=True)
class World:
    """A team, by how often each repair works, in log-odds against a plain retry."""

    plain: float
    texts: Mapping[str, float] = field(default_factory=lambda: MEASURED_HARM)
    gain: float = 0.0
    harm: float = 1.6
    best: float | None = None
    """The rate of the best repair at the right step; None where it is that of a plain retry."""

    def rate(self, repair: Repair, decisive: int) -> float:
        """How often a trial succeeds."""
        if self.plain == 0.0:
            return 0.0
        odds = math.log(self.plain / (1 - self.plain)) + self.texts.get(repair.strategy, 0.0)
        if repair.resume_from is not None:
            odds += self.gain if repair.resume_from <= decisive else -self.harm
        return 1 / (1 + math.exp(-odds))

    def is_good(self, rate: float) -> bool:
        """Whether a trial has half of what can be gained; where nothing can, whether it loses nothing."""
        return rate >= (self.plain - 1e-6 if self.best is None else (self.plain + self.best) / 2)


def _only(name: str, gain: float) -> dict[str, float]:
    return {**MEASURED_HARM, name: gain}


LOST = dict.fromkeys(TEXTS, NEVER)
WORLDS = {
    "plain .06": World(0.06),
    "plain .30": World(0.30),
    "plain .62": World(0.62),
    "plain .06, all else never": World(0.06, LOST, NEVER, -NEVER),
    "plain .30, all else never": World(0.30, LOST, NEVER, -NEVER),
    "plain .62, all else never": World(0.62, LOST, NEVER, -NEVER),
    "resume where blame is right": World(0.62, gain=0.84, best=0.79),
    "feedback .06 -> .20": World(0.06, _only("feedback_in_task", 1.37), best=0.2),
    "message .30 -> .47": World(0.30, _only("feedback_in_message", 0.73), best=0.47),
    "instructions .30 -> .80": World(0.30, _only("instructions", 2.23), best=0.8),
    "nothing": World(0.0),
}


class Telling:
    """A strategy whose text is a number, new every time."""

    def __init__(self, name: str) -> None:
        self.name = name

    def propose(self, failure: Failure, step: int | None) -> Repair:
        text = f"{self.name} {len(failure.tried)}"
        return Repair(strategy=self.name, target=RepairTarget.TASK, text=text, resume_from=step)


class Untold:
    """A strategy without a text."""

    def __init__(self, name: str) -> None:
        self.name = name

    def propose(self, failure: Failure, step: int | None) -> Repair:
        return Repair(strategy=self.name, resume_from=step)


STRATEGIES = (Untold("from_scratch"), Untold("resample"), *map(Telling, TEXTS))
RUN = Trajectory(
    run_id="simulated",
    steps=tuple(
        Step(index=i, agent="abc"[i % 3], usage=Usage(input_tokens=90, output_tokens=10)) for i in range(STEPS)
    ),
    outcome=RunOutcome.FAILED,
)


def failures(count: int, chance: random.Random) -> Iterator[tuple[Failure, int]]:
    """Failed runs with their decisive steps."""
    for _ in range(count):
        decisive = chance.randrange(STEPS)
        others = [step for step in range(STEPS) if step != decisive]
        first, second, *_ = chance.sample(others, 3)
        sure = chance.uniform(LEAST_SURE, MOST_SURE)
        named = (decisive, first) if chance.random() < sure else (first, second)
        candidates = tuple(
            Candidate(agent="abc"[step % 3], step=step, score=score)
            for step, score in zip(named, (sure, (1 - sure) / 2), strict=True)
        )
        blame = Attribution(
            run_id=RUN.run_id, agent="abc"[named[0] % 3], step=named[0], confidence=sure, candidates=candidates
        )
        yield Failure.of(RUN, blame, steps=range(STEPS)), decisive


@dataclass
class Team:
    """What came of one team's failures."""

    solved: float = 0.0
    """Expected: the sum of the rates of the trials that were made. Its mean is that of the passes, with less noise."""
    good: list[bool] = field(default_factory=list)
    """Whether the first trial of each failure was a good one."""


def work(world: World, count: int, trials: int, seed: int) -> Team:
    """Recover the failures of one team with the search."""
    chance = random.Random(seed)
    counts, team = EffectCounts(), Team()
    for number, (failure, decisive) in enumerate(failures(count, chance)):
        search = RepairSearch(failure, STRATEGIES, counts, seed=1000 * seed + number)
        for left in range(trials, 0, -1):
            repair = search.choose(trials_left=left, by_cost=False)
            rate = world.rate(repair, decisive)
            team.solved += rate
            if left == trials:
                team.good.append(world.is_good(rate))
            passed = chance.random() < rate
            search.learn(PastTrial(repair=repair, outcome=RunOutcome.SUCCEEDED if passed else RunOutcome.FAILED))
            if passed:
                break
        counts = counts.plus(search.gained)
    return team


def found_after(good: list[bool]) -> float:
    """After how many failures at least half of ten first trials were good; infinite if never."""
    return next((float(start) for start in range(len(good) - 9) if sum(good[start : start + 10]) >= 5), math.inf)


def measure(world: World, count: int, trials: int, seeds: int) -> dict[str, float | None]:
    """The mean over the seeds, in points of the failures."""
    plain = 100 * (1 - (1 - world.plain) ** trials)
    teams = [work(world, count, trials, seed) for seed in range(seeds)]
    # Plain retries are independent with a known rate: their mean is exact, and needs no simulation of its own.
    differences = [100 * team.solved / count - plain for team in teams]
    spread = 1.96 * statistics.stdev(differences) / math.sqrt(seeds) if seeds > 1 else math.nan
    mean = statistics.fmean(differences)
    found = statistics.median(found_after(team.good) for team in teams)
    return {
        "plain": plain,
        "search": plain + mean,
        "difference": mean,
        "low": mean - spread,
        "high": mean + spread,
        "found_after": found if math.isfinite(found) else None,
        "late_good": statistics.fmean(good for team in teams for good in team.good[-10:]),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--worlds", default="", help="only those whose names begin with one of these, by commas")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--failures", type=int, default=50)
    parser.add_argument("--trials", default="1,3", help="trials per failure, by commas")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    wanted = tuple(args.worlds.split(","))
    rows = []
    print(f"{'world':30} trials  plain  search  difference [95 %]        good after  in last ten")
    for name, world in WORLDS.items():
        for trials in map(int, args.trials.split(",") if name.startswith(wanted) else []):
            row = measure(world, args.failures, trials, args.seeds)
            after = "never" if row["found_after"] is None else f"{row['found_after']:.0f}"
            print(
                f"{name:30} {trials:6}  {row['plain']:5.1f}  {row['search']:6.1f}  {row['difference']:+6.1f} "
                f"[{row['low']:+.1f}, {row['high']:+.1f}]  {after:>10}  {100 * (row['late_good'] or 0):8.0f} %",
                flush=True,
            )
            rows.append({"world": name, "trials": trials, **row})
    if args.json:
        args.json.write_text(json.dumps({"seeds": args.seeds, "failures": args.failures, "rows": rows}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())

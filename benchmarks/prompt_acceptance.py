"""Are prompts that gain nothing kept out, those that gain let in, and those that turn bad sent away in time?

    python benchmarks/prompt_acceptance.py [--parts acceptance,watch,drift] [--runs 2000] [--seed 1000] [--json FILE]

Simulated runs of which the true rates are known; no model is called. What is measured is the library's own code: each
pair goes to an ``AcceptanceTest``, which is looked at after every pair, and each run to a ``PromptWatch``.

*acceptance*: one row for each kind of rewrite. A pair of a group differs in favour of the new prompts with probability
(discordance + gain) / 2, in favour of the old ones with (discordance - gain) / 2, and else not at all. Every third pair
is a formerly passed task. Scored pairs are counts of passed tests out of five. Printed: accepted and rejected, with
95 % Wilson intervals, and the mean number of pairs.

*watch*: a trial of 100 runs with each prompt, then live runs at the same rate, then runs at the lower rate. Printed:
the share rolled back within 30 and 60 runs after the fall, of those that were not rolled back before it; and rolled
back within 300 runs without any fall, also where the trial was short, or lucky: only trials that show a gain are kept.

*frontier*: the same for the two usual rules, when they are told the true rates, which the watch has to learn: a sum of
log likelihood ratios that starts again at 0 (CUSUM), and such a sum over the last 30 runs.

*drift*: a fifth of the runs are controls with the old prompts. Either the new prompts fall alone, or the tasks become
harder and both fall, by the same in log-odds.

The thresholds of the watch and the bets of the acceptance test were chosen on simulations with other seeds: those of a
report begin at ``--seed`` times 1,000.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracer_hooks.improvement import AcceptanceTest, Decision, PromptWatch
from tracer_hooks.replay import wilson

Row = dict[str, Any]
PASSED_EVERY = 3
TRIAL_PAIRS = 100
GOOD_RUNS = (0, 20, 100, 300)
QUIET_RUNS = 300
FALLS = ((0.7, 0.3), (0.8, 0.4), (0.9, 0.6), (0.6, 0.2), (0.8, 0.3), (0.9, 0.4), (0.7, 0.2), (0.6, 0.1))
GAIN = 0.2
"""What the accepted prompts of the watch gain over the old ones."""
LUCKY = 0.27
"""What a lucky trial shows of that gain at least."""


TRIALS = (
    ("100 pairs", GAIN, -1.0, TRIAL_PAIRS),
    ("20 pairs", GAIN, -1.0, 20),
    ("lucky", GAIN, LUCKY, TRIAL_PAIRS),
    ("lucky, no gain", 0.0, 0.14, TRIAL_PAIRS),
)
"""Name, true gain, gain that the trial shows at least, and pairs."""


@dataclass(frozen=True)
class Group:
    """Pairs of one kind of task."""

    gain: float
    discordance: float

    def draw(self, chance: random.Random) -> tuple[float, float]:
        """Scores with the new prompts and with the old ones."""
        drawn = chance.random()
        if drawn < (self.discordance + self.gain) / 2:
            return 1.0, 0.0
        if drawn < self.discordance:
            return 0.0, 1.0
        same = float(chance.random() < 0.5)
        return same, same


@dataclass(frozen=True)
class Independent:
    """Pairs whose two runs have nothing to do with each other."""

    new: float
    old: float

    def draw(self, chance: random.Random) -> tuple[float, float]:
        return float(chance.random() < self.new), float(chance.random() < self.old)


@dataclass(frozen=True)
class Scored:
    """Pairs of scores: how many of five tests pass, on tasks of different difficulty."""

    new: float
    old: float

    def draw(self, chance: random.Random) -> tuple[float, float]:
        harder = chance.uniform(-0.25, 0.25)
        return _five(self.new + harder, chance), _five(self.old + harder, chance)


def _five(rate: float, chance: random.Random) -> float:
    return sum(chance.random() < rate for _ in range(5)) / 5


Kind = Group | Independent | Scored
REWRITES: dict[str, tuple[Kind, Kind]] = {
    "null, pass rate .1": (Independent(0.1, 0.1), Independent(0.3, 0.3)),
    "null, pass rate .5": (Independent(0.5, 0.5), Independent(0.7, 0.7)),
    "null, pass rate .9": (Independent(0.9, 0.9), Independent(0.95, 0.95)),
    "null, discordance .05": (Group(0, 0.05), Group(0, 0.05)),
    "null, discordance .15": (Group(0, 0.15), Group(0, 0.1)),
    "null, discordance .3": (Group(0, 0.3), Group(0, 0.2)),
    "null, discordance .6": (Group(0, 0.6), Group(0, 0.6)),
    "null, scores": (Scored(0.5, 0.5), Scored(0.7, 0.7)),
    "-5": (Group(-0.05, 0.3), Group(-0.05, 0.2)),
    "-5, discordance .1": (Group(-0.05, 0.1), Group(-0.05, 0.1)),
    "-10": (Group(-0.1, 0.3), Group(-0.1, 0.2)),
    "-20": (Group(-0.2, 0.3), Group(-0.2, 0.3)),
    "-5, scores": (Scored(0.45, 0.5), Scored(0.65, 0.7)),
    "+5": (Group(0.05, 0.3), Group(0.05, 0.2)),
    "+10, discordance .14": (Group(0.1, 0.14), Group(0.1, 0.14)),
    "+10": (Group(0.1, 0.3), Group(0.1, 0.2)),
    "+10, discordance .5": (Group(0.1, 0.5), Group(0.1, 0.5)),
    "+20": (Group(0.2, 0.3), Group(0.2, 0.3)),
    "+20, discordance .5": (Group(0.2, 0.5), Group(0.2, 0.5)),
    "+30": (Group(0.3, 0.4), Group(0.3, 0.4)),
    "+20 new, +-0 passed": (Group(0.2, 0.3), Group(0, 0.2)),
    "+30 new, +-0 passed": (Group(0.3, 0.4), Group(0, 0.2)),
    "+10, scores": (Scored(0.6, 0.5), Scored(0.8, 0.7)),
    "+20 new, -10 passed": (Group(0.2, 0.3), Group(-0.1, 0.2)),
    "+20 new, -20 passed": (Group(0.2, 0.3), Group(-0.2, 0.3)),
    "+30 new, -15 passed": (Group(0.3, 0.4), Group(-0.15, 0.25)),
    "+30 new, -30 passed": (Group(0.3, 0.4), Group(-0.3, 0.4)),
}


def trial(new: Kind, passed: Kind, chance: random.Random) -> AcceptanceTest:
    """One trial, looked at after every pair."""
    test = AcceptanceTest()
    for number in range(test.rule.most_pairs):
        is_passed = number % PASSED_EVERY == PASSED_EVERY - 1
        test.add(*(passed if is_passed else new).draw(chance), formerly_passed=is_passed)
        if test.decision is not Decision.UNDECIDED:
            break
    return test


def acceptance(runs: int, seed: int) -> Iterator[Row]:
    """A row for each kind of rewrite."""
    print(f"{'rewrite':24} accepted % [95 %]     rejected %  undecided %   mean pairs")
    for name, (new, passed) in REWRITES.items():
        tests = [trial(new, passed, random.Random(seed * 1000 + number)) for number in range(runs)]
        accepted = sum(test.decision is Decision.ACCEPT for test in tests)
        rejected = sum(test.decision is Decision.REJECT for test in tests)
        pairs = statistics.fmean(test.pairs for test in tests)
        share = _share({"found": accepted, "of": runs})
        others = (100 * count / runs for count in (rejected, runs - accepted - rejected))
        print(f"{name:24} {share}  {next(others):10.1f}  {next(others):11.1f}  {pairs:11.0f}", flush=True)
        yield {"rewrite": name, "accepted": accepted, "rejected": rejected, "runs": runs, "pairs": pairs}


@dataclass(frozen=True)
class Life:
    """The runs of one accepted version."""

    before: float
    old: float
    after: float
    old_after: float
    good: int
    last: int
    control: float = 0.0
    least_gain: float = -1.0
    trial_pairs: int = TRIAL_PAIRS

    def rolled_back_after(self, chance: random.Random, alarm: float | None) -> int | None:
        """After how many runs with the new prompts it was rolled back; None if it never was."""
        watch, number = self._watch(chance, alarm), 0
        while number < self.good + self.last:
            is_new = chance.random() >= self.control
            fell = number >= self.good
            rate = (self.after if fell else self.before) if is_new else (self.old_after if fell else self.old)
            watch.add(chance.random() < rate, is_new=is_new)
            number += is_new
            if watch.is_worse:
                return number
        return None

    def _watch(self, chance: random.Random, alarm: float | None) -> PromptWatch:
        while True:
            new, old = (
                sum(chance.random() < rate for _ in range(self.trial_pairs)) for rate in (self.before, self.old)
            )
            if new - old >= self.least_gain * self.trial_pairs:
                break
        size = self.trial_pairs
        more = {} if alarm is None else {"alarm": alarm}
        return PromptWatch(new_runs=size, new_passes=new, old_runs=size, old_passes=old, **more)


def within(life: Life, bounds: tuple[int, ...], runs: int, seed: int, alarm: float | None = None) -> list[Row]:
    """How many were rolled back within so many runs after the good ones, of those not rolled back before."""
    ends = [life.rolled_back_after(random.Random(seed * 1000 + number), alarm) for number in range(runs)]
    late = [end for end in ends if end is None or end > life.good]
    rows = []
    for bound in bounds:
        found = sum(end is not None and end <= life.good + bound for end in late)
        rows.append({"within": bound, "found": found, "of": len(late)})
    return rows


def _share(row: Row) -> str:
    low, high = wilson(row["found"], row["of"])
    return f"{100 * row['found'] / max(1, row['of']):5.1f} [{100 * low:4.1f}, {100 * high:5.1f}]"


def watch(runs: int, seed: int, alarm: float | None = None) -> Iterator[Row]:
    """Rows of falls, then of prompts that stay as they are."""
    print(f"{'fall':12} good runs  rolled back within 30 %   within 60 %")
    for before, after in FALLS:
        for good in GOOD_RUNS:
            life = Life(before, before - GAIN, after, before - GAIN, good, 60)
            first, second = within(life, (30, 60), runs, seed, alarm)
            print(f"{before:.1f} -> {after:.1f}   {good:9}  {_share(first):22}   {_share(second)}", flush=True)
            yield {"fall": [before, after], "good": good, "counts": [first, second]}
    print(f"\n{'unchanged':24} trial     rolled back within {QUIET_RUNS} %")
    for before in (0.6, 0.7, 0.8, 0.9):
        for name, gain, least, pairs in TRIALS:
            life = Life(before, before - gain, before, before - gain, 0, QUIET_RUNS, 0.0, least, pairs)
            (row,) = within(life, (QUIET_RUNS,), runs, seed, alarm)
            print(f"{before:<10.1f} {name:22}  {_share(row)}", flush=True)
            yield {"unchanged": before, "trial": name, "counts": [row]}


def frontier(runs: int, seed: int) -> Iterator[Row]:
    """What rules that know both rates can reach."""
    print(f"{'fall':12} rule          rolled back of unchanged %   of fallen within 30 %")
    rules: dict[str, Callable[[list[float]], Iterator[float]]] = {"CUSUM": _cusum, "last 30": _last_thirty}
    for before, after in FALLS:
        win, lose = math.log(after / before), math.log((1 - after) / (1 - before))
        for name, rule in rules.items():
            quiet, fallen = [], []
            for number in range(runs):
                chance = random.Random(seed * 1000 + number)
                steps = [win if chance.random() < before else lose for _ in range(QUIET_RUNS)]
                steps += [win if chance.random() < after else lose for _ in range(30)]
                values = list(rule(steps))
                quiet.append(max(values[:QUIET_RUNS]))
                fallen.append(max(values[QUIET_RUNS:]))
            for false in (0.02, 0.05, 0.1):
                # The lowest threshold that keeps to the share of false alarms.
                threshold = sorted(quiet)[-max(1, int(false * runs))] + 1e-9
                alarms, found = sum(v > threshold for v in quiet), sum(v > threshold for v in fallen)
                print(
                    f"{before:.1f} -> {after:.1f}   {name:8} {100 * alarms / runs:20.1f} {100 * found / runs:26.1f}",
                    flush=True,
                )
                yield {"fall": [before, after], "rule": name, "false": alarms, "found": found, "runs": runs}


def _cusum(steps: list[float]) -> Iterator[float]:
    value = 0.0
    for step in steps:
        value = max(value, 0.0) + step
        yield value


def _last_thirty(steps: list[float]) -> Iterator[float]:
    for end in range(1, len(steps) + 1):
        yield math.fsum(steps[max(0, end - 30) : end]) if end >= 30 else -math.inf


def drift(runs: int, seed: int) -> Iterator[Row]:
    """Falls of the new prompts alone and of both, with control runs."""
    print("fall          what fell     rolled back within 30 %   within 60 %           within 150 %")
    for before, after in ((0.7, 0.3), (0.8, 0.3), (0.7, 0.2)):
        old = before - GAIN
        shift = math.log(after / (1 - after)) - math.log(before / (1 - before))
        harder = 1 / (1 + math.exp(-math.log(old / (1 - old)) - shift))
        for name, control, old_after in (
            ("new", 0.2, old),
            ("both", 0.2, harder),
            ("both, no controls", 0.0, harder),
        ):
            life = Life(before, old, after, old_after, 50, 150, control)
            rows = within(life, (30, 60, 150), runs, seed)
            print(f"{before:.1f} -> {after:.1f}   {name:18} {'   '.join(map(_share, rows))}", flush=True)
            yield {"fall": [before, after], "what": name, "counts": rows}


PARTS: dict[str, Callable[[int, int], Iterator[Row]]] = {
    "acceptance": acceptance,
    "frontier": frontier,
    "watch": watch,
    "drift": drift,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--parts", default=",".join(PARTS), help="which parts, by commas")
    parser.add_argument("--runs", type=int, default=2000, help="simulated trials or versions of each row")
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--alarm", type=float, help="another threshold for the watch")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    found: dict[str, list[Row]] = {}
    for name in args.parts.split(","):
        if name not in PARTS:
            parser.error(f"There is no part {name!r}; expected some of {', '.join(PARTS)}")
        rows = watch(args.runs, args.seed, args.alarm) if name == "watch" else PARTS[name](args.runs, args.seed)
        found[name] = list(rows)
        print()
    if args.json:
        args.json.write_text(json.dumps({"runs": args.runs, "seed": args.seed, **found}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Does the search by replays find the step that a fault was planted at, and nothing where nothing can be found?

    python benchmarks/decisive_step.py [--cases 200] [--unfixable 100] [--noisy 30] [--seed 0] [--json FILE]

Teams in plain Python of eight shapes run on a model that computes with what it is shown (``_decisive_teams.py``). In
the recorded run one reply at a known step is replaced by a wrong one, which spreads; replays know nothing of it, so the
decisive step is that one by construction: with it corrected the run succeeds, and with every step up to it as recorded
it fails. Runs that fail for an unfixable reason: the check wants what no step can give, a tool is wrong whenever it is
called, an agent's model is wrong whenever it is asked. The noisy variants let every live reply be wrong with some
probability. Intervals are 95 % Wilson intervals.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from _decisive_teams import MODULUS, SHAPES, Office, Team, World, number

import tracer_hooks
from tracer_hooks.diagnosis import Attributor, get_attributor
from tracer_hooks.frameworks import Intervention, ModelRequest
from tracer_hooks.replay import DecisiveSearch, ReplayOptions, StepReplay, ToolRules, Trial, find_decisive_step, wilson
from tracer_hooks.schema import Attribution, Candidate, Trajectory
from tracer_hooks.telemetry import ChatReply

Ranking = Callable[[Trajectory, random.Random], Attribution | None]


class Plant(Intervention):
    """Replaces the reply of the model call with one number, in the order of a run, by a wrong one."""

    def __init__(self, position: int, chance: random.Random) -> None:
        self.agent, self.reply = "", ""
        self._position, self._chance = position, chance
        self._count = -1

    def after_model(self, request: ModelRequest, reply: ChatReply) -> ChatReply | None:
        self._count += 1
        if self._count != self._position:
            return None
        wrong = (int(number(reply.content)) + self._chance.randrange(1, MODULUS)) % MODULUS
        self.agent, self.reply = request.agent, f"My result is {wrong}."
        return ChatReply(content=self.reply, usage=reply.usage)


@dataclass
class Case:
    """A failed run."""

    shape: str
    size: int
    world: World
    run: tracer_hooks.TeamRun
    planted: int | None
    """The decisive step; None where there is none."""
    kind: str = "planted"

    @property
    def steps(self) -> int:
        return len(self.run.trajectory.steps)

    @property
    def place(self) -> str:
        if self.planted is None:
            return "-"
        return "first" if self.planted == 0 else "last" if self.planted == self.steps - 1 else "middle"


@dataclass(frozen=True)
class Row:
    """How one variant did."""

    variant: str
    cases: int
    right: int
    low: float
    high: float
    wrong_step: int
    """Answers that name another step."""
    missed: int
    """Answers "none" where there is a decisive step."""
    runs: float
    """Runs of the team a case, on average."""
    steps: float
    """Steps of the recorded run, on average."""
    seconds: float
    """CPU seconds a case."""


def _recorded(shape: str, size: int, world: World, task: str, fault: Plant | None, offset: int) -> tracer_hooks.TeamRun:
    """One run of a team that should give what it gives in a world without faults, plus ``offset``."""
    make, _ = SHAPES[shape]

    def build_team(prompts: Any = None) -> Team:
        return make(Office(world), size)

    expected = (int(number(make(Office(World()), size)(task))) + offset) % MODULUS
    return tracer_hooks.run(
        build_team,
        task,
        check=lambda result: number(result.text) == str(expected),
        intervention=fault,
        diagnose="off",
        store="off",
    )


def _drawn(chance: random.Random) -> tuple[str, int, str]:
    shape = chance.choice(sorted(SHAPES))
    task = "The numbers are " + " ".join(str(chance.randrange(2, 99)) for _ in range(chance.randrange(2, 5)))
    return shape, chance.choice(SHAPES[shape][1]), task


def planted_case(chance: random.Random) -> Case:
    """A run that failed because of one wrong reply."""
    while True:
        shape, size, task = _drawn(chance)
        world = World()
        calls = len(_recorded(shape, size, world, task, None, 0).tape.model_calls)
        position = chance.choice([0, calls - 1, chance.randrange(calls)])
        fault = Plant(position, chance)
        run = _recorded(shape, size, world, task, fault, 0)
        if run.outcome is not tracer_hooks.RunOutcome.FAILED:
            continue  # the wrong number went unused, or the sums agree by chance
        where = [s.index for s in run.trajectory.steps if (s.agent, s.content) == (fault.agent, fault.reply)]
        return Case(shape, size, world, run, where[0])


def unfixable_case(chance: random.Random) -> Case:
    """A run that failed, and would have failed whatever one step had been."""
    while True:
        shape, size, task = _drawn(chance)
        kind = chance.choice(["impossible check", "wrong tool", "wrong agent", "planted and impossible"])
        world, fault, offset = World(), None, 0
        if kind == "wrong tool":
            shape, size = "shop", chance.choice(SHAPES["shop"][1])
            world.is_tool_wrong = True
        elif kind == "wrong agent":
            agents = _recorded(shape, size, World(), task, None, 0).trajectory.agents
            world.wrong_agent = chance.choice([spec.name for spec in agents])
        else:
            offset = 1
            if kind == "planted and impossible":
                fault = Plant(chance.randrange(3), chance)
        run = _recorded(shape, size, world, task, fault, offset)
        if run.outcome is tracer_hooks.RunOutcome.FAILED:
            return Case(shape, size, world, run, None, kind)


def search(case: Case, ranking: Ranking, chance: random.Random, *, trials: int) -> DecisiveSearch:
    """Find the decisive step of a case."""
    trial = Trial(trajectory=case.run.trajectory, tape=case.run.tape)
    assert case.run.again is not None
    options = ReplayOptions(tools=ToolRules.of("live"), trials=trials, placebo=False)
    return find_decisive_step(
        StepReplay(case.run.again(), trial, options), attribution=ranking(case.run.trajectory, chance)
    )


def no_ranking(trajectory: Trajectory, chance: random.Random) -> None:
    """Every step is suspected alike."""


def random_ranking(trajectory: Trajectory, chance: random.Random) -> Attribution:
    """An attributor that knows nothing, and is sure of it."""
    order = chance.sample(trajectory.steps, len(trajectory.steps))
    candidates = [Candidate(agent=s.agent, step=s.index, score=0.5 ** (i + 1)) for i, s in enumerate(order)]
    first = candidates[0]
    return Attribution(
        run_id=trajectory.run_id, agent=first.agent, step=first.step, confidence=0.5, candidates=tuple(candidates)
    )


def perfect_ranking(case: Case) -> Ranking:
    """An attributor that knows: what a search costs at least."""
    step = case.run.trajectory.steps[case.planted or 0]
    answer = Attribution(run_id=case.run.trajectory.run_id, agent=step.agent, step=step.index, confidence=1.0)
    return lambda trajectory, chance: answer


def ranking_of(attributor: Attributor) -> Ranking:
    """The ranking of a real attributor."""
    return lambda trajectory, _: attributor.attribute(trajectory)


def measure(
    variant: str, cases: list[Case], ranking: Ranking | None, *, seed: int, trials: int = 6, noise: float = 0.0
) -> tuple[Row, list[dict[str, Any]]]:
    """Search all cases; gives the row of the table, and what was found in each. No ranking is the perfect one."""
    chance = random.Random(f"{seed}:{variant}")
    found: list[dict[str, Any]] = []
    begun = time.process_time()
    for case in cases:
        case.world.noise, case.world.chance = noise, chance
        result = search(case, ranking or perfect_ranking(case), chance, trials=trials)
        case.world.noise = 0.0
        step = result.decisive.step if result.decisive is not None else None
        about = {"shape": case.shape, "size": case.size, "kind": case.kind, "place": case.place, "steps": case.steps}
        found.append({**about, "planted": case.planted, "found": step, "runs": result.runs, "reason": result.reason})
    right = sum(one["found"] == one["planted"] for one in found)
    missed = sum(one["found"] is None and one["planted"] is not None for one in found)
    low, high = wilson(right, len(found))
    return (
        Row(
            variant,
            len(found),
            right,
            low,
            high,
            wrong_step=len(found) - right - missed,
            missed=missed,
            runs=sum(one["runs"] for one in found) / len(found),
            steps=sum(case.steps for case in cases) / len(cases),
            seconds=(time.process_time() - begun) / len(found),
        ),
        found,
    )


def measured(options: argparse.Namespace) -> Iterator[tuple[Row, list[dict[str, Any]]]]:
    """All variants, one after the other."""
    chance, seed = random.Random(options.seed), options.seed
    planted = [planted_case(chance) for _ in range(options.cases)]
    unfixable = [unfixable_case(chance) for _ in range(options.unfixable)]
    structural = ranking_of(get_attributor("structural"))
    yield measure("planted, attributor 'structural'", planted, structural, seed=seed)
    yield measure("planted, no ranking", planted, no_ranking, seed=seed)
    yield measure("planted, random ranking", planted, random_ranking, seed=seed)
    yield measure("planted, perfect ranking", planted, None, seed=seed)
    yield measure("unfixable, attributor 'structural'", unfixable, structural, seed=seed)
    some, none = planted[: options.noisy], unfixable[: options.noisy]
    for noise in (0.05, 0.1):
        for trials in (6, 12, 24):
            name = f"{noise:.0%} noise, {trials} trials"
            yield measure(f"planted, {name}", some, structural, seed=seed, trials=trials, noise=noise)
    yield measure("unfixable, 10% noise, 12 trials", none, structural, seed=seed, trials=12, noise=0.1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--unfixable", type=int, default=100)
    parser.add_argument("--noisy", type=int, default=30, help="cases of each kind with noise")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, default=Path(__file__).parent / "results" / "decisive_step.json")
    options = parser.parse_args()
    rows, details = [], {}
    head = f"{'variant':<38}{'cases':>6}{'right':>7}  {'95 % interval':<16}"
    print(head + "".join(f"{title:>7}" for title in ("wrong", "missed", "runs", "steps")))
    for row, found in measured(options):
        rows.append(asdict(row))
        details[row.variant] = found
        share = f"{row.right / row.cases:.1%}"
        interval = f"[{row.low:.3f}, {row.high:.3f}]"
        print(
            f"{row.variant:<38}{row.cases:>6}{share:>7}  {interval:<16}{row.wrong_step:>7}{row.missed:>7}"
            f"{row.runs:>7.1f}{row.steps:>7.1f}",
            flush=True,
        )
    places = Counter((one["shape"], one["size"], one["place"]) for one in details["planted, no ranking"])
    cpu = time.process_time()
    print(f"{len(places)} combinations of shape, size and place among the planted faults; {cpu:.0f} s of CPU")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps({"seed": options.seed, "cpu_s": cpu, "rows": rows, "cases": details}, indent=1))
    print(f"JSON: {options.json}", file=sys.stderr)


if __name__ == "__main__":
    main()

"""How many natural failures do replays label, the more often an agent errs?

    python benchmarks/replay_labels.py [--failures 200]

A scripted team of four, of which one agent errs at random in a share of its calls. Each of its failures is searched
for the decisive step by asking agents again: with a few runs a step, and with more runs for the likeliest ones. What
comes out undecided may still point at a step.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

import tracer_hooks
from tracer_hooks.replay import ReplayOptions, StepReplay, Trial, find_decisive_step
from tracer_hooks.replay._statistics import wilson
from tracer_hooks.schema import RunOutcome, Usage
from tracer_hooks.telemetry import ChatReply

AGENTS: Final = ("adder", "doubler", "taker", "writer")
RATES: Final = (0.2, 0.4, 0.5, 0.7, 0.9)
TRIALS: Final = 5
MORE: Final = (0, 12, 20, 40)
WEAK_FROM: Final = 0.5
SLIP: Final = "I get 77"


def right(agent: str, shown: str) -> str:
    """What an agent should say."""
    numbers = [int(word) for word in shown.split() if word.lstrip("-").isdigit()]
    values = {"adder": sum(numbers), "doubler": numbers[-1] * 2, "taker": numbers[-1] - 1, "writer": numbers[-1]}
    return f"The answer is {values[agent]} ." if agent == "writer" else f"I get {values[agent]}"


def builder(culprit: str, rate: float, chance: random.Random) -> Callable[..., Callable[[str], str]]:
    """A factory of the team: the culprit slips in a share of its calls."""

    def build_team(prompts: Mapping[str, str] | None = None) -> Callable[[str], str]:
        @tracer_hooks.model(name="scripted")
        def ask(messages: list[dict[str, str]]) -> ChatReply:
            agent = messages[0]["content"]
            slips = agent == culprit and chance.random() < rate
            text = SLIP if slips else right(agent, messages[1]["content"])
            return ChatReply(content=text, usage=Usage(input_tokens=10, output_tokens=2))

        def turn(agent: str, shown: str) -> str:
            def speak(shown: str) -> str:
                return ask([{"role": "system", "content": agent}, {"role": "user", "content": shown}]).content

            return tracer_hooks.agent(name=agent, instructions=agent)(speak)(shown)

        def team(task: str) -> str:
            for agent in AGENTS:
                task = turn(agent, task)
            return task

        return team

    return build_team


def searched(rate: float, more: int, seed: int) -> Counter[str]:
    """What the search for one failure came to."""
    chance = random.Random(f"{rate}/{more}/{seed}")
    culprit = AGENTS[seed % len(AGENTS)]
    step = AGENTS.index(culprit)
    build = builder(culprit, rate, chance)
    while True:
        run = tracer_hooks.run(build, "2 3", check=lambda result: " 9 " in result.text, diagnose="off", store="off")
        if run.outcome is RunOutcome.FAILED:
            break
    assert run.again is not None
    options = ReplayOptions(trials=TRIALS, suspect_trials=more, placebo=False, seed=seed)
    found = find_decisive_step(StepReplay(run.again(), Trial(trajectory=run.trajectory, tape=run.tape), options))
    said: Counter[str] = Counter(runs=found.runs)
    if found.decisive is not None:
        said["found" if found.decisive.step == step else "found wrong"] += 1
    elif found.suspects[0].score >= WEAK_FROM:
        said["weak" if found.suspects[0].step == step else "weak wrong"] += 1
    return said


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--failures", type=int, default=200, help="for each row")
    count = parser.parse_args().failures
    print("| errs in | runs a step, and for suspects | labelled | wrong labels | weak labels | right of them | runs |")
    print("|--:|--:|--:|--:|--:|--:|--:|")
    for rate in RATES:
        for more in MORE:
            said = sum((searched(rate, more, seed) for seed in range(count)), Counter[str]())
            low, high = wilson(said["found"], count)
            weak = said["weak"] + said["weak wrong"]
            share = f"{100 * said['weak'] / weak:.0f} %" if weak else "-"
            print(
                f"| {100 * rate:.0f} % | {TRIALS}, {more or '-'} | {100 * said['found'] / count:.0f} % "
                f"[{100 * low:.0f}, {100 * high:.0f}] | {said['found wrong']} | {weak} | {share} "
                f"| {said['runs'] / count:.1f} |",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

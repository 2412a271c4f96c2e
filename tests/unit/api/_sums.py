"""A team whose solver forgets to carry unless it is told about it, and models that write prompts for it."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tracer_hooks
from tracer_hooks.budget import CostCap
from tracer_hooks.improvement import AcceptanceRule, Improvement, ImproveOptions, Improver, Split
from tracer_hooks.tasks import SuiteTask

OWN = {
    "planner": "You are the planner. Say what to add. Write nothing else.",
    "solver": "You are the solver. Add the numbers. Write only the number.",
}
Passes = Callable[[str, int, int], bool]
"""Whether a solver that was told a text adds two numbers rightly."""


def tasks(count: int = 40, seed: int = 3) -> list[SuiteTask]:
    chance = random.Random(seed)
    return [
        SuiteTask(id=f"t{i}", text=f"What is {chance.randint(11, 99)} plus {chance.randint(11, 99)}?")
        for i in range(count)
    ]


def numbers(text: str) -> tuple[int, int]:
    first, second = map(int, re.findall(r"\d+", text)[:2])
    return first, second


def heeds_carry(told: str, a: int, b: int) -> bool:
    return "carry" in told or a % 10 + b % 10 < 10


def team_builder(passes: Passes = heeds_carry, own: Mapping[str, str] = OWN, seen: list[str] | None = None) -> Any:
    """A factory with a parameter ``prompts``; the text of each task that is run goes into ``seen``."""

    def build_team(prompts: Mapping[str, str] | None = None) -> Any:
        told = {**own, **(prompts or {})}

        @tracer_hooks.agent(name="planner", instructions=told["planner"])
        def planner(task: str) -> str:
            return "Add {} and {}".format(*numbers(task))

        @tracer_hooks.agent(name="solver", instructions=told["solver"])
        def solver(plan: str) -> str:
            a, b = numbers(plan)
            return f"{a} + {b} = {a + b - (0 if passes(told['solver'], a, b) else 10)}"

        def sums(task: str) -> str:
            if seen is not None:
                seen.append(task)
            return solver(planner(task))

        return sums

    return build_team


def is_right(result: tracer_hooks.RunResult, task: str) -> tracer_hooks.Verdict:
    a, b = numbers(task)
    got = result.text.rpartition("= ")[2]
    return tracer_hooks.Verdict(passed=got == str(a + b), reason=f"got {got}")


class Writes:
    """A model that writes the same thing each time, and counts."""

    def __init__(self, *answers: str) -> None:
        self.answers, self.asked = answers, 0

    def __call__(self, messages: Sequence[dict[str, str]]) -> str:
        self.asked += 1
        return self.answers[(self.asked - 1) % len(self.answers)]


def carry() -> Writes:
    return Writes("MISTAKE: the carry is lost\nADD: Do not forget the carry.")


def options(**more: Any) -> ImproveOptions:
    """Small ones: the search may take 50 runs, the trial 60 pairs."""
    cap = more.pop("cap", CostCap())
    pairs = more.pop("pairs", 60)
    return ImproveOptions(
        **{
            "metric_calls": 50,
            "minibatch": 3,
            "workers": 1,
            "cap": cap,
            "rule": AcceptanceRule(most_pairs=pairs),
            **more,
        }
    )


def improver(folder: Path, chat: Any = None, *, team: Any = None, **more: Any) -> Improver:
    """A job on the team of sums; its store is beside the folder."""
    given: dict[str, Any] = {
        "check": is_right,
        "store": folder.with_suffix(".sqlite"),
        "options": options(),
        "chat": chat or carry(),
        **more,
    }
    return Improver(team or team_builder(), given.pop("tasks", tasks()), folder=folder, **given)


def improved(folder: Path, chat: Any = None, **more: Any) -> Improvement:
    return improver(folder, chat, **more).run()


def proposing(seed: int = 0) -> set[tuple[int, int]]:
    """The numbers of the tasks that propose prompts."""
    return {numbers(task.text) for task in Split.of(tasks(), seed=seed).propose}


def harms_later() -> Passes:
    """Instructions with "harm" help on the tasks that propose them, and nowhere else."""
    known = proposing()

    def harms(told: str, a: int, b: int) -> bool:
        return (a, b) in known if "harm" in told else (a + b) % 2 == 0

    return harms

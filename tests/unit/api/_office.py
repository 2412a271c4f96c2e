"""Three agents in a row whose replies a test decides, and what a test asks of a recovered call."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import tracer_hooks
from tracer_hooks.repair import Failure, Repair, RepairLog, RepairTarget
from tracer_hooks.schema import Usage
from tracer_hooks.store import fingerprint
from tracer_hooks.telemetry import ChatReply

from ._framework import Blame, run_of

USAGE = Usage(input_tokens=10, output_tokens=5)


@dataclass
class At:
    """Proposes the same repair each time."""

    step: int | None = None
    target: RepairTarget = RepairTarget.NOTHING
    agent: str | None = None
    text: str = ""
    usage: Usage = field(default_factory=Usage)
    seen: list[Failure] = field(default_factory=list)
    name: str = "at"

    def propose(self, failure: Failure, step: int | None) -> Repair | None:
        self.seen.append(failure)
        return Repair(
            strategy=self.name,
            target=self.target,
            agent=self.agent,
            text=self.text,
            resume_from=self.step,
            usage=self.usage,
        )


class Office:
    """Three agents in a row, each with one model call; ``say`` gives their replies."""

    def __init__(self, say: Callable[[str, str, int], str]) -> None:
        self.say = say
        self.calls: list[tuple[str, str]] = []
        self.lock = threading.Lock()

    def ask(self, agent: str, messages: list[dict[str, str]]) -> ChatReply:
        shown = "\n".join(message["content"] for message in messages)
        with self.lock:
            self.calls.append((agent, shown))
            number = sum(1 for name, _ in self.calls if name == agent)
        return ChatReply(content=self.say(agent, shown, number), usage=USAGE)

    def __call__(self, task: str) -> str:
        text = task
        for agent in ("planner", "solver", "writer"):
            text = self.turn(agent, task, text)
        return text

    def turn(self, agent: str, task: str, text: str) -> str:
        @tracer_hooks.model
        def model(messages: list[dict[str, str]]) -> ChatReply:
            return self.ask(agent, messages)

        @tracer_hooks.agent(name=agent, instructions=f"You are the {agent}.")
        def act(task: str, text: str) -> str:
            shown = [{"role": "system", "content": f"You are the {agent}."}]
            shown += [{"role": "user", "content": f"Task: {task}"}, {"role": "user", "content": text}]
            return model(shown).content

        return act(task, text)

    @property
    def asked(self) -> list[str]:
        return [agent for agent, _ in self.calls]


def second_time(agent: str, shown: str, number: int) -> str:
    """The solver is wrong the first time."""
    return {"planner": "6 * 7", "solver": "41" if number == 1 else "42", "writer": f"It is {shown[-2:]}."}[agent]


def always_wrong(agent: str, shown: str, number: int) -> str:
    return {"planner": "6 * 7", "solver": "41", "writer": f"It is {shown[-2:]}."}[agent]


def told_so(agent: str, shown: str, number: int) -> str:
    """The solver is right once it was told."""
    return {
        "planner": "6 * 7",
        "solver": "42" if "wrong" in shown else "41",
        "writer": "It is 42." if shown.endswith("42") else "It is 41.",
    }[agent]


def hooked(office: Callable[[str], Any], **options: Any) -> Any:
    given = {"expected": "42", "retries": 1, "attributor": Blame(("solver",)), "repair": "resample", **options}

    @tracer_hooks.hook(**given)
    def solve(task: str) -> Any:
        return office(task)

    return solve


def ended_run(target: Any) -> tracer_hooks.TeamRun:
    """The same with its diagnosis done."""
    return run_of(target).wait(timeout=10)


def log_of(target: Any) -> RepairLog:
    log = ended_run(target).repair
    assert log is not None
    return log


def team_key() -> str:
    """What the counts of the team of :func:`hooked` are kept under."""
    return fingerprint("python", "solve")

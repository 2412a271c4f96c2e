"""A team whose every reply follows from what it is shown, so that a wrong one spreads as in real life."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tracer_hooks
from tracer_hooks.frameworks import Intervention, ReplaceModelReply
from tracer_hooks.frameworks import Interventions as Several
from tracer_hooks.replay import ReplayOptions, StepReplay, Trial
from tracer_hooks.schema import Usage
from tracer_hooks.telemetry import ChatReply

from .._known import known

TASK = "2 3"
"""Two numbers: the team adds them, doubles the sum, and takes one away. The answer is 9."""

Reply = Callable[[str, str], str]


def right(agent: str, shown: str) -> str:
    """What ``agent`` should say to what it is shown."""
    numbers = [int(word) for word in shown.split() if word.lstrip("-").isdigit()]
    values = {"adder": sum(numbers), "doubler": numbers[-1] * 2, "taker": numbers[-1] - 1, "writer": numbers[-1]}
    return f"The answer is {values[agent]} ." if agent == "writer" else f"I get {values[agent]}"


def passes(result: tracer_hooks.RunResult) -> bool:
    return " 9 " in result.text


class Sums:
    """Builds the team, and counts what it does.

    Args:
        reply: What each agent says; may differ from call to call.
        noted: Whether the taker writes its number down with a tool.
    """

    def __init__(self, reply: Reply = right, *, noted: bool = False) -> None:
        self.reply = reply
        self.asked: list[tuple[str, list[Mapping[str, Any]]]] = []
        self.notes: list[int] = []
        self.noted = noted

    def build_team(self, prompts: Mapping[str, str] | None = None) -> Callable[[str], str]:
        told = {name: f"You are the {name}." for name in ("adder", "doubler", "taker", "writer")} | dict(prompts or {})

        @tracer_hooks.model(name="rules")
        def ask(messages: list[dict[str, str]]) -> ChatReply:
            name = messages[0]["content"].split()[3].rstrip(".")
            self.asked.append((name, [*messages]))
            text = self.reply(name, messages[1]["content"])
            return ChatReply(content=text, usage=Usage(input_tokens=10, output_tokens=2))

        @tracer_hooks.tool
        def note(number: int) -> str:
            self.notes.append(number)
            return "noted"

        def turn(name: str, shown: str) -> str:
            def speak(shown: str) -> str:
                reply = ask([{"role": "system", "content": told[name]}, {"role": "user", "content": shown}])
                if name == "taker" and self.noted:
                    note(int(reply.content.split()[-1]))
                return reply.content

            return tracer_hooks.agent(name=name, instructions=told[name])(speak)(shown)

        def team(task: str) -> str:
            shown = task
            for name in ("adder", "doubler", "taker", "writer"):
                shown = turn(name, shown)
            return shown

        return team

    def record(self, faults: Mapping[int, str] | None = None, **options: Any) -> tracer_hooks.TeamRun:
        """One run in which the steps in ``faults`` say something else; replays know nothing of that."""
        planted: list[Intervention] = [ReplaceModelReply.at_step(step, text) for step, text in (faults or {}).items()]
        defaults: dict[str, Any] = {
            "check": passes,
            "diagnose": "off",
            "store": "off",
            "intervention": Several(planted),
        }
        run = tracer_hooks.run(self.build_team, TASK, **{**defaults, **options})
        self.asked.clear()
        self.notes.clear()
        return run

    def replay(
        self,
        faults: Mapping[int, str] | None = None,
        *,
        check: Any = passes,
        reference: str | None = None,
        on_trial: Callable[[Trial], None] | None = None,
        **options: Any,
    ) -> StepReplay:
        """What makes a recorded run with these faults again; ``options`` are those of the replay."""
        run = self.record(faults, check=check)
        recorded = Trial(trajectory=run.trajectory.model_copy(update={"reference": reference}), tape=run.tape)
        return StepReplay(known(run.again)(), recorded, ReplayOptions(**options), on_trial=on_trial)

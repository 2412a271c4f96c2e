"""Runs of any length with something of everything in them."""

from __future__ import annotations

import random

from pydantic import JsonValue

from tracer_hooks.schema import RunOutcome, Step, StepInput, StepKind, ToolCall, Trajectory

_AGENTS = ("planner", "writer", "reader", "Verification_Expert", "Computer_terminal", "user")
_PHRASES = (
    "The total of the harbour fees is {0}.",
    "I have verified the list and it says {0}, not {1}.",
    "It should be {0}, not {1}.",
    "Please look for the ticket price of part {0} again.",
    "Let me assume that there are {0} boxes.",
    "That is incorrect: the price is {1}.",
    "```python\nprint({0} + {1})\n```",
    "exitcode: 1 (execution failed)\nNameError: name 'x' is not defined",
    "I cannot help with refunds.",
    "writer",
    "",
    "The answer is {0}. TERMINATE",
)


def made_up_run(steps: int, *, seed: int) -> Trajectory:
    """A run of so many steps: talk, tools, transfers, code, reports, repetition and errors, at random."""
    rng = random.Random(f"{seed}-{steps}")
    return Trajectory(
        run_id=f"run-{seed}",
        task="How many boxes are there in the harbour when there are 12 of them on each of the 7 ships?",
        outcome=rng.choice(list(RunOutcome)),
        outcome_reason="expected 84, got 41",
        final_output=rng.choice([None, "41"]),
        steps=tuple(_step(index, rng) for index in range(steps)),
    )


def _step(index: int, rng: random.Random) -> Step:
    text = " ".join(rng.choice(_PHRASES).format(rng.randrange(60), rng.randrange(60)) for _ in range(rng.randrange(4)))
    kind, recipient = StepKind.MESSAGE, None
    calls: tuple[ToolCall, ...] = ()
    if rng.random() < 0.2:
        kind, recipient = StepKind.HANDOFF, rng.choice([*_AGENTS, "nobody"])
    elif rng.random() < 0.3:
        kind = StepKind.TOOL_CALL
        failed = rng.random() < 0.4
        result = None if failed else f'{{"price": {rng.randrange(60)}}}'
        arguments: dict[str, JsonValue] = {"page": rng.randrange(60)}
        error = "ValueError: no such page" if failed else None
        name = rng.choice(["search", "read"])
        calls = (ToolCall(name=name, arguments=arguments, result=result, error=error),)
    shown = sorted(rng.sample(range(index), min(index, rng.randrange(4))))
    inputs = tuple(StepInput(source="x", step=step) for step in shown)
    agent = rng.choice(_AGENTS)
    return Step(index=index, agent=agent, kind=kind, content=text, recipient=recipient, tool_calls=calls, inputs=inputs)

"""Small labelled runs with a fault that features can see."""

from __future__ import annotations

import random

from tracer_hooks.schema import DecisiveStep, LabeledTrajectory, LabelSource, RunOutcome, Step, Trajectory

_TOPICS = ("harbour fees", "train times", "museum tickets", "garden plans", "recipe costs", "bridge loads")


def labelled_run(number: int, *, seed: int = 0) -> LabeledTrajectory:
    """A run of six steps in which one step, at a random place, goes on with placeholder data."""
    rng = random.Random(f"{seed}-{number}")
    topic = _TOPICS[number % len(_TOPICS)]
    bad = rng.randrange(1, 5)
    names = ["writer", "reader", "counter"]
    steps = []
    for index in range(6):
        agent = rng.choice(names)
        if index == bad:
            text = f"I will assume a placeholder value for the {topic}: {rng.randrange(100, 999)}."
        else:
            text = f"The {topic} of part {index} are in the list and I pass them on to the next of us."
        steps.append(Step(index=index, agent=agent, content=text))
    trajectory = Trajectory(
        run_id=f"run-{seed}-{number}",
        framework="plain",
        team="office",
        task=f"Work out the {topic} for case {number}.",
        steps=tuple(steps),
        outcome=RunOutcome.FAILED,
    )
    return LabeledTrajectory(
        trajectory=trajectory,
        decisive=DecisiveStep(agent=steps[bad].agent, step=bad),
        label_source=LabelSource.INJECTED,
        question_id=f"q{number}",
    )


def labelled_runs(count: int, *, seed: int = 0) -> list[LabeledTrajectory]:
    """Several of them, each of its own question."""
    return [labelled_run(number, seed=seed) for number in range(count)]

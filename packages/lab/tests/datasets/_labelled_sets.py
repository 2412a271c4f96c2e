"""Synthetic labelled sets: teams that talk at random, with one step of each faulty run changed."""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from tracer_hooks.datasets._labeled import LabeledSet
from tracer_hooks.schema import (
    AgentSpec,
    DecisiveStep,
    ErrorMode,
    LabeledTrajectory,
    LabelSource,
    RunOutcome,
    Step,
    ToolCall,
    Trajectory,
    Usage,
)

AGENTS = ("Planner", "Solver", "Checker", "Writer")
WORDS = (
    "river", "table", "seven", "lamp", "orders", "window", "train", "paper", "carry", "total", "basket", "engine",
    "yellow", "garden", "number", "divide", "market", "signal", "winter", "copper", "village", "answer", "column",
    "ticket", "measure", "bottle",
)  # fmt: skip
MODES = tuple(ErrorMode)
START = datetime(2026, 1, 1, tzinfo=UTC)
Change = Callable[[Step], dict[str, Any]]
Place = Callable[[random.Random, list[str]], int]


def sentence(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=12)) + f" {rng.randrange(1000)}"


def anywhere(rng: random.Random, agents: list[str]) -> int:
    return rng.randrange(len(agents))


def step(index: int, agent: str, rng: random.Random, **given: Any) -> Step:
    began = START + timedelta(seconds=10 * index)
    calls = (ToolCall(name="look_up", result=sentence(rng), call_id=f"call_{rng.randrange(16**6):x}"),)
    values = {
        "content": sentence(rng),
        "tool_calls": calls if index % 2 else (),
        "usage": Usage(input_tokens=rng.randrange(50, 100), output_tokens=rng.randrange(1, 50)),
        "model": "small",
        "started_at": began,
        "ended_at": began + timedelta(seconds=rng.uniform(1, 9)),
        "span_id": f"{rng.randrange(16**16):016x}",
    }
    return Step(index=index, agent=agent, **{**values, **given})


def labelled_set(
    questions: int = 40,
    *,
    seed: int = 1,
    place: Place = anywhere,
    change: Change | None = None,
    source: LabelSource = LabelSource.INJECTED,
) -> LabeledSet:
    """Two faulty runs a question, each with its passing run; ``change`` gives fields of the decisive step."""
    rng = random.Random(seed)
    labeled, clean = [], []
    for question in range(questions):
        task = sentence(rng)
        for attempt in range(2):
            name = f"{question:03}{attempt}"
            agents = [rng.choice(AGENTS) for _ in range(rng.randint(5, 8))]
            steps = [step(k, agent, rng) for k, agent in enumerate(agents)]
            decisive = place(rng, agents)
            bad = step(decisive, agents[decisive], rng)
            bad = bad.model_copy(update=change(bad) if change else {})
            after = [step(k, agents[k], rng) for k in range(decisive + 1, len(agents))]
            passing = run(f"run-{name}a", task, steps, RunOutcome.SUCCEEDED)
            failing = run(f"run-{name}b", task, [*steps[:decisive], bad, *after], RunOutcome.FAILED)
            labeled.append(faulty_item(failing, decisive, question, rng, passing.run_id, source))
            clean.append(LabeledTrajectory(trajectory=passing, label_source=source, question_id=f"q{question}"))
    discarded = tuple(
        {"unit": f"u{k}", "reason": "passed with the fault", "mode": "FM-1.1", "strategy": "corruption",
         "question_id": f"q{k}", "runs": 2, "tokens": 100}
        for k in range(4)
    )  # fmt: skip
    return LabeledSet(labeled=tuple(labeled), clean=tuple(clean), discarded=discarded)


def run(run_id: str, task: str, steps: list[Step], outcome: RunOutcome) -> Trajectory:
    specs = tuple(AgentSpec(name=name, instructions=f"You are the {name}.") for name in AGENTS)
    return Trajectory(
        run_id=run_id, team="round", framework="python", task=task, agents=specs, steps=tuple(steps), outcome=outcome,
        reference="42", final_output="41",
    )  # fmt: skip


def faulty_item(
    trajectory: Trajectory, decisive: int, question: int, rng: random.Random, clean: str, source: LabelSource
) -> LabeledTrajectory:
    return LabeledTrajectory(
        trajectory=trajectory,
        decisive=DecisiveStep(
            agent=trajectory.steps[decisive].agent, step=decisive, error_mode=MODES[question % len(MODES)]
        ),
        label_source=source,
        question_id=f"q{question}",
        seed=rng.randrange(2**31),
        fault_id=f"f{rng.randrange(16**12):012x}",
        verification={
            "faulty_runs": 3, "faulty_failures": 3, "control_runs": 2, "control_passes": 2, "strategy": "corruption",
            "kind": "mutator", "writer": "rules", "clean_run_id": clean, "architecture": "round", "suite": "words",
            "runs": 6, "tokens": 1000, "seconds": 2.5,
        },
    )  # fmt: skip

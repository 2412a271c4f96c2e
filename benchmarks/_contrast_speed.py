"""How long a comparison takes: a run of 130 steps beside 14 passing and 6 failing runs of 130 steps."""

from __future__ import annotations

import random
import string
import time

from tracer_hooks.attribution._contrast import ContrastAttributor
from tracer_hooks.schema import RunOutcome, Step, ToolCall, Trajectory

_STEPS, _WORDS_A_STEP = 130, 130


def seconds() -> dict[str, float]:
    """CPU seconds of the first and of a later run judged beside the same 20 runs; the least of three trials."""
    rng = random.Random(0)
    words = ["".join(rng.choices(string.ascii_lowercase, k=rng.randint(3, 9))) for _ in range(3_000)]
    shared = [_text(rng, words) for _ in range(_STEPS)]
    runs = [_run(f"p{k}", RunOutcome.SUCCEEDED, shared, words, rng) for k in range(14)]
    runs += [_run(f"f{k}", RunOutcome.FAILED, shared, words, rng) for k in range(6)]
    judged = [_run(f"x{k}", RunOutcome.FAILED, shared, words, rng) for k in range(2)]
    trials = [_trial(runs, judged) for _ in range(3)]
    return {"first run": min(first for first, _ in trials), "next run": min(later for _, later in trials)}


def _trial(runs: list[Trajectory], judged: list[Trajectory]) -> tuple[float, float]:
    attributor = ContrastAttributor(runs=runs)
    times = []
    for run in judged:
        began = time.process_time()
        attributor.attribute(run)
        times.append(time.process_time() - began)
    return times[0], times[1]


def _text(rng: random.Random, words: list[str]) -> str:
    return " ".join(
        rng.choice(words) if rng.random() > 0.1 else str(rng.randint(1, 9_999)) for _ in range(_WORDS_A_STEP)
    )


def _run(name: str, outcome: RunOutcome, shared: list[str], words: list[str], rng: random.Random) -> Trajectory:
    steps = []
    for index in range(_STEPS):
        call = ToolCall(name="search", arguments={"n": rng.randint(1, 99)}, result=_text(rng, words))
        steps.append(
            Step(
                index=index,
                agent=f"agent{index % 4}",
                content=shared[index] if rng.random() < 0.7 else _text(rng, words),
                tool_calls=(call,) if index % 3 == 0 else (),
            )
        )
    return Trajectory(run_id=name, task="Do the thing.", outcome=outcome, steps=tuple(steps))

"""How long an attributor takes, in CPU seconds, for runs of 10 and of 130 steps.

    python benchmarks/attribution_speed.py [--attributor NAME]... [--repeat N]

The runs are made of words, with code and reports in between; 1,000 characters a step. CPU time of the whole process is
measured, so that other work on the machine counts little; the first diagnosis, which reads weights, is shown apart.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time

from tracer_hooks.attribution import Attributor, get_attributor
from tracer_hooks.schema import RunOutcome, Step, Trajectory

WORDS = ("the", "search", "page", "list", "price", "number", "of", "boxes", "found", "in", "column", "answer", "verify")
LENGTHS = (10, 130)


def made(steps: int, *, seed: int) -> Trajectory:
    rng = random.Random(seed)
    acts = []
    for index in range(steps):
        words = [f"{rng.randrange(1000)}" if rng.random() < 0.1 else rng.choice(WORDS) for _ in range(180)]
        text = " ".join(words)
        if index % 3 == 1:
            text += "\n```python\nprint(sum(range(10)))\n```"
        agent = "Computer_terminal" if index % 3 == 2 else f"expert{index % 2}"
        acts.append(Step(index=index, agent=agent, content=f"exitcode: 0\n{text}" if index % 3 == 2 else text))
    return Trajectory(
        run_id=f"made-{steps}-{seed}", task="How many boxes?", steps=tuple(acts), outcome=RunOutcome.FAILED
    )


def seconds(attributor: Attributor, trajectory: Trajectory) -> float:
    began = time.process_time()
    attributor.attribute(trajectory)
    return time.process_time() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--attributor", action="append", help="a name or a directory; may be repeated")
    parser.add_argument("--repeat", type=int, default=10)
    options = parser.parse_args()
    for name in options.attributor or ["structural", "encoder"]:
        attributor = get_attributor(name)
        first = seconds(attributor, made(LENGTHS[0], seed=-1))
        for steps in LENGTHS:
            taken = [seconds(attributor, made(steps, seed=seed)) for seed in range(options.repeat)]
            print(
                f"{name:12} {steps:4} steps  median {1000 * statistics.median(taken):8.1f} ms  "
                f"slowest {1000 * max(taken):8.1f} ms  first diagnosis {first:.2f} s"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())

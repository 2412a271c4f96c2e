"""A supervisor that says which worker acts next, until it gives the answer itself.

After Fourney et al., "Magentic-One: A Generalist Multi-Agent System for Solving Complex Tasks" (2024).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tracer_hooks.suites.architectures._architecture import Architecture, Said
from tracer_hooks.suites.architectures._wording import BRIEFLY, FINAL, gives_answer

SUPERVISOR: Final = "supervisor"
WORKERS: Final = ("researcher", "specialist")

_ROLES: Final = {
    SUPERVISOR: (
        "You are the supervisor of two workers: the researcher, who looks things up with tools, and the specialist, "
        "who calculates and writes code. To give a worker an order, reply with one line NEXT: researcher or "
        f"NEXT: specialist, and the order. When their work is enough to answer the task, {FINAL}"
    ),
    "researcher": (
        "You are the researcher. Carry out the supervisor's last order: use your tools if you have any, and report "
        "the facts that you found, in at most 4 short sentences."
    ),
    "specialist": (
        "You are the specialist. Carry out the supervisor's last order: do the calculation or write the code. "
        f"{BRIEFLY}"
    ),
}

_ORDER = re.compile(r"^\W*NEXT\W+(\w+)", re.MULTILINE | re.IGNORECASE)


def chosen_worker(text: str) -> str | None:
    """The worker to whom a supervisor's words give an order.

    A line ``NEXT: name`` decides, the first if there are several; without one, a worker that alone is named in a text
    that is no answer.
    """
    for name in _ORDER.findall(text):
        if name.lower() in WORKERS:
            return str(name.lower())
    named = [worker for worker in WORKERS if re.search(rf"\b{worker}\b", text, re.IGNORECASE)]
    return named[0] if len(named) == 1 and not gives_answer(text) else None


def _next(said: Sequence[Said], rounds: int) -> str | None:
    if not said or said[-1].agent != SUPERVISOR:
        return SUPERVISOR
    worked = sum(one.agent != SUPERVISOR for one in said)
    if worked >= rounds:
        return None
    # Small models like to answer at once; a run in which nobody else has acted is no teamwork.
    return chosen_worker(said[-1].text) or (WORKERS[0] if not worked else None)


SUPERVISED: Final = Architecture(
    name="supervisor",
    roles=_ROLES,
    tool_users=frozenset({"researcher"}),
    next_agent=_next,
    rounds=3,
    chooser=SUPERVISOR,
)
"""The loop is an order and its execution."""

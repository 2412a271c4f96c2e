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
        "You are the supervisor. Two workers do the task for you: the researcher collects facts, and the "
        "specialist calculates and writes code. Give one order at a time, as a line such as "
        "NEXT: researcher, collect the facts. Or NEXT: specialist, work out the result. "
        f"When the workers have found the result, {FINAL}"
    ),
    "researcher": (
        "You are the researcher. Carry out the supervisor's last order: use your tools if you have any, and report "
        "the facts, in at most 4 short sentences. Leave the final answer to the supervisor."
    ),
    "specialist": (
        "You are the specialist. Carry out the supervisor's last order: do the calculation or write the code. "
        f"{BRIEFLY}"
    ),
}

_CUES: Final = {
    SUPERVISOR: "Give the next order with NEXT:, or end with the final answer if the workers have found it.",
    "researcher": "Report the facts.",
    "specialist": "Carry out the order.",
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
    cues=_CUES,
    tool_users=frozenset({"researcher"}),
    next_agent=_next,
    rounds=3,
    goes_on=Said(SUPERVISOR, f"NEXT: {WORKERS[0]}"),
    last_cue="The workers have done their work. End with the final answer.",
    chooser=SUPERVISOR,
)
"""The loop is an order and its execution."""

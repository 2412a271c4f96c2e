"""Planner, solver and checker: a plan, its execution, and a check that may send the work back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tracer_hooks.suites.architectures._architecture import Architecture, Said
from tracer_hooks.suites.architectures._wording import BRIEFLY, FINAL, gives_answer

_REVISE = re.compile(r"^\W*REVISE\b", re.MULTILINE)

_ROLES: Final = {
    "planner": (
        "You are the planner. Write at most 3 short steps that tell the solver what to calculate or to write. "
        "Do not calculate anything yourself, and leave the final answer to the checker."
    ),
    "solver": f"You are the solver. Carry out the planner's steps one by one and say what comes out. {BRIEFLY}",
    "checker": (
        "You are the checker. Work the result out once more, in at most 3 short sentences, and compare it with the "
        "solver's. If the solver's is wrong, end with a line REVISE: and the mistake. "
        f"If it is right, {FINAL}"
    ),
}

_CUES: Final = {
    "planner": "Write the plan, without any result.",
    "solver": "Carry out the plan.",
    "checker": "Check the solver's result: end with REVISE: and the mistake, or with the final answer.",
}


def asks_for_revision(text: str) -> bool:
    """Whether a checker sends the work back: a line that begins with REVISE, and no answer."""
    return _REVISE.search(text) is not None and not gives_answer(text)


def _next(said: Sequence[Said], rounds: int) -> str | None:
    if not said:
        return "planner"
    last = said[-1]
    if last.agent != "checker":
        return "solver" if last.agent == "planner" else "checker"
    checks = sum(one.agent == "checker" for one in said)
    return "solver" if checks <= rounds and asks_for_revision(last.text) else None


PLANNER_SOLVER_CHECKER: Final = Architecture(
    name="planner_solver_checker",
    roles=_ROLES,
    cues=_CUES,
    tool_users=frozenset({"solver"}),
    next_agent=_next,
    rounds=1,
    goes_on=Said("checker", "REVISE: it"),
    last_cue="Check the solver's result, correct it where it is wrong, and end with the final answer.",
)
"""The loop is from the checker back to the solver."""

"""Planner, solver and checker: a plan, its execution, and a check that may send the work back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tracer_hooks.suites.architectures._architecture import Architecture, Said
from tracer_hooks.suites.architectures._wording import BRIEFLY, FINAL, gives_answer

_REVISE = re.compile(r"^\W*REVISE\b", re.MULTILINE)

_ROLES: Final = {
    "planner": "You are the planner. Write a plan of at most 3 short steps for the task. Do not solve the task.",
    "solver": f"You are the solver. Follow the plan and solve the task. {BRIEFLY}",
    "checker": (
        "You are the checker. Check the solver's result against the task, in at most 4 short sentences. "
        "If it is wrong, end with a line REVISE: and the reason. "
        f"If it is right, {FINAL}"
    ),
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
    name="planner_solver_checker", roles=_ROLES, tool_users=frozenset({"solver"}), next_agent=_next, rounds=1
)
"""The loop is from the checker back to the solver."""

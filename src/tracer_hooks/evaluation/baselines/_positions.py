"""Answers from positions and turns alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tracer_hooks.evaluation._case import Case
from tracer_hooks.evaluation._names import fold, is_person, is_terminal
from tracer_hooks.evaluation._official import official_hits
from tracer_hooks.evaluation._step_scores import HITS, TOLERANCES, Guess
from tracer_hooks.schema import Step, Trajectory


def ranked(trajectory: Trajectory, first: Iterable[int]) -> Guess | None:
    """The steps of ``first``, then all others in order; the agent is who acts at the first of them."""
    steps = tuple(dict.fromkeys([*first, *range(len(trajectory.steps))]))
    return Guess(agent=trajectory.steps[steps[0]].agent, ranking=steps) if steps else None


def first_speaker(trajectory: Trajectory) -> Guess | None:
    """The first agent to act, at its first step; people are passed over."""
    steps = [step for step in trajectory.steps if not is_person(step.agent)] or list(trajectory.steps)
    return ranked(trajectory, [steps[0].index] if steps else [])


def last_step(trajectory: Trajectory) -> Guess | None:
    """The last speaker, at the last step."""
    return ranked(trajectory, reversed(range(len(trajectory.steps))))


def step_one(trajectory: Trajectory) -> Guess | None:
    """Step 1, the second one; the only one of a run that has no second."""
    return ranked(trajectory, [1] if len(trajectory.steps) > 1 else [])


def busiest_speaker(trajectory: Trajectory) -> Guess | None:
    """The agent with most steps, at its first; people and those who only run code are passed over."""
    steps = [step for step in trajectory.steps if not is_person(step.agent) and not is_terminal(step.agent)]
    turns = Counter(fold(step.agent) for step in steps)
    busiest = max(turns, key=lambda name: turns[name], default="")
    return ranked(trajectory, [step.index for step in steps if fold(step.agent) == busiest])


def random_step(case: Case) -> dict[str, float]:
    """The exact expectation of every figure when chance answers.

    Steps are drawn in random order; the agent is drawn for itself, among the speakers, as in the published table.
    ``joint`` takes the agent that acts at the drawn step. For a run without steps every figure is 0.
    """
    steps, gold, wanted = case.trajectory.steps, case.gold_step, case.gold_agent
    assert wanted is not None, "scored are runs with a labelled agent"
    count = len(steps)
    if not count:
        return {"agent": 0.0, "step": 0.0, "joint": 0.0, "answered": 0.0}
    names = {step.agent for step in steps}
    folded = {fold(name) for name in names}
    is_there = gold is not None
    agent = (fold(wanted) in folded) / len(folded)
    step = is_there / count
    joint = step * (gold is not None and fold(steps[gold].agent) == fold(wanted))
    return {
        "agent": agent,
        "step": step,
        "joint": joint,
        **{f"hit_{k}": is_there * min(k, count) / count for k in HITS},
        "mrr": is_there * sum(1 / rank for rank in range(1, count + 1)) / count,
        **{f"within_{k}": _near(steps, gold, k) / count for k in TOLERANCES},
        "answered": 1.0,
        "agent_answered": agent,
        "step_answered": step,
        "joint_answered": joint,
        **({"any_faulty_step": len(case.faulty_steps) / count} if case.faulty_steps else {}),
        "official_agent": sum(official_hits(name, 0, wanted, None)[0] for name in names) / len(names),
        "official_step": sum(official_hits("x", k, "", gold)[1] for k in range(count)) / count,
    }


def _near(steps: tuple[Step, ...], gold: int | None, tolerance: int) -> int:
    return 0 if gold is None else sum(abs(step.index - gold) <= tolerance for step in steps)

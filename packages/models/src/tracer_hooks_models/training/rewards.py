"""Rewards of replies to the judge's questions, as plain functions.

``reward`` is what GRPO uses. A reply that the judge would not accept is not looked at further: the format gate.

- A label with a step: λ · Gaussian step reward + (1 - λ) · agent reward (AgenTracer, arXiv 2509.03312).
- A label that is a set of agents and modes: points for each pair, agent and mode, less points for false positives and
  for repetitions, over what a perfect reply gets (Aegis, arXiv 2509.14295). There, a perfect reply was punished when
  the label itself repeats an agent or a mode; here only what is named more often than the label has it counts as a
  repetition, so that a perfect reply always gets 1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from tracer_hooks.schema import ErrorMode
from tracer_hooks_models.teaching import JudgeAnswer
from tracer_hooks_models.training.data import Gold

__all__ = [
    "Pair",
    "RewardOptions",
    "SetPoints",
    "agent_reward",
    "reward",
    "set_reward",
    "step_kernel",
    "step_reward",
]

Pair = tuple[str, ErrorMode | None]
"""An agent and how it went wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetPoints:
    """Points of the set reward; the values are those of Aegis."""

    pair: float = 1.0
    """For a pair of the label."""
    agent: float = 0.3
    """For an agent of the label with another mode, once for each agent."""
    mode: float = 0.1
    """For a mode of the label at another agent, once for each mode."""
    wrong: float = -0.2
    """For a pair of which neither is in the label, or was counted before."""
    repeated_agent: float = -0.3
    """Each time that an agent is named more often than the label has it."""
    repeated_mode: float = -0.15
    """Each time that a mode is named more often than the label has it."""
    excess: float = -0.1
    """For each pair beyond twice as many as the label has."""
    readable: float = 0.1
    """For a reply that can be read."""
    malformed: float = -1.0
    """The reward of a reply that cannot; nothing else counts then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardOptions:
    """Options by which a reply is rewarded."""

    kind: Literal["auto", "step", "set"] = "auto"
    """``step`` and ``set`` as above; ``auto`` takes the step where the label has one, else the set."""
    step_share: float = 0.5
    """λ: the share of the step; the rest is for the agent."""
    sigma: float = 1.0
    """Width of the Gaussian in steps: off by 1, 2, 3 gives 0.607, 0.135, 0.011 at 1."""
    points: SetPoints = field(default_factory=SetPoints)


def reward(answer: JudgeAnswer | None, gold: Gold, options: RewardOptions | None = None) -> float:
    """The reward of a reply.

    Args:
        answer: What it says; None for a reply that cannot be read.
        gold: The label.
        options: What is rewarded.
    """
    options = options or RewardOptions()
    is_step = options.kind == "step" or (options.kind == "auto" and gold.step is not None)
    if is_step:
        return step_reward(answer, gold, share=options.step_share, sigma=options.sigma)
    return set_reward(None if answer is None else answer.pairs, gold.pairs, options.points)


def step_reward(answer: JudgeAnswer | None, gold: Gold, *, share: float = 0.5, sigma: float = 1.0) -> float:
    """``share`` for the step by its distance, the rest for the agent; 0 for a reply that cannot be read.

    A label without a step has nothing to be near to: then the agent counts alone.
    """
    if answer is None:
        return 0.0
    if gold.step is None:
        return agent_reward(answer.agent, gold.agent)
    near = 0.0 if answer.step is None else step_kernel(answer.step - gold.step, sigma)
    return share * near + (1 - share) * agent_reward(answer.agent, gold.agent)


def step_kernel(offset: int, sigma: float = 1.0) -> float:
    """``exp(-offset² / (2 * sigma²))``."""
    return math.exp(-(offset**2) / (2 * sigma**2))


def agent_reward(agent: str | None, gold: str) -> float:
    """1 for the labelled agent, else 0."""
    return float(agent == gold)


def set_reward(pairs: Sequence[Pair] | None, gold: Sequence[Pair], points: SetPoints | None = None) -> float:
    """Points for the named pairs over the points of a perfect reply; 1 for that one, below 0 for one mostly wrong.

    Args:
        pairs: As the reply names them, repetitions included; None for a reply that cannot be read.
        gold: Those of the label, each once. One without a mode is met by its agent with any mode.
        points: What counts for how much.
    """
    points = points or SetPoints()
    if pairs is None:
        return points.malformed
    wanted = list(dict.fromkeys(gold))
    total = points.readable + _points(pairs, wanted, points)
    total += points.repeated_agent * _surplus([a for a, _ in pairs], [a for a, _ in wanted])
    total += points.repeated_mode * _surplus([m for _, m in pairs if m], [m for _, m in wanted if m])
    total += points.excess * max(0, len(pairs) - 2 * len(wanted))
    return total / (points.pair * len(wanted) + points.readable)


def _points(pairs: Sequence[Pair], wanted: Sequence[Pair], points: SetPoints) -> float:
    """Whole pairs are matched first, so that the order in which a reply names them does not matter."""
    left, rest = list(wanted), []
    total = 0.0
    for agent, mode in pairs:
        met = next((one for one in ((agent, mode), (agent, None)) if one in left), None)
        if met is None:
            rest.append((agent, mode))
        else:
            left.remove(met)
            total += points.pair
    agents, modes = {agent for agent, _ in left}, {mode for _, mode in left if mode}
    for agent, mode in rest:
        if agent in agents:
            agents.remove(agent)
            total += points.agent
        elif mode in modes:
            modes.remove(mode)
            total += points.mode
        else:
            total += points.wrong
    return total


def _surplus(named: Sequence[object], wanted: Sequence[object]) -> int:
    """Count how often something is named more often than it is wanted; once is no repetition."""
    have, limit = Counter(named), Counter(wanted)
    return sum(max(0, count - max(1, limit[one])) for one, count in have.items())

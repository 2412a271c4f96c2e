"""What one method believes about every step of a trajectory, before calibration."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from tracer_hooks.schema import ErrorMode, Evidence, Trajectory, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class StepScores:
    """The beliefs of one method, in a form that other methods' beliefs can be added to."""

    steps: tuple[float, ...]
    """Log-belief, up to a constant, that each step is the decisive error step; one for each step of the trajectory, and
    ``-inf`` for a step that cannot be it."""
    agents: Mapping[str, float] = field(default_factory=dict)
    """Log-odds that each agent is at fault, each for itself; empty when the method has no view of its own."""
    modes: Mapping[tuple[str, ErrorMode], float] = field(default_factory=dict)
    """Log-odds of each pair of agent and error mode; empty when the method has no view of its own."""
    evidence: tuple[Evidence, ...] = ()
    """Passages that speak for the highest step, the strongest first."""
    usage: Usage | None = None
    """Tokens that the method itself used; None when it uses no language model."""

    def belief(self, *, temperature: float = 1.0) -> tuple[float, ...]:
        """Softmax of :attr:`steps`; sums to 1 unless no step can be the decisive one, when all are 0."""
        finite = [value for value in self.steps if value > -math.inf]
        if not finite:
            return tuple(0.0 for _ in self.steps)
        top = max(finite)
        raw = [math.exp((value - top) / temperature) if value > -math.inf else 0.0 for value in self.steps]
        total = sum(raw)
        return tuple(value / total for value in raw)


@runtime_checkable
class Scorer(Protocol):
    """A method that the ensemble can stack: it scores steps and leaves calibration and abstention to its caller."""

    name: str
    """The name that the method is known by."""

    def score(self, trajectory: Trajectory, *, reference: str | None = None) -> StepScores | None:
        """Score every step of a trajectory.

        Args:
            trajectory: What happened.
            reference: The expected answer, when it may be used; ``trajectory.reference`` is not looked at.

        Returns:
            The scores; None when the method has nothing to say about this trajectory.
        """
        ...

"""The steps that ``structural`` finds likeliest: what a prompt is centred on."""

from __future__ import annotations

from tracer_hooks._cached_property import cached_property
from tracer_hooks.attribution import StepScores, StructuralAttributor
from tracer_hooks.schema import Trajectory


class Candidates:
    """Ranks the steps of a run without looking at its label.

    Args:
        trajectory: What happened.
        proposer: Scores the steps; the shipped ``structural`` by default.
    """

    def __init__(self, trajectory: Trajectory, proposer: StructuralAttributor | None = None) -> None:
        self._trajectory = trajectory
        self._proposer = proposer or StructuralAttributor()

    @cached_property
    def scores(self) -> StepScores | None:
        """What the proposer says of every step; None for a run with nothing in it."""
        return self._proposer.score(self._trajectory)

    @cached_property
    def belief(self) -> tuple[float, ...]:
        """The belief in every step."""
        return (0.0,) * len(self._trajectory.steps) if self.scores is None else self.scores.belief()

    def first(self, count: int) -> dict[int, float]:
        """The ``count`` likeliest steps with their weights, as the attributor ``judge`` takes them."""
        ranked = sorted(range(len(self.belief)), key=lambda step: (-self.belief[step], step))[:count]
        return {step: self.belief[step] for step in ranked if self.belief[step] > 0}

    def likeliest_of(self, agents: set[str]) -> int:
        """The likeliest step of these agents, for a label that names no step."""
        steps = [step.index for step in self._trajectory.steps if step.agent in agents]
        return max(steps, key=lambda step: (self.belief[step], -step))

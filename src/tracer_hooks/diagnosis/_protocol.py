"""Protocols of attributors: a diagnosis, scores of steps, and a fit to labels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from tracer_hooks.schema import Attribution, ErrorMode, Evidence, LabeledTrajectory, Trajectory, Usage


@runtime_checkable
class Attributor(Protocol):
    """Names the agent and the step that made a run fail.

    The contract, whatever the method:

    - An answer names only an agent and a step that stand in the trajectory, and the agent is the one that acted there.
    - The scores of the candidates sum to at most 1; ``confidence`` is a probability, not a rank.
    - Every quotation in ``evidence`` and ``spread`` stands word for word in the step that it names.
    - A trajectory that cannot be judged gives an abstention with its reason, never an exception.
    - The trajectory is not changed, and the same trajectory gives the same answer.
    """

    name: str
    """The name that :func:`~tracer_hooks.diagnosis.get_attributor` knows it by."""

    def attribute(self, trajectory: Trajectory, *, reference: str | None = None) -> Attribution:
        """Diagnose one run.

        Args:
            trajectory: What happened.
            reference: The expected answer, when it may be used; ``trajectory.reference`` is not looked at.

        Returns:
            The answer, or an abstention with its reason.
        """
        ...


@runtime_checkable
class Concurrent(Protocol):
    """An attributor that may be asked about several runs at the same time; see ``diagnose_each``."""

    @property
    def concurrency(self) -> int:
        """Number of runs at once."""
        ...


@runtime_checkable
class TellsFindings(Protocol):
    """An attributor whose answers have findings already; they are not looked for once more."""

    tells_findings: bool
    """True."""


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

    def belief(self) -> tuple[float, ...]:
        """Softmax of :attr:`steps`; sums to 1 unless no step can be the decisive one, when all are 0."""
        finite = [value for value in self.steps if value > -math.inf]
        if not finite:
            return tuple(0.0 for _ in self.steps)
        top = max(finite)
        raw = [math.exp(value - top) if value > -math.inf else 0.0 for value in self.steps]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class FitReport:
    """Gain of a fit, measured by cross-validation over questions that the fitted model had not seen.

    Everything that a fit chooses is chosen again without the questions that are judged.
    """

    trajectories: int
    """How many labelled trajectories were used."""
    questions: int
    """How many different questions they belong to; folds are made of whole questions."""
    shipped_step: float
    """Exact-step accuracy of the attributor before the fit."""
    shipped_agent: float
    """Exact-agent accuracy of the attributor before the fit."""
    fitted_step: float
    """Exact-step accuracy after it, each trajectory judged by a model that had not seen its question."""
    fitted_agent: float
    """Exact-agent accuracy after it, in the same way."""
    chosen: str
    """What was fitted, in words."""

    @property
    def gain(self) -> float:
        """Gain in exact-step accuracy, as a fraction."""
        return self.fitted_step - self.shipped_step


@runtime_checkable
class Fittable(Protocol):
    """An attributor that labelled trajectories can be fitted to."""

    def fit(self, labeled: Sequence[LabeledTrajectory], *, seed: int = 0) -> tuple[Attributor, FitReport]:
        """A new attributor, adapted to these trajectories; this one stays as it is.

        Args:
            labeled: Trajectories with a decisive step or faulty agents.
            seed: Of everything that is random.

        Raises:
            AttributionError: There are too few labels to learn from.
        """
        ...

    def save(self, directory: Path) -> None:
        """Write what :func:`~tracer_hooks.diagnosis.get_attributor` needs to load this attributor again."""
        ...

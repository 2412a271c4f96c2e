"""From logits to what an attributor says."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tracer_hooks.attribution._scores import StepScores
from tracer_hooks.schema import AgentFault, Candidate, ErrorMode, Evidence, Step, Trajectory

_MODES = tuple(ErrorMode)
_CANDIDATES = 10
_FAULTS = 6


def candidates_of(trajectory: Trajectory, scores: StepScores) -> tuple[Candidate, ...]:
    """The likeliest steps, best first."""
    belief = scores.belief()
    ranked = sorted((k for k, share in enumerate(belief) if share > 0), key=lambda k: (-belief[k], k))
    return tuple(
        Candidate(agent=trajectory.steps[k].agent, step=k, score=min(1.0, belief[k])) for k in ranked[:_CANDIDATES]
    )


def mode_of(scores: StepScores, agent: str) -> ErrorMode | None:
    """The likeliest error mode of an agent."""
    known = {mode: value for (name, mode), value in scores.modes.items() if name == agent}
    return max(known, key=lambda mode: known[mode]) if known else None


def faults_of(scores: StepScores, threshold: float) -> tuple[AgentFault, ...]:
    """Pairs of agent and mode whose log-odds pass a threshold, the likeliest first."""
    above = sorted((pair for pair in scores.modes.items() if pair[1] > threshold), key=lambda pair: -pair[1])
    return tuple(
        AgentFault(agent=agent, error_mode=mode, score=1.0 / (1.0 + math.exp(-value)))
        for (agent, mode), value in above[:_FAULTS]
    )


def modes_of(agents: Sequence[str], logits: Sequence[Sequence[float]]) -> dict[tuple[str, ErrorMode], float]:
    """Log-odds of every pair."""
    return {
        (agent, mode): float(value)
        for agent, row in zip(agents, logits, strict=True)
        for mode, value in zip(_MODES, row, strict=True)
    }


def evidence_of(step: Step) -> tuple[Evidence, ...]:
    """That the encoder ranks a step first: it can give no reason, and so quotes nothing."""
    why = "A small language model that was trained on failed runs ranks this step first; it gives no reason."
    return (Evidence(step=step.index, why=why),)

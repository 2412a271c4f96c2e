"""From differences to scores: beliefs over the steps, log-odds of agents and modes."""

from __future__ import annotations

import math
from statistics import fmean

from tracer_hooks.attribution._contrast._divergence import Divergences, spectrum_trust
from tracer_hooks.attribution._contrast._error_modes import error_mode_of
from tracer_hooks.attribution._contrast._marks import Divergence
from tracer_hooks.attribution._reading._roles import fold
from tracer_hooks.schema import ErrorMode

_SHARPNESS = 3.0
"""Log-belief for each unit of strength."""
_AGENT_BASE = -1.5
"""Log-odds of an agent that does in every step what the passing runs do."""
_CLEAREST, _UNLIKE = 0.25, 3.0
"""What an agent's clearest step, and the mean unlikeness of its words, add to the mean strength of its steps."""
_MODE_AT_ONE = 0.5
"""How probable a mode is when one step of strength 1 tells of it."""
_LEAST_ODDS = 1e-3


def step_scores(divergences: Divergences) -> tuple[float, ...]:
    """Log-belief of each step, up to a constant; ``-inf`` for persons and for those who only report."""
    run = divergences.comparison.run
    acts = set(run.acts)
    return tuple(
        _SHARPNESS * strength if index in acts else -math.inf for index, strength in enumerate(divergences.strengths)
    )


def agent_scores(divergences: Divergences) -> dict[str, float]:
    """Log-odds that each agent is at fault: from the clearest and the mean of its steps, and its place in the spectrum.

    What an agent's words are unlike counts for more here than for a single step: an agent that is wrong throughout
    differs in all of its steps.
    """
    run, spectrum = divergences.comparison.run, divergences.spectrum
    steps: dict[str, list[int]] = {}
    for index in run.acts:
        steps.setdefault(run.trajectory.steps[index].agent, []).append(index)
    scores = {}
    for name, own in steps.items():
        strengths = [divergences.overall[index] for index in own]
        unlike = fmean(divergences.by_step[index].get(Divergence.CONTENT, 0.0) for index in own)
        scores[name] = _AGENT_BASE + _CLEAREST * max(strengths) + fmean(strengths) + _UNLIKE * unlike
        if spectrum is not None:
            scores[name] += spectrum_trust(spectrum) * spectrum.by_agent.get(fold(name), 0.0)
    return scores


def mode_scores(divergences: Divergences) -> dict[tuple[str, ErrorMode], float]:
    """Log-odds of each pair of agent and error mode that a difference tells of."""
    run = divergences.comparison.run
    doubt: dict[tuple[str, ErrorMode], float] = {}
    for index in run.acts:
        mode = error_mode_of(divergences, index)
        if mode is not None:
            key = (run.trajectory.steps[index].agent, mode)
            doubt[key] = doubt.get(key, 1.0) * (1.0 - _MODE_AT_ONE) ** divergences.strengths[index]
    return {key: _log_odds(1.0 - rest) for key, rest in doubt.items()}


def _log_odds(probability: float) -> float:
    bounded = min(1.0 - _LEAST_ODDS, max(_LEAST_ODDS, probability))
    return math.log(bounded / (1.0 - bounded))

"""A verdict as an attribution, or as scores for the ensemble."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tracer_hooks.attribution._judge._case import Case
from tracer_hooks.attribution._judge._verdict import Verdict, abstention_reason
from tracer_hooks.attribution._scores import StepScores
from tracer_hooks.schema import Attribution, Candidate, Usage

TRUST = 0.5
"""What a stated probability counts for. The best published judges name the right step in about half of Who&When's short
runs and in far fewer long ones, whatever they state; so an answer is given one half at most, until the ensemble
calibrates it."""
_MOST_CANDIDATES = 10
_DOUBT = 0.2
"""What a named step counts for in the scores when the judge saw no fault of the team."""
_MOST_NAMED = 0.9
"""Share of the belief that named steps may take in the scores; the rest is spread over all others."""
_PERSON_SHARE = 0.01
_LEAST_ODDS = 0.001


def attribution_of(verdict: Verdict, case: Case, blank: Attribution) -> Attribution:
    """``blank`` with the answer of ``verdict``."""
    ranked = sorted(
        (step for step, belief in verdict.beliefs.items() if belief > 0),
        key=lambda step: (step != verdict.step, -verdict.beliefs[step], step),
    )[:_MOST_CANDIDATES]
    candidates = tuple(
        Candidate(agent=case.owner(step), step=step, score=TRUST * verdict.beliefs[step]) for step in ranked
    )
    found = {"candidates": candidates, "evidence": verdict.evidence}
    reason = abstention_reason(verdict)
    if reason is not None:
        return blank.model_copy(update={**found, "abstained": True, "abstained_reason": reason})
    faults = tuple(fault.model_copy(update={"score": TRUST * fault.score}) for fault in verdict.faults)
    return blank.model_copy(
        update={
            **found,
            "agent": candidates[0].agent,
            "step": candidates[0].step,
            "error_mode": verdict.mode,
            "confidence": candidates[0].score,
            "faults": faults,
        }
    )


def scores_of(verdict: Verdict, case: Case, usage: Usage) -> StepScores:
    """The beliefs of ``verdict`` over all steps; those that the judge did not name share what is left."""
    scale = _DOUBT if verdict.abstention is not None else min(1.0, _MOST_NAMED / sum(verdict.beliefs.values()))
    named = {step: belief * scale for step, belief in verdict.beliefs.items()}
    weights = [1.0 if index in case.answerable else _PERSON_SHARE for index in range(len(case.steps))]
    left = (1.0 - sum(named.values())) / sum(weights)
    masses = [named.get(index, 0.0) + left * weight for index, weight in enumerate(weights)]
    return StepScores(
        steps=tuple(math.log(mass) for mass in masses),
        agents={agent: _log_odds(mass) for agent, mass in _agents(verdict, case, masses).items()},
        modes={
            (fault.agent, fault.error_mode): _log_odds(fault.score)
            for fault in reversed(verdict.faults)
            if fault.error_mode is not None
        },
        evidence=verdict.evidence,
        usage=usage,
    )


def _agents(verdict: Verdict, case: Case, masses: list[float]) -> Mapping[str, float]:
    if verdict.agents:
        return verdict.agents
    found = dict.fromkeys(case.agents, 0.0)
    for index in case.answerable:
        found[case.owner(index)] += masses[index]
    return found


def _log_odds(probability: float) -> float:
    inside = min(1 - _LEAST_ODDS, max(_LEAST_ODDS, probability))
    return math.log(inside / (1 - inside))

"""How good an answer is on a run whose decisive error step is labelled."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tracer_hooks.evaluation._answers import Answer
from tracer_hooks.evaluation._case import Case
from tracer_hooks.evaluation._names import fold
from tracer_hooks.evaluation._official import official_hits
from tracer_hooks.evaluation._resampling import Array
from tracer_hooks.schema import Attribution, ErrorMode

HITS = (1, 3, 5)
TOLERANCES = (1, 3, 5)
STEP_METRICS: Mapping[str, str] = {
    "agent": "agent",
    "step": "step",
    "joint": "agent and step",
    **{f"hit_{k}": f"step among the first {k} candidates" for k in HITS},
    "mrr": "mean reciprocal rank of the step",
    **{f"within_{k}": f"step within {k} of the labelled one" for k in TOLERANCES},
    "answered": "answered",
    "agent_answered": "agent, where answered",
    "step_answered": "step, where answered",
    "joint_answered": "agent and step, where answered",
    "mode": "error mode",
    "any_faulty_step": "step among all that are labelled faulty",
    "official_agent": "agent, official substring scorer",
    "official_step": "step, official substring scorer",
}
"""The figures for labelled steps, with what each says. But for those where answered, an abstention counts as wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """An answer, by whomever."""

    agent: str
    """The agent named."""
    ranking: tuple[int, ...]
    """Steps, the answer first."""
    mode: ErrorMode | None = None
    """The error mode named."""
    confidence: float | None = None
    """Probability, by the attributor's own account, that agent and step are right."""

    @property
    def step(self) -> int | None:
        """The step named."""
        return self.ranking[0] if self.ranking else None


def guess_of(answer: Answer) -> Guess | None:
    """An attributor's answer; None for an abstention."""
    given = answer.given
    if given is None or given.agent is None:
        return None
    return Guess(agent=given.agent, ranking=ranked_steps(given), mode=given.error_mode, confidence=given.confidence)


def ranked_steps(attribution: Attribution) -> tuple[int, ...]:
    """The steps of an attribution, each once: its answer, then its candidates by score, of equals the earlier first."""
    others = sorted(attribution.candidates, key=lambda one: (-one.score, one.step))
    steps = [one.step for one in others] if attribution.step is None else [attribution.step, *(o.step for o in others)]
    return tuple(dict.fromkeys(steps))


def score_guess(case: Case, guess: Guess | None) -> dict[str, float]:
    """Every figure of :data:`STEP_METRICS` for one run; NaN where a figure does not apply.

    Args:
        case: A run with a labelled agent.
        guess: The answer; None for an abstention.
    """
    gold = case.gold_agent
    assert gold is not None, "scored are runs with a labelled agent"
    if guess is None:
        agent = step = joint = 0.0
        rank, distance = math.inf, math.inf
        official = (False, False)
    else:
        agent = float(fold(guess.agent) == fold(gold))
        step = float(case.gold_step is not None and guess.step == case.gold_step)
        joint = agent * step
        rank = _rank(guess.ranking, case.gold_step)
        distance = _distance(guess.step, case.gold_step)
        official = official_hits(guess.agent, guess.step, gold, case.gold_step)
    answered = guess is not None
    return {
        "agent": agent,
        "step": step,
        "joint": joint,
        **{f"hit_{k}": float(rank <= k) for k in HITS},
        "mrr": 1 / rank,
        **{f"within_{k}": float(distance <= k) for k in TOLERANCES},
        "answered": float(answered),
        **_where(answered, agent_answered=agent, step_answered=step, joint_answered=joint),
        **_where(case.gold_mode is not None, mode=float(guess is not None and guess.mode is case.gold_mode)),
        **_where(bool(case.faulty_steps), any_faulty_step=float(guess is not None and guess.step in case.faulty_steps)),
        "official_agent": float(official[0]),
        "official_step": float(official[1]),
    }


def score_guesses(cases: Sequence[Case], guesses: Iterable[Guess | None]) -> dict[str, Array]:
    """Every figure for every run: one array a figure, in the order of the runs."""
    return as_arrays([score_guess(case, guess) for case, guess in zip(cases, guesses, strict=True)])


def as_arrays(rows: Sequence[Mapping[str, float]]) -> dict[str, Array]:
    """Rows of figures as one array a figure; NaN where a row lacks one."""
    return {name: np.array([row.get(name, math.nan) for row in rows], dtype=np.float64) for name in STEP_METRICS}


def _where(applies: bool, **figures: float) -> dict[str, float]:
    return figures if applies else dict.fromkeys(figures, math.nan)


def _rank(ranking: Sequence[int], gold: int | None) -> float:
    return ranking.index(gold) + 1 if gold is not None and gold in ranking else math.inf


def _distance(step: int | None, gold: int | None) -> float:
    return math.inf if step is None or gold is None else abs(step - gold)

"""Rows for labelled faults that read nothing of the run but who speaks."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracer_hooks.evaluation._case import Case
from tracer_hooks.evaluation._fault_scores import (
    LEVELS,
    NAMINGS,
    FaultGuess,
    FaultScores,
    score_faults,
)
from tracer_hooks.evaluation._names import is_person, speakers_of
from tracer_hooks.evaluation.baselines._roster import roster_prior
from tracer_hooks.schema import ErrorMode

__all__ = ["FaultBaseline", "every_agent_and_mode", "fault_baselines", "random_fault", "roster_prior"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultBaseline:
    """One such row."""

    name: str
    """What it does."""
    scores: FaultScores
    """Its counts, in the order of the runs."""


def fault_baselines(cases: Sequence[Case]) -> list[FaultBaseline]:
    """Every row, scored on these runs."""
    return [
        FaultBaseline(name="random speaker and mode, exact expectation", scores=random_fault(cases)),
        FaultBaseline(
            name="every speaker, every mode", scores=score_faults(cases, [every_agent_and_mode(one) for one in cases])
        ),
        FaultBaseline(name="roster prior", scores=score_faults(cases, roster_prior(cases))),
    ]


def every_agent_and_mode(case: Case) -> FaultGuess:
    """Blames all who speak for all 14 modes; people are left out."""
    return _everything(frozenset(step.agent for step in case.trajectory.steps if not is_person(step.agent)))


@functools.lru_cache(maxsize=1 << 10)
def _everything(agents: frozenset[str]) -> FaultGuess:
    return FaultGuess(
        agents=agents,
        pairs=frozenset((agent, mode) for agent in agents for mode in ErrorMode),
        modes=frozenset(ErrorMode),
    )


def random_fault(cases: Sequence[Case]) -> FaultScores:
    """The exact expectation when chance blames one speaker for one mode in each run.

    F1 over all runs is linear in the number of right answers when the number given is fixed, so that its expectation
    follows from the chance of each run. There is none for the macro averages.
    """
    told = score_faults(cases, [every_agent_and_mode(case) for case in cases])
    speakers = np.array([float(max(1, len(speakers_of(case.trajectory)))) for case in cases])
    spoken = np.array([float(bool(speakers_of(case.trajectory))) for case in cases])
    choices = {"pair": speakers * len(ErrorMode), "agent": speakers, "mode": np.full(len(cases), float(len(ErrorMode)))}
    micro = {}
    for level in LEVELS:
        for naming in NAMINGS:
            right, _, gold = told.micro[level, naming]
            micro[level, naming] = (right / choices[level] * spoken, spoken, gold)
    even = np.where(np.isnan(told.auc), np.nan, 0.5)
    return FaultScores(micro=micro, labels=None, auc=even, answered=spoken)

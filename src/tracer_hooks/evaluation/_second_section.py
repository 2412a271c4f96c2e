"""The table for runs that two teams labelled."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from tracer_hooks.evaluation._cases import Case, SecondLabel, fold_name
from tracer_hooks.evaluation._measures import Measure, Resampling
from tracer_hooks.evaluation._report import SecondLabelRow, SecondLabelSection
from tracer_hooks.evaluation._scores import TOLERANCES, Guess, ScoredSteps


def second_label_section(
    cases: Sequence[Case], rows: Sequence[ScoredSteps], group: Sequence[bool], draws: int, seed: int
) -> SecondLabelSection | None:
    """The section for those runs of a group that have a second label; None without any."""
    places = [place for place, case in enumerate(cases) if group[place] and case.second is not None]
    if not places:
        return None
    resampling = Resampling([cases[place].question for place in places], draws=draws, seed=seed)
    agreed = [agreement(cases[place]) for place in places]
    return SecondLabelSection(
        runs=len(places),
        agreement=_means(agreed, resampling),
        rows=tuple(
            SecondLabelRow(
                name=row.name,
                reads=row.reads,
                told_reference=row.told,
                measures=_means([hits(cases[place], row.guesses[place]) for place in places], resampling),
            )
            for row in rows
            if row.guesses is not None
        ),
    )


def agreement(case: Case) -> dict[str, float]:
    """Return how the two labels of a run compare; both are there."""
    second = _second(case)
    agent = fold_name(case.gold_agent or "") == fold_name(second.agent)
    distance = math.inf if case.gold_step is None else abs(case.gold_step - second.step)
    return {
        "agent": float(agent),
        "step": float(distance == 0),
        "joint": float(agent and distance == 0),
        **{f"within_{k}": float(distance <= k) for k in TOLERANCES},
        "step_any": float(case.gold_step in second.every_step) if second.every_step else math.nan,
    }


def hits(case: Case, guess: Guess | None) -> dict[str, float]:
    """Return which of the two labels an answer meets; NaN for ``both`` where they differ."""
    second = _second(case)
    step, agent = (None, None) if guess is None else (guess.step, fold_name(guess.agent))
    met = {
        "step": (step is not None and step == case.gold_step, step is not None and step == second.step),
        "agent": (agent == fold_name(case.gold_agent or ""), agent == fold_name(second.agent)),
    }
    same = {"step": case.gold_step == second.step, "agent": fold_name(case.gold_agent or "") == fold_name(second.agent)}
    found = {
        f"{what}_{which}": float(value)
        for what, (first, other) in met.items()
        for which, value in (("first", first), ("second", other), ("either", first or other))
    }
    found |= {f"{what}_both": found[f"{what}_first"] if same[what] else math.nan for what in met}
    return found | {"step_any": float(step in second.every_step) if second.every_step else math.nan}


def _second(case: Case) -> SecondLabel:
    assert case.second is not None, "asked of runs with both labels"
    return case.second


def _means(rows: Sequence[Mapping[str, float]], resampling: Resampling) -> dict[str, Measure]:
    found = {name: resampling.mean(np.array([row[name] for row in rows])) for name in rows[0]}
    return {name: figure for name, figure in found.items() if figure is not None}

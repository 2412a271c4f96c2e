"""Figures of ways to say which agents are at fault and in which mode, side by side on the same rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from _agent_head_fit import AgentFitOptions, Study, any_team_study, best_threshold, known_team_columns, part_of
from _agent_head_sums import pooled, ridge
from _encoder_rows import FOLDS, StudyRow
from numpy.typing import NDArray

from tracer_hooks.evaluation._measure import Measure
from tracer_hooks.evaluation._resampling import Resampling
from tracer_hooks.training._metrics import area_within

_DRAWS, _SEED = 1000, 0
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Answers:
    """What one way says of every row, by agents in its own order."""

    names: Sequence[Sequence[str]]
    odds: Sequence[NDArray[np.floating]]
    """For each row (agents, 15): that an agent is at fault, and that it is with each mode."""
    truth: Sequence[NDArray[np.bool_]]
    """In the same shape."""

    @property
    def areas(self) -> Array:
        """For each row the area of faulty against other agents; NaN where all are faulty."""
        pairs = zip(self.odds, self.truth, strict=True)
        found = [area_within([odds[:, 0]], [truth[:, 0].astype(np.float32)]) for odds, truth in pairs]
        return np.array([math.nan if one is None else one for one in found])


def of_encoder(rows: Sequence[StudyRow], odds: Sequence[NDArray[np.floating]]) -> Answers:
    """The answers of an encoder."""
    labels = [row.encoder.labels for row in rows]
    return Answers(
        [row.encoder.reading.text.agents for row in rows],
        odds,
        [np.column_stack([one.agents, one.modes]) > 0 for one in labels],
    )


def of_structural(rows: Sequence[StudyRow], *, known_teams: bool) -> Answers:
    """The agent head of `structural`, fitted without the row's architecture, or without its fifth of the questions."""
    examples, options = [row.structural for row in rows], AgentFitOptions()
    if known_teams:
        parts = [part_of(row.encoder.question, FOLDS) for row in rows]
        study = Study(examples, known_team_columns(examples, options), parts)
        scores = study.left_out(lambda sums: ridge(pooled(sums), options.known_strength))
    else:
        study = any_team_study(examples, options)
        scores = study.left_out(lambda sums: ridge(pooled(sums, equal=True), options.strength))
    return Answers(
        [one.rows.names for one in examples],
        study.by_example(scores),
        [np.column_stack([one.at_fault, one.pairs]) for one in examples],
    )


def joined(one: Answers, other: Answers) -> Answers:
    """The sum of both, each by its own spread; agents that only the first has count by that one alone."""
    spreads = [float(np.concatenate([odds[:, :1] for odds in way.odds]).std()) or 1.0 for way in (one, other)]
    found = []
    for names, odds, theirs, others in zip(one.names, one.odds, other.names, other.odds, strict=True):
        places = {name: place for place, name in enumerate(theirs)}
        own = odds / spreads[0]
        for row, name in enumerate(names):
            if name in places:
                own[row] = own[row] + others[places[name]] / spreads[1]
        found.append(own)
    return Answers(one.names, found, one.truth)


@dataclass(frozen=True)
class PairCounts:
    """Pairs of agent and mode, for every row: right, named, and labelled, also of agents that never act."""

    right: Array
    named: Array
    labelled: Array

    @property
    def f1(self) -> tuple[Array, Array]:
        """Above and below of the micro-averaged F1."""
        return 2 * self.right, self.named + self.labelled


def pair_counts(rows: Sequence[StudyRow], answers: Answers) -> PairCounts:
    """Named is what passes the threshold that is best on the other fifths of the questions."""
    parts = np.array([part_of(row.encoder.question, FOLDS) for row in rows])
    labelled = np.array([row.structural.labelled for row in rows], dtype=np.float64)
    right, named = np.zeros(len(rows)), np.zeros(len(rows))
    for part in range(FOLDS):
        others = np.flatnonzero(parts != part)
        odds = np.concatenate([answers.odds[k][:, 1:] for k in others]).astype(np.float64)
        gold = np.concatenate([answers.truth[k][:, 1:] for k in others])
        least = best_threshold(odds, gold, int(labelled[others].sum()))
        for k in np.flatnonzero(parts == part):
            said = answers.odds[k][:, 1:] >= least
            right[k], named[k] = (said & answers.truth[k][:, 1:]).sum(), said.sum()
    return PairCounts(right, named, labelled)


def mean_counts(counts: Sequence[PairCounts]) -> PairCounts:
    """The mean over seeds, row by row."""
    right, named = (np.mean([getattr(one, name) for one in counts], axis=0) for name in ("right", "named"))
    return PairCounts(right, named, counts[0].labelled)


def resampling(rows: Sequence[StudyRow]) -> Resampling:
    """Draws of whole questions, the same for every figure."""
    return Resampling([row.encoder.question for row in rows], draws=_DRAWS, seed=_SEED)


def by_architecture(rows: Sequence[StudyRow], areas: Array, draws: Resampling) -> tuple[dict[str, float], Measure]:
    """The mean area of each architecture, and the mean of those with its interval over questions."""
    kinds = [row.encoder.architecture for row in rows]
    known, weights = ~np.isnan(areas), draws.by_run()
    own = {name: known & np.array([kind == name for kind in kinds]) for name in sorted(set(kinds))}
    means = {name: float(areas[mask].mean()) for name, mask in own.items() if mask.any()}
    drawn = np.mean(
        [(weights[:, own[name]] @ areas[own[name]]) / weights[:, own[name]].sum(axis=1) for name in means], axis=0
    )
    return means, draws.measure(float(np.mean(list(means.values()))), drawn, runs=int(known.sum()))

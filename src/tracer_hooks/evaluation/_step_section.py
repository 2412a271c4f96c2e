"""The table for labelled steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tracer_hooks.evaluation._calibration import Calibration, calibrate
from tracer_hooks.evaluation._case import Case
from tracer_hooks.evaluation._measure import Measure
from tracer_hooks.evaluation._report import Comparison, LengthRow, StepRow, StepSection
from tracer_hooks.evaluation._resampling import Array, Resampling
from tracer_hooks.evaluation._scored import READS_RUN, Mask, ScoredSteps, chosen, cost_of
from tracer_hooks.evaluation._step_scores import STEP_METRICS

LENGTHS: tuple[tuple[int, int | None], ...] = ((1, 4), (5, 10), (11, 17), (18, 30), (31, 50), (51, 92), (93, None))
"""Buckets of run length in steps: the levels of Who&When (5-17, 19-29, 31-49, 51-91, 93-130) without their gaps, and
the first one divided, as nearly all of Algorithm-Generated lies in it."""
_COMPARED = ("agent", "step", "joint")


def step_section(
    cases: Sequence[Case], rows: Sequence[ScoredSteps], mask: Mask, resampling: Resampling
) -> StepSection | None:
    """The section for the runs of ``mask``.

    Args:
        cases: All runs with a labelled step.
        rows: Methods scored on these.
        mask: Which of them belong to the group.
        resampling: Of the group's runs.
    """
    group = [case for case, taken in zip(cases, mask, strict=True) if taken]
    if not group:
        return None
    lengths = np.array([len(case.trajectory.steps) for case in group])
    return StepSection(
        runs=len(group),
        questions=resampling.clusters,
        rows=tuple(_row(row, mask, lengths, resampling) for row in rows),
        comparisons=tuple(_comparisons(rows, mask, resampling)),
    )


def _row(row: ScoredSteps, mask: Mask, lengths: Array, resampling: Resampling) -> StepRow:
    scores = {name: values[mask] for name, values in row.scores.items()}
    measures = {name: resampling.mean(scores[name]) for name in STEP_METRICS}
    return StepRow(
        name=row.name,
        reads=row.reads,
        told_reference=row.told,
        measures={name: one for name, one in measures.items() if one is not None},
        by_length=tuple(_by_length(scores, lengths, resampling)),
        calibration=_calibration(row, mask),
        cost=None if row.answers is None else cost_of(chosen(row.answers, mask)),
    )


def _by_length(scores: dict[str, Array], lengths: Array, resampling: Resampling) -> Iterator[LengthRow]:
    for low, high in LENGTHS:
        inside = (lengths >= low) & (lengths <= (np.inf if high is None else high))
        found = {name: resampling.mean(np.where(inside, scores[name], np.nan)) for name in _COMPARED}
        measures = {name: one for name, one in found.items() if one is not None}
        if measures:
            yield LengthRow(low=low, high=high, measures=measures)


def _calibration(row: ScoredSteps, mask: Mask) -> Calibration | None:
    if row.guesses is None:
        return None
    said = [
        (guess.confidence, right)
        for guess, right, taken in zip(row.guesses, row.scores["joint"], mask, strict=True)
        if taken and guess is not None and guess.confidence is not None
    ]
    return calibrate([confidence for confidence, _ in said], [float(right) for _, right in said])


def _comparisons(rows: Sequence[ScoredSteps], mask: Mask, resampling: Resampling) -> Iterator[Comparison]:
    baselines = [row for row in rows if row.reads != READS_RUN]
    if not baselines:
        return
    for row in rows:
        if row.reads != READS_RUN:
            continue
        for metric in _COMPARED:
            best = max(baselines, key=lambda one: float(np.nanmean(one.scores[metric][mask])))
            ours, theirs = row.scores[metric][mask], best.scores[metric][mask]
            difference: Measure | None = resampling.difference(ours, theirs)
            if difference is not None:
                yield Comparison(
                    row=row.name, told_reference=row.told, metric=metric, best=best.name, difference=difference
                )

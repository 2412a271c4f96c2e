"""Sections of a report: steps, faults, and failures that were detected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from tracer_hooks.evaluation._cases import Case
from tracer_hooks.evaluation._measures import Array, CalibrationFigures, Measure, Resampling, calibrate, macro_f1
from tracer_hooks.evaluation._methods import Answer
from tracer_hooks.evaluation._report import (
    Comparison,
    DetectionRow,
    DetectionSection,
    FaultRow,
    FaultSection,
    LengthRow,
    StepRow,
    StepSection,
)
from tracer_hooks.evaluation._scores import (
    LEVELS,
    NAMINGS,
    READS_RUN,
    STEP_METRICS,
    DetectedRuns,
    FaultScores,
    Mask,
    ScoredFaults,
    ScoredSteps,
    chosen_rows,
    cost_of,
)
from tracer_hooks.schema import RunOutcome

LENGTHS: tuple[tuple[int, int | None], ...] = ((1, 4), (5, 10), (11, 17), (18, 30), (31, 50), (51, 92), (93, None))
"""Buckets of run length in steps: the levels of Who&When (5-17, 19-29, 31-49, 51-91, 93-130) without their gaps, and
the first one divided, as nearly all of Algorithm-Generated lies in it."""
_COMPARED = ("agent", "step", "joint")
_Row = TypeVar("_Row", ScoredSteps, ScoredFaults)


def step_section(
    cases: Sequence[Case], rows: Sequence[ScoredSteps], mask: Mask, resampling: Resampling
) -> StepSection | None:
    """The section for the runs of ``mask``."""
    group = [case for case, taken in zip(cases, mask, strict=True) if taken]
    if not group:
        return None
    lengths = np.array([len(case.trajectory.steps) for case in group])
    return StepSection(
        runs=len(group),
        questions=resampling.clusters,
        rows=tuple(_step_row(row, mask, lengths, resampling) for row in rows),
        comparisons=tuple(_step_comparisons(rows, mask, resampling)),
    )


def _step_row(row: ScoredSteps, mask: Mask, lengths: Array, resampling: Resampling) -> StepRow:
    scores = {name: values[mask] for name, values in row.scores.items()}
    return StepRow(
        **_shared(row, mask, ((name, resampling.mean(scores[name])) for name in STEP_METRICS)),
        by_length=tuple(_by_length(scores, lengths, resampling)),
        calibration=_calibration(row, mask),
    )


def _shared(
    row: ScoredSteps | ScoredFaults, mask: Mask, measures: Iterable[tuple[str, Measure | None]]
) -> dict[str, Any]:
    """The fields of a row in any table."""
    return {
        "name": row.name,
        "reads": row.reads,
        "told_reference": row.told,
        "measures": {name: figure for name, figure in measures if figure is not None},
        "cost": None if row.answers is None else cost_of(chosen_rows(row.answers, mask)),
    }


def _by_length(scores: dict[str, Array], lengths: Array, resampling: Resampling) -> Iterator[LengthRow]:
    for low, high in LENGTHS:
        inside = (lengths >= low) & (lengths <= (np.inf if high is None else high))
        found = {name: resampling.mean(np.where(inside, scores[name], np.nan)) for name in _COMPARED}
        measures = {name: figure for name, figure in found.items() if figure is not None}
        if measures:
            yield LengthRow(low=low, high=high, measures=measures)


def _calibration(row: ScoredSteps, mask: Mask) -> CalibrationFigures | None:
    if row.guesses is None:
        return None
    said = [
        (guess.confidence, right)
        for guess, right, taken in zip(row.guesses, row.scores["joint"], mask, strict=True)
        if taken and guess is not None and guess.confidence is not None
    ]
    return calibrate([confidence for confidence, _ in said], [float(right) for _, right in said])


def _step_comparisons(rows: Sequence[ScoredSteps], mask: Mask, resampling: Resampling) -> Iterator[Comparison]:
    def difference(ours: ScoredSteps, best: ScoredSteps, metric: str) -> Measure | None:
        return resampling.difference(ours.scores[metric][mask], best.scores[metric][mask])

    return _comparisons(rows, _COMPARED, lambda row, metric: float(np.nanmean(row.scores[metric][mask])), difference)


def _comparisons(
    rows: Sequence[_Row],
    metrics: Sequence[str],
    value: Callable[[_Row, str], float],
    difference: Callable[[_Row, _Row, str], Measure | None],
) -> Iterator[Comparison]:
    """Each attributor beside the row that does best without reading the run."""
    baselines = [row for row in rows if row.reads != READS_RUN]
    for row in rows if baselines else ():
        for metric in metrics if row.reads == READS_RUN else ():
            best = max(baselines, key=lambda baseline: value(baseline, metric))
            if (found := difference(row, best, metric)) is not None:
                yield Comparison(row=row.name, told_reference=row.told, metric=metric, best=best.name, difference=found)


_NAMED = "normalised"
COMPARED = ("pair_micro", "agent_micro", "mode_micro", "auc")


def fault_section(
    cases: Sequence[Case], rows: Sequence[ScoredFaults], mask: Mask, resampling: Resampling
) -> FaultSection | None:
    """The section for the runs of ``mask``."""
    if not mask.any():
        return None
    known = next(row.scores.labels for row in rows if row.scores.labels is not None)
    return FaultSection(
        runs=int(mask.sum()),
        questions=resampling.clusters,
        classes={level: known[level, _NAMED].within(mask).labelled for level in LEVELS},
        rows=tuple(FaultRow(**_shared(row, mask, _measured(row.scores, mask, resampling))) for row in rows),
        comparisons=tuple(_fault_comparisons(rows, mask, resampling)),
    )


def _measured(scores: FaultScores, mask: Mask, resampling: Resampling) -> Iterator[tuple[str, Measure | None]]:
    """Figures by name; without further words names are normalised."""
    for how in NAMINGS:
        ending = "" if how == _NAMED else f"_{how}"
        for level in LEVELS:
            yield f"{level}_micro{ending}", _micro(level, how, scores, mask, resampling)
            yield f"{level}_macro{ending}", _macro(level, how, scores, mask, resampling)
    yield "auc", resampling.mean(scores.auc[mask])
    yield "answered", resampling.mean(scores.answered[mask])


def _micro(level: str, how: str, scores: FaultScores, mask: Mask, resampling: Resampling) -> Measure | None:
    return resampling.ratio(*_f1_parts(scores, level, how, mask), runs=int(mask.sum()))


def _macro(level: str, how: str, scores: FaultScores, mask: Mask, resampling: Resampling) -> Measure | None:
    if scores.labels is None:
        return None
    counts = scores.labels[level, how].within(mask)
    return macro_f1(counts, resampling, runs=int(mask.sum()), with_interval=how == _NAMED)


def _f1_parts(scores: FaultScores, level: str, how: str, mask: Mask) -> tuple[Array, Array]:
    right, said, gold = scores.micro[level, how]
    return 2 * right[mask], (said + gold)[mask]


def _fault_comparisons(rows: Sequence[ScoredFaults], mask: Mask, resampling: Resampling) -> Iterator[Comparison]:
    def value(row: ScoredFaults, metric: str) -> float:
        above, below = _parts(row.scores, metric, mask)
        return float(above.sum() / below.sum()) if below.sum() else 0.0

    def difference(ours: ScoredFaults, best: ScoredFaults, metric: str) -> Measure | None:
        return resampling.ratio_difference(_parts(ours.scores, metric, mask), _parts(best.scores, metric, mask))

    return _comparisons(rows, COMPARED, value, difference)


def _parts(scores: FaultScores, metric: str, mask: Mask) -> tuple[Array, Array]:
    if metric != "auc":
        return _f1_parts(scores, metric.removesuffix("_micro"), _NAMED, mask)
    areas = scores.auc[mask]
    known = ~np.isnan(areas)
    return np.where(known, areas, 0.0), known.astype(np.float64)


_MOST_PAIRS = 2_000_000
"""Pairs of a failure and a pass up to which the area's interval is drawn; beyond that the area alone is given."""


def detection_section(
    cases: Sequence[Case], rows: Sequence[DetectedRuns], mask: Mask, resampling: Resampling
) -> DetectionSection | None:
    """The section for the runs of ``mask``; None when the outcome of none is known."""
    group = [case for case, taken in zip(cases, mask, strict=True) if taken]
    passed = np.array([case.outcome is RunOutcome.SUCCEEDED for case in group], dtype=np.bool_)
    failed = np.array([case.outcome is RunOutcome.FAILED for case in group], dtype=np.bool_)
    if not rows or not (passed.any() or failed.any()):
        return None
    return DetectionSection(
        passes=int(passed.sum()),
        failures=int(failed.sum()),
        rows=tuple(_detection_row(row, chosen_rows(row.answers, mask), passed, failed, resampling) for row in rows),
    )


def _detection_row(
    row: DetectedRuns, answers: Sequence[Answer], passed: Mask, failed: Mask, resampling: Resampling
) -> DetectionRow:
    blamed = np.array([float(answer.given is not None) for answer in answers])
    confidences = np.array([0.0 if answer.given is None else answer.given.confidence for answer in answers])
    return DetectionRow(
        name=row.name,
        outcome_told=row.told,
        false_alarms=resampling.mean(np.where(passed, blamed, np.nan)),
        attributed=resampling.mean(np.where(failed, blamed, np.nan)),
        separation=separation(confidences, failed, passed, resampling),
    )


def separation(confidences: Array, failed: Mask, passed: Mask, resampling: Resampling) -> Measure | None:
    """The share of pairs of a failure and a pass in which the failure has the higher confidence; ties count half.

    None when there are no such pairs.
    """
    ours, theirs = confidences[failed], confidences[passed]
    if not len(ours) or not len(theirs):
        return None
    ordered = np.sort(theirs)
    below, up_to = np.searchsorted(ordered, ours, "left"), np.searchsorted(ordered, ours, "right")
    value = float((below + up_to).sum() / (2 * len(ours) * len(theirs)))
    if len(ours) * len(theirs) > _MOST_PAIRS:
        return Measure(value=value, runs=len(ours) + len(theirs))
    wins = (ours[:, None] > theirs[None, :]) + 0.5 * (ours[:, None] == theirs[None, :])
    taken = resampling.by_run()
    of_failures, of_passes = taken[:, failed], taken[:, passed]
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn = ((of_failures @ wins) * of_passes).sum(axis=1) / (of_failures.sum(axis=1) * of_passes.sum(axis=1))
    return resampling.measure(value, drawn, runs=len(ours) + len(theirs))

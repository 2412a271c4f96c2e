"""Who is blamed in runs that passed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracer_hooks.evaluation._answers import Answer
from tracer_hooks.evaluation._case import Case
from tracer_hooks.evaluation._measure import Measure
from tracer_hooks.evaluation._report import DetectionRow, DetectionSection
from tracer_hooks.evaluation._resampling import Array, Resampling
from tracer_hooks.evaluation._scored import Detected, Mask, chosen
from tracer_hooks.schema import RunOutcome

_MOST_PAIRS = 2_000_000
"""Pairs of a failure and a pass up to which the area's interval is drawn; beyond that the area alone is given."""


def detection_section(
    cases: Sequence[Case], rows: Sequence[Detected], mask: Mask, resampling: Resampling
) -> DetectionSection | None:
    """The section for the runs of ``mask``; None when the outcome of none is known.

    Args:
        cases: All runs.
        rows: Answers to these.
        mask: Which of them belong to the group.
        resampling: Of the group's runs.
    """
    group = [case for case, taken in zip(cases, mask, strict=True) if taken]
    passed = np.array([case.outcome is RunOutcome.SUCCEEDED for case in group], dtype=np.bool_)
    failed = np.array([case.outcome is RunOutcome.FAILED for case in group], dtype=np.bool_)
    if not rows or not (passed.any() or failed.any()):
        return None
    return DetectionSection(
        passes=int(passed.sum()),
        failures=int(failed.sum()),
        rows=tuple(_row(row, chosen(row.answers, mask), passed, failed, resampling) for row in rows),
    )


def _row(row: Detected, answers: Sequence[Answer], passed: Mask, failed: Mask, resampling: Resampling) -> DetectionRow:
    blamed = np.array([float(answer.given is not None) for answer in answers])
    return DetectionRow(
        name=row.name,
        outcome_told=row.told,
        false_alarms=resampling.mean(np.where(passed, blamed, np.nan)),
        attributed=resampling.mean(np.where(failed, blamed, np.nan)),
        separation=separation(_confidences(answers), failed, passed, resampling),
    )


def _confidences(answers: Sequence[Answer]) -> Array:
    return np.array([0.0 if answer.given is None else answer.given.confidence for answer in answers])


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

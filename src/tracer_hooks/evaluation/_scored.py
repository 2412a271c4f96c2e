"""Rows before they are divided into groups: one array a figure, over all runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tracer_hooks.evaluation._answers import Answer
from tracer_hooks.evaluation._fault_scores import FaultScores
from tracer_hooks.evaluation._report import Cost
from tracer_hooks.evaluation._resampling import Array
from tracer_hooks.evaluation._step_scores import Guess

READS_RUN = "the run"
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredSteps:
    """One method on all runs with a labelled step."""

    name: str
    reads: str = READS_RUN
    told: bool = False
    scores: dict[str, Array]
    guesses: list[Guess | None] | None = None
    answers: list[Answer] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredFaults:
    """One method on all runs with labelled faults."""

    name: str
    reads: str = READS_RUN
    told: bool = False
    scores: FaultScores
    answers: list[Answer] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Detected:
    """One attributor on all runs with a known outcome."""

    name: str
    told: bool
    """Whether the outcome was told."""
    answers: list[Answer]


def chosen(items: Sequence[Answer], mask: Mask) -> list[Answer]:
    """The answers to the runs of a group."""
    return [item for item, taken in zip(items, mask, strict=True) if taken]


def cost_of(answers: Sequence[Answer]) -> Cost | None:
    """Seconds and tokens of these answers; None for no answers."""
    if not answers:
        return None
    seconds = np.array([answer.seconds for answer in answers])
    usages = [answer.attribution.usage for answer in answers if answer.attribution is not None]
    known = [usage for usage in usages if usage is not None]
    return Cost(
        seconds_mean=float(seconds.mean()),
        seconds_median=float(np.median(seconds)),
        seconds_p95=float(np.percentile(seconds, 95)),
        input_tokens=float(np.mean([usage.input_tokens for usage in known])) if known else None,
        output_tokens=float(np.mean([usage.output_tokens for usage in known])) if known else None,
    )

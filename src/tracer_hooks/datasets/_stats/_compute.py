"""Counting a labelled set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tracer_hooks.datasets._labeled import LabeledSet, count_of, number_of, question_groups, text_of
from tracer_hooks.datasets._stats._rate import Rate, rate_of
from tracer_hooks.datasets._stats._records import UNKNOWN, Cost, DatasetStats, Summary, Yield
from tracer_hooks.schema import LabeledTrajectory, LabelSource

_FIFTHS = 5


def stats(dataset: LabeledSet) -> DatasetStats:
    """Count what ``dataset`` holds. Keys that ``verification`` lacks count as unknown, never as zero trials failed."""
    labeled = dataset.labeled
    yields = _yields(dataset)
    return DatasetStats(
        labeled=len(labeled),
        clean=len(dataset.clean),
        discarded=len(dataset.discarded),
        pairs=len(dataset.pairs()),
        questions=len(set(question_groups([*labeled, *dataset.clean]))),
        counts=_counts(dataset),
        lengths={
            kind: _summary([len(item.trajectory.steps) for item in items])
            for kind, items in (("labeled", labeled), ("clean", dataset.clean))
            if items
        },
        yields=yields,
        injection_yield=rate_of(
            sum(one.verified.successes for one in yields), sum(one.verified.trials for one in yields)
        ),
        verified_failures=_rate(labeled, "faulty_failures", "faulty_runs"),
        control_passes=_rate(labeled, "control_passes", "control_runs"),
        flips=_rate(labeled, "flips", "trials"),
        control_flips=_rate(labeled, "control_flips", "controls"),
        random_flips=_rate(labeled, "random_flips", "random_trials"),
        cost=_cost(dataset),
    )


def _counts(dataset: LabeledSet) -> dict[str, dict[str, int]]:
    labeled = dataset.labeled
    keys = ("architecture", "suite", "strategy", "kind", "writer")
    values: dict[str, Iterable[str]] = {
        "label source": (item.label_source.value for item in labeled),
        "framework": (item.trajectory.framework for item in labeled),
        **{key: [text_of(item.verification, key) or UNKNOWN for item in labeled] for key in keys},
        "mode": (mode for item in labeled for mode in _modes(item)),
        "agent": (agent for item in labeled for agent in _agents(item)),
    }
    counts = {name: dict(Counter(found).most_common()) for name, found in values.items()}
    steps = Counter(item.decisive.step for item in labeled if item.decisive is not None)
    counts["step"] = {str(step): steps[step] for step in sorted(steps)}
    fifths = Counter(fifth for item in labeled if (fifth := _fifth(item)) is not None)
    counts["position"] = {f"{k / _FIFTHS:.0%} to {(k + 1) / _FIFTHS:.0%}": fifths[k] for k in range(_FIFTHS)}
    reasons = (text_of(one, "reason") or UNKNOWN for one in dataset.discarded)
    return {**counts, "reason": dict(Counter(reasons).most_common())}


def _modes(item: LabeledTrajectory) -> list[str]:
    modes = [fault.error_mode for fault in item.faults]
    if item.decisive is not None:
        modes = [item.decisive.error_mode]
    return list(dict.fromkeys(UNKNOWN if mode is None else mode.value for mode in modes))


def _agents(item: LabeledTrajectory) -> list[str]:
    if item.decisive is not None:
        return [item.decisive.agent]
    return list(dict.fromkeys(fault.agent for fault in item.faults))


def _fifth(item: LabeledTrajectory) -> int | None:
    length = len(item.trajectory.steps)
    if item.decisive is None or item.decisive.step >= length:
        return None
    return item.decisive.step * _FIFTHS // length


def _summary(numbers: Sequence[int]) -> Summary:
    return Summary(
        count=len(numbers),
        mean=float(np.mean(numbers)),
        median=float(np.median(numbers)),
        low=min(numbers),
        high=max(numbers),
    )


def _yields(dataset: LabeledSet) -> tuple[Yield, ...]:
    verified: Counter[tuple[str, str]] = Counter()
    for item in dataset.labeled:
        if item.label_source is LabelSource.INJECTED:
            verified[(_modes(item)[0], text_of(item.verification, "strategy") or UNKNOWN)] += 1
    attempted = verified.copy()
    for one in dataset.discarded:
        strategy = text_of(one, "strategy")
        if strategy is not None:
            attempted[(text_of(one, "mode") or UNKNOWN, strategy)] += 1
    return tuple(
        Yield(mode=mode, strategy=strategy, verified=rate_of(verified[mode, strategy], attempted[mode, strategy]))
        for mode, strategy in sorted(attempted)
    )


def _rate(items: Iterable[LabeledTrajectory], above: str, below: str) -> Rate:
    """Only items that have both counts, and whose counts can be true."""
    known = [
        (count_of(item.verification, above), count_of(item.verification, below))
        for item in items
        if number_of(item.verification, above) is not None and number_of(item.verification, below) is not None
    ]
    possible = [(some, all_) for some, all_ in known if 0 <= some <= all_]
    return rate_of(sum(some for some, _ in possible), sum(all_ for _, all_ in possible))


def _cost(dataset: LabeledSet) -> Cost:
    sources: list[Mapping[str, Any]] = [item.verification for item in dataset.labeled]
    sources += dataset.discarded

    def each(key: str) -> float | None:
        numbers = [number for one in sources if (number := number_of(one, key)) is not None]
        return sum(numbers) / len(dataset.labeled) if numbers and dataset.labeled else None

    return Cost(runs=each("runs"), tokens=each("tokens"), seconds=each("seconds"))

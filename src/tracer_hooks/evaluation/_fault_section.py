"""The table for labelled sets of agents and modes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from tracer_hooks.evaluation._case import Case
from tracer_hooks.evaluation._fault_scores import LEVELS, NAMINGS, FaultScores
from tracer_hooks.evaluation._label_counts import macro_f1
from tracer_hooks.evaluation._measure import Measure
from tracer_hooks.evaluation._report import Comparison, FaultRow, FaultSection
from tracer_hooks.evaluation._resampling import Array, Resampling
from tracer_hooks.evaluation._scored import READS_RUN, Mask, ScoredFaults, chosen, cost_of

_NAMED = "normalised"

FAULT_METRICS: Mapping[str, str] = {
    **{f"{level}_micro": f"{level}, micro-F1" for level in LEVELS},
    **{f"{level}_macro": f"{level}, macro-F1" for level in LEVELS},
    "auc": "faulty against other speakers within a run, area under the ROC curve",
    "answered": "somebody is blamed",
    **{f"{level}_{mean}_{how}": f"{level}, {mean}-F1, {NAMINGS[how]}" for how in ("exact", "roster")
       for mean in ("micro", "macro") for level in LEVELS},
}  # fmt: skip
"""The figures for labelled faults, with what each says. Without further words names are normalised."""
COMPARED = ("pair_micro", "agent_micro", "mode_micro", "auc")


def fault_section(
    cases: Sequence[Case], rows: Sequence[ScoredFaults], mask: Mask, resampling: Resampling
) -> FaultSection | None:
    """The section for the runs of ``mask``.

    Args:
        cases: All runs with labelled faults.
        rows: Methods scored on these.
        mask: Which of them belong to the group.
        resampling: Of the group's runs.
    """
    if not mask.any():
        return None
    known = next(row.scores.labels for row in rows if row.scores.labels is not None)
    return FaultSection(
        runs=int(mask.sum()),
        questions=resampling.clusters,
        classes={level: known[level, _NAMED].within(mask).labelled for level in LEVELS},
        rows=tuple(_row(row, mask, resampling) for row in rows),
        comparisons=tuple(_comparisons(rows, mask, resampling)),
    )


def _row(row: ScoredFaults, mask: Mask, resampling: Resampling) -> FaultRow:
    measures = {name: make(row.scores, mask, resampling) for name, make in _figures().items()}
    return FaultRow(
        name=row.name,
        reads=row.reads,
        told_reference=row.told,
        measures={name: one for name, one in measures.items() if one is not None},
        cost=None if row.answers is None else cost_of(chosen(row.answers, mask)),
    )


def _figures() -> dict[str, Callable[[FaultScores, Mask, Resampling], Measure | None]]:
    found: dict[str, Callable[[FaultScores, Mask, Resampling], Measure | None]] = {}
    for how in NAMINGS:
        ending = "" if how == _NAMED else f"_{how}"
        for level in LEVELS:
            found[f"{level}_micro{ending}"] = _micro(level, how)
            found[f"{level}_macro{ending}"] = _macro(level, how)
    found["auc"] = lambda scores, mask, resampling: resampling.mean(scores.auc[mask])
    found["answered"] = lambda scores, mask, resampling: resampling.mean(scores.answered[mask])
    return {name: found[name] for name in FAULT_METRICS}


def _micro(level: str, how: str) -> Callable[[FaultScores, Mask, Resampling], Measure | None]:
    def measure(scores: FaultScores, mask: Mask, resampling: Resampling) -> Measure | None:
        return resampling.ratio(*_f1_parts(scores, level, how, mask), runs=int(mask.sum()))

    return measure


def _macro(level: str, how: str) -> Callable[[FaultScores, Mask, Resampling], Measure | None]:
    def measure(scores: FaultScores, mask: Mask, resampling: Resampling) -> Measure | None:
        if scores.labels is None:
            return None
        counts = scores.labels[level, how].within(mask)
        return macro_f1(counts, resampling, runs=int(mask.sum()), with_interval=how == _NAMED)

    return measure


def _f1_parts(scores: FaultScores, level: str, how: str, mask: Mask) -> tuple[Array, Array]:
    right, said, gold = scores.micro[level, how]
    return 2 * right[mask], (said + gold)[mask]


def _comparisons(rows: Sequence[ScoredFaults], mask: Mask, resampling: Resampling) -> Iterator[Comparison]:
    baselines = [row for row in rows if row.reads != READS_RUN]
    for row in rows:
        if row.reads != READS_RUN:
            continue
        for metric in COMPARED:
            ours = _parts(row.scores, metric, mask)
            best = max(baselines, key=lambda one: _value(_parts(one.scores, metric, mask)))
            difference = resampling.ratio_difference(ours, _parts(best.scores, metric, mask))
            if difference is not None:
                yield Comparison(
                    row=row.name, told_reference=row.told, metric=metric, best=best.name, difference=difference
                )


def _parts(scores: FaultScores, metric: str, mask: Mask) -> tuple[Array, Array]:
    if metric != "auc":
        return _f1_parts(scores, metric.removesuffix("_micro"), _NAMED, mask)
    areas = scores.auc[mask]
    known = ~np.isnan(areas)
    return np.where(known, areas, 0.0), known.astype(np.float64)


def _value(parts: tuple[Array, Array]) -> float:
    return float(parts[0].sum() / parts[1].sum()) if parts[1].sum() else 0.0

"""Scores of answers beside labels, and the sections of the report that are made of them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tracer_hooks.evaluation._cases import Case, fold_name, resolve_name, speakers_of
from tracer_hooks.evaluation._report import (
    Array,
    CalibrationFigures,
    Comparison,
    DetectionRow,
    DetectionSection,
    FaultRow,
    FaultSection,
    LabelCounts,
    LengthRow,
    Measure,
    MethodCost,
    Resampling,
    StepRow,
    StepSection,
    calibrate,
    macro_f1,
)
from tracer_hooks.schema import Attribution, ErrorMode, RunOutcome

HITS = (1, 3, 5)
TOLERANCES = (1, 3, 5)
STEP_METRICS = (
    *("agent", "step", "joint", *(f"hit_{k}" for k in HITS), "mrr", *(f"within_{k}" for k in TOLERANCES)),
    *("answered", "agent_answered", "step_answered", "joint_answered", "mode", "any_faulty_step"),
)
"""The figures for labelled steps. But for those where answered, an abstention counts as wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Answer of an attributor about one run."""

    attribution: Attribution | None
    """None when the attributor failed; counts as an abstention."""
    seconds: float
    """Wall-clock time of the diagnosis."""

    @property
    def given(self) -> Attribution | None:
        """The attribution, unless it is an abstention."""
        found = self.attribution
        return None if found is None or found.abstained or found.agent is None else found


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
    """Every figure of :data:`STEP_METRICS` for one run; NaN where a figure does not apply."""
    gold = case.gold_agent
    assert gold is not None, "scored are runs with a labelled agent"
    if guess is None:
        agent = step = joint = 0.0
        rank, distance = math.inf, math.inf
    else:
        agent = float(fold_name(guess.agent) == fold_name(gold))
        step = float(case.gold_step is not None and guess.step == case.gold_step)
        joint = agent * step
        rank = guess.ranking.index(case.gold_step) + 1 if case.gold_step in guess.ranking else math.inf
        distance = math.inf if guess.step is None or case.gold_step is None else abs(guess.step - case.gold_step)
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
    }


def score_guesses(cases: Sequence[Case], guesses: Iterable[Guess | None]) -> dict[str, Array]:
    """Every figure for every run: one array a figure, in the order of the runs."""
    return as_arrays([score_guess(case, guess) for case, guess in zip(cases, guesses, strict=True)])


def as_arrays(rows: Sequence[Mapping[str, float]]) -> dict[str, Array]:
    """Rows of figures as one array a figure; NaN where a row lacks one."""
    return {name: np.array([row.get(name, math.nan) for row in rows], dtype=np.float64) for name in STEP_METRICS}


def _where(applies: bool, **figures: float) -> dict[str, float]:
    return figures if applies else dict.fromkeys(figures, math.nan)


LEVELS = ("pair", "agent", "mode")
NAMINGS = ("exact", "normalised", "roster")
"""How names are compared: as they are spelled, as Aegis scores; without case, spaces and signs; and the same with a
running number behind a label dropped when that makes it a speaker of the run."""
Pair = tuple[str, ErrorMode]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultGuess:
    """Everything that an answer blames, in the answer's own spelling."""

    agents: frozenset[str] = frozenset()
    pairs: frozenset[Pair] = frozenset()
    modes: frozenset[ErrorMode] = frozenset()
    ranks: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """How strongly each agent is suspected, by folded name; compared part by part, a missing agent ranks last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultScores:
    """Counts of one row of the table for every run."""

    micro: Mapping[tuple[str, str], tuple[Array, Array, Array]]
    """By level and naming: how many were right, named, and labelled, in each run."""
    labels: Mapping[tuple[str, str], LabelCounts] | None
    """By level and naming: which labels were named and given, in which runs; None for chance."""
    auc: Array
    """Area under the ROC curve of faulty against other speakers within each run; NaN where all are or none is."""
    answered: Array
    """1 where somebody is blamed."""


def fault_guess_of(answer: Answer) -> FaultGuess:
    """Return what an attributor blames: its faults; without any, its one answer. An abstention blames nobody.

    For the ranking of agents an agent's strongest fault counts, and between equals the belief of its candidate steps;
    an abstention's candidates count, too, as they are still an order.
    """
    given, told = answer.given, answer.attribution
    if told is None:
        return FaultGuess()
    faults = told.faults
    named = [(one.agent, one.error_mode) for one in faults] if given is not None else []
    if given is not None and not named and given.agent is not None:
        named = [(given.agent, given.error_mode)]
    ranks: dict[str, tuple[float, float]] = {}
    for fault in faults:
        strongest, belief = ranks.get(fold_name(fault.agent), (0.0, 0.0))
        ranks[fold_name(fault.agent)] = (max(strongest, fault.score), belief)
    for candidate in told.candidates:
        strongest, belief = ranks.get(fold_name(candidate.agent), (0.0, 0.0))
        ranks[fold_name(candidate.agent)] = (strongest, belief + candidate.score)
    return FaultGuess(
        agents=frozenset(agent for agent, _ in named),
        pairs=frozenset((agent, mode) for agent, mode in named if mode is not None),
        modes=frozenset(mode for _, mode in named if mode is not None),
        ranks=ranks,
    )


def score_faults(cases: Sequence[Case], guesses: Sequence[FaultGuess]) -> FaultScores:
    """Counts and areas for every run; the runs have labelled faults."""
    speakers = [speakers_of(case.trajectory) for case in cases]
    gold = [_labelled(case) for case in cases]
    labels: dict[tuple[str, str], LabelCounts] = {}
    for naming in NAMINGS:
        said = [_in_naming(guess, naming, who) for guess, who in zip(guesses, speakers, strict=True)]
        told = [_in_naming(label, naming, who) for label, who in zip(gold, speakers, strict=True)]
        for place, level in enumerate(LEVELS):
            labels[level, naming] = LabelCounts.of([one[place] for one in said], [one[place] for one in told])
    return FaultScores(
        micro={key: _by_run(counts, len(cases)) for key, counts in labels.items()},
        labels=labels,
        auc=np.array(
            [
                within_run_auc(guess.ranks, faulty_speakers(case, who), who)
                for case, guess, who in zip(cases, guesses, speakers, strict=True)
            ]
        ),
        answered=np.array([float(bool(guess.agents)) for guess in guesses]),
    )


def faulty_speakers(case: Case, speakers: Collection[str]) -> frozenset[str]:
    """Folded names of the speakers that are labelled faulty."""
    return frozenset(resolve_name(fault.agent, speakers) for fault in case.faults or ()) & frozenset(speakers)


def _labelled(case: Case) -> FaultGuess:
    faults = case.faults or ()
    return FaultGuess(
        agents=frozenset(one.agent for one in faults),
        pairs=frozenset((one.agent, one.error_mode) for one in faults if one.error_mode is not None),
        modes=frozenset(one.error_mode for one in faults if one.error_mode is not None),
    )


def _in_naming(
    guess: FaultGuess, naming: str, speakers: tuple[str, ...]
) -> tuple[frozenset[Hashable], frozenset[Hashable], frozenset[Hashable]]:
    pairs, agents = _renamed(guess.pairs, guess.agents, naming, speakers)
    return pairs, agents, guess.modes


@functools.lru_cache(maxsize=1 << 14)
def _renamed(
    pairs: frozenset[Pair], agents: frozenset[str], naming: str, speakers: tuple[str, ...]
) -> tuple[frozenset[Hashable], frozenset[Hashable]]:
    spelled = {name: _spelled(name, naming, speakers) for name in agents | {agent for agent, _ in pairs}}
    return frozenset((spelled[agent], mode) for agent, mode in pairs), frozenset(spelled[name] for name in agents)


def _spelled(name: str, naming: str, speakers: Sequence[str]) -> str:
    if naming == "exact":
        return name.strip()
    return fold_name(name) if naming == "normalised" else resolve_name(name, speakers)


def _by_run(counts: LabelCounts, runs: int) -> tuple[Array, Array, Array]:
    right, said, gold = (
        np.bincount(one.runs, minlength=runs).astype(np.float64) for one in (counts.right, counts.said, counts.gold)
    )
    return right, said, gold


def within_run_auc(ranks: Mapping[str, tuple[float, ...]], faulty: frozenset[str], speakers: Sequence[str]) -> float:
    """The share of pairs of a faulty and another speaker in which the faulty one is suspected more; ties count half.

    Returns:
        The area; NaN when all speakers are faulty or none is.
    """
    bad = [ranks.get(name, ()) for name in speakers if name in faulty]
    good = [ranks.get(name, ()) for name in speakers if name not in faulty]
    if not bad or not good:
        return math.nan
    wins = sum((one > other) + 0.5 * (one == other) for one in bad for other in good)
    return wins / (len(bad) * len(good))


READS_RUN = "the run"
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ScoredMethod:
    name: str
    reads: str = READS_RUN
    told: bool = False
    answers: list[Answer] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredSteps(_ScoredMethod):
    """One method on all runs with a labelled step."""

    scores: dict[str, Array]
    guesses: list[Guess | None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredFaults(_ScoredMethod):
    """One method on all runs with labelled faults."""

    scores: FaultScores


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectedRuns:
    """One attributor on all runs with a known outcome."""

    name: str
    told: bool
    """Whether the outcome was told."""
    answers: list[Answer]


def chosen_rows(items: Sequence[Answer], mask: Mask) -> list[Answer]:
    """The answers to the runs of a group."""
    return [item for item, taken in zip(items, mask, strict=True) if taken]


def cost_of(answers: Sequence[Answer]) -> MethodCost | None:
    """Seconds and tokens of these answers; None for no answers."""
    if not answers:
        return None
    seconds = np.array([answer.seconds for answer in answers])
    usages = [answer.attribution.usage for answer in answers if answer.attribution is not None]
    known = [usage for usage in usages if usage is not None]
    return MethodCost(
        seconds_mean=float(seconds.mean()),
        seconds_median=float(np.median(seconds)),
        seconds_p95=float(np.percentile(seconds, 95)),
        input_tokens=float(np.mean([usage.input_tokens for usage in known])) if known else None,
        output_tokens=float(np.mean([usage.output_tokens for usage in known])) if known else None,
    )


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


def _shared(row: _ScoredMethod, mask: Mask, measures: Iterable[tuple[str, Measure | None]]) -> dict[str, Any]:
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
    runs = int(mask.sum())
    for how in NAMINGS:
        ending = "" if how == _NAMED else f"_{how}"
        for level in LEVELS:
            yield f"{level}_micro{ending}", resampling.ratio(*_f1_parts(scores, level, how, mask), runs=runs)
            yield f"{level}_macro{ending}", _macro(level, how, scores, mask, resampling)
    yield "auc", resampling.mean(scores.auc[mask])
    yield "answered", resampling.mean(scores.answered[mask])


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

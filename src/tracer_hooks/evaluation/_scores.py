"""Scores of answers beside labels: steps, faults, and the arrays that figures are made of."""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tracer_hooks.evaluation._cases import Case, fold_name, resolve_name, speakers_of
from tracer_hooks.evaluation._measures import Array, LabelCounts
from tracer_hooks.evaluation._methods import Answer
from tracer_hooks.evaluation._report import MethodCost
from tracer_hooks.schema import Attribution, ErrorMode

HITS = (1, 3, 5)
TOLERANCES = (1, 3, 5)
STEP_METRICS = (
    *("agent", "step", "joint", *(f"hit_{k}" for k in HITS), "mrr", *(f"within_{k}" for k in TOLERANCES)),
    *("answered", "agent_answered", "step_answered", "joint_answered", "mode", "any_faulty_step"),
)
"""The figures for labelled steps. But for those where answered, an abstention counts as wrong."""


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
        micro={key: _micro(counts, len(cases)) for key, counts in labels.items()},
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


def _micro(counts: LabelCounts, runs: int) -> tuple[Array, Array, Array]:
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

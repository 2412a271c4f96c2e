"""How good a set of faulty agents and modes is, by the metrics of Aegis."""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tracer_hooks.evaluation._answers import Answer
from tracer_hooks.evaluation._case import Case
from tracer_hooks.evaluation._label_counts import LabelCounts
from tracer_hooks.evaluation._names import fold, resolve, speakers_of
from tracer_hooks.evaluation._resampling import Array
from tracer_hooks.schema import ErrorMode

LEVELS = ("pair", "agent", "mode")
NAMINGS: Mapping[str, str] = {
    "exact": "names as they are spelled",
    "normalised": "names without case, spaces and signs",
    "roster": "normalised, and a running number behind a label dropped when that makes it a speaker of the run",
}
"""How names are compared. ``exact`` is the scorer that Aegis was published with."""

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
    """What an attributor blames: its faults; without any, its one answer. An abstention blames nobody.

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
        strongest, belief = ranks.get(fold(fault.agent), (0.0, 0.0))
        ranks[fold(fault.agent)] = (max(strongest, fault.score), belief)
    for candidate in told.candidates:
        strongest, belief = ranks.get(fold(candidate.agent), (0.0, 0.0))
        ranks[fold(candidate.agent)] = (strongest, belief + candidate.score)
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
        auc=_areas(cases, guesses, speakers),
        answered=np.array([float(bool(guess.agents)) for guess in guesses]),
    )


def faulty_speakers(case: Case, speakers: Collection[str]) -> frozenset[str]:
    """Folded names of the speakers that are labelled faulty."""
    return frozenset(resolve(fault.agent, speakers) for fault in case.faults or ()) & frozenset(speakers)


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
    return fold(name) if naming == "normalised" else resolve(name, speakers)


def _micro(counts: LabelCounts, runs: int) -> tuple[Array, Array, Array]:
    right, said, gold = (
        np.bincount(one.runs, minlength=runs).astype(np.float64) for one in (counts.right, counts.said, counts.gold)
    )
    return right, said, gold


def _areas(cases: Sequence[Case], guesses: Sequence[FaultGuess], speakers: Sequence[Sequence[str]]) -> Array:
    return np.array(
        [
            within_run_auc(guess.ranks, faulty_speakers(case, who), who)
            for case, guess, who in zip(cases, guesses, speakers, strict=True)
        ]
    )


def within_run_auc(ranks: Mapping[str, tuple[float, ...]], faulty: frozenset[str], speakers: Sequence[str]) -> float:
    """The share of pairs of a faulty and another speaker in which the faulty one is suspected more; ties count half.

    Args:
        ranks: Suspicion of each speaker by folded name; one that is missing is suspected least.
        faulty: Folded names of the faulty speakers.
        speakers: Folded names of all speakers.

    Returns:
        The area; NaN when all speakers are faulty or none is.
    """
    bad = [ranks.get(name, ()) for name in speakers if name in faulty]
    good = [ranks.get(name, ()) for name in speakers if name not in faulty]
    if not bad or not good:
        return math.nan
    wins = sum((one > other) + 0.5 * (one == other) for one in bad for other in good)
    return wins / (len(bad) * len(good))

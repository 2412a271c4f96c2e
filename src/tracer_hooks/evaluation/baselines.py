"""Baselines: methods that know nothing of a run's content, for steps and for faults."""

from __future__ import annotations

import functools
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tracer_hooks.evaluation._cases import Case, fold_name, is_person, is_terminal, resolve_name, speakers_of
from tracer_hooks.evaluation._scores import (
    HITS,
    LEVELS,
    NAMINGS,
    TOLERANCES,
    FaultGuess,
    FaultScores,
    Guess,
    ScoredFaults,
    ScoredSteps,
    as_arrays,
    score_faults,
    score_guesses,
)
from tracer_hooks.schema import ErrorMode, Trajectory

__all__ = [
    "agent_prior", "before_error_marker", "best_constant_step", "busiest_speaker", "every_agent_and_mode",
    "fault_baselines", "first_speaker", "last_step", "position_prior", "random_fault", "random_step", "roster_prior",
    "step_baselines", "step_one",
]  # fmt: skip


def ranked(trajectory: Trajectory, first: Iterable[int]) -> Guess | None:
    """The steps of ``first``, then all others in order; the agent is who acts at the first of them."""
    steps = tuple(dict.fromkeys([*first, *range(len(trajectory.steps))]))
    return Guess(agent=trajectory.steps[steps[0]].agent, ranking=steps) if steps else None


def first_speaker(trajectory: Trajectory) -> Guess | None:
    """The first agent to act, at its first step; people are passed over."""
    steps = [step for step in trajectory.steps if not is_person(step.agent)] or list(trajectory.steps)
    return ranked(trajectory, [steps[0].index] if steps else [])


def last_step(trajectory: Trajectory) -> Guess | None:
    """The last speaker, at the last step."""
    return ranked(trajectory, reversed(range(len(trajectory.steps))))


def step_one(trajectory: Trajectory) -> Guess | None:
    """Step 1, the second one; the only one of a run that has no second."""
    return ranked(trajectory, [1] if len(trajectory.steps) > 1 else [])


def busiest_speaker(trajectory: Trajectory) -> Guess | None:
    """The agent with most steps, at its first; people and those who only run code are passed over."""
    steps = [step for step in trajectory.steps if not is_person(step.agent) and not is_terminal(step.agent)]
    turns = Counter(fold_name(step.agent) for step in steps)
    busiest = max(turns, key=lambda name: turns[name], default="")
    return ranked(trajectory, [step.index for step in steps if fold_name(step.agent) == busiest])


def random_step(case: Case) -> dict[str, float]:
    """The exact expectation of every figure when chance answers.

    Steps are drawn in random order; the agent is drawn for itself, among the speakers, as in the published table.
    ``joint`` takes the agent that acts at the drawn step. For a run without steps every figure is 0.
    """
    steps, gold, wanted = case.trajectory.steps, case.gold_step, case.gold_agent
    assert wanted is not None, "scored are runs with a labelled agent"
    count = len(steps)
    if not count:
        return {"agent": 0.0, "step": 0.0, "joint": 0.0, "answered": 0.0}
    folded = {fold_name(step.agent) for step in steps}
    is_there = gold is not None
    agent = (fold_name(wanted) in folded) / len(folded)
    step = is_there / count
    joint = step * (gold is not None and fold_name(steps[gold].agent) == fold_name(wanted))
    return {
        "agent": agent,
        "step": step,
        "joint": joint,
        **{f"hit_{k}": is_there * min(k, count) / count for k in HITS},
        "mrr": is_there * sum(1 / rank for rank in range(1, count + 1)) / count,
        **{
            f"within_{k}": is_there * sum(abs(step.index - (gold or 0)) <= k for step in steps) / count
            for k in TOLERANCES
        },
        "answered": 1.0,
        "agent_answered": agent,
        "step_answered": step,
        "joint_answered": joint,
        **({"any_faulty_step": len(case.faulty_steps) / count} if case.faulty_steps else {}),
    }


def position_prior(cases: Sequence[Case]) -> list[Guess | None]:
    """The steps by how often their position is the decisive one in the runs of other questions, the earlier first."""
    held_out = _HeldOut((case.question, case.gold_step) for case in cases if case.gold_step is not None)
    guesses = []
    for case in cases:
        counts = held_out.without(case.question)
        positions = range(len(case.trajectory.steps))
        guesses.append(ranked(case.trajectory, sorted(positions, key=lambda place: -counts[place])))
    return guesses


def best_constant_step(cases: Sequence[Case]) -> list[Guess | None]:
    """One step for all runs: the one that is right most often *on these very runs*, the earlier when equal."""
    counts = Counter(case.gold_step for case in cases if case.gold_step is not None)
    best = min(counts, key=lambda step: (-counts[step], step), default=0)
    return [
        ranked(case.trajectory, [min(best, len(case.trajectory.steps) - 1)] if case.trajectory.steps else [])
        for case in cases
    ]


def agent_prior(cases: Sequence[Case]) -> list[Guess | None]:
    """The agent most often to blame in runs of other questions, at its first step; the earlier speaker when equal."""
    held_out = _HeldOut((case.question, fold_name(case.gold_agent)) for case in cases if case.gold_agent is not None)
    guesses = []
    for case in cases:
        counts = held_out.without(case.question)
        steps = case.trajectory.steps
        best = max((fold_name(step.agent) for step in steps), key=lambda name: counts[name], default="")
        guesses.append(ranked(case.trajectory, [step.index for step in steps if fold_name(step.agent) == best]))
    return guesses


class _HeldOut:
    """Counts over all questions but one."""

    def __init__(self, found: Iterable[tuple[str, object]] = ()) -> None:
        self._all: Counter[Any] = Counter()
        self._by_question: defaultdict[str, Counter[Any]] = defaultdict(Counter)
        for question, value in found:
            self.add(question, value)

    def add(self, question: str, value: object) -> None:
        self._all[value] += 1
        self._by_question[question][value] += 1

    def without(self, question: str) -> Counter[Any]:
        held_out = self._by_question.get(question, Counter())
        return Counter({value: count - held_out[value] for value, count in self._all.items()})


_MARKER = re.compile(r"exitcode: [1-9]|Traceback \(most recent call last\)|execution failed")


def before_error_marker(trajectory: Trajectory) -> Guess | None:
    """The step before the first that shows a failed execution, else step 1.

    An agent whose own tool call failed has the marker in its own step, and is itself the answer. A first step that
    shows one has nothing before it and is passed over.
    """
    for step in trajectory.steps:
        results = [text for call in step.tool_calls for text in (call.result, call.error) if text]
        if any(_MARKER.search(text) for text in results):
            return ranked(trajectory, [step.index])
        if step.index and _MARKER.search(step.content):
            return ranked(trajectory, [step.index - 1])
    return ranked(trajectory, [1] if len(trajectory.steps) > 1 else [])


NOTHING = "nothing"
MARKERS = "error markers"
_PLAIN: dict[str, Callable[[Trajectory], Guess | None]] = {
    "always step 1": step_one,
    "first speaker, its first step": first_speaker,
    "last speaker, last step": last_step,
    "busiest speaker, its first step": busiest_speaker,
}
_FITTED: dict[str, Callable[[Sequence[Case]], list[Guess | None]]] = {
    "position prior": position_prior,
    "best constant step, chosen on these runs": best_constant_step,
    "agent prior, its first step": agent_prior,
}


def step_baselines(cases: Sequence[Case]) -> list[ScoredSteps]:
    """Every row, scored on these runs; priors are fitted within each group."""
    chance = as_arrays([random_step(case) for case in cases])
    rows = [ScoredSteps(name="random, exact expectation", reads=NOTHING, scores=chance)]
    for name, fitted in _FITTED.items():
        rows.append(_row(name, NOTHING, cases, _by_group(cases, fitted)))
    for name, choose in _PLAIN.items():
        rows.append(_row(name, NOTHING, cases, [choose(case.trajectory) for case in cases]))
    marked = [before_error_marker(case.trajectory) for case in cases]
    return [*rows, _row("before the first error marker, else step 1", MARKERS, cases, marked)]


def _row(name: str, reads: str, cases: Sequence[Case], guesses: list[Guess | None]) -> ScoredSteps:
    return ScoredSteps(name=name, reads=reads, scores=score_guesses(cases, guesses), guesses=guesses)


def _by_group(cases: Sequence[Case], fitted: Callable[[Sequence[Case]], list[Guess | None]]) -> list[Guess | None]:
    guesses: dict[int, Guess | None] = {}
    for group in dict.fromkeys(case.group for case in cases):
        places = [place for place, case in enumerate(cases) if case.group == group]
        guesses |= dict(zip(places, fitted([cases[place] for place in places]), strict=True))
    return [guesses[place] for place in range(len(cases))]


_ENOUGH = 20
"""Runs of other questions that a roster needs; below that its group's runs are counted."""
_Label = tuple[str | None, ErrorMode | None]
"""An agent, a mode, or both as a pair."""


_RUN: _Label = (None, None)
"""Stands among the counted labels for the run itself."""


def roster_prior(cases: Sequence[Case]) -> list[FaultGuess]:
    """Blames every agent, pair and mode that is labelled often enough in runs of other questions with the same roster.

    A roster is the set of those who speak; one with fewer than 20 other runs is replaced by its group. What is often
    enough is, for each group, one threshold for agents, one for pairs and one for modes, chosen for the best micro-F1
    *on these very runs*: as generous as it can be. Agents are ranked by how often they are labelled.
    """
    labels = [_labels(case) for case in cases]
    shares = _shares(cases, labels)
    groups = {case.group for case in cases}
    least = {group: _thresholds(shares, labels, [case.group == group for case in cases]) for group in groups}
    return [
        _guess(
            {label: share for label, share in one.items() if share > 0}, least[case.group], speakers_of(case.trajectory)
        )
        for case, one in zip(cases, shares, strict=True)
    ]


def _labels(case: Case) -> frozenset[_Label]:
    faults = case.faults or ()
    modes = [one.error_mode for one in faults if one.error_mode is not None]
    pairs = [(one.agent, one.error_mode) for one in faults if one.error_mode is not None]
    return frozenset([*((one.agent, None) for one in faults), *pairs, *((None, mode) for mode in modes)])


def _shares(cases: Sequence[Case], labels: Sequence[frozenset[_Label]]) -> list[dict[_Label, float]]:
    by_roster: defaultdict[frozenset[str], _HeldOut] = defaultdict(_HeldOut)
    by_group: defaultdict[str, _HeldOut] = defaultdict(_HeldOut)
    rosters = [frozenset(speakers_of(case.trajectory)) for case in cases]
    for case, roster, found in zip(cases, rosters, labels, strict=True):
        for label in (_RUN, *found):
            by_roster[roster].add(case.question, label)
            by_group[case.group].add(case.question, label)
    shares = []
    for case, roster in zip(cases, rosters, strict=True):
        counts = by_roster[roster].without(case.question)
        if counts[_RUN] < _ENOUGH:
            counts = by_group[case.group].without(case.question)
        runs = counts.pop(_RUN)
        shares.append({label: count / runs for label, count in counts.items()} if runs else {})
    return shares


def _kind(label: _Label) -> str:
    agent, mode = label
    return "pair" if agent is not None and mode is not None else "agent" if mode is None else "mode"


def _thresholds(
    shares: Sequence[Mapping[_Label, float]], labels: Sequence[frozenset[_Label]], taken: Sequence[bool]
) -> dict[str, float]:
    mine = [place for place, one in enumerate(taken) if one]
    chosen, gold = [shares[place] for place in mine], [labels[place] for place in mine]
    return {kind: _best_threshold(chosen, gold, kind) for kind in ("agent", "pair", "mode")}


def _best_threshold(shares: Sequence[Mapping[_Label, float]], labels: Sequence[frozenset[_Label]], kind: str) -> float:
    """The share from which on to blame, for the best micro-F1 over all runs."""
    found = [
        (share, label in gold)
        for one, gold in zip(shares, labels, strict=True)
        for label, share in one.items()
        if share > 0 and _kind(label) == kind
    ]
    if not found:
        return 1.0
    amounts = np.array([share for share, _ in found])
    order = np.argsort(-amounts, kind="stable")
    right = np.cumsum(np.array([hit for _, hit in found], dtype=np.float64)[order])
    wanted = sum(_kind(label) == kind for gold in labels for label in gold)
    f1 = 2 * right / (np.arange(1, len(found) + 1) + wanted)
    is_last_of_its_share = np.append(np.diff(amounts[order]) != 0, True)
    return float(amounts[order][int(np.argmax(np.where(is_last_of_its_share, f1, -1.0)))])


def _guess(shares: Mapping[_Label, float], least: Mapping[str, float], speakers: Sequence[str]) -> FaultGuess:
    blamed = [label for label, share in shares.items() if share >= least[_kind(label)]]
    ranks: dict[str, tuple[float, ...]] = {}
    for (agent, mode), share in shares.items():
        if agent is not None and mode is None:
            name = resolve_name(agent, speakers)
            ranks[name] = max(ranks.get(name, (0.0,)), (share,))
    return FaultGuess(
        agents=frozenset(agent for agent, mode in blamed if agent is not None and mode is None),
        pairs=frozenset((agent, mode) for agent, mode in blamed if agent is not None and mode is not None),
        modes=frozenset(mode for agent, mode in blamed if agent is None and mode is not None),
        ranks=ranks,
    )


def fault_baselines(cases: Sequence[Case]) -> list[ScoredFaults]:
    """Every row, scored on these runs."""
    rows = {
        "random speaker and mode, exact expectation": random_fault(cases),
        "every speaker, every mode": score_faults(cases, [every_agent_and_mode(one) for one in cases]),
        "roster prior": score_faults(cases, roster_prior(cases)),
    }
    return [ScoredFaults(name=name, reads=NOTHING, scores=scores) for name, scores in rows.items()]


def every_agent_and_mode(case: Case) -> FaultGuess:
    """Blames all who speak for all 14 modes; people are left out."""
    return _everything(frozenset(step.agent for step in case.trajectory.steps if not is_person(step.agent)))


@functools.lru_cache(maxsize=1 << 10)
def _everything(agents: frozenset[str]) -> FaultGuess:
    return FaultGuess(
        agents=agents,
        pairs=frozenset((agent, mode) for agent in agents for mode in ErrorMode),
        modes=frozenset(ErrorMode),
    )


def random_fault(cases: Sequence[Case]) -> FaultScores:
    """The exact expectation when chance blames one speaker for one mode in each run.

    F1 over all runs is linear in the number of right answers when the number given is fixed, so that its expectation
    follows from the chance of each run. There is none for the macro averages.
    """
    told = score_faults(cases, [every_agent_and_mode(case) for case in cases])
    speakers = np.array([float(max(1, len(speakers_of(case.trajectory)))) for case in cases])
    spoken = np.array([float(bool(speakers_of(case.trajectory))) for case in cases])
    choices = {"pair": speakers * len(ErrorMode), "agent": speakers, "mode": np.full(len(cases), float(len(ErrorMode)))}
    micro = {}
    for level in LEVELS:
        for naming in NAMINGS:
            right, _, gold = told.micro[level, naming]
            micro[level, naming] = (right / choices[level] * spoken, spoken, gold)
    even = np.where(np.isnan(told.auc), np.nan, 0.5)
    return FaultScores(micro=micro, labels=None, auc=even, answered=spoken)

"""Answers from how often positions and agents are to blame in other questions' runs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from tracer_hooks.evaluation._case import Case
from tracer_hooks.evaluation._names import fold
from tracer_hooks.evaluation._step_scores import Guess
from tracer_hooks.evaluation.baselines._positions import ranked


def position_prior(cases: Sequence[Case]) -> list[Guess | None]:
    """The steps by how often their position is the decisive one in the runs of other questions, the earlier first.

    Args:
        cases: Runs of one group; each is answered from the labels of those with another question.
    """
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
    """The agent most often to blame in the runs of other questions, at its first step; the earlier speaker when equal.

    Args:
        cases: Runs of one group; each is answered from the labels of those with another question.
    """
    held_out = _HeldOut((case.question, fold(case.gold_agent)) for case in cases if case.gold_agent is not None)
    guesses = []
    for case in cases:
        counts = held_out.without(case.question)
        steps = case.trajectory.steps
        best = max((fold(step.agent) for step in steps), key=lambda name: counts[name], default="")
        guesses.append(ranked(case.trajectory, [step.index for step in steps if fold(step.agent) == best]))
    return guesses


class _HeldOut:
    """Counts over all questions but one."""

    def __init__(self, found: Iterable[tuple[str, object]]) -> None:
        self._all: Counter[object] = Counter()
        self._by_question: defaultdict[str, Counter[object]] = defaultdict(Counter)
        for question, value in found:
            self._all[value] += 1
            self._by_question[question][value] += 1

    def without(self, question: str) -> Counter[object]:
        own = self._by_question.get(question, Counter())
        return Counter({value: count - own[value] for value, count in self._all.items()})

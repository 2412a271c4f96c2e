"""A figure over runs, with what chance and the labels' placement would give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from tracer_hooks.datasets._audit._options import AuditOptions
from tracer_hooks.datasets._audit._records import Check, Verdict

Array = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
_TIE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Which figure of which check."""

    name: str
    source: str
    reads: str
    margin: float
    is_binding: bool = True


@dataclass(frozen=True, slots=True)
class Answers:
    """The steps that a reader names in each run, several when they tie, and those that a label could be drawn from."""

    picks: Sequence[Bools]
    eligible: Sequence[Bools]

    @classmethod
    def best_of(cls, scores: Sequence[Array], eligible: Sequence[Bools]) -> Answers:
        """The steps with the highest score of their run."""
        return cls([one >= one.max() - _TIE for one in scores], eligible)

    def hits(self, steps: Sequence[int]) -> Array:
        """For each run the share of the right answer: 1 over the number of named steps, or 0."""
        return np.array([pick[step] / pick.sum() for pick, step in zip(self.picks, steps, strict=True)])

    def uniform(self) -> float:
        """The mean of :meth:`hits` of a choice by lot among the eligible steps."""
        return float(np.mean([1 / could.sum() for could in self.eligible]))

    def relabelled(self, permutations: int, rng: np.random.Generator) -> Array:
        """The mean of :meth:`hits` when every run's label is drawn by lot among its eligible steps, many times.

        The answers stay as they are: each was given without its run's own label, so if labels are drawn by lot it does
        not depend on it. Refitting would cost a fit for each permutation and test the same hypothesis; what it adds,
        that runs share their fits, is small beside the bootstrap interval that the verdict goes by.
        """
        named = np.array([pick.sum() for pick in self.picks])
        pairs = zip(self.picks, self.eligible, strict=True)
        chance = np.array([(pick & could).sum() / could.sum() for pick, could in pairs])
        is_hit = rng.random((permutations, len(named))) < chance
        means: Array = (is_hit / named).mean(axis=1)
        return means


def accuracy_check(
    asked: Asked, answers: Answers, steps: Sequence[int], groups: Sequence[str], *, judge: Judge,
    placement: float | None = None,
) -> Check:  # fmt: skip
    """How often the named step is the labelled one."""
    null = answers.relabelled(judge.options.permutations, judge.rng)
    figure = _Figure(
        measure="accuracy",
        values=answers.hits(steps),
        null=null,
        uniform=answers.uniform(),
        placement=placement,
    )
    return judge.check(asked, figure, groups)


def auc_check(asked: Asked, wins: Array, groups: Sequence[str], *, judge: Judge) -> Check:
    """How often the faulty step of a pair is scored above the clean one: ``wins`` holds 1, 0, or 0.5 for a tie.

    The null swaps the two steps of each pair by lot.
    """
    is_swapped = judge.rng.random((judge.options.permutations, len(wins))) < 1 / 2
    null: Array = np.where(is_swapped, 1 - wins, wins).mean(axis=1)
    return judge.check(asked, _Figure(measure="auc", values=wins, null=null, uniform=0.5), groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Figure:
    measure: Literal["accuracy", "auc"]
    values: Array
    null: Array
    uniform: float
    placement: float | None = None


@dataclass(frozen=True, slots=True)
class Judge:
    """Gives verdicts with one set of limits and one source of chance."""

    options: AuditOptions
    rng: np.random.Generator

    def check(self, asked: Asked, figure: _Figure, groups: Sequence[str]) -> Check:
        """The figure with its interval, prior, p-value and verdict."""
        value, null = float(figure.values.mean()), float(figure.null.mean())
        low, high = self._interval(figure.values, groups)
        prior = max(figure.uniform, null, figure.placement or 0.0)
        at_least = int(np.count_nonzero(figure.null >= value - _TIE))
        return Check(
            name=asked.name,
            source=asked.source,
            reads=asked.reads,
            measure=figure.measure,
            runs=len(figure.values),
            questions=len(set(groups)),
            value=value,
            low=low,
            high=high,
            uniform=figure.uniform,
            null=null,
            placement=figure.placement,
            prior=prior,
            margin=asked.margin,
            p_value=(1 + at_least) / (1 + len(figure.null)),
            verdict=_verdict(low, high, prior + asked.margin),
            is_binding=asked.is_binding,
        )

    def _interval(self, values: Array, groups: Sequence[str]) -> tuple[float, float]:
        numbers: dict[str, int] = {}
        cluster = np.array([numbers.setdefault(group, len(numbers)) for group in groups])
        size = len(numbers)
        weights = self.rng.multinomial(size, [1 / size] * size, size=self.options.draws).astype(np.float64)
        sums = weights @ np.bincount(cluster, weights=values, minlength=size)
        means = sums / (weights @ np.bincount(cluster, minlength=size))
        low, high = np.percentile(means, [2.5, 97.5])
        return float(low), float(high)


def _verdict(low: float, high: float, limit: float) -> Verdict:
    if low > limit:
        return "fail"
    return "pass" if high <= limit else "unclear"

"""Readers that understand nothing (place, speaker, words, pairs of steps), and the figures that they reach."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tracer_hooks.extension import require, step_text
from tracer_hooks.schema import Trajectory
from tracer_hooks_lab.datasets._audit_records import AuditedRun, AuditOptions, Check, LeakWord, Verdict

Array = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
_TIE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditQuestion:
    """Names of a figure and its check."""

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
    asked: AuditQuestion, answers: Answers, steps: Sequence[int], groups: Sequence[str], *, judge: RunReader,
    placement: float | None = None,
) -> Check:  # fmt: skip
    """Measure how often the named step is the labelled one."""
    null = answers.relabelled(judge.options.permutations, judge.rng)
    figure = _Figure(
        measure="accuracy",
        values=answers.hits(steps),
        null=null,
        uniform=answers.uniform(),
        placement=placement,
    )
    return judge.check(asked, figure, groups)


def auc_check(asked: AuditQuestion, wins: Array, groups: Sequence[str], *, judge: RunReader) -> Check:
    """Measure how often the faulty step of a pair is scored above the clean one (``wins``: 1, 0, or 0.5 for a tie).

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
class RunReader:
    """Gives verdicts with one set of limits and one source of chance."""

    options: AuditOptions
    rng: np.random.Generator

    def check(self, asked: AuditQuestion, figure: _Figure, groups: Sequence[str]) -> Check:
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


FEATURE = "the audit of a data set"
WORD = r"(?u)\b[^\W\d_]{2,}\b"
"""A word: two or more letters, so that numbers are masked."""
_FAR = 15
_MOST_WORDS = 20_000
_TENTHS = 10
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Input of a classifier for each step, as a list of tokens or as a text."""

    name: str
    reads: str
    documents: Callable[[AuditedRun, Trajectory], list[str]]
    is_text: bool = False


def masked(text: str) -> str:
    """Lower case, with every number as ``0``."""
    return _DIGITS.sub("0", text.lower())


def _positions(_case: AuditedRun, run: Trajectory) -> list[str]:
    n = len(run.steps)
    return [
        f"index{min(k, _FAR)} end{min(n - 1 - k, _FAR)} tenth{k * _TENTHS // n} index{min(k, _FAR)}of{min(n, _FAR)}"
        for k in range(n)
    ]


def _names(case: AuditedRun, run: Trajectory) -> list[str]:
    """The agent, how many steps it has, and the how-manieth this is; spelt as numbers, since names hold spaces."""
    total, seen = Counter(step.agent for step in run.steps), Counter[str]()
    documents = []
    for step in run.steps:
        seen[step.agent] += 1
        who = f"{case.architecture}/{step.agent}".encode().hex()
        count, turn = min(total[step.agent], _FAR), min(seen[step.agent], _FAR)
        documents.append(f"{who} {who}has{count} {who}turn{turn}")
    return documents


def _texts(_case: AuditedRun, run: Trajectory) -> list[str]:
    return [masked(step_text(step)) for step in run.steps]


POSITION = Reader(
    name="position", reads="the step's index, its distance from the end, the length", documents=_positions
)
NAME = Reader(name="agent name", reads="the agent's name and count of steps, within the architecture", documents=_names)
WORDS = Reader(name="bag of words", reads="the words of the step", documents=_texts, is_text=True)


def out_of_fold(
    cases: Sequence[AuditedRun], runs: Sequence[Trajectory], folds: Sequence[int], reader: Reader
) -> list[Array]:
    """A score for every step of every run, by a classifier that was fitted to other folds.

    It is a logistic regression over all steps, the labelled one of each run against the rest; what counts is the
    order of the scores within a run.

    Args:
        cases: Give the labels.
        runs: What is read of each case: its own run, or the passing one beside it.
        folds: The fold of each case.
        reader: What the classifier is given.
    """
    documents = [reader.documents(case, run) for case, run in zip(cases, runs, strict=True)]
    scores: list[Array] = [np.zeros(len(one)) for one in documents]
    for fold in sorted(set(folds)):
        inside = [position for position, place in enumerate(folds) if place != fold]
        outside = [position for position, place in enumerate(folds) if place == fold]
        predict = _fitted([documents[k] for k in inside], [cases[k].step for k in inside], is_text=reader.is_text)
        predicted = predict([document for k in outside for document in documents[k]])
        ends = np.cumsum([len(documents[k]) for k in outside])
        for position, part in zip(outside, np.split(predicted, ends[:-1]), strict=True):
            scores[position] = part
    return scores


def _fitted(
    documents: Sequence[Sequence[str]], steps: Sequence[int], *, is_text: bool
) -> Callable[[Sequence[str]], Array]:
    vectorizer = _vectorizer(is_text=is_text)
    flat = [document for run in documents for document in run]
    is_labelled = [k == step for run, step in zip(documents, steps, strict=True) for k in range(len(run))]
    try:
        matrix = vectorizer.fit_transform(flat)
    except ValueError:  # no word is in two steps, so there is nothing to tell them by
        return lambda some: np.zeros(len(some))
    model = logistic()
    model.fit(matrix, is_labelled)

    def predict(some: Sequence[str]) -> Array:
        scores: Array = model.decision_function(vectorizer.transform(some))
        return scores

    return predict


def logistic() -> Any:
    """A logistic regression that gives both classes the same weight, the same on every machine."""
    linear = require("sklearn.linear_model", extra="fit", feature=FEATURE)
    return linear.LogisticRegression(class_weight="balanced", solver="liblinear", random_state=0, max_iter=1000)


def _vectorizer(*, is_text: bool) -> Any:
    text = require("sklearn.feature_extraction.text", extra="fit", feature=FEATURE)
    if is_text:
        return text.TfidfVectorizer(token_pattern=WORD, ngram_range=(1, 2), min_df=2, max_features=_MOST_WORDS)
    return text.CountVectorizer(token_pattern=r"\S+", binary=True)


_MOST_SHOWN = 15
_LEAST_Z = 2


@dataclass(frozen=True, slots=True)
class _Presence:
    """Words in each step: two matrices of (pairs, words)."""

    faulty: Any
    clean: Any
    words: Sequence[str]

    def log_odds(self, rows: Sequence[int]) -> tuple[Array, Array]:
        """Log odds ratio of each word over the given pairs, and the same in standard errors."""
        n = len(rows)
        some, other = _sums(self.faulty[rows]), _sums(self.clean[rows])
        cells = (some + 0.5, n - some + 0.5, other + 0.5, n - other + 0.5)
        odds: Array = np.log(cells[0]) - np.log(cells[1]) - np.log(cells[2]) + np.log(cells[3])
        return odds, odds / np.sqrt(sum(1 / cell for cell in cells))


def paired_wins(cases: Sequence[AuditedRun], folds: Sequence[int], *, most_words: int | None) -> Array:
    """For each pair 1 when the faulty step is scored above its clean counterpart, 0 when below, 0.5 for a tie.

    The scores are those of a logistic regression on the words that a step holds, fitted to other folds.

    Args:
        cases: Runs with a clean counterpart.
        folds: The fold of each.
        most_words: Use only so many words, those with the strongest log odds in the other folds; None for all.
    """
    presence = _presence(cases)
    wins = np.full(len(cases), 0.5)
    if presence is None:
        return wins
    for fold in sorted(set(folds)):
        inside = [k for k, place in enumerate(folds) if place != fold]
        outside = [k for k, place in enumerate(folds) if place == fold]
        columns = _strongest(presence, inside, most_words)
        model = logistic()
        stacked = require("scipy.sparse", extra="fit", feature=FEATURE).vstack
        model.fit(
            stacked([presence.faulty[inside][:, columns], presence.clean[inside][:, columns]]),
            [True] * len(inside) + [False] * len(inside),
        )
        weights = model.coef_[0]
        ahead = np.asarray((presence.faulty[outside] - presence.clean[outside])[:, columns] @ weights)
        wins[outside] = np.where(np.abs(ahead) < 1e-9, 0.5, ahead > 0)
    return wins


def leak_words(cases: Sequence[AuditedRun]) -> list[LeakWord]:
    """Words and pairs of words that tell faulty steps from clean ones, the strongest of each side, by z.

    Words that chance explains are left out: ``|z|`` must be above 2.
    """
    presence = _presence(cases)
    if presence is None:
        return []
    odds, z = presence.log_odds(range(len(cases)))
    some, other = _sums(presence.faulty), _sums(presence.clean)
    order = np.argsort(-z, kind="stable")
    shown = [*order[:_MOST_SHOWN], *order[::-1][:_MOST_SHOWN]]
    return [
        LeakWord(
            words=str(presence.words[k]),
            faulty=int(some[k]),
            clean=int(other[k]),
            log_odds=float(odds[k]),
            z=float(z[k]),
        )
        for k in dict.fromkeys(int(k) for k in shown)
        if abs(z[k]) > _LEAST_Z
    ]


def _presence(cases: Sequence[AuditedRun]) -> _Presence | None:
    text = require("sklearn.feature_extraction.text", extra="fit", feature=FEATURE)
    faulty = [masked(step_text(case.run.steps[case.step])) for case in cases]
    clean = [masked(step_text(case.clean.steps[case.step])) if case.clean is not None else "" for case in cases]
    vectorizer = text.CountVectorizer(
        token_pattern=WORD, ngram_range=(1, 2), min_df=2, binary=True, dtype=np.float64, max_features=20_000
    )
    try:
        matrix = vectorizer.fit_transform([*faulty, *clean]).tocsr()
    except ValueError:  # no word is in two of the steps
        return None
    return _Presence(matrix[: len(cases)], matrix[len(cases) :], vectorizer.get_feature_names_out())


def _strongest(presence: _Presence, rows: Sequence[int], most: int | None) -> list[int]:
    if most is None:
        return list(range(len(presence.words)))
    _, z = presence.log_odds(rows)
    return [int(k) for k in np.argsort(-np.abs(z), kind="stable")[:most]]


def _sums(matrix: Any) -> Array:
    return np.asarray(matrix.sum(axis=0), dtype=np.float64).ravel()

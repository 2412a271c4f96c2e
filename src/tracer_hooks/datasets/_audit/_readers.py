"""Readers that understand nothing: where a step stands, who speaks, which words are in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracer_hooks._optional import require
from tracer_hooks.datasets._audit._cases import Case
from tracer_hooks.datasets._audit._figures import Array
from tracer_hooks.datasets._labeled import step_text
from tracer_hooks.schema import Trajectory

FEATURE = "the audit of a data set"
WORD = r"(?u)\b[^\W\d_]{2,}\b"
"""A word: two or more letters, so that numbers are masked."""
_FAR = 15
_MOST_WORDS = 20_000
_TENTHS = 10
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """What a classifier is given of each step, as a list of tokens or as a text."""

    name: str
    reads: str
    documents: Callable[[Case, Trajectory], list[str]]
    is_text: bool = False


def masked(text: str) -> str:
    """Lower case, with every number as ``0``."""
    return _DIGITS.sub("0", text.lower())


def _positions(_case: Case, run: Trajectory) -> list[str]:
    n = len(run.steps)
    return [
        f"index{min(k, _FAR)} end{min(n - 1 - k, _FAR)} tenth{k * _TENTHS // n} index{min(k, _FAR)}of{min(n, _FAR)}"
        for k in range(n)
    ]


def _names(case: Case, run: Trajectory) -> list[str]:
    """The agent, how many steps it has, and the how-manieth this is; spelt as numbers, since names hold spaces."""
    total, seen = Counter(step.agent for step in run.steps), Counter[str]()
    documents = []
    for step in run.steps:
        seen[step.agent] += 1
        who = f"{case.architecture}/{step.agent}".encode().hex()
        count, turn = min(total[step.agent], _FAR), min(seen[step.agent], _FAR)
        documents.append(f"{who} {who}has{count} {who}turn{turn}")
    return documents


def _texts(_case: Case, run: Trajectory) -> list[str]:
    return [masked(step_text(step)) for step in run.steps]


POSITION = Reader(
    name="position", reads="the step's index, its distance from the end, the length", documents=_positions
)
NAME = Reader(name="agent name", reads="the agent's name and count of steps, within the architecture", documents=_names)
WORDS = Reader(name="bag of words", reads="the words of the step", documents=_texts, is_text=True)


def out_of_fold(cases: Sequence[Case], runs: Sequence[Trajectory], folds: Sequence[int], reader: Reader) -> list[Array]:
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

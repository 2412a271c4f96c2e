"""Faulty steps beside their clean counterparts: which words tell them apart, and how well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracer_hooks._optional import require
from tracer_hooks.datasets._audit._cases import Case
from tracer_hooks.datasets._audit._figures import Array
from tracer_hooks.datasets._audit._readers import FEATURE, WORD, logistic, masked
from tracer_hooks.datasets._audit._records import LeakWord
from tracer_hooks.datasets._labeled import step_text

_MOST_SHOWN = 15
_LEAST_Z = 2


@dataclass(frozen=True, slots=True)
class _Presence:
    """Which step holds which word: two matrices of (pairs, words)."""

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


def paired_wins(cases: Sequence[Case], folds: Sequence[int], *, most_words: int | None) -> Array:
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


def leak_words(cases: Sequence[Case]) -> list[LeakWord]:
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


def _presence(cases: Sequence[Case]) -> _Presence | None:
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

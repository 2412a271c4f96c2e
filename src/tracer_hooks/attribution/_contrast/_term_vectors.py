"""How alike the contents of steps are: cosine of TF-IDF vectors in which numbers and codes weigh more than words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.attribution._contrast._run_view import RunView

Rows: TypeAlias = NDArray[np.float32]
_MAX_COLUMNS = 20_000
"""Terms that are compared at most; only runs of more than a megabyte have more that stand in two steps."""
_VALUE_WEIGHT = 2.0
"""How much more a token with a digit weighs than a word."""


class TermVectors:
    """The steps of several runs as vectors of one vocabulary; terms that stand in many of the steps count little."""

    def __init__(self, runs: Sequence[RunView]) -> None:
        spread = Counter(term for run in runs for step in run.steps for term in step.terms)
        documents = sum(len(run.steps) for run in runs)
        self._weights = {
            term: (_VALUE_WEIGHT if any(map(str.isdigit, term)) else 1.0) * math.log(1.0 + documents / count)
            for term, count in spread.items()
        }
        # A term of one step only adds to its length: it can be in no product.
        shared = (term for term, count in spread.most_common(_MAX_COLUMNS) if count > 1)
        self._columns = {term: column for column, term in enumerate(shared)}

    def of(self, run: RunView) -> Rows:
        """One row a step; rows have length 1 over all of the step's terms, and a step without terms is a row of 0."""
        rows = np.zeros((len(run.steps), len(self._columns)), dtype=np.float32)
        for step in run.steps:
            self._fill(rows[step.index], step.terms)
        return rows

    def _fill(self, row: Rows, terms: Mapping[str, int]) -> None:
        values = {term: self._weights[term] * (1.0 + math.log(count)) for term, count in terms.items()}
        length = math.sqrt(sum(value * value for value in values.values()))
        for term, value in values.items():
            column = self._columns.get(term)
            if column is not None:
                row[column] = value / length


def cosine_of_words(first: Mapping[str, int], second: Mapping[str, int]) -> float:
    """Cosine of two word counts; 1 when both are empty, 0 when one is."""
    if not first or not second:
        return float(not first and not second)
    product = sum(count * second.get(word, 0) for word, count in first.items())
    lengths = math.sqrt(sum(n * n for n in first.values()) * sum(n * n for n in second.values()))
    return min(1.0, product / lengths)

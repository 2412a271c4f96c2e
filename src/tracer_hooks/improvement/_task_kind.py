"""How alike two tasks are, by their character n-grams: which kind of task a lesson is for."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

NEAR = 0.5
"""Tasks are of a kind from this cosine on; see docs/decisions/0030-lessons.md for how it was set."""
_N = 4
_LONGEST = 4_000
"""Characters of a task that are read: what kind it is shows at its beginning."""
_MOST = 400
"""N-grams of a kind that are kept, the weightiest."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_GAP = re.compile(r"[\W_]+")

TaskKind = Mapping[str, float]
"""Weights of n-grams, of length 1 together."""


def kind_of(tasks: Iterable[str]) -> dict[str, float]:
    """What tasks have in common: the mean of their profiles. Numbers are alike, whatever they are."""
    total: defaultdict[str, float] = defaultdict(float)
    for task in tasks:
        for gram, weight in _profile(task).items():
            total[gram] += weight
    weightiest = sorted(total.items(), key=lambda one: -one[1])[:_MOST]
    return _of_length_one(dict(weightiest))


def nearness(one: TaskKind, other: TaskKind) -> float:
    """The cosine of two kinds, 0 to 1."""
    small, large = (one, other) if len(one) <= len(other) else (other, one)
    return math.fsum(weight * large.get(gram, 0.0) for gram, weight in small.items())


def _profile(task: str) -> dict[str, float]:
    text = _NUMBER.sub("0", task[:_LONGEST].casefold())
    plain = f" {_GAP.sub(' ', text).strip()} "
    counts = Counter(plain[at : at + _N] for at in range(max(len(plain) - _N + 1, 1)))
    # A word that comes five times says little more than one that comes once.
    return _of_length_one({gram: 1 + math.log(count) for gram, count in counts.items()})


def _of_length_one(weights: Mapping[str, float]) -> dict[str, float]:
    length = math.sqrt(math.fsum(weight * weight for weight in weights.values()))
    return {gram: weight / length for gram, weight in weights.items()} if length else {}

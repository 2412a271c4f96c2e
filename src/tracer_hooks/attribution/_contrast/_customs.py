"""What usually stands where: which values a run has with each thing around them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache

from tracer_hooks.attribution._contrast._occurrences import Occurrence
from tracer_hooks.attribution._contrast._typed_tokens import VALUES

_ANYWHERE = ""
_SMOOTHING = 0.5
"""Sightings that a value is given with everything, at the rate at which it is seen at all."""


class Sightings:
    """Which values one run has with each thing around them.

    A value counts once there, however often the run repeats it: a mistake that is carried on does not become a custom.
    """

    def __init__(self) -> None:
        self._seen: dict[str, dict[str, set[str]]] = {kind: defaultdict(set) for kind in VALUES}

    def add(self, occurrences: Iterable[Occurrence]) -> None:
        """Take in more of the run."""
        for one in occurrences:
            seen = self._seen[one.kind]
            seen[_ANYWHERE].add(one.form)
            for around in one.around:
                seen[around].add(one.form)

    def of_kind(self, kind: str) -> dict[str, set[str]]:
        """For each thing that values of a kind were seen with, the values."""
        return self._seen[kind]


def fit(one: Occurrence, runs: Sequence[Sightings]) -> float:
    """How well a value fits its place: log-likelihood ratio of this value there against this value anywhere.

    Things around it are taken for independent of each other, which they are not, so the sum is divided by the root of
    their number. Things that were never seen with a value of this kind say nothing; 0 when there is nothing else.
    """
    tables = [run.of_kind(one.kind) for run in runs]
    here, total = _count(tables, _ANYWHERE, one.form)
    base = (here + _SMOOTHING) / (total + 1.0)
    evidence: list[float] = []
    for around in one.around:
        here, seen = _count(tables, around, one.form)
        if seen:
            evidence.append(math.log((here + _SMOOTHING * base) / ((seen + _SMOOTHING) * base)))
    # fsum: the order of a set's members differs from one process to the next, and a sum's last digit with it.
    return math.fsum(evidence) / math.sqrt(len(evidence)) if evidence else 0.0


def _count(tables: Sequence[dict[str, set[str]]], around: str, form: str) -> tuple[int, int]:
    """In how many runs the value stands there, and how many values stand there in all of them."""
    here = total = 0
    for table in tables:
        found = table.get(around)
        if found:
            total += len(found)
            here += form in found
    return here, total


def customary(one: Occurrence, passing: Sequence[Sightings]) -> str | None:
    """The value of its shape that the passing runs mostly have with what is around this one; None when it is this one.

    Also None when they have no such value there: who has no other value to offer cannot say that this one is wrong.
    """
    votes: dict[str, float] = defaultdict(float)
    shape = _shape(one.form)
    for around in one.around:
        found = [there for run in passing if (there := run.of_kind(one.kind).get(around))]
        total = sum(len(there) for there in found)
        for there in found:
            for form in there:
                if _shape(form) == shape:
                    votes[form] += 1.0 / total
    best = max(votes, key=lambda form: (round(votes[form], 9), form), default=one.form)
    return None if best == one.form else best


@lru_cache(maxsize=20_000)
def _shape(form: str) -> tuple[bool, int, int]:
    """What tells a flight from a payment: whether there is a letter, how many parts, and how long a single part is."""
    parts = form.count("_") + form.count("-")
    has_letter = any(map(str.isalpha, form))
    return has_letter, parts, len(form) if has_letter and not parts else 0

"""Grouped folds: the items of one group lie in one part, so that nobody is judged on what it was fitted to."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from tracer_hooks.errors import ConfigError


def grouped_folds(
    questions: Sequence[str],
    folds: int,
    *,
    seed: int = 0,
    strata: Sequence[str] | None = None,
    shuffle: Callable[[list[str]], object] | None = None,
) -> list[int]:
    """The fold of each run, all runs of a question in the same one.

    Questions are shuffled within their stratum (that of their first run) and dealt out in turn, so that every fold
    gets its share of every stratum.

    Args:
        questions: What groups each run with others.
        folds: How many.
        seed: Of the order in which questions are dealt out.
        strata: The stratum of each run; default one for all.
        shuffle: Puts the questions into an order of chance, in place of the seed.

    Raises:
        ConfigError: There are fewer questions than folds, or fewer than two folds.
    """
    first = dict(zip(reversed(questions), reversed(strata or [""] * len(questions)), strict=True))
    if not 2 <= folds <= len(first):
        raise ConfigError(
            f"cannot make {folds} folds of {len(first)} questions, expected between 2 and {max(2, len(first))}"
        )
    order = sorted(first, key=lambda question: (first[question], question))
    (shuffle or random.Random(seed).shuffle)(order)
    order.sort(key=lambda question: first[question])
    fold_of = {question: position % folds for position, question in enumerate(order)}
    return [fold_of[question] for question in questions]

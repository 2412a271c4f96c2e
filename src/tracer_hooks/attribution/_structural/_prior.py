"""What is believed of a step before any label is seen.

The numbers are log-odds set by hand, in steps of a quarter, from what the terms mean: a step that only reports, routes
or hands the task on has little to go wrong in it; the first act that the rest of the run builds on, the first code
that fails, the first claim with nothing to show for it and the last word before an orderly end have more. They were
set after the development half of Who&When had been read, but no number was fitted to its labels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.attribution._features import FeatureTable
from tracer_hooks.attribution._features._signals import RULES_TOGETHER

PRIOR: dict[str, float] = {
    RULES_TOGETHER: 1.0,
    # little can go wrong in these
    "role: reports what a machine printed": -2.0,
    "role: a person": -3.0,
    "shape: only routes": -2.0,
    "brief: says the task again": -1.0,
    "shape: keeps a ledger": -0.5,
    # what the rest of the run builds on
    "brief: first act after it": 0.5,
    "brief: the first act leaves part of the task out": 1.0,
    "code: first of the run": 0.75,
    "failure: first to cause an error": 0.5,
    "survival: says most of the answer first": 0.25,
    # nothing to show for it
    "claims: first to state an answer": 0.25,
    "claims: states an answer with nothing to show": 0.25,
    "claims: first done with nothing to show": 0.25,
    "language: first to assume or simulate": 0.25,
    "language: from memory": 0.25,
    # rounds of work under a planner
    "work: early reply under a planner in a run that was cut off": 1.25,
    "work: last reply before the planner's answer": 2.0,
    "work: first reply that the planner is disappointed of": 0.5,
    "work: reply after which the request is made again": 0.5,
}
"""Log-odds by feature."""


def prior_logits(table: FeatureTable) -> NDArray[np.float64]:
    """Log-belief of every step, up to a constant."""
    column = {name: place for place, name in enumerate(table.names)}
    total = np.zeros(len(table.values))
    for name, weight in PRIOR.items():
        total += weight * table.values[:, column[name]]
    return total


def prior_contributions(table: FeatureTable, step: int) -> list[tuple[str, float]]:
    """What each term adds to the log-odds of ``step`` against the run's average step."""
    away = table.values[step] - table.values.mean(axis=0)
    column = {name: place for place, name in enumerate(table.names)}
    return [(name, float(weight * away[column[name]])) for name, weight in PRIOR.items()]

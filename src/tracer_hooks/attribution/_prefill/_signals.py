"""The unsupervised signals of a reading, and their fixed combination."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.attribution._prefill._features import PrefillFeatures
from tracer_hooks.attribution._prefill._flow import lift, received
from tracer_hooks.attribution._prefill._symptoms import late_symptoms
from tracer_hooks.attribution._reading import Trace

Floats = NDArray[np.float64]

SIGNALS = (
    "surprise",
    "surprise_p90",
    "surprise_sum",
    "alone",
    "mismatch",
    "length",
    "flow",
    "flow_lift",
)
"""Names of the columns of :func:`signals_of`:

- ``surprise``, ``surprise_p90``, ``surprise_sum``: mean, 90th percentile and (log) sum of the step's token surprise in
  context
- ``alone``: mean surprise without the context
- ``mismatch``: surprise in context less surprise alone: high when the context did not help to foresee the step
- ``length``: log of the tokens read
- ``flow``: attention that the step gets from symptoms, per token
- ``flow_lift``: the same relative to what it gets from other later steps
"""

PLACES = ("place", "log_place", "first", "last", "acts_before")
"""Names of the columns of :func:`places_of`."""


def signals_of(trace: Trace, features: PrefillFeatures) -> Floats:
    """The signals of every step as they are, shape (steps, signals); see :data:`SIGNALS`."""
    surprise, alone = features.surprise, features.alone
    symptoms = late_symptoms(trace, surprise[:, 0])
    columns = (
        surprise[:, 0],
        surprise[:, 1],
        np.log1p(surprise[:, 2]),
        alone[:, 0],
        surprise[:, 0] - alone[:, 0],
        np.log1p(features.counts),
        received(features.attention, features.counts, symptoms),
        lift(features.attention, features.counts, symptoms),
    )
    return np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)


def places_of(trace: Trace) -> Floats:
    """Where every step stands in the run, shape (steps, places); see :data:`PLACES`."""
    steps = len(trace.steps)
    index = np.arange(steps)
    acts = set(trace.acts)
    before = np.cumsum([step in acts for step in range(steps)])
    columns = (index / max(1, steps - 1), np.log1p(index), index == 0, index == steps - 1, np.log1p(before))
    return np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)


def standardised(values: Floats, among: list[int]) -> Floats:
    """Columns with mean 0 and deviation 1 over some of the rows; a column without spread becomes 0."""
    if not among:
        return np.zeros_like(values)
    centre, spread = values[among].mean(axis=0), values[among].std(axis=0)
    return np.where(spread > 1e-9, (values - centre) / np.where(spread > 1e-9, spread, 1.0), 0.0)


WEIGHTS = {"flow_lift": 0.4, "flow": 0.2, "mismatch": 0.2}
"""Weights of the standardised signals in the fixed combination of protocol ``flow``."""


def combined(signals: Floats, among: list[int]) -> Floats:
    """The fixed combination for every step, as log-odds up to a constant; shape (steps,)."""
    weights = np.array([WEIGHTS.get(name, 0.0) for name in SIGNALS])
    return np.asarray(standardised(signals, among) @ weights, dtype=np.float64)

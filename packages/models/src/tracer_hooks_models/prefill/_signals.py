"""Unsupervised signals of a reading, the symptoms that a failure shows, and the linear probe over both."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.extension import RunReading
from tracer_hooks.schema import Step
from tracer_hooks_models.prefill._reader import PrefillFeatures

FloatArray = NDArray[np.float32]


def received(attention: FloatArray, counts: NDArray[np.int64], rows: list[int]) -> FloatArray:
    """Measure the attention that each step gets from later steps, for each token it has; shape (steps,).

    Every row is scaled to the mean over the earlier steps in its view, so that late symptoms, which have more steps to
    look back on, weigh as much as early ones; 1 is therefore what a step gets by chance.

    Args:
        attention: Shares of attention, shape (steps, steps + 1).
        counts: Tokens of each step.
        rows: The later steps whose attention counts.
    """
    steps = len(counts)
    total = np.zeros(steps, dtype=np.float32)
    seen = np.zeros(steps, dtype=np.float32)
    for row in rows:
        density = attention[row, :row] / np.maximum(counts[:row], 1)
        in_view = (attention[row, :row] > 0) & (counts[:row] > 0)
        if in_view.any():
            total[:row] += np.where(in_view, density / density[in_view].mean(), 0)
            seen[:row] += in_view
    return np.where(seen > 0, total / np.maximum(seen, 1), 0).astype(np.float32)


def lift(attention: FloatArray, counts: NDArray[np.int64], symptoms: list[int]) -> FloatArray:
    """Log ratio of what a step gets from symptoms to what it gets from other later steps; shape (steps,).

    Attention favours the near and the first whoever looks; only what symptoms add to that speaks of a cause. 0 where
    one of the two is unknown.
    """
    others = [step for step in range(1, len(counts)) if step not in set(symptoms)]
    ours, theirs = received(attention, counts, symptoms), received(attention, counts, others)
    known = (ours > 0) & (theirs > 0)
    ratio = np.where(known, ours, 1) / np.where(known, theirs, 1)
    return np.log(ratio).astype(np.float32)


_ERROR = re.compile(
    r"(?<!no )(?<!any )(?<!without )\b(?:errors?|exceptions?|traceback|fail(?:ed|ure|s)?|exitcode: [1-9]\d*"
    r"|exit code:? [1-9]\d*|invalid|timed? ?out|denied|not found|unable to|cannot|could(?: not|n't))\b",
    re.IGNORECASE,
)
_SHARE = 0.2
_LATE = 0.5


def shows_error(trace: RunReading, step: Step) -> bool:
    """Tell whether a step speaks of an error; the keys of JSON objects do not count."""
    if step.error or step.failed_tools:
        return True
    return any(one.search(_ERROR) is not None for one in trace.passages(step.index, "content", "result"))


def top_symptoms(surprise: NDArray[np.float32], flagged: list[bool], share: float = _SHARE) -> list[int]:
    """The share of the steps that surprise most, those that speak of an error first; at least one, in order of time.

    The rule of MASPrism (arXiv 2605.07509): rank by surprise, move steps with words of failure to the front, cut.
    """
    order = sorted(range(len(surprise)), key=lambda step: (not flagged[step], -float(surprise[step]), step))
    return sorted(order[: max(1, math.ceil(share * len(surprise)))])


def late_symptoms(trace: RunReading, surprise: NDArray[np.float32]) -> list[int]:
    """Find steps that show the failure: the answer, words of failure, the most surprising of the late half."""
    steps = len(surprise)
    late = list(range(int(steps * _LATE), steps))
    count = max(1, math.ceil(0.1 * steps))
    found = set(sorted(late, key=lambda step: (-float(surprise[step]), step))[:count])
    found |= {step.index for step in trace.steps if step.index and shows_error(trace, step)}
    if trace.last_speaker is not None:
        found.add(trace.last_speaker)
    return sorted(found)


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


def signals_of(trace: RunReading, features: PrefillFeatures) -> Floats:
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


def places_of(trace: RunReading) -> Floats:
    """Return the place of every step in the run, shape (steps, places); see :data:`PLACES`."""
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


_EXACT_UP_TO = 600
_SPARE, _ITERATIONS = 16, 12


@dataclass(frozen=True, slots=True)
class Compression:
    """Principal components of hidden states, taken relative to the other steps of the same trajectory."""

    spread: Floats
    """Deviation of every value within trajectories, shape (values,)."""
    basis: Floats
    """Directions, the strongest first, scaled so that the first component has deviation 1; shape (values, size)."""

    @classmethod
    def of(cls, states: list[Floats], size: int) -> Compression:
        """Components of the hidden states of several trajectories, each of shape (steps, values).

        A single value with a huge range, as language models have some, must not decide: values are scaled first.
        """
        rows = np.concatenate([state - state.mean(axis=0) for state in states])
        spread = np.maximum(rows.std(axis=0), 1e-6)
        directions = _main_directions(rows / spread, size)
        first = max(1e-9, float((rows / spread @ directions[:, 0]).std()))
        return cls(spread, directions / first)

    def cut(self, size: int) -> Compression:
        """The same with the first ``size`` components only."""
        return Compression(self.spread, self.basis[:, :size])

    def apply(self, states: Floats, among: list[int]) -> Floats:
        """Components of every step, relative to the mean of the steps ``among``; shape (steps, size)."""
        return np.asarray((states - states[among].mean(axis=0)) / self.spread @ self.basis, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Probe:
    """Weights of everything that is known of a step."""

    compression: Compression
    """How hidden states become few numbers."""
    weights: Floats
    """Weights of signals, places and components, in this order."""

    def score(self, trace: RunReading, features: PrefillFeatures, among: list[int]) -> Floats:
        """Log-odds of every step, up to a constant; shape (steps,)."""
        return design(trace, features, among, self.compression) @ self.weights


def design(trace: RunReading, features: PrefillFeatures, among: list[int], compression: Compression) -> Floats:
    """Return the matrix that steps are judged by: signals, places and components, shape (steps, columns)."""
    return np.concatenate(
        [
            standardised(signals_of(trace, features), among),
            standardised(places_of(trace), among),
            compression.apply(features.hidden.astype(np.float64), among),
        ],
        axis=1,
    )


def prior_of(size: int) -> Floats:
    """The weights before any label: the fixed combination of the signals, and 0 for all else."""
    return np.array([*(WEIGHTS.get(name, 0.0) for name in SIGNALS), *(0.0 for _ in range(len(PLACES) + size))])


def _main_directions(rows: Floats, size: int) -> Floats:
    """The directions of the largest spread, the largest first, shape (values, size).

    A full decomposition of thousands of rows takes minutes, so that large ones are done by iteration in a subspace.
    """
    if min(rows.shape) <= _EXACT_UP_TO:
        return np.asarray(np.linalg.svd(rows, full_matrices=False)[2][:size].T, dtype=np.float64)
    guess = np.random.default_rng(0).normal(size=(rows.shape[1], size + _SPARE))
    for _ in range(_ITERATIONS):
        guess, _ = np.linalg.qr(rows.T @ (rows @ guess))
    _, _, turn = np.linalg.svd(rows @ guess, full_matrices=False)
    return np.asarray(guess @ turn[:size].T, dtype=np.float64)

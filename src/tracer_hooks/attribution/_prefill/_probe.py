"""A linear probe over signals, places and hidden states, as a conditional logit over the steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.attribution._prefill._features import PrefillFeatures
from tracer_hooks.attribution._prefill._signals import PLACES, SIGNALS, WEIGHTS, places_of, signals_of, standardised
from tracer_hooks.attribution._reading import Trace

Floats = NDArray[np.float64]

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

    def score(self, trace: Trace, features: PrefillFeatures, among: list[int]) -> Floats:
        """Log-odds of every step, up to a constant; shape (steps,)."""
        return design(trace, features, among, self.compression) @ self.weights


def design(trace: Trace, features: PrefillFeatures, among: list[int], compression: Compression) -> Floats:
    """What a step is judged by: signals, places and components, shape (steps, columns)."""
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

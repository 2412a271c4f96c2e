"""How the weights and the threshold of the failure detector are fitted."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
_FITTING = importlib.import_module("_detector_fit")
sys.path.remove(str(BENCHMARKS))
Shrinkage, equal_importance = _FITTING.Shrinkage, _FITTING.equal_importance
fit_weights, threshold_for = _FITTING.fit_weights, _FITTING.threshold_for


def test_fitted_weights_are_never_negative_and_follow_the_evidence() -> None:
    rng = np.random.default_rng(0)
    failed = np.arange(400) % 2 == 0
    speaks, against, noise = failed * (rng.random(400) < 0.7), ~failed * 1.0, rng.random(400)
    values = np.stack([speaks, against, noise], axis=1).astype(float)
    weights, intercept = fit_weights(values, failed, np.ones(400), Shrinkage(towards=1.0, strength=0.001))
    assert weights[0] > 2.0
    assert weights[1] == 0.0
    assert np.isfinite(intercept)


def test_a_strong_pull_leaves_the_common_weight() -> None:
    failed = np.array([True, False] * 10)
    weights, _ = fit_weights(np.ones((20, 2)), failed, np.ones(20), Shrinkage(towards=1.5, strength=100.0))
    assert weights == pytest.approx([1.5, 1.5], abs=0.01)


def test_outcomes_and_systems_count_the_same_whatever_their_size() -> None:
    systems = ["a"] * 6 + ["b"] * 2 + ["a"] * 3
    failed = np.array([False] * 8 + [True] * 3)
    importance = equal_importance(systems, failed)
    assert importance[:6].sum() == pytest.approx(importance[6:8].sum())
    assert importance[~failed].sum() == pytest.approx(importance[failed].sum())


@pytest.mark.parametrize("rate", [0.0, 0.05, 0.3, 1.0])
def test_a_threshold_keeps_the_alarms_below_the_rate(rate: float) -> None:
    scores = np.array([0.0] * 50 + [1.0] * 30 + [2.0] * 20)
    assert np.mean(scores >= threshold_for(scores, np.ones(100), rate)) <= rate


def test_a_threshold_is_as_low_as_the_rate_lets_it() -> None:
    scores = np.arange(100, dtype=float)
    assert np.sum(scores >= threshold_for(scores, np.ones(100), 0.1)) == 10

from __future__ import annotations

import numpy as np
import pytest

from tracer_hooks.diagnosis._protocol import StepScores
from tracer_hooks.diagnosis.ranking._ensemble import _pooled
from tracer_hooks.diagnosis.ranking._learners import FLOOR, normalised


def test_normalised_logits_are_probabilities() -> None:
    assert np.exp(normalised(np.array([1.0, 2.0, 3.0]))).sum() == pytest.approx(1.0)


def test_no_method_can_rule_a_step_out_alone() -> None:
    assert normalised(np.array([0.0, -np.inf]))[1] == FLOOR
    assert normalised(np.array([-np.inf, -np.inf])) == pytest.approx(np.log([0.5, 0.5]))


def test_the_pool_is_the_weighted_sum_of_log_beliefs() -> None:
    first, second = np.log([0.7, 0.2, 0.1]), np.log([0.1, 0.3, 0.6])
    expected = np.array([0.7, 0.2, 0.1]) ** 0.5 * np.array([0.1, 0.3, 0.6]) ** 0.25
    members = {"a": StepScores(steps=tuple(first)), "b": StepScores(steps=tuple(second))}
    assert np.exp(_pooled(members, {"a": 0.5, "b": 0.25}).steps) == pytest.approx(expected / expected.sum())

from __future__ import annotations

import numpy as np
import pytest

from tracer_hooks.diagnosis.ranking._pooling import FLOOR, fit_shares, normalised, pool


def test_normalised_logits_are_probabilities() -> None:
    assert np.exp(normalised(np.array([1.0, 2.0, 3.0]))).sum() == pytest.approx(1.0)


def test_no_method_can_rule_a_step_out_alone() -> None:
    assert normalised(np.array([0.0, -np.inf]))[1] == FLOOR
    assert normalised(np.array([-np.inf, -np.inf])) == pytest.approx(np.log([0.5, 0.5]))


def test_the_pool_is_the_weighted_sum_of_log_beliefs() -> None:
    first, second = np.log([0.7, 0.2, 0.1]), np.log([0.1, 0.3, 0.6])
    expected = np.array([0.7, 0.2, 0.1]) ** 0.5 * np.array([0.1, 0.3, 0.6]) ** 0.25
    assert np.exp(pool([first, second], [0.5, 0.25])) == pytest.approx(expected / expected.sum())


def test_shares_go_to_who_knows() -> None:
    rng = np.random.default_rng(0)
    targets = rng.integers(0, 5, size=80).tolist()
    knowing = [normalised(2.0 * (np.arange(5) == target) + rng.normal(size=5) * 0.3) for target in targets]
    noise = [normalised(rng.normal(size=5)) for _ in targets]
    shares = fit_shares([list(pair) for pair in zip(knowing, noise, strict=True)], targets)
    assert shares[0] > 0.8
    assert shares[1] < 0.2

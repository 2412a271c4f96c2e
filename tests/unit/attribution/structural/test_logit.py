from __future__ import annotations

import numpy as np
import pytest

from tracer_hooks.attribution._features import FeatureTable
from tracer_hooks.attribution._structural._logit import ConditionalLogit, fit_logit

NAMES = ("group: a", "group: b")


def planted(count: int, *, weight: float, seed: int = 0):
    """Trajectories whose decisive step is drawn from a softmax with a weight of ``weight`` on the first feature."""
    rng = np.random.default_rng(seed)
    tables, priors, targets = [], [], []
    for _ in range(count):
        values = rng.normal(size=(8, 2))
        chances = np.exp(weight * values[:, 0])
        tables.append(values)
        priors.append(np.zeros(8))
        targets.append(int(rng.choice(8, p=chances / chances.sum())))
    return tables, priors, targets


def test_a_planted_weight_is_found():
    weights, prior_weight = fit_logit(*planted(600, weight=1.5), strength=0.01)
    assert weights[0] == pytest.approx(1.5, abs=0.2)
    assert weights[1] == pytest.approx(0.0, abs=0.15)
    assert prior_weight == pytest.approx(1.0)  # the prior is flat, so nothing speaks against it


def test_a_strong_prior_keeps_the_model_as_it_was():
    weights, prior_weight = fit_logit(*planted(50, weight=1.5), strength=1e6)
    assert np.abs(weights).max() < 1e-3
    assert prior_weight == pytest.approx(1.0, abs=1e-3)


def test_a_prior_that_misleads_loses_its_weight():
    tables, _, targets = planted(200, weight=3.0)
    misleading = [-5.0 * table[:, 0] for table in tables]
    weights, prior_weight = fit_logit(tables, misleading, targets, strength=1.0)
    assert weights[0] - 5.0 * prior_weight > 1.5


def test_logits_and_contributions_agree():
    table = FeatureTable(NAMES, np.array([[1.0, 0.0], [3.0, 1.0], [2.0, 5.0]]))
    logit = ConditionalLogit({"group: a": 2.0, "group: b": -1.0}, 1.0)
    logits = logit.logits(table, np.zeros(3))
    for step in range(3):
        assert sum(odds for _, odds in logit.contributions(table, step)) == pytest.approx(logits[step])
    assert logit.contributions(table, 1)[0][0] == "group: a"


def test_json_round_trip():
    logit = ConditionalLogit({"group: a": 0.25, "group: b": 0.0}, 0.5)
    again = ConditionalLogit.from_json(logit.to_json())
    assert again.weights == {"group: a": 0.25}
    assert again.prior_weight == 0.5

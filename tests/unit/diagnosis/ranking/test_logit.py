from __future__ import annotations

import numpy as np
import pytest

from tracer_hooks.diagnosis.ranking._learners import fit_logits

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


def shared(tables, priors, targets, *, strength):
    """The shared weights, and that of the prior, of trajectories of one kind that may not depart."""
    weights, _ = fit_logits(tables, priors, targets, ["k"] * len(tables), strength=strength, kind_strength=1e9)
    return weights[:-1], weights[-1]


def test_a_planted_weight_is_found() -> None:
    weights, prior_weight = shared(*planted(600, weight=1.5), strength=0.01)
    assert weights[0] == pytest.approx(1.5, abs=0.2)
    assert weights[1] == pytest.approx(0.0, abs=0.15)
    assert prior_weight == pytest.approx(1.0)  # the prior is flat, so nothing speaks against it


def test_a_strong_prior_keeps_the_model_as_it_was() -> None:
    weights, prior_weight = shared(*planted(50, weight=1.5), strength=1e6)
    assert np.abs(weights).max() < 1e-3
    assert prior_weight == pytest.approx(1.0, abs=1e-3)


def test_a_prior_that_misleads_loses_its_weight() -> None:
    tables, _, targets = planted(200, weight=3.0)
    misleading = [-5.0 * table[:, 0] for table in tables]
    weights, prior_weight = shared(tables, misleading, targets, strength=1.0)
    assert weights[0] - 5.0 * prior_weight > 1.5


def test_a_kind_departs_from_what_all_share_and_one_with_few_labels_borrows() -> None:
    many, few = planted(300, weight=1.5), planted(300, weight=-1.5, seed=1)

    def fitted(count):
        data = [[*ours, *theirs[:count]] for ours, theirs in zip(many, few, strict=True)]
        return fit_logits(*data, ["many"] * 300 + ["few"] * count, strength=1.0, kind_strength=4.0)  # type: ignore[arg-type, misc]

    _, with_all = fitted(300)
    assert with_all["many"][0] > 1.0
    assert with_all["few"][0] < -1.0
    common, with_two = fitted(2)
    assert with_two["few"][0] > 0.5, "two labels are not enough to go another way"
    assert common[0] > 0.5


def test_a_trajectory_of_weight_one_half_counts_half() -> None:
    tables, priors, targets = planted(60, weight=1.5)
    kinds = ["k"] * 60

    def fitted(places, weights):
        data = [[one[place] for place in places] for one in (tables, priors, targets, kinds)]
        found, _ = fit_logits(*data, strength=1.0, kind_strength=1e9, weights=weights)
        return found

    twice = [place for place in range(60) for _ in range(2)]
    once = fitted(range(60), None)
    assert fitted(twice, [0.5] * 120) == pytest.approx(once, abs=1e-3)
    assert fitted(range(60), [1.0] * 60) == pytest.approx(once, abs=1e-6)
    assert np.abs(fitted(range(60), [1e-6] * 60)[:-1]).max() < 1e-3

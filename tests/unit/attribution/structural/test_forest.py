from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier

from tracer_hooks.attribution._features import FeatureTable
from tracer_hooks.attribution._structural import _forest
from tracer_hooks.attribution._structural._forest import Forest, fit_forest


@pytest.fixture
def tables():
    rng = np.random.default_rng(0)
    return [FeatureTable(("g: a", "g: b", "g: c"), rng.normal(size=(6, 3))) for _ in range(30)]


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    monkeypatch.setattr(_forest, "TREES", 12)


def test_the_arrays_give_what_scikit_learn_gives(tables):
    targets = [int(table.values[:, 0].argmax()) for table in tables]
    ours = fit_forest(tables, targets, seed=3)
    rows = np.vstack([table.values for table in tables]).astype(np.float32)
    labels = np.concatenate([np.arange(6) == target for target in targets])
    theirs = ExtraTreesClassifier(12, min_samples_leaf=3, max_features=0.2, random_state=3).fit(rows, labels)
    expected = np.log(np.maximum(theirs.predict_proba(tables[0].values.astype(np.float32))[:, 1], 1e-3))
    assert ours.logits(tables[0]) == pytest.approx(expected, abs=1e-9)


def test_json_round_trip_and_columns_by_name(tables):
    forest = fit_forest(tables, [0] * len(tables), seed=0)
    again = Forest.from_json(json.loads(json.dumps(forest.to_json())))
    assert again.logits(tables[1]) == pytest.approx(forest.logits(tables[1]), abs=1e-3)
    shuffled = FeatureTable(("g: c", "g: x", "g: a", "g: b"), tables[1].values[:, [2, 0, 0, 1]])
    assert again.logits(shuffled) == pytest.approx(again.logits(tables[1]))

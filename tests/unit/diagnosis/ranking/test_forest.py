from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import ExtraTreeClassifier

from tracer_hooks.diagnosis.ranking import _learners
from tracer_hooks.diagnosis.ranking._learners import _left_out, fit_forest
from tracer_hooks.diagnosis.ranking._table import FeatureTable


@pytest.fixture
def tables():
    rng = np.random.default_rng(0)
    return [FeatureTable(("g: a", "g: b", "g: c"), rng.normal(size=(6, 3))) for _ in range(30)]


@pytest.fixture(autouse=True)
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_learners, "TREES", 12)


WAYS = [[place % 3 for place in range(30)], [place % 2 for place in range(30)]]


def test_the_arrays_give_what_scikit_learn_gives(tables) -> None:
    targets = [int(table.values[:, 0].argmax()) for table in tables]
    ours = fit_forest(tables, targets, WAYS, seed=0).forest
    chances = []
    for number, (way, fold) in enumerate(_left_out(WAYS)):
        seen = [place for place, own in enumerate(way) if own != fold]
        rows = np.vstack([tables[place].values for place in seen]).astype(np.float32)
        labels = np.concatenate([np.arange(6) == targets[place] for place in seen])
        theirs = ExtraTreeClassifier(min_samples_leaf=3, max_features=0.2, random_state=number).fit(rows, labels)
        chances.append(theirs.predict_proba(tables[0].values.astype(np.float32))[:, 1])
    expected = np.log(np.maximum(np.mean(chances, axis=0), 1e-3))
    assert ours.logits(tables[0]) == pytest.approx(expected, abs=1e-9)


def test_what_is_said_of_a_trajectory_does_not_rest_on_its_label(tables) -> None:
    targets = [int(table.values[:, 0].argmax()) for table in tables]
    before = fit_forest(tables, targets, WAYS, seed=0)
    after = fit_forest(tables, [5 - targets[0], *targets[1:]], WAYS, seed=0)
    assert before.unseen[0] == pytest.approx(after.unseen[0])
    assert before.unseen[1] != pytest.approx(after.unseen[1])


def test_columns_are_found_by_name(tables) -> None:
    forest = fit_forest(tables, [0] * len(tables), WAYS, seed=0).forest
    shuffled = FeatureTable(("g: c", "g: x", "g: a", "g: b"), tables[1].values[:, [2, 0, 0, 1]])
    assert forest.logits(shuffled) == pytest.approx(forest.logits(tables[1]))

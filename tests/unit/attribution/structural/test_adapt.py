from __future__ import annotations

import numpy as np

from tracer_hooks.attribution._features import FeatureTable
from tracer_hooks.attribution._structural._adapt import Case, _kept, _says
from tracer_hooks.attribution._structural._model import HAND_OFFS, StructuralModel, kind_of

NAMES = ("run: share of hand-offs",)


def case(target: int, *, handed: bool) -> Case:
    table = FeatureTable(NAMES, np.full((3, 1), float(handed)))
    return Case(table, table.standardised(), np.zeros(3), target, "q")


def sure_of(step: int) -> np.ndarray:
    return np.log(np.where(np.arange(3) == step, 0.8, 0.1))


def test_a_kind_of_team_on_which_the_fit_is_worse_keeps_the_shipped_model():
    cases = [case(0, handed=True), case(1, handed=True), case(0, handed=False), case(1, handed=False)]
    right = [sure_of(one.target) for one in cases]
    wrong = [sure_of(2) for _ in cases]
    mixed = [*wrong[:2], *right[2:]]
    assert _kept(cases, mixed, [*right[:2], *wrong[2:]]) == {HAND_OFFS}
    assert _kept(cases, right, wrong) == frozenset()


def test_equal_ranks_are_no_reason_to_keep_it():
    cases = [case(0, handed=True)]
    same = [sure_of(0)]
    assert _kept(cases, same, same) == frozenset()


def test_a_kept_kind_gets_the_prior_whatever_was_learnt():
    assert kind_of(case(0, handed=True).table) == HAND_OFFS
    model = StructuralModel.from_json({**StructuralModel(kept=frozenset({HAND_OFFS})).to_json(), "logit_weight": 9.0})
    assert model.kept == {HAND_OFFS}
    assert model.logit_weight == 9.0


def test_a_strength_that_ranks_worse_has_less_say():
    says = _says({20.0: 0.60, 1e6: 0.58})
    assert sum(says.values()) == 1.0
    assert 2.5 < says[20.0] / says[1e6] < 3.0

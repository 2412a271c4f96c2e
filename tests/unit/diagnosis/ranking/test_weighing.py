from __future__ import annotations

import pytest

from tracer_hooks.diagnosis.ranking._fit import cases_of, label_weights
from tracer_hooks.schema import LabelSource

from ._runs import labelled_runs


def mixed(injected: int, natural: int, *, weight: float = 1.0):
    runs = labelled_runs(injected + natural)
    failures = [
        one.model_copy(update={"label_source": LabelSource.COUNTERFACTUAL, "weight": weight}) for one in runs[injected:]
    ]
    return [*runs[:injected], *failures]


def test_both_kinds_have_the_same_say_where_faults_are_more() -> None:
    weights = label_weights(mixed(20, 10))
    assert sum(weights[:20]) == pytest.approx(sum(weights[20:]))
    assert sum(weights) == pytest.approx(30), "all together count as before"


def test_a_handful_of_failures_counts_four_times_a_fault_and_no_more() -> None:
    weights = label_weights(mixed(40, 2))
    assert weights[-1] == pytest.approx(4 * weights[0])


def test_failures_that_are_more_count_as_they_are() -> None:
    assert label_weights(mixed(5, 9)) == [1.0] * 14


def test_weak_labels_stay_weak() -> None:
    runs = mixed(20, 10)
    runs[-1] = runs[-1].model_copy(update={"weight": 0.6})
    weights = label_weights(runs)
    assert weights[-1] == pytest.approx(0.6 * weights[-2])


@pytest.mark.parametrize(("injected", "natural"), [(6, 0), (0, 6)])
def test_one_kind_alone_counts_as_it_is(injected, natural) -> None:
    assert label_weights(mixed(injected, natural)) == [1.0] * 6


def test_the_fit_learns_from_them_so() -> None:
    pytest.importorskip("sklearn")
    cases = cases_of(mixed(8, 4))
    assert [case.weight for case in cases] == pytest.approx(label_weights(mixed(8, 4)))
    assert cases[-1].weight == pytest.approx(2 * cases[0].weight)

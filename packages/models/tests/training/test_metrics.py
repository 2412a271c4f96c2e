from typing import Any

import numpy as np
import pytest

from tracer_hooks_models.training._examples import area_within, pair_f1


def arrays(*rows: Any):
    return [np.array(row, np.float32) for row in rows]


def test_the_area_is_the_mean_over_trajectories_with_both_kinds_of_agent() -> None:
    scores = arrays([3, 1, 2], [0, 1], [5, 5], [1, 2])
    faulty = arrays([1, 0, 1], [1, 0], [1, 0], [1, 1])  # right, wrong, tie, nothing to compare
    assert area_within(scores, faulty) == pytest.approx((1 + 0 + 0.5) / 3)
    assert area_within(arrays([1, 2]), arrays([1, 1])) is None
    assert area_within(arrays([100, 99], [1, 0]), arrays([1, 0], [1, 0])) == 1, "different runs are never compared"


def test_pair_f1_counts_pairs_over_all_trajectories() -> None:
    scores = arrays([[1, -1], [1, -1]], [[-1, 1]])
    truth = arrays([[1, 0], [0, 1]], [[0, 1]])
    # three named, two of them right, three wanted
    assert pair_f1(scores, truth, 0.0) == pytest.approx(2 * 2 / 6)
    assert pair_f1(arrays([[-1.0]]), arrays([[0.0]]), 0.0) == 0

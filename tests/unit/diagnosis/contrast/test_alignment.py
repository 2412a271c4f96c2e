"""Global alignment, checked against plain recursion over every alignment."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracer_hooks.diagnosis.contrast import align
from tracer_hooks.diagnosis.contrast._comparison import GAP_EXTEND, GAP_OPEN, MATCH_FROM

similarities = st.integers(0, 5).flatmap(
    lambda rows: st.integers(0, 5).flatmap(
        lambda columns: st.lists(
            st.lists(st.integers(0, 20).map(lambda value: value / 20), min_size=columns, max_size=columns),
            min_size=rows,
            max_size=rows,
        ).map(lambda found: np.array(found, dtype=float).reshape(rows, columns))
    )
)


def best_score(similarity):
    """The best score over all alignments, by recursion on what the last column of the alignment is."""
    rows, columns = similarity.shape

    @cache
    def score(row, column, gap):
        if row == rows and column == columns:
            return 0.0
        found = []
        if row < rows and column < columns:
            found.append(similarity[row, column] - MATCH_FROM + score(row + 1, column + 1, ""))
        if row < rows:
            found.append(-(GAP_EXTEND if gap == "row" else GAP_OPEN) + score(row + 1, column, "row"))
        if column < columns:
            found.append(-(GAP_EXTEND if gap == "column" else GAP_OPEN) + score(row, column + 1, "column"))
        return max(found)

    return score(0, 0, "")


def score_of(partners, similarity):
    """The score of a given alignment, with gaps between two pairs put rows first."""
    rows, columns = similarity.shape
    total, row, column = 0.0, 0, 0
    pairs = [(one, other) for one, other in enumerate(partners) if other >= 0]
    for one, other in [*pairs, (rows, columns)]:
        for gap in (one - row, other - column):
            total -= GAP_OPEN + GAP_EXTEND * (gap - 1) if gap else 0.0
        if one < rows:
            total += similarity[one, other] - MATCH_FROM
        row, column = one + 1, other + 1
    return total


@given(similarities)
def test_the_alignment_is_the_best_one_and_its_partners_have_that_score(similarity) -> None:
    aligned = align(similarity)
    assert aligned.score == pytest.approx(best_score(similarity))
    assert score_of(aligned.partners, similarity) == pytest.approx(aligned.score)


@given(similarities)
def test_the_score_does_not_depend_on_which_sequence_is_first(similarity) -> None:
    assert align(similarity).score == pytest.approx(align(similarity.T).score)


@given(similarities)
def test_partners_are_in_order_and_each_is_used_once(similarity) -> None:
    paired = [column for column in align(similarity).partners if column >= 0]
    assert paired == sorted(set(paired))
    assert all(column < similarity.shape[1] for column in paired)


def test_of_a_step_done_twice_the_second_is_left_over() -> None:
    assert align(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])).partners == (0, -1, 1)


def test_a_gap_of_two_costs_less_than_two_gaps() -> None:
    similarity = np.eye(4)
    assert align(similarity[[0, 3]]).score == pytest.approx(2 * 0.5 - GAP_OPEN - GAP_EXTEND)
    assert align(similarity[[0, 2]]).score == pytest.approx(2 * 0.5 - 2 * GAP_OPEN)

import pytest

from tracer_hooks.evaluation import calibrate

from .._known import known


def test_by_hand() -> None:
    found = known(calibrate([0.25, 0.25, 0.85, 0.85], [0, 1, 1, 1]))
    assert found.ece == pytest.approx((2 * abs(0.25 - 0.5) + 2 * abs(0.85 - 1)) / 4)
    assert found.brier == pytest.approx((0.25**2 + 0.75**2 + 2 * 0.15**2) / 4)
    assert (found.confidence, found.accuracy, found.runs) == (pytest.approx(0.55), 0.75, 4)
    assert [one.runs for one in found.bins] == [0, 0, 2, 0, 0, 0, 0, 0, 2, 0]
    assert found.bins[2].accuracy == 0.5
    assert found.bins[0].confidence is None


@pytest.mark.parametrize(
    ("confidence", "place"), [(0.0, 0), (0.0999, 0), (0.1, 1), (0.3, 3), (0.7, 7), (0.9, 9), (0.99, 9), (1.0, 9)]
)
def test_a_bin_holds_its_beginning_and_the_last_one_holds_one(confidence: float, place: int) -> None:
    found = known(calibrate([confidence], [1]))
    assert [one.runs for one in found.bins].index(1) == place
    assert found.bins[place].low <= confidence


def test_perfect_and_worst_and_nothing_answered() -> None:
    perfect, worst = known(calibrate([1.0, 0.0], [1, 0])), known(calibrate([1.0, 0.0], [0, 1]))
    assert (perfect.ece, perfect.brier, worst.ece, worst.brier) == (0, 0, 1, 1)
    assert calibrate([], []) is None

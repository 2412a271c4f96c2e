from __future__ import annotations

import numpy as np
import pytest

from tracer_hooks.diagnosis.ranking._fit import LearningCurve
from tracer_hooks.diagnosis.ranking._pooling import fit_mixing

EVEN = (1.0, 1.0)


def sure_of(step: int, *, chance: float = 0.9) -> np.ndarray:
    return np.log(np.where(np.arange(3) == step, chance, (1 - chance) / 2))


def mixed(kinds, right, *, weights=None):
    """Two members; the first is right where it is said so, the second everywhere, and each is as sure as can be."""
    targets = [place % 3 for place in range(len(kinds))]
    beliefs = [
        np.stack([sure_of(target if good else (target + 1) % 3), sure_of(target, chance=0.6)])
        for target, good in zip(targets, right, strict=True)
    ]
    return fit_mixing(beliefs, targets, kinds, weights=weights or [1.0] * len(kinds), start=EVEN)


def test_a_kind_on_which_the_members_are_wrong_is_less_sure() -> None:
    kinds = ["good"] * 200 + ["bad"] * 200
    mixing = mixed(kinds, [True] * 200 + [False] * 200)
    assert mixing.of("bad").sum() < mixing.of("good").sum()


def test_no_member_is_switched_off_by_a_handful_of_labels() -> None:
    mixing = mixed(["k"] * 6, [False] * 6)
    assert mixing.of("k").min() > 0.05


def test_enough_labels_tell_who_is_wrong() -> None:
    mixing = mixed(["k"] * 3000, [False] * 3000)
    assert mixing.of("k")[0] < 0.5 * mixing.of("k")[1]


def test_a_kind_that_was_not_learnt_from_gets_the_shares_of_all() -> None:
    mixing = mixed(["a", "b"] * 20, [True] * 40)
    assert mixing.of("another").tolist() == list(mixing.shares)


def test_judgements_of_the_same_run_count_once() -> None:
    once = mixed(["k"] * 30, [False] * 30)
    thrice = mixed(["k"] * 90, [False] * 90, weights=[1 / 3] * 90)
    assert thrice.shares == pytest.approx(once.shares, abs=1e-3)


class TestLearningCurve:
    def curve(self, gain: float) -> LearningCurve:
        """Half of the labels get every second question right, all get ``gain`` more."""
        curve = LearningCurve([f"q{number}" for number in range(100)], seed=0)
        for labels, share in ((40, 0.4), (80, 0.4 + gain)):
            curve.tell(labels, range(100), [float(number < round(100 * share)) for number in range(100)])
        return curve

    def test_what_grows_goes_on_growing(self) -> None:
        found = self.curve(0.2).ten_more(80)
        assert found is not None
        assert found.gain == pytest.approx(0.2 * np.log2(90 / 80))
        assert 0 < found.low < found.gain < found.high

    def test_what_stays_level_stays(self) -> None:
        found = self.curve(0.0).ten_more(80)
        assert found is not None
        assert found.gain == pytest.approx(0.0)

    def test_too_few_questions_say_nothing(self) -> None:
        curve = LearningCurve([f"q{number}" for number in range(29)], seed=0)
        assert list(curve.parts(range(29))) == []
        assert curve.ten_more(29) is None

    def test_the_smaller_part_lies_within_the_larger_and_questions_stay_whole(self) -> None:
        groups = [f"q{number // 2}" for number in range(80)]
        small, large = LearningCurve(groups, seed=3).parts(range(80))
        assert set(small) < set(large)
        assert {groups[place] for place in small}.isdisjoint(groups[place] for place in set(range(80)) - set(small))

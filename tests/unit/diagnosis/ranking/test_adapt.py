from __future__ import annotations

import numpy as np
import pytest

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

"""Counts of repairs, and what is concluded from them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tracer_hooks.feedback import EffectCounts
from tracer_hooks.feedback._search._effects import Effects
from tracer_hooks.feedback._search._features import SearchAction, kept_shares
from tracer_hooks.schema import Step, Trajectory

from ._failures import run_of

ROWS = (("feedback_in_task", 0, 4, "", 3, 1), ("resample", 2, 3, "FM-3.2", 2, 2))


def test_counts_are_plain_data_and_add_up() -> None:
    counts = EffectCounts([*ROWS, ("resample", 2, 3, "FM-3.2", 1, 0)])
    assert counts.rows == (ROWS[0], ("resample", 2, 3, "FM-3.2", 3, 2))
    assert EffectCounts(tuple(row) for row in json.loads(json.dumps(counts.rows))) == counts
    both = counts.plus(EffectCounts(ROWS))
    assert (both.trials, counts.trials) == (11, 6)
    assert both.rows[1] == ("resample", 2, 3, "FM-3.2", 5, 4)
    assert EffectCounts() == EffectCounts([]) != counts
    assert len({counts, EffectCounts(reversed(counts.rows)), EffectCounts()}) == 2
    assert repr(EffectCounts(ROWS[:1])) == "EffectCounts([('feedback_in_task', 0, 4, '', 3, 1)])"


@pytest.mark.parametrize(
    "row", [("x", 4, 0, "", 1, 0), ("x", 0, 5, "", 1, 0), ("x", 0, 0, "", 1, 2), ("x", 0, 0, "", 1, -1)]
)
def test_a_row_that_is_no_count_is_refused(row: tuple[str, int, int, str, int, int]) -> None:
    with pytest.raises(ValueError, match="is no count of repairs"):
        EffectCounts([row])


def test_what_is_kept_is_measured_in_tokens_else_in_characters() -> None:
    assert kept_shares(run_of(4)) == [0.0, 0.25, 0.5, 0.75]
    assert kept_shares(run_of(0)) == []
    texts = ("x" * 300, "y" * 100)
    steps = tuple(Step(index=i, agent="a", content=text) for i, text in enumerate(texts))
    assert kept_shares(Trajectory(run_id="r", steps=steps)) == [0.0, 0.75]


def test_the_effects_follow_the_counts() -> None:
    rows = [("from_scratch", 0, 4, "", 200, 60), ("guidance", 0, 4, "", 200, 160)]
    effects = Effects(EffectCounts(rows).for_mode(""), ["feedback_in_task"])
    actions = [SearchAction("from_scratch"), SearchAction("guidance")]
    assert effects.success(actions, effects.best_guess) == pytest.approx([0.3, 0.8], abs=0.03)
    plain, guided = effects.sureness(actions)
    assert plain == 0.0
    assert guided > 5


def test_the_draws_spread_as_the_posterior_does() -> None:
    effects = Effects({}, ["guidance"])
    random = np.random.default_rng(0)
    draws = np.array([effects.draw(random) for _ in range(4000)])
    assert draws.mean(axis=0) == pytest.approx(effects.best_guess, abs=0.08)
    assert draws.std(axis=0) == pytest.approx([1.5, 0.8, 0.6, 0.8], rel=0.06)


def test_counts_of_only_passes_or_only_failures_are_taken_in_their_stride() -> None:
    for passes in (0, 10**6):
        effects = Effects(EffectCounts([("guidance", 0, 4, "", 10**6, passes)]).for_mode(""), [])
        (rate,) = effects.success([SearchAction("guidance")], effects.best_guess)
        assert rate == pytest.approx(passes / 10**6, abs=0.001)
        assert np.isfinite(effects.draw(np.random.default_rng(1))).all()

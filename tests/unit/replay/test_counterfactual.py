"""One step corrected again and again: arms, controls, placebo, early stops, caps."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest

import tracer_hooks
from tracer_hooks.budget import CostCap
from tracer_hooks.errors import ConfigError, ReplayError, TapeMismatchError
from tracer_hooks.replay import (
    Arm,
    Correction,
    Counterfactual,
    ReplayOptions,
    StepReplay,
    TapeMode,
    examine_step,
)
from tracer_hooks.rerun._targets import rerunner
from tracer_hooks.schema import Usage

from ._sums import TASK, Sums, passes, right

Check = Callable[[tracer_hooks.RunResult], bool]
FAULT = {1: "I get 11"}


def examine(replay: StepReplay, step: int, correction: Correction | None = None) -> Counterfactual:
    return examine_step(replay, step, lambda _: correction or Correction())


def arm(trials: int, flips: int) -> Arm:
    return Arm(trials=trials, flips=flips)


def test_the_faulty_step_flips_and_its_control_does_not() -> None:
    replay = Sums().replay(FAULT)
    result = examine(replay, 1)
    assert (result.corrected, result.control) == (arm(3, 3), arm(3, 0))
    assert result.is_significant
    assert result.stopped == "the effect is certain"
    assert (result.agent, result.effect) == ("doubler", 1.0)
    assert result.interval == pytest.approx((0.2059, 1.0), abs=1e-4)
    assert len(set(result.trajectory_ids)) == 3


@pytest.mark.parametrize(("step", "rate"), [(0, 1.0), (2, 0.0)], ids=["before", "after"])
def test_a_step_before_the_fault_flips_in_both_arms_and_one_after_it_in_none(step: int, rate: float) -> None:
    result = examine(Sums().replay(FAULT), step)
    assert result.corrected.rate == result.control.rate == rate
    assert not result.is_significant
    assert result.stopped == "no effect could be shown any more"
    assert result.placebo_step is None


def test_steps_before_the_corrected_one_are_never_asked_again() -> None:
    team = Sums()
    examine(team.replay(FAULT, early_stop=False, trials=2), 2)
    assert [name for name, _ in team.asked] == ["taker", "writer", "writer"] * 2


def test_only_live_calls_cost_tokens() -> None:
    replay = Sums().replay(FAULT, placebo=False, trials=3)
    result = examine(replay, 2, Correction(content="I get 9"))
    # With the correction only the writer is asked, and so it is in the control.
    assert (result.runs, result.usage) == (6, Usage(input_tokens=60, output_tokens=12))
    assert replay.spending.usage == result.usage


def test_the_placebo_corrects_a_later_step_the_same_way() -> None:
    honest = examine(Sums().replay(FAULT), 1, Correction(content="I get 10"))
    assert (honest.placebo, honest.placebo_step) == (arm(3, 0), honest.placebo_step)
    assert honest.placebo_step in (2, 3)
    leak = examine(Sums().replay(FAULT), 2, Correction(content="The answer is 9 ."))
    assert leak.placebo_step == 3
    assert leak.placebo == arm(3, 3), "the very words save the run elsewhere as well: they give the answer away"
    last = examine(Sums().replay({3: "The answer is 8 ."}), 3)
    assert (last.is_significant, last.placebo, last.placebo_step) == (True, Arm(), None)


@pytest.mark.parametrize(
    ("options", "runs", "stopped"),
    [
        ({"early_stop": False, "trials": 5, "placebo": False}, 10, "all trials were made"),
        ({"cap": CostCap(max_runs=4), "trials": 6}, 4, "the cap of 4 runs is reached"),
    ],
)
def test_without_early_stop_all_trials_are_made_up_to_the_cap(options: dict[str, Any], runs: int, stopped: str) -> None:
    result = examine(Sums().replay(FAULT, **options), 1)
    assert (result.runs, result.stopped) == (runs, stopped)
    assert (result.corrected.rate, result.control.rate) == (1.0, 0.0)
    assert result.is_significant is (runs == 10)


def test_a_team_that_succeeds_by_chance_is_no_effect() -> None:
    turns = itertools.cycle([0, 1, 1])

    def moody(agent: str, shown: str) -> str:
        return "The answer is 9 ." if agent == "writer" and next(turns) else right(agent, shown)

    result = examine(Sums(moody).replay({1: "I get 11", 3: "The answer is 10 ."}, trials=12, early_stop=False), 2)
    assert result.corrected.flips > 0
    assert result.control.flips > 0
    assert not result.is_significant


def test_an_unknown_step_is_refused_before_the_proposer_is_asked() -> None:
    replay = Sums().replay(FAULT)
    proposer = Mock()
    expected = r"step 9 .* expected one of the steps \[0, 1, 2, 3\]\. Run: tracer-hooks runs show"
    with pytest.raises(ReplayError, match=expected):
        examine_step(replay, 9, proposer)
    with pytest.raises(ReplayError, match=expected):
        replay.control(9)
    assert (proposer.call_count, replay.spending.runs) == (0, 0)


def of_today(team: Sums, **options: Any) -> StepReplay:
    """A replay of a team whose first prompt has changed since it was recorded."""
    replay = team.replay(FAULT, **options)
    built = team.build_team
    replay._runner = rerunner(lambda prompts=None: built({"adder": "You are the adder of today."}), TASK, check=passes)
    return replay


@pytest.mark.parametrize("step", [0, 2])
def test_a_team_that_does_not_repeat_itself_is_a_mismatch_in_strict_mode(step: int) -> None:
    replay = of_today(Sums())
    with pytest.raises(TapeMismatchError, match="step 0, agent 'adder': message 0"):
        examine(replay, step)
    assert replay.spending.runs == 1, "a run that left the tape has been made all the same"


def test_a_lenient_replay_goes_on_where_the_prompts_have_changed() -> None:
    team = Sums()
    assert examine(of_today(team, mode=TapeMode.LENIENT), 1).is_significant
    assert "adder" not in {name for name, _ in team.asked}


def unable(when: Callable[[int, bool], bool]) -> Check:
    """A check that raises where ``when``, asked with the number of the run and whether it passed, says so."""
    asked = itertools.count()

    def check(result: tracer_hooks.RunResult) -> bool:
        if when(next(asked), passes(result)):
            raise KeyError("score")
        return passes(result)

    return check


def test_pairs_that_the_check_cannot_judge_are_counted_and_left_out() -> None:
    result = examine(Sums().replay(FAULT, check=unable(lambda number, _: number % 5 == 3)), 1)
    assert result.is_significant
    assert result.unjudged > 0
    assert result.corrected.flips == result.corrected.trials
    assert result.control.flips == 0
    assert result.runs > result.corrected.trials + result.control.trials


def test_a_check_that_raises_ever_more_often_ends_the_trials_with_what_is_known() -> None:
    check = unable(lambda number, _: number > 2)
    result = examine(Sums().replay(FAULT, check=check, trials=4, early_stop=False), 1)
    assert (result.corrected.trials, result.unjudged) == (1, 4)
    assert result.stopped.startswith("the check could not judge 4 pairs of runs: ")
    assert not result.is_significant


def test_a_check_that_always_raises_stops_the_replay() -> None:
    with pytest.raises(ReplayError, match="the check raised KeyError"):
        examine(Sums().replay(FAULT, check=unable(lambda _, passed: passed)), 1)


@pytest.mark.parametrize("wrong", [{"trials": 0}, {"alpha": 0.0}, {"alpha": 1.0}, {"suspect_trials": -1}])
def test_options_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        ReplayOptions(**wrong)

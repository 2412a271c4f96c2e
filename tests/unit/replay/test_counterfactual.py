"""One step corrected again and again: arms, controls, placebo, early stops, caps."""

from __future__ import annotations

import itertools
from typing import Any

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
    Trial,
    examine_step,
)
from tracer_hooks.schema import Usage

from .._known import known
from ._sums import Sums, right

FAULT = {1: "I get 11"}


def replay_of(team: Sums, faults: dict[int, str] | None = None, **options: Any) -> StepReplay:
    run = team.record(FAULT if faults is None else faults)
    return StepReplay(known(run.again)(), Trial(trajectory=run.trajectory, tape=run.tape), ReplayOptions(**options))


def examine(replay: StepReplay, step: int, correction: Correction | None = None) -> Counterfactual:
    return examine_step(replay, step, lambda _: correction or Correction())


def arm(trials: int, flips: int) -> Arm:
    return Arm(trials=trials, flips=flips)


def test_the_faulty_step_flips_and_its_control_does_not() -> None:
    replay = replay_of(Sums())
    result = examine(replay, 1)
    assert (result.corrected, result.control) == (arm(3, 3), arm(3, 0))
    assert result.is_significant
    assert result.stopped == "the effect is certain"
    assert (result.agent, result.effect) == ("doubler", 1.0)
    assert result.interval == pytest.approx((0.2059, 1.0), abs=1e-4)
    assert len(set(result.trajectory_ids)) == 3


def test_a_step_after_the_fault_flips_in_no_arm() -> None:
    result = examine(replay_of(Sums()), 2)
    assert (result.corrected.flips, result.control.flips) == (0, 0)
    assert not result.is_significant
    assert result.stopped == "no effect could be shown any more"
    assert result.placebo_step is None


def test_a_step_before_the_fault_flips_in_both_arms() -> None:
    result = examine(replay_of(Sums()), 0)
    assert result.corrected.rate == result.control.rate == 1.0
    assert not result.is_significant


def test_steps_before_the_corrected_one_are_never_asked_again() -> None:
    team = Sums()
    examine(replay_of(team, early_stop=False, trials=2), 2)
    assert [name for name, _ in team.asked] == ["taker", "writer", "writer"] * 2


def test_only_live_calls_cost_tokens() -> None:
    replay = replay_of(Sums(), placebo=False, trials=3)
    result = examine(replay, 2, Correction(content="I get 9"))
    # With the correction only the writer is asked, and so it is in the control.
    assert (result.runs, result.usage) == (6, Usage(input_tokens=60, output_tokens=12))
    assert replay.spending.usage == result.usage


def test_the_placebo_corrects_a_later_step_the_same_way() -> None:
    honest = examine(replay_of(Sums()), 1, Correction(content="I get 10"))
    assert (honest.placebo, honest.placebo_step) == (arm(3, 0), honest.placebo_step)
    assert honest.placebo_step in (2, 3)
    leak = examine(replay_of(Sums()), 2, Correction(content="The answer is 9 ."))
    assert leak.placebo_step == 3
    assert leak.placebo == arm(3, 3), "the very words save the run elsewhere as well: they give the answer away"


def test_the_last_step_has_no_placebo() -> None:
    result = examine(replay_of(Sums(), {3: "The answer is 8 ."}), 3)
    assert result.is_significant
    assert (result.placebo, result.placebo_step) == (Arm(), None)


def test_without_early_stop_all_trials_are_made() -> None:
    result = examine(replay_of(Sums(), early_stop=False, trials=5, placebo=False), 1)
    assert (result.corrected, result.control, result.stopped) == (arm(5, 5), arm(5, 0), "all trials were made")


def test_a_team_that_succeeds_by_chance_is_no_effect() -> None:
    turns = itertools.cycle([0, 1, 1])

    def moody(agent: str, shown: str) -> str:
        return "The answer is 9 ." if agent == "writer" and next(turns) else right(agent, shown)

    result = examine(replay_of(Sums(moody), {1: "I get 11", 3: "The answer is 10 ."}, trials=12, early_stop=False), 2)
    assert result.corrected.flips > 0
    assert result.control.flips > 0
    assert not result.is_significant


def test_the_cap_ends_the_trials() -> None:
    result = examine(replay_of(Sums(), cap=CostCap(max_runs=4), trials=6), 1)
    assert (result.runs, result.stopped) == (4, "the cap of 4 runs is reached")
    assert not result.is_significant


def test_an_unknown_step_is_refused_before_the_proposer_is_asked() -> None:
    asked: list[int] = []
    replay = replay_of(Sums())

    def correction_of(step: int) -> Correction:
        asked.append(step)
        return Correction()

    with pytest.raises(ReplayError, match="step 9"):
        examine_step(replay, 9, correction_of)
    assert (asked, replay.spending.runs) == ([], 0)


def test_a_team_that_does_not_repeat_itself_is_a_mismatch_in_strict_mode() -> None:
    team = Sums()
    replay = replay_of(team)
    team_prompt = "You are the adder of today."
    original = team.build_team
    team.build_team = lambda prompts=None: original({"adder": team_prompt})  # type: ignore[method-assign]
    replay._runner = tracer_hooks_rerunner(team)
    with pytest.raises(TapeMismatchError, match="step 0, agent 'adder'"):
        examine(replay, 2)
    assert replay.spending.runs == 1, "a run that left the tape has been made all the same"


def tracer_hooks_rerunner(team: Sums) -> Any:
    from tracer_hooks.rerun._targets import rerunner

    return rerunner(team.build_team, "2 3", check=lambda result: " 9 " in result.text)


def test_a_lenient_replay_goes_on_where_the_prompts_have_changed() -> None:
    team = Sums()
    replay = replay_of(team, mode=TapeMode.LENIENT)
    original = team.build_team
    team.build_team = lambda prompts=None: original({"adder": "You are the adder of today."})  # type: ignore[method-assign]
    replay._runner = tracer_hooks_rerunner(team)
    result = examine(replay, 1)
    assert result.is_significant
    assert "adder" not in {name for name, _ in team.asked}


def test_pairs_that_the_check_cannot_judge_are_counted_and_left_out() -> None:
    asked = itertools.count()

    def check(result: tracer_hooks.RunResult) -> bool:
        if next(asked) % 5 == 3:
            raise KeyError("score")
        return " 9 " in result.text

    run = Sums().record(FAULT, check=check)
    replay = StepReplay(known(run.again)(), Trial(trajectory=run.trajectory, tape=run.tape), ReplayOptions())
    result = examine(replay, 1)
    assert result.is_significant
    assert result.unjudged > 0
    assert result.corrected.flips == result.corrected.trials
    assert result.control.flips == 0
    assert result.runs > result.corrected.trials + result.control.trials


def test_a_check_that_raises_ever_more_often_ends_the_trials_with_what_is_known() -> None:
    asked = itertools.count()

    def check(result: tracer_hooks.RunResult) -> bool:
        if next(asked) > 2:
            raise KeyError("score")
        return False

    run = Sums().record(FAULT, check=check)
    options = ReplayOptions(trials=4, early_stop=False)
    replay = StepReplay(known(run.again)(), Trial(trajectory=run.trajectory, tape=run.tape), options)
    result = examine(replay, 1)
    assert (result.corrected.trials, result.unjudged) == (1, 4)
    assert result.stopped.startswith("the check could not judge 4 pairs of runs: ")
    assert not result.is_significant


def test_a_check_that_always_raises_stops_the_replay() -> None:
    team = Sums()

    def check(result: tracer_hooks.RunResult) -> bool:
        if " 9 " in result.text:
            raise KeyError("score")
        return False

    run = team.record(FAULT, check=check)
    replay = StepReplay(known(run.again)(), Trial(trajectory=run.trajectory, tape=run.tape), ReplayOptions())
    with pytest.raises(ReplayError, match="the check raised KeyError"):
        examine(replay, 1)


@pytest.mark.parametrize("wrong", [{"trials": 0}, {"alpha": 0.0}, {"alpha": 1.0}])
def test_options_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        ReplayOptions(**wrong)


def test_on_trial_hears_of_every_run() -> None:
    run = Sums().record(FAULT)
    heard: list[Trial] = []
    trial = Trial(trajectory=run.trajectory, tape=run.tape)
    result = examine(StepReplay(known(run.again)(), trial, ReplayOptions(), on_trial=heard.append), 1)
    assert len(heard) == result.runs == 9
    assert sum(one.passed for one in heard) == 3

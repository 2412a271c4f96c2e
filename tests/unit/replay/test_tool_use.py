"""Rules for tools, as users write them, and what they do in a replay."""

from __future__ import annotations

import pytest

from tracer_hooks.errors import ConfigError, ReplayError
from tracer_hooks.replay import ReplayOptions, StepReplay, ToolRules, ToolUse, Trial

from .._known import known
from ._sums import Sums


def test_one_word_is_for_all_tools() -> None:
    assert ToolRules.of("live").use("anything") is ToolUse.LIVE
    assert ToolRules.of(ToolRules.of("blocked")).use("anything") is ToolUse.BLOCKED


def test_a_word_for_each_and_a_star_for_the_others() -> None:
    rules = ToolRules.of({"search": "replayable", "*": "blocked"})
    assert rules.use("search") is ToolUse.REPLAYABLE
    assert rules.use("pay") is ToolUse.BLOCKED
    assert rules.rebuilds("pay") is False
    assert ToolRules.of({"cart": "rebuilt"}).rebuilds("cart") is True


def test_an_undeclared_tool_is_named_with_what_to_write() -> None:
    for rules in (ToolRules.of(None), ToolRules.of({"search": "live"})):
        with pytest.raises(ReplayError, match=r"tool 'pay'.*tools=\{'pay': 'replayable'\}.*--tool pay=replayable"):
            rules.use("pay")


@pytest.mark.parametrize("rules", ["often", {"pay": "sometimes"}])
def test_an_unknown_word_is_refused_with_the_known_ones(rules: str | dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="'live', 'replayable', 'blocked', 'rebuilt'"):
        ToolRules.of(rules)


def replayed(team: Sums, rule: str | None, correction_at: int = 1) -> list[int]:
    """The notes that the tool takes while step 1 is corrected, so that a new number reaches it."""
    from tracer_hooks.replay import Correction

    run = team.record({1: "I get 11"})
    trial = Trial(trajectory=run.trajectory, tape=run.tape)
    StepReplay(known(run.again)(), trial, ReplayOptions(tools=ToolRules.of(rule))).corrected(
        correction_at, Correction(content="I get 10")
    )
    return team.notes


def test_a_live_tool_runs_after_the_step_and_never_before_it() -> None:
    assert replayed(Sums(noted=True), "live") == [9]
    assert replayed(Sums(noted=True), "live", correction_at=3) == []


def test_a_blocked_tool_never_runs() -> None:
    assert replayed(Sums(noted=True), "blocked") == []


def test_a_replayable_tool_runs_only_for_what_is_not_on_the_tape() -> None:
    assert replayed(Sums(noted=True), "replayable") == [9]


def test_a_rebuilt_tool_runs_for_its_effect_before_the_step_as_well() -> None:
    assert replayed(Sums(noted=True), "rebuilt", correction_at=3) == [10]


def test_an_undeclared_tool_stops_the_replay_before_it_runs() -> None:
    team = Sums(noted=True)
    with pytest.raises(ReplayError, match="'note'"):
        replayed(team, None)
    assert team.notes == []

"""Rules for tools, as users write them, and what they do in a replay."""

from __future__ import annotations

import pytest

from tracer_hooks.errors import ConfigError, ReplayError
from tracer_hooks.replay import Correction, ToolRules, ToolUse

from ._sums import Sums


def test_a_word_is_for_all_tools_or_one_and_a_star_for_the_others() -> None:
    assert ToolRules.of("live").use("anything") is ToolUse.LIVE
    assert ToolRules.of(ToolRules.of("blocked")).use("anything") is ToolUse.BLOCKED
    rules = ToolRules.of({"search": "replayable", "cart": "rebuilt", "*": "blocked"})
    assert [rules.use(name) for name in ("search", "pay")] == [ToolUse.REPLAYABLE, ToolUse.BLOCKED]
    assert [rules.rebuilds(name) for name in ("pay", "cart")] == [False, True]


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
    replay = team.replay({1: "I get 11"}, tools=ToolRules.of(rule))
    replay.corrected(correction_at, Correction(content="I get 10"))
    return team.notes


@pytest.mark.parametrize(
    ("rule", "at", "notes"),
    [
        ("live", 1, [9]),
        ("live", 3, []),  # never before the step
        ("blocked", 1, []),
        ("replayable", 1, [9]),  # only for what is not on the tape
        ("rebuilt", 3, [10]),  # for its effect before the step as well
    ],
)
def test_when_a_tool_runs(rule: str, at: int, notes: list[int]) -> None:
    assert replayed(Sums(noted=True), rule, correction_at=at) == notes


def test_an_undeclared_tool_stops_the_replay_before_it_runs() -> None:
    team = Sums(noted=True)
    with pytest.raises(ReplayError, match="'note'"):
        replayed(team, None)
    assert team.notes == []

"""What is said of an improvement is no surer than its figures."""

from __future__ import annotations

from typing import Any

import pytest

from tracer_hooks.improvement import BeforeAfter, Improvement, PassShare, TrialPair, TriedPrompt, summarize
from tracer_hooks.schema import Usage


def found(**more: Any) -> Improvement:
    given: dict[str, Any] = {
        "team": "python-sums-1", "team_name": "sums", "framework": "python", "outcome": "accepted", "reason": "better",
        "version": 3, "baseline": PassShare(runs=8, passes=3, score=3.0), "runs": 12, "seconds": 4.0,
    }  # fmt: skip
    return Improvement(**{**given, **more})


def both(before: int, after: int, low: float, high: float, **more: Any) -> BeforeAfter:
    shares = (PassShare(runs=10, passes=passes, score=float(passes)) for passes in (before, after))
    return BeforeAfter(before=next(shares), after=next(shares), low=low, high=high)


@pytest.mark.parametrize(
    ("outcome", "heading", "tone"),
    [
        ("accepted", "The new prompts are accepted, as version 3.", "succeeded"),
        ("rejected", "The new prompts (version 3) are rejected.", "failed"),
        ("on trial", "It is not decided yet whether the new prompts are better: version 3 stays on trial.", "spread"),
        ("nothing found", "No better prompts were found.", "unknown"),
        ("nothing to improve", "There is nothing to learn from.", "unknown"),
        ("stopped", "Broken off before better prompts were found.", "spread"),
    ],
)
def test_each_outcome_has_its_heading(outcome: str, heading: str, tone: str) -> None:
    said = summarize(found(outcome=outcome))
    assert (said.heading, said.tone) == (heading, tone)


def test_an_interval_that_holds_zero_shows_no_difference() -> None:
    (unsure,) = summarize(found(unused=both(5, 7, -0.1, 0.5))).compared
    assert (
        unsure.figures
        == "passed 5 of 10 (50 %) before and 7 of 10 (70 %) after: +20.0 points, 95 % interval -10.0 to +50.0."
    )
    assert unsure.meaning == "By themselves these runs show no difference: the interval holds 0."
    (sure,) = summarize(found(unused=both(1, 9, 0.3, 0.9))).compared
    assert sure.meaning == ""


def test_scores_are_said_where_they_are_not_passes() -> None:
    share = PassShare(runs=4, passes=2, score=2.6)
    (one,) = summarize(found(unused=BeforeAfter(before=share, after=share, low=-0.1, high=0.1))).compared
    assert one.figures.endswith("mean score 0.65 before and 0.65 after.")


def test_a_limit_is_said_behind_what_is_known() -> None:
    said = summarize(found(outcome="on trial", reason="too early", stopped="the cap of 9 runs is reached")).reason
    assert said == "Too early. Then it was broken off: The cap of 9 runs is reached."
    assert summarize(found(outcome="stopped", reason="the cap", stopped="the cap")).reason == "The cap."


def test_what_was_refused_is_grouped() -> None:
    whys = ["it was tried before", "4 points, and 5 before", "3 points, and 4 before", "it was tried before", "x"]
    refused = tuple(TriedPrompt(agent="solver", why=why) for why in whys)
    groups = {(one.why, one.count) for one in summarize(found(refused=refused)).refused}
    assert groups == {("it was tried before", 2), ("4 points, and 5 before, and the like", 2), ("x", 1)}


def test_pairs_are_counted_and_late_ones_said() -> None:
    kinds = [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 0.0)]
    pairs = tuple(TrialPair(task="t", new=new, old=old, e_gain=25.0) for new, old in kinds)
    said = summarize(found(pairs=pairs, evidence={"decided_after": 3, "decision": "accept"})).trial
    assert said.startswith(
        "Passed 3 of 4 with the new prompts, 2 of 4 with the old: enough evidence of a gain. 4 pairs,"
    )
    assert "better in 2, worse in 1, the same in 1. It was decided after 3 of them" in said
    scored = summarize(found(pairs=(TrialPair(task="t", new=0.75, old=0.5, e_gain=1.1),))).trial
    assert scored.startswith(
        "Mean score 0.75 with the new prompts, 0.50 with the old: not yet enough evidence. 1 pair,"
    )


def test_money_and_tokens() -> None:
    usage = Usage(input_tokens=1000, output_tokens=200)
    writing = Usage(input_tokens=100, output_tokens=20)
    spent = summarize(found(usage=usage, writing=writing, cost=0.25)).spent
    assert spent == ("12 runs of the team", "1,000 tokens read and 200 written", "120 of them for writing prompts",
                     "cost 0.25", "4 s this time")  # fmt: skip
    assert summarize(found()).spent == ("12 runs of the team", "4 s this time")

"""A search that ends undecided: more runs for the likeliest step, and what is believed of each."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from tracer_hooks.budget import CostCap
from tracer_hooks.replay import Counterfactual, DecisiveSearch, find_decisive_step
from tracer_hooks.schema import Attribution, Candidate

from .._known import known
from ._sums import Sums, right


def slipping(agent: str, *pattern: bool) -> Callable[[str, str], str]:
    """One agent is wrong where the pattern, again and again, says so."""
    slips = itertools.cycle(pattern)

    def reply(name: str, shown: str) -> str:
        return "I get 77" if name == agent and next(slips) else right(name, shown)

    return reply


def find(
    reply: Callable[[str, str], str], attribution: Attribution | None = None, heard: Any = None, **options: Any
) -> DecisiveSearch:
    replay = Sums(reply).replay({1: "I get 77"}, placebo=False, **options)
    return find_decisive_step(replay, attribution=attribution, on_test=heard)


def doubler() -> Callable[[str, str], str]:
    """The doubler is right in three of six tries."""
    return slipping("doubler", True, False, False, True, False, True)


def test_a_step_that_errs_often_is_found_with_more_runs() -> None:
    few = find(doubler(), trials=4)
    assert few.decisive is None
    heard: list[Counterfactual] = []
    found = find(doubler(), trials=4, suspect_trials=20, heard=heard.append)
    assert found.decisive is not None
    assert (found.decisive.agent, found.decisive.step) == ("doubler", 1)
    assert found.evidence is not None
    assert 4 < found.evidence.corrected.trials == found.evidence.control.trials <= 20
    assert len(found.evidence.trajectory_ids) == found.evidence.corrected.trials
    assert heard[-1] == found.evidence
    assert found.runs == sum(one.runs for one in found.tested) > few.runs


@pytest.mark.parametrize("trials", [0, 4, 20])
def test_what_is_believed_of_each_step_is_told_found_or_not(trials: int) -> None:
    found = find(doubler(), trials=4, suspect_trials=trials)
    assert (found.suspects[0].step, found.suspects[0].agent) == (1, "doubler")
    scores = [one.score for one in found.suspects]
    assert scores == sorted(scores, reverse=True)
    assert {one.step for one in found.suspects} == {0, 1, 2, 3}
    assert 0.99 < sum(scores) <= 1.0
    if trials <= 4:
        assert found.runs == find(doubler(), trials=4).runs, "a number up to the trials changes nothing"


def test_an_agent_that_is_always_wrong_is_only_suspected() -> None:
    found = find(slipping("doubler", True), trials=3, suspect_trials=9)
    assert found.decisive is None
    assert found.evidence is None
    assert max(one.corrected.trials for one in found.tested) <= 9
    assert all(one.corrected.flips == 0 for one in found.tested if one.step <= 1)


def test_a_wrong_suspicion_does_not_outweigh_the_runs() -> None:
    wrong = Candidate(agent="writer", step=3, score=0.6)
    suspected = Attribution(run_id="r", agent="writer", step=3, confidence=0.6, candidates=(wrong,))
    found = find(doubler(), suspected, trials=4, suspect_trials=20)
    assert known(found.decisive).step == 1


def test_the_cap_ends_the_runs_for_the_suspect() -> None:
    few = find(doubler(), trials=4)
    capped = find(doubler(), trials=4, suspect_trials=20, cap=CostCap(max_runs=few.runs + 2))
    assert capped.decisive is None
    assert few.runs < capped.runs <= few.runs + 3
    assert "not every step was tested to the end" in capped.reason

"""The search for the decisive step on teams where it is known, and what it says where it stays undecided."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from tracer_hooks.budget import CostCap
from tracer_hooks.errors import ReplayError
from tracer_hooks.repair import Failure, Repair, RepairTarget
from tracer_hooks.replay import Counterfactual, DecisiveSearch, StepReplay, find_decisive_step
from tracer_hooks.schema import Attribution, Candidate

from .._known import known
from ._sums import Sums, right


def replay_of(team: Sums, faults: dict[int, str], **options: Any) -> StepReplay:
    return team.replay(faults, **{"placebo": False, **options})


def find(team: Sums, faults: dict[int, str], attribution: Attribution | None = None, **options: Any) -> DecisiveSearch:
    return find_decisive_step(replay_of(team, faults, **options), attribution=attribution)


def suspecting(*steps: int) -> Attribution:
    scores = [0.6 * 0.5**place for place in range(len(steps))]
    candidates = tuple(Candidate(agent="a", step=s, score=w) for s, w in zip(steps, scores, strict=True))
    return Attribution(run_id="r", agent="a", step=steps[0], confidence=0.6, candidates=candidates)


FAULTS = {0: "I get 6", 1: "I get 11", 2: "I get 8", 3: "The answer is 8 ."}


@pytest.mark.parametrize("planted", FAULTS)
@pytest.mark.parametrize("suspected", [None, (0, 1, 2, 3), (3, 2, 1, 0), (2,), (7,)])
def test_the_planted_step_is_found_whoever_is_suspected(planted: int, suspected: tuple[int, ...] | None) -> None:
    found = find(Sums(), {planted: FAULTS[planted]}, suspecting(*suspected) if suspected else None)
    decisive, evidence = known(found.decisive), known(found.evidence)
    assert (decisive.step, decisive.agent) == (planted, ("adder", "doubler", "taker", "writer")[planted])
    assert (evidence.control.flips, evidence.corrected.rate) == (0, 1.0)
    assert found.reason == decisive.reason
    assert found.reason.endswith(f"3 of 3 runs succeed with step {planted} corrected, 0 of 3 without")


@pytest.mark.parametrize(("fault", "suspected", "tested"), [(1, suspecting(1), [1]), (2, None, [1, 2])])
def test_a_right_suspicion_costs_one_test_and_without_one_the_steps_are_halved(
    fault: int, suspected: Attribution | None, tested: list[int]
) -> None:
    found = find(Sums(), {fault: FAULTS[fault]}, suspected)
    assert [test.step for test in found.tested] == tested
    assert suspected is None or found.runs == 6


def test_the_earliest_of_two_faults_that_must_both_be_absent_is_not_found_alone() -> None:
    """Two faults, each of which fails the run: after the first one everything is live, so it is the decisive one."""
    found = find(Sums(), {0: FAULTS[0], 2: FAULTS[2]})
    assert known(found.decisive).step == 0


def reply(name: str, failure: Failure, step: int, text: str) -> Repair:
    agent = failure.agent_at(step)
    return Repair(strategy=name, target=RepairTarget.REPLY, agent=agent, text=text, resume_from=step)


class Given:
    """A proposer that knows the right reply of every step."""

    name = "given"
    replies = ("I get 5", "I get 10", "I get 9", "The answer is 9 .")

    def propose(self, failure: Failure, step: int) -> Repair:
        return reply(self.name, failure, step, self.replies[step])


@pytest.mark.parametrize("planted", FAULTS)
def test_where_later_corrections_save_the_run_too_the_earliest_counts(planted: int) -> None:
    heard: list[Counterfactual] = []
    replay = replay_of(Sums(), {planted: FAULTS[planted]})
    found = find_decisive_step(replay, proposer=Given(), attribution=suspecting(3), on_test=heard.append)
    assert known(found.decisive).step == planted
    assert tuple(heard) == found.tested
    assert found.tested[0].is_significant == (found.tested[0].step >= planted)


def always_wrong(name: str) -> Callable[[str, str], str]:
    return lambda agent, shown: "I get 77" if agent == name else right(agent, shown)


@pytest.mark.parametrize("agent", ["adder", "doubler", "taker", "writer"])
def test_an_agent_that_is_wrong_every_time_is_no_decisive_step_for_another_try(agent: str) -> None:
    found = find(Sums(always_wrong(agent)), {})
    assert found.decisive is None
    assert found.evidence is None
    assert found.reason == "no step was found whose correction turns the failure into success"
    assert sorted(test.step for test in found.tested) == [0, 1, 2, 3], "none is said only after every step was tested"


def test_a_failure_that_does_not_happen_again_is_not_blamed_on_a_step() -> None:
    verdicts = iter([False])
    found = find_decisive_step(Sums().replay(check=lambda _: next(verdicts, True)))
    assert found.decisive is None
    assert "succeeds with every step as it was recorded" in found.reason


def test_the_cap_ends_the_search_and_the_answer_says_so() -> None:
    found = find(Sums(always_wrong("writer")), {}, cap=CostCap(max_runs=6))
    assert found.decisive is None
    assert found.runs <= 7
    assert found.reason.endswith("not every step was tested to the end: the cap of 6 runs is reached")
    complete = find(Sums(always_wrong("writer")), {}, cap=CostCap(max_runs=16))
    assert complete.runs == 16
    assert "cap" not in complete.reason


class Refusing:
    """A proposer without a correction for some steps."""

    name = "refusing"

    def __init__(self, *refused: int) -> None:
        self.refused = refused

    def propose(self, failure: Failure, step: int) -> Repair:
        if step in self.refused:
            raise ReplayError(f"nothing better comes to mind for step {step}")
        return Repair(strategy=self.name)


def test_a_step_that_could_not_be_tested_is_named_where_it_matters() -> None:
    found = find_decisive_step(replay_of(Sums(), {1: FAULTS[1]}), proposer=Refusing(1))
    assert found.decisive is None
    assert [item.step for item in found.untested] == [1]
    assert "step 1 could not be tested: nothing better comes to mind for step 1" in found.reason
    later = find_decisive_step(replay_of(Sums(), {1: FAULTS[1]}), proposer=Refusing(2))
    assert later.decisive is not None
    assert "could not" not in later.reason
    with pytest.raises(ReplayError, match="nothing better comes to mind"):
        find_decisive_step(replay_of(Sums(), {1: FAULTS[1]}), proposer=Refusing(0, 1, 2, 3))


def slipping(agent: str, *pattern: bool) -> Callable[[str, str], str]:
    """One agent is wrong where the pattern, again and again, says so."""
    slips = itertools.cycle(pattern)

    def reply(name: str, shown: str) -> str:
        return "I get 77" if name == agent and next(slips) else right(name, shown)

    return reply


def find_slips(
    reply: Callable[[str, str], str], attribution: Attribution | None = None, heard: Any = None, **options: Any
) -> DecisiveSearch:
    replay = Sums(reply).replay({1: "I get 77"}, placebo=False, **options)
    return find_decisive_step(replay, attribution=attribution, on_test=heard)


def doubler() -> Callable[[str, str], str]:
    """The doubler is right in three of six tries."""
    return slipping("doubler", True, False, False, True, False, True)


def test_a_step_that_errs_often_is_found_with_more_runs() -> None:
    few = find_slips(doubler(), trials=4)
    assert few.decisive is None
    heard: list[Counterfactual] = []
    found = find_slips(doubler(), trials=4, suspect_trials=20, heard=heard.append)
    assert found.decisive is not None
    assert (found.decisive.agent, found.decisive.step) == ("doubler", 1)
    assert found.evidence is not None
    assert 4 < found.evidence.corrected.trials == found.evidence.control.trials <= 20
    assert len(found.evidence.trajectory_ids) == found.evidence.corrected.trials
    assert heard[-1] == found.evidence
    assert found.runs == sum(one.runs for one in found.tested) > few.runs


@pytest.mark.parametrize("trials", [0, 4, 20])
def test_what_is_believed_of_each_step_is_told_found_or_not(trials: int) -> None:
    found = find_slips(doubler(), trials=4, suspect_trials=trials)
    assert (found.suspects[0].step, found.suspects[0].agent) == (1, "doubler")
    scores = [one.score for one in found.suspects]
    assert scores == sorted(scores, reverse=True)
    assert {one.step for one in found.suspects} == {0, 1, 2, 3}
    assert 0.99 < sum(scores) <= 1.0
    if trials <= 4:
        assert found.runs == find_slips(doubler(), trials=4).runs, "a number up to the trials changes nothing"


def test_an_agent_that_is_always_wrong_is_only_suspected() -> None:
    found = find_slips(slipping("doubler", True), trials=3, suspect_trials=9)
    assert found.decisive is None
    assert found.evidence is None
    assert max(one.corrected.trials for one in found.tested) <= 9
    assert all(one.corrected.flips == 0 for one in found.tested if one.step <= 1)


def test_a_wrong_suspicion_does_not_outweigh_the_runs() -> None:
    wrong = Candidate(agent="writer", step=3, score=0.6)
    suspected = Attribution(run_id="r", agent="writer", step=3, confidence=0.6, candidates=(wrong,))
    found = find_slips(doubler(), suspected, trials=4, suspect_trials=20)
    assert known(found.decisive).step == 1


def test_the_cap_ends_the_runs_for_the_suspect() -> None:
    few = find_slips(doubler(), trials=4)
    capped = find_slips(doubler(), trials=4, suspect_trials=20, cap=CostCap(max_runs=few.runs + 2))
    assert capped.decisive is None
    assert few.runs < capped.runs <= few.runs + 3
    assert "not every step was tested to the end" in capped.reason

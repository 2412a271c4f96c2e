"""The search with proposers of several kinds, and with some that tell the expected answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks.budget import CostCap
from tracer_hooks.errors import ReplayError
from tracer_hooks.repair import Failure, Repair, RepairTarget
from tracer_hooks.replay import (
    FeedbackProposer,
    GuidanceProposer,
    ResampleProposer,
    StepReplay,
    corrections_by,
    examine_step,
    find_decisive_step,
)
from tracer_hooks.schema import Usage

from .._known import known
from ._sums import Sums, right


def judged(result: tracer_hooks.RunResult) -> tracer_hooks.Verdict:
    return tracer_hooks.Verdict(passed=" 9 " in result.text, reason="the number is too big")


def heeding(agent: str, word: str) -> Callable[[str, str], str]:
    """A team whose ``agent`` is wrong every time, unless it is shown ``word``."""
    return lambda name, shown: "I get 77" if name == agent and word not in shown else right(name, shown)


def replay_of(team: Sums, faults: dict[int, str] | None = None, **options: Any) -> StepReplay:
    return team.replay(faults, check=judged, reference="The answer is 9 .", **options)


class Model:
    """Writes the same guidance for everybody, at a price."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.asked = 0

    def __call__(self, messages: Sequence[dict[str, str]]) -> dict[str, Any]:
        self.asked += 1
        return {"text": self.text, "usage": {"input_tokens": 100, "output_tokens": 9}}


class Telling:
    """A third party's proposer that tells everybody the answer."""

    name = "telling"

    def __init__(self, target: RepairTarget = RepairTarget.MESSAGE, text: str = "Say: THE ANSWER IS 9 .") -> None:
        self.target = target
        self.text = text

    def propose(self, failure: Failure, step: int) -> Repair:
        assert failure.trajectory.reference is None
        return Repair(strategy=self.name, target=self.target, agent=failure.agent_at(step), text=self.text)


def test_what_asking_again_does_not_show_feedback_does() -> None:
    team = Sums(heeding("taker", "too big"))
    found = find_decisive_step(replay_of(team), proposer=[ResampleProposer(), FeedbackProposer()])
    decisive, correction = known(found.decisive), known(found.evidence).correction
    assert (decisive.step, decisive.agent, correction.source) == (2, "taker", "feedback")
    told = "An earlier attempt at this task failed: the number is too big. Do not make the same mistake."
    assert correction.message == told
    kinds = [test.correction.source for test in found.tested]
    assert kinds[:4] == ["resample"] * 4, "every step is tested by asking again first"
    assert set(kinds[4:]) == {"feedback"}
    assert find_decisive_step(replay_of(team), proposer=ResampleProposer()).decisive is None


def test_several_ways_share_the_false_alarms_of_a_step_and_the_others_are_not_asked_where_one_shows_it() -> None:
    model = Model("Mind the sum.")
    ways = (ResampleProposer(), GuidanceProposer(model))
    found = find_decisive_step(replay_of(Sums(), {1: "I get 11"}), proposer=ways)
    assert known(found.decisive).step == 1
    assert model.asked == 0
    assert known(found.evidence).e_value >= 2 / 0.05
    alone = find_decisive_step(replay_of(Sums(), {1: "I get 11"}))
    assert 1 / 0.05 <= known(alone.evidence).e_value < 2 / 0.05


def test_what_is_paid_for_guidance_is_counted_and_capped() -> None:
    team, model = Sums(heeding("doubler", "Mind")), Model("Mind the factor. Keep calm.")
    replay = replay_of(team)
    found = find_decisive_step(replay, proposer=GuidanceProposer(model))
    assert known(found.decisive).step == 1
    assert known(found.evidence).correction.message == "Mind the factor. Keep calm."
    live = found.usage.input_tokens - 100 * model.asked
    assert live > 0
    assert live % 10 == 0
    assert model.asked <= 4, "each step's guidance is written once"
    capped = find_decisive_step(replay_of(team, cap=CostCap(max_tokens=100)), proposer=GuidanceProposer(model))
    assert capped.decisive is None
    assert "the cap of 100 tokens is reached" in capped.reason


@pytest.mark.parametrize("target", [RepairTarget.MESSAGE, RepairTarget.INSTRUCTIONS, RepairTarget.REPLY])
def test_a_text_that_tells_the_answer_is_not_run(target: RepairTarget) -> None:
    team = Sums(heeding("taker", "too big"))
    with pytest.raises(ReplayError, match="'telling' wrote for step 1 gives the expected answer away"):
        find_decisive_step(replay_of(team), proposer=Telling(target))
    assert team.asked == []
    found = find_decisive_step(replay_of(team), proposer=[Telling(target), FeedbackProposer()])
    assert known(found.decisive).step == 2
    assert sorted(item.step for item in found.untested) == [0, 1, 2, 3]
    assert all("gives the expected answer away" in item.reason for item in found.untested)
    assert "could not be tested" not in found.reason, "feedback has tested these steps"


def test_an_answer_that_the_caller_shows_may_be_told() -> None:
    class Knowing(Telling):
        def propose(self, failure: Failure, step: int) -> Repair:
            answer = known(failure.trajectory.reference)
            return Repair(strategy="k", target=RepairTarget.REPLY, agent=failure.agent_at(step), text=answer)

    team = Sums(heeding("writer", "never"))
    found = find_decisive_step(replay_of(team), proposer=Knowing(), reference="The answer is 9 .")
    assert known(found.decisive).step == 3


class Odd:
    """A proposer that gives what it is told to give."""

    name = "odd"

    def __init__(self, given: Any) -> None:
        self.given = given

    def propose(self, failure: Failure, step: int) -> Any:
        return self.given


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "'odd' has nothing to propose for step 1"),
        ("Be careful.", "'odd' gave 'str' for step 1, expected a tracer_hooks.repair.Repair"),
        (Repair(strategy="odd", target=RepairTarget.TASK, text="Be careful."), "adds to the task"),
        (Repair(strategy="odd", resume_from=3), "at step 3, expected it for 'doubler' at step 1"),
        (Repair(strategy="odd", target=RepairTarget.MESSAGE, agent="taker", text="Hm."), "for 'taker' at step None"),
    ],
)
def test_what_cannot_be_carried_out_says_why(given: Any, said: str) -> None:
    replay = replay_of(Sums(), {1: "I get 11"})
    with pytest.raises(ReplayError, match=said):
        examine_step(replay, 1, corrections_by(Odd(given), replay))
    assert replay.spending.runs == 0


def test_new_instructions_stand_in_the_place_of_the_old_ones() -> None:
    team = Sums(heeding("nobody", ""))
    replay = replay_of(team, {1: "I get 11"})
    text = "You are the doubler. You double."
    usage = Usage(input_tokens=5_000)
    given = Odd(Repair(strategy="odd", target=RepairTarget.INSTRUCTIONS, agent="doubler", text=text, usage=usage))
    result = examine_step(replay, 1, corrections_by(given, replay))
    assert result.corrected.rate == 1.0
    shown = [messages[0]["content"] for name, messages in team.asked if name == "doubler"]
    assert set(shown) == {text}
    assert result.usage.input_tokens == replay.spending.usage.input_tokens > 5_000, "its own usage is part of it"

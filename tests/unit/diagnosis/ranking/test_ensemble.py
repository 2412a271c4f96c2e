from __future__ import annotations

import math

import pytest

from tracer_hooks.diagnosis import Attributor, StepScores
from tracer_hooks.diagnosis.ranking._ensemble import EnsembleAttributor
from tracer_hooks.schema import (
    ErrorMode,
    RunOutcome,
    Step,
    Trajectory,
    Usage,
)


class Fixed:
    """A method that believes in one step."""

    def __init__(self, name, step, *, impossible=(), modes=None) -> None:
        self.name = name
        self.step = step
        self.impossible = impossible
        self.modes = modes or {}

    def score(self, trajectory, *, reference=None):
        if self.step is None:
            return None
        return StepScores(
            steps=tuple(
                -math.inf if one.index in self.impossible else float(one.index == self.step) * 3
                for one in trajectory.steps
            ),
            modes=self.modes,
            usage=Usage(input_tokens=5),
        )


def run(number: int = 0, outcome=RunOutcome.FAILED) -> Trajectory:
    steps = tuple(Step(index=k, agent=f"agent{k % 2}", content=f"The part {k} of {number} is done.") for k in range(4))
    return Trajectory(run_id=f"r{number}", task=f"task {number}", steps=steps, outcome=outcome)


def test_the_larger_share_wins() -> None:
    members = {"a": Fixed("a", 1), "b": Fixed("b", 2)}
    assert EnsembleAttributor(members, shares={"a": 0.8, "b": 0.2}).attribute(run()).step == 1
    assert EnsembleAttributor(members, shares={"a": 0.2, "b": 0.8}).attribute(run()).step == 2


def test_it_keeps_the_contract() -> None:
    members = {"a": Fixed("a", 1, modes={("agent1", ErrorMode.FM_2_6): 1.0}), "b": Fixed("b", None)}
    ensemble = EnsembleAttributor(members, shares={"a": 0.5, "b": 0.5})
    answer = ensemble.attribute(run())
    assert isinstance(ensemble, Attributor)
    assert (answer.agent, answer.step) == ("agent1", 1)
    assert sum(one.score for one in answer.candidates) <= 1.0
    assert answer.usage == Usage(input_tokens=5)
    assert answer.attributor == "ensemble/1(a+b)"
    assert all(one.quote in run().steps[one.step].content for one in answer.evidence)


def test_the_silent_leave_their_share_to_the_others() -> None:
    alone = EnsembleAttributor({"a": Fixed("a", 1)}, shares={"a": 1.0}).attribute(run())
    beside = EnsembleAttributor({"a": Fixed("a", 1), "b": Fixed("b", None)}, shares={"a": 0.5, "b": 0.5}).attribute(
        run()
    )
    assert beside.confidence == pytest.approx(alone.confidence)


def test_a_step_that_all_hold_impossible_is_no_candidate() -> None:
    members = {"a": Fixed("a", 1, impossible=(0,)), "b": Fixed("b", 2, impossible=(0,))}
    answer = EnsembleAttributor(members, shares={"a": 0.5, "b": 0.5}).attribute(run())
    assert 0 not in [one.step for one in answer.candidates]


def test_nobody_has_a_word() -> None:
    answer = EnsembleAttributor({"b": Fixed("b", None)}, shares={"b": 1.0}).attribute(run())
    assert answer.abstained
    assert answer.abstained_reason == "trace too incomplete"


def test_a_success_is_not_blamed() -> None:
    answer = EnsembleAttributor({"a": Fixed("a", 1)}, shares={"a": 1.0}).attribute(run(outcome=RunOutcome.SUCCEEDED))
    assert answer.abstained


def test_a_method_can_join() -> None:
    joined = EnsembleAttributor({"a": Fixed("a", 1)}, shares={"a": 0.1}).with_member("contrast", Fixed("contrast", 3))
    assert joined.attribute(run()).step == 3

"""The belief over the decisive step."""

from __future__ import annotations

import pytest

from tracer_hooks.replay import StepBelief
from tracer_hooks.schema import Attribution, Candidate


def blame(**scores: float) -> Attribution:
    named = {int(name[1:]): score for name, score in scores.items()}
    step, confidence = next(iter(named.items()))
    candidates = tuple(Candidate(agent="a", step=s, score=score) for s, score in named.items())
    return Attribution(run_id="r", agent="a", step=step, confidence=confidence, candidates=candidates)


def test_half_of_the_belief_is_the_attributors_and_half_is_spread() -> None:
    belief = StepBelief.of(range(4), blame(s2=0.6, s1=0.2))
    # Half of 0.2, 0.6 and of what the diagnosis leaves open, a fifth, on four steps; half of a quarter for each.
    assert [belief.probability(step) for step in range(4)] == pytest.approx([0.15, 0.25, 0.45, 0.15])
    assert [belief.holds(step) for step in range(4)] == pytest.approx([1.0, 0.85, 0.6, 0.15])
    assert belief.most_likely() == 2
    sure = StepBelief.of(range(4), blame(s2=0.9, s1=0.9))
    assert sure.probability(2) == pytest.approx(0.375), "scores that are no probabilities are shares"


@pytest.mark.parametrize("attribution", [None, blame(s9=0.8), Attribution(run_id="r", abstained=True)])
def test_without_a_usable_diagnosis_all_steps_are_alike(attribution: Attribution | None) -> None:
    belief = StepBelief.of([3, 1, 1], attribution)
    assert belief.steps == (1, 3)
    assert [belief.probability(step) for step in (1, 2, 3)] == [0.5, 0.0, 0.5]
    assert [belief.holds(step) for step in (0, 1, 2, 3, 4)] == [1.0, 1.0, 0.5, 0.5, 0.0]


def test_a_failure_from_a_step_says_to_look_before_it_and_a_pass_at_it_or_later() -> None:
    belief = StepBelief({0: 0.5, 1: 0.5})
    belief.learn(1, False, if_held=0.8, if_lost=0.2)
    assert belief.holds(1) == pytest.approx(0.2)
    belief.learn(1, True, if_held=0.8, if_lost=0.2)
    assert belief.holds(1) == pytest.approx(0.5)


def test_a_run_from_scratch_and_what_was_held_impossible_leave_the_belief_as_it_was() -> None:
    belief = StepBelief({0: 0.3, 1: 0.7})
    belief.learn(0, False)
    belief.learn(1, True, if_held=0.0, if_lost=0.0)
    assert (belief.probability(0), belief.probability(1)) == pytest.approx((0.3, 0.7))


def test_no_steps_no_belief() -> None:
    belief = StepBelief.of([], blame(s1=0.5))
    belief.learn(0, True)
    assert (belief.holds(0), belief.probability(0), belief.most_likely(), belief.steps) == (0.0, 0.0, None, ())


def test_runs_of_a_team_whose_rates_are_not_known() -> None:
    before = StepBelief.of(range(4))
    assert before.after({}).steps == before.steps
    assert before.after({}).probability(2) == pytest.approx(0.25)
    after = before.after({1: (10, 6), 2: (10, 0)})  # asked again at step 1 it passes, kept it never does
    assert after.most_likely() == 1
    assert after.probability(1) > 0.9
    poor = before.after({1: (10, 3), 2: (10, 0)})  # also of a team that seldom passes
    assert poor.most_likely() == 1
    assert 0.5 < poor.probability(1) < after.probability(1)
    assert before.after({4: (10, 9)}).probability(0) == pytest.approx(0.25), "every step was kept: it says nothing"


def test_many_runs_overflow_nothing() -> None:
    belief = StepBelief.of(range(3)).after({1: (100_000, 60_000), 2: (100_000, 0)})
    assert belief.probability(1) == pytest.approx(1.0)

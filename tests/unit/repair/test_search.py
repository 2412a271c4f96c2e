"""Choices of the next repair, the counts that they rest on, and what is concluded from those."""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from typing import Any

import numpy as np
import pytest

from tracer_hooks import _guard
from tracer_hooks.repair import EffectCounts, PastTrial, Repair, RepairScope, RepairSearch, RepairTarget
from tracer_hooks.repair._belief import SearchAction, kept_shares
from tracer_hooks.repair._search import Effects
from tracer_hooks.schema import Attribution, ErrorMode, RunOutcome, Step, Trajectory, Usage

from ._failures import TEXTS, Raising, Returning, Telling, failure_of, run_of, suspect, trial_of

PLAIN, RESAMPLE = Telling("from_scratch"), Telling("resample")
NOTHING = EffectCounts()


def choice(search: RepairSearch, *, trials_left: int = 1, by_cost: bool = False) -> Repair:
    return search.choose(trials_left=trials_left, by_cost=by_cost)


def search_of(failure: Any, *strategies: Any, counts: EffectCounts = NOTHING, **options: Any) -> RepairSearch:
    return RepairSearch(failure, strategies, counts, **{"seed": 0, **options})


def first_choices(failure: Any, *strategies: Any, counts: EffectCounts = NOTHING, seeds: int = 60) -> Counter[str]:
    found = (choice(search_of(failure, *strategies, counts=counts, seed=seed)) for seed in range(seeds))
    return Counter("plain" if repair.is_plain else repair.strategy for repair in found)


@pytest.mark.parametrize(("right", "resumes"), [(0.94, False), (0.99, True)])
def test_a_run_is_resumed_where_the_kept_steps_are_right_with_more_than_80_percent(right: float, resumes: bool) -> None:
    """Three of eight like steps are kept, as much as in the measured runs; half of the belief is the diagnosis's."""
    failure = failure_of(8, suspect(s3=right, s0=1 - right), steps=[3])
    search = search_of(failure, PLAIN, RESAMPLE, explore=False)
    assert (search.belief.holds(3) > 0.795) is resumes
    repair = choice(search)
    assert repair.resume_from == (3 if resumes else None)
    assert repair.strategy == ("resample" if resumes else "from_scratch")


def test_the_reasons_are_true_sentences() -> None:
    failure = failure_of(8, suspect(s3=1.0), steps=[3])
    search = search_of(failure, PLAIN, RESAMPLE, explore=False)
    assert search.belief.holds(3) == pytest.approx(0.8125)
    assert choice(search).reason == "the steps before 3 are kept: with 81 % they are not at fault"
    told = choice(search_of(failure_of(), Telling("feedback_in_task"), explore=False)).reason
    assert told == "'feedback_in_task' promises more than a plain retry: 47 % expected, 40 % for a plain retry"
    plain = choice(search_of(failure_of(), PLAIN, Telling("guidance"), explore=False)).reason
    assert plain == "the whole run is tried again, which is expected to succeed with 40 %"
    assert choice(search_of(failure_of())).reason == "the whole run is tried again, since nothing else can be tried"
    spent = EffectCounts([("guidance", 0, 4, "", 20, 0), ("from_scratch", 0, 4, "", 5, 4)])
    bound = choice(search_of(failure_of(), PLAIN, Telling("guidance"), counts=spent)).reason
    assert bound == "the whole run is tried again: trying other repairs of this team has cost enough already"


def test_each_kind_is_tried_before_one_is_tried_twice() -> None:
    names = ("feedback_in_task", "feedback_in_message", "instructions")
    for seed in range(5):
        search = search_of(failure_of(6, suspect(s3=0.8)), PLAIN, RESAMPLE, *map(Telling, names), seed=seed)
        made = []
        for left in range(12, 0, -1):
            repair = search.choose(trials_left=left, by_cost=False)
            made.append(repair.strategy)
            search.learn(trial_of(repair))
        others = [name for name in made if name != "from_scratch"]
        assert len(set(others[:4])) == 4, made


def test_the_same_seed_makes_the_same_choices() -> None:
    def choices(seed: int) -> list[Repair]:
        texts = [Telling(name, None if name == "guidance" else name) for name in TEXTS]
        search = search_of(failure_of(8, suspect(s3=0.7)), PLAIN, RESAMPLE, *texts, seed=seed)
        made = []
        for left in (4, 3, 2, 1):
            made.append(search.choose(trials_left=left, by_cost=True))
            search.learn(trial_of(made[-1]))
        return made

    assert choices(1) == choices(1)
    assert any(choices(1) != choices(seed) for seed in range(2, 6))


def test_what_helped_is_chosen_more_and_what_did_not_less() -> None:
    failure = failure_of()
    asked = (PLAIN, Telling("feedback_in_task"), Telling("guidance"))
    plain = ("from_scratch", 0, 4, "", 60, 18)
    good = EffectCounts([plain, ("guidance", 0, 4, "", 30, 25), ("feedback_in_task", 0, 4, "", 30, 3)])
    before, after = first_choices(failure, *asked), first_choices(failure, *asked, counts=good)
    assert before["feedback_in_task"] > before["guidance"]
    assert after["guidance"] > 55
    bad = EffectCounts([plain, ("guidance", 0, 4, "", 30, 0), ("feedback_in_task", 0, 4, "", 30, 0)])
    assert first_choices(failure, *asked, counts=bad)["plain"] == 60


def test_a_mode_is_judged_by_its_own_trials_once_there_are_twenty() -> None:
    found = suspect(s3=0.5).model_copy(update={"error_mode": ErrorMode.FM_3_2})
    failure = failure_of(8, found, steps=[0])
    asked = (PLAIN, Telling("feedback_in_task"))

    def counts(own: int) -> EffectCounts:
        others = [("from_scratch", 0, 4, "FM-1.1", 80, 8), ("feedback_in_task", 0, 4, "FM-1.1", 80, 72)]
        return EffectCounts(
            [*others, ("from_scratch", 0, 4, "FM-3.2", own, own), ("feedback_in_task", 0, 4, "FM-3.2", own, 0)]
        )

    assert first_choices(failure, *asked, counts=counts(9))["feedback_in_task"] == 60
    assert first_choices(failure, *asked, counts=counts(10))["plain"] == 60


def test_failures_from_a_step_move_the_choice_before_it() -> None:
    search = search_of(failure_of(8, suspect(s5=0.8)), PLAIN, RESAMPLE, explore=False)
    before = search.belief.holds(5)
    first = choice(search)
    assert first.resume_from is not None
    for _ in range(6):
        search.learn(trial_of(Repair(strategy="resample", resume_from=5)))
    assert search.belief.holds(5) < before / 2
    assert (search.belief.most_likely() or 0) < 5
    later = choice(search)
    assert later.resume_from is None or later.resume_from < first.resume_from


def test_what_was_learned_is_given_back_as_counts() -> None:
    failure = failure_of(8, suspect(s5=0.8), tried=[trial_of(Repair(strategy="from_scratch"))])
    search = search_of(failure, PLAIN, RESAMPLE)
    assert search.gained == EffectCounts()
    search.learn(trial_of(Repair(strategy="resample", resume_from=5), passed=True))
    search.learn(PastTrial(repair=Repair(strategy="from_scratch"), outcome=RunOutcome.UNKNOWN))
    assert search.gained.rows == (("resample", 2, 3, "", 1, 1),)
    assert [trial.repair.resume_from for trial in search.failure.tried] == [None, 5, None]


def test_by_cost_the_cheaper_of_like_repairs_is_taken_while_there_are_trials_left() -> None:
    search = search_of(failure_of(8, suspect(s3=0.7, s0=0.3), steps=[3]), PLAIN, RESAMPLE, explore=False)
    assert choice(search, trials_left=2, by_cost=True).resume_from == 3
    assert choice(search, trials_left=1, by_cost=True).is_plain
    assert choice(search, trials_left=2, by_cost=False).is_plain


def test_without_a_diagnosis_nothing_is_kept_until_a_trial_says_so() -> None:
    for found in (None, Attribution(run_id="failed", abstained=True, abstained_reason="no sign of failure")):
        failure = failure_of(8, found)
        assert first_choices(failure, PLAIN, RESAMPLE) == {"plain": 60}
        assert all(
            choice(search_of(failure, PLAIN, Telling("feedback_in_task"), seed=seed)).resume_from is None
            for seed in range(20)
        )
    passed = trial_of(Repair(strategy="resample", resume_from=4), passed=True)
    assert first_choices(failure_of(8, tried=[passed]), PLAIN, RESAMPLE)["resample"] > 0


def test_after_a_fault_outside_the_team_the_same_is_asked_again() -> None:
    outside = Attribution(run_id="failed", abstained=True, abstained_reason="environment fault")
    asked = [Telling(name) for name in TEXTS]
    for seed in range(20):
        repair = choice(search_of(failure_of(8, outside), RESAMPLE, *asked, seed=seed))
        assert repair.is_plain
        assert repair.reason.startswith("the run failed on something outside the team")
    assert not any(strategy.asked for strategy in asked)


def test_a_text_that_was_tried_is_not_said_again_and_its_tokens_are_counted() -> None:
    written = Repair(
        strategy="x", target=RepairTarget.TASK, text="look again", usage=Usage(input_tokens=30, output_tokens=4)
    )
    good = EffectCounts([("from_scratch", 0, 4, "", 50, 5), ("feedback_in_task", 0, 4, "", 50, 40)])
    search = search_of(failure_of(), PLAIN, Returning("feedback_in_task", written), counts=good, explore=False)
    first = choice(search)
    assert (first.strategy, first.text) == ("feedback_in_task", "look again")
    search.learn(trial_of(first))
    assert choice(search).is_plain
    assert search.unused == Usage(input_tokens=30, output_tokens=4)
    search.learn(trial_of(choice(search)))
    assert choice(search).is_plain, "a plain retry may be repeated"


@pytest.mark.parametrize(
    "returned",
    [
        "look again",
        Repair(strategy="x", target=RepairTarget.TASK, text="look again", resume_from=2),
        Repair(strategy="x", target=RepairTarget.REPLY, text="42", agent="a"),
        Repair(strategy="x", target=RepairTarget.TASK, text="look again", scope=RepairScope.TEAM),
    ],
)
def test_a_proposal_that_breaks_the_rules_is_left_out(returned: object) -> None:
    assert choice(search_of(failure_of(), Returning("feedback_in_task", returned), explore=False)).is_plain


def test_strategies_that_all_raise_leave_a_plain_retry_and_one_warning_each(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_guard, "_warned", set())
    failure = failure_of(8, suspect(s3=0.9))
    with caplog.at_level(logging.WARNING, logger="tracer_hooks"):
        for seed in range(10):
            search = search_of(failure, *(Raising(name) for name in TEXTS), seed=seed)
            assert choice(search).is_plain
    assert len(caplog.records) == len({record.getMessage() for record in caplog.records}) <= len(TEXTS)
    assert "raised RuntimeError: no model is there" in caplog.text


def test_strategies_with_nothing_to_say_are_passed_over() -> None:
    silent = [Telling(name, None) for name in TEXTS]
    for seed in range(10):
        assert choice(search_of(failure_of(), *silent, seed=seed)).is_plain
    assert any(strategy.asked for strategy in silent)


@pytest.mark.parametrize("steps", [0, 1])
def test_a_run_of_no_step_or_one_has_nothing_to_keep(steps: int) -> None:
    found = suspect(s0=0.9) if steps else None
    search = search_of(failure_of(steps, found), PLAIN, RESAMPLE, *map(Telling, TEXTS))
    for left in (3, 2, 1):
        repair = choice(search, trials_left=left, by_cost=True)
        assert repair.resume_from is None
        search.learn(trial_of(repair))
    assert search.gained.trials == 3


def test_steps_that_the_run_does_not_have_are_not_resumed_at() -> None:
    failure = failure_of(4, suspect(s3=0.9), steps=[0, 9, 3])
    kept = {choice(search_of(failure, PLAIN, RESAMPLE, seed=seed)).resume_from for seed in range(40)}
    assert kept == {None, 3}


def test_a_run_of_500_steps_is_searched_at_once() -> None:
    failure = failure_of(500, suspect(s250=0.9))
    strategies = (PLAIN, RESAMPLE, *map(Telling, TEXTS))
    choice(search_of(failure, *strategies))
    began = time.process_time()
    repair = choice(search_of(failure, *strategies, seed=3))
    assert time.process_time() - began < 1.0, "some hundredths of a second where nothing else runs"
    assert repair.resume_from is None or 0 < repair.resume_from < 500


def test_trying_other_repairs_is_given_up_where_it_costs_too_much() -> None:
    failure = failure_of(8, suspect(s3=0.4, s0=0.4))
    asked = (PLAIN, RESAMPLE, *map(Telling, TEXTS))
    lost = EffectCounts([("from_scratch", 0, 4, "", 8, 5), ("feedback_in_task", 0, 4, "", 3, 0)])
    assert first_choices(failure, *asked)["plain"] < 30
    assert first_choices(failure, *asked, counts=lost)["plain"] == 60


ROWS = (("feedback_in_task", 0, 4, "", 3, 1), ("resample", 2, 3, "FM-3.2", 2, 2))


def test_counts_are_plain_data_and_add_up() -> None:
    counts = EffectCounts([*ROWS, ("resample", 2, 3, "FM-3.2", 1, 0)])
    assert counts.rows == (ROWS[0], ("resample", 2, 3, "FM-3.2", 3, 2))
    assert EffectCounts(tuple(row) for row in json.loads(json.dumps(counts.rows))) == counts
    both = counts.plus(EffectCounts(ROWS))
    assert (both.trials, counts.trials) == (11, 6)
    assert both.rows[1] == ("resample", 2, 3, "FM-3.2", 5, 4)
    assert EffectCounts() == EffectCounts([]) != counts
    assert len({counts, EffectCounts(reversed(counts.rows)), EffectCounts()}) == 2
    assert repr(EffectCounts(ROWS[:1])) == "EffectCounts([('feedback_in_task', 0, 4, '', 3, 1)])"


@pytest.mark.parametrize(
    "row", [("x", 4, 0, "", 1, 0), ("x", 0, 5, "", 1, 0), ("x", 0, 0, "", 1, 2), ("x", 0, 0, "", 1, -1)]
)
def test_a_row_that_is_no_count_is_refused(row: tuple[str, int, int, str, int, int]) -> None:
    with pytest.raises(ValueError, match="is no count of repairs"):
        EffectCounts([row])


def test_what_is_kept_is_measured_in_tokens_else_in_characters() -> None:
    assert kept_shares(run_of(4)) == [0.0, 0.25, 0.5, 0.75]
    assert kept_shares(run_of(0)) == []
    texts = ("x" * 300, "y" * 100)
    steps = tuple(Step(index=i, agent="a", content=text) for i, text in enumerate(texts))
    assert kept_shares(Trajectory(run_id="r", steps=steps)) == [0.0, 0.75]


def test_the_effects_follow_the_counts() -> None:
    rows = [("from_scratch", 0, 4, "", 200, 60), ("guidance", 0, 4, "", 200, 160)]
    effects = Effects(EffectCounts(rows).for_mode(""), ["feedback_in_task"])
    actions = [SearchAction("from_scratch"), SearchAction("guidance")]
    assert effects.success(actions, effects.best_guess) == pytest.approx([0.3, 0.8], abs=0.03)
    plain, guided = effects.sureness(actions)
    assert plain == 0.0
    assert guided > 5


def test_the_draws_spread_as_the_posterior_does() -> None:
    effects = Effects({}, ["guidance"])
    random = np.random.default_rng(0)
    draws = np.array([effects.draw(random) for _ in range(4000)])
    assert draws.mean(axis=0) == pytest.approx(effects.best_guess, abs=0.08)
    assert draws.std(axis=0) == pytest.approx([1.5, 0.8, 0.6, 0.8], rel=0.06)


def test_counts_of_only_passes_or_only_failures_are_taken_in_their_stride() -> None:
    for passes in (0, 10**6):
        effects = Effects(EffectCounts([("guidance", 0, 4, "", 10**6, passes)]).for_mode(""), [])
        (rate,) = effects.success([SearchAction("guidance")], effects.best_guess)
        assert rate == pytest.approx(passes / 10**6, abs=0.001)
        assert np.isfinite(effects.draw(np.random.default_rng(1))).all()

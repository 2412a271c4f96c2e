"""``counterfactual``, ``find_decisive_step`` and ``replay_run``: runs of every origin, options, and refusals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks.budget import CostCap
from tracer_hooks.errors import ConfigError, ReplayError, StoreError, TapeMismatchError
from tracer_hooks.frameworks import Interventions, RecordReplies, ReplaceModelReply, RewriteInstructions
from tracer_hooks.repair import Failure, Repair, RepairTarget
from tracer_hooks.replay import Correction, Counterfactual, Tape, Trial
from tracer_hooks.rerun._replay import counterfactual, find_decisive_step, replay_run
from tracer_hooks.runtime._rerunner import _Watch
from tracer_hooks.schema import Attribution, Candidate, Trajectory
from tracer_hooks.store import RunStore, StoredRun

from ._office import At


class Duo:
    """An adder, then a doubler; "2 3" gives 10."""

    def __init__(self) -> None:
        self.bad: Mapping[str, str] = {}
        self.asked: list[str] = []
        self.told = "You are the adder."

    def build_team(self, prompts: Mapping[str, str] | None = None) -> Callable[[str], str]:
        @tracer_hooks.model
        def ask(messages: list[dict[str, str]]) -> str:
            name = "adder" if "adder" in messages[0]["content"] else "doubler"
            self.asked.append(name)
            numbers = [int(word) for word in messages[1]["content"].split() if word.isdigit()]
            return self.bad.get(name) or str(sum(numbers) if name == "adder" else numbers[-1] * 2)

        @tracer_hooks.agent
        def adder(task: str) -> str:
            return ask([{"role": "system", "content": self.told}, {"role": "user", "content": task}])

        @tracer_hooks.agent
        def doubler(number: str) -> str:
            return ask([{"role": "system", "content": "You double."}, {"role": "user", "content": number}])

        return lambda task: doubler(adder(task))

    def fail(self, **options: Any) -> tracer_hooks.TeamRun:
        """A run in which the adder says 7; afterwards it is right."""
        self.bad = {"adder": "7"}
        run = tracer_hooks.run(self.build_team, "2 3", **{"check": passes, "diagnose": "off", **options})
        self.bad = {}
        self.asked.clear()
        return run


def passes(result: tracer_hooks.RunResult) -> bool:
    return result.text == "10"


@pytest.fixture
def duo() -> Duo:
    return Duo()


# --- origins ---------------------------------------------------------------------------------------------------------
def test_a_run_of_this_process_brings_its_team_and_its_check(duo: Duo) -> None:
    run = duo.fail()
    assert replay_run(run).is_from_tape
    assert duo.asked == []
    result = counterfactual(run, step=0, correction="5")
    assert (result.corrected.rate, result.control.rate, result.agent) == (1.0, 0.0, "adder")
    assert result.correction == Correction(content="5")
    found = find_decisive_step(run)
    assert found.decisive is not None
    assert found.decisive.step == 0


def test_a_stored_run_and_its_id_need_the_team(duo: Duo, path: Path) -> None:
    run_id = duo.fail(store=path).trajectory.run_id
    stored = RunStore(path).get(run_id)
    assert stored.tape is not None
    assert RunStore(path).list()[0].has_tape
    origins: list[Any] = [stored, run_id, run_id[:8]]
    for origin in origins:
        more: dict[str, Any] = {"build_team": duo.build_team, "check": passes, "store": path}
        assert counterfactual(origin, step=0, **more).is_significant
        assert replay_run(origin, **more).is_from_tape
        found = find_decisive_step(origin, **more)
        assert found.decisive is not None
        assert found.decisive.step == 0
        with pytest.raises(ConfigError, match=r"does not hold its team.*--team MODULE:build_team"):
            counterfactual(origin, step=0, store=path)


def test_a_hooked_factory_brings_its_check(duo: Duo, path: Path) -> None:
    run_id = duo.fail(store=path).trajectory.run_id
    hooked = tracer_hooks.hook(check=passes, store="off")(duo.build_team)
    assert counterfactual(run_id, step=0, build_team=hooked, store=path).is_significant


def test_a_run_that_failed_its_check_is_not_replayed_without_one(duo: Duo, path: Path) -> None:
    run_id = duo.fail(store=path).trajectory.run_id
    with pytest.raises(ConfigError, match=r"failed its check .*--check MODULE:check"):
        find_decisive_step(run_id, build_team=duo.build_team, store=path)
    assert find_decisive_step(run_id, build_team=duo.build_team, expected="10", store=path).decisive is not None


def test_an_earlier_attempt_is_taken_where_the_last_one_was_told_something(duo: Duo) -> None:
    duo.bad = {"adder": "7"}
    lesson = At(target=RepairTarget.INSTRUCTIONS, agent="adder", text=f"{duo.told} Mind the carry.")
    hooked = tracer_hooks.hook(check=passes, retries=1, repair=lesson, store="off")(duo.build_team)
    run = tracer_hooks.run(hooked, "2 3")
    duo.bad = {}
    assert [attempt.outcome for attempt in run.attempts] == [tracer_hooks.RunOutcome.FAILED] * 2
    assert run.attempts[1].repair is not None
    assert run.attempts[1].repair.target == "instructions"
    assert counterfactual(run, step=0).is_significant


async def test_an_asynchronous_team_is_replayed_where_an_event_loop_is_running() -> None:
    bad = [True]

    @tracer_hooks.model
    async def ask(prompt: str) -> str:
        return "7" if bad else "5"

    @tracer_hooks.agent
    async def adder(task: str) -> str:
        return await ask(task)

    def build_team(prompts: Any = None) -> Any:
        async def team(task: str) -> str:
            return await adder(task)

        return team

    run = await tracer_hooks.arun(build_team, "2 3", check=lambda result: result.text == "5", diagnose="off")
    bad.clear()
    assert replay_run(run).is_from_tape
    assert counterfactual(run, step=0).is_significant


# --- refusals --------------------------------------------------------------------------------------------------------
def test_a_run_that_did_not_fail_has_nothing_to_correct(duo: Duo) -> None:
    run = tracer_hooks.run(duo.build_team, "2 3", check=passes)
    for act in (lambda: counterfactual(run, step=0), lambda: find_decisive_step(run)):
        with pytest.raises(ReplayError, match=r"ended as 'succeeded'.*runs list --outcome failed"):
            act()
    assert replay_run(run).is_from_tape, "it can be replayed all the same"


def test_a_run_without_a_tape_says_why(duo: Duo, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACER_HOOKS_RECORD", "off")
    run = duo.fail(store=path)
    with pytest.raises(ReplayError, match="TRACER_HOOKS_RECORD=full"):
        counterfactual(run, step=0)
    stored = RunStore(path).get(run.trajectory.run_id)
    assert stored.tape is None, "the run is stored all the same"
    with pytest.raises(ReplayError, match=r"has no tape: .*TRACER_HOOKS_RECORD=full"):
        counterfactual(stored, step=0, build_team=duo.build_team, check=passes)


def test_a_damaged_tape_says_so(duo: Duo, path: Path) -> None:
    stored = RunStore(path).get(duo.fail(store=path).trajectory.run_id)
    broken = stored.model_copy(update={"tape": {"model_calls": 3}})
    with pytest.raises(ReplayError, match="cannot be read"):
        replay_run(broken, build_team=duo.build_team)


def test_an_unknown_run_and_a_store_that_is_off(path: Path, duo: Duo) -> None:
    duo.fail(store=path)
    with pytest.raises(StoreError, match="no run 'zzz'"):
        replay_run("zzz", store=path)
    with pytest.raises(ConfigError, match="switched off"):
        replay_run("zzz")
    with pytest.raises(ConfigError, match="expected a TeamRun"):
        replay_run(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mode": "loose"}, "'strict' or 'lenient'"),
        ({"proposer": "oracle"}, "'resample', 'template', 'feedback', or a Proposer"),
        ({"proposer": 3}, "method propose"),
        ({"tools": "maybe"}, "'replayable'"),
        ({"trials": 0}, "trials"),
        ({"retries": 3}, "unknown option 'retries', expected one of: alpha, build_team"),
        ({"check": bool}, "go with build_team="),
        ({"show_reference": True}, "Pass expected="),
    ],
)
def test_options_that_cannot_be_used_are_refused_before_any_run(duo: Duo, options: dict[str, Any], said: str) -> None:
    run = duo.fail()
    with pytest.raises(ConfigError, match=said):
        counterfactual(run, step=0, **options)
    with pytest.raises(ConfigError, match=said):
        find_decisive_step(run, **options)
    assert duo.asked == []


@pytest.mark.parametrize("step", [2, 99, -1])
def test_an_unknown_step_is_refused_with_the_known_ones(duo: Duo, step: int) -> None:
    with pytest.raises(ReplayError, match=rf"step {step} .* expected one of the steps \[0, 1\]"):
        counterfactual(duo.fail(), step=step)


def test_a_team_that_does_not_repeat_itself_is_named(duo: Duo) -> None:
    run = duo.fail()
    duo.told = "You are the adder of Tuesday."
    with pytest.raises(TapeMismatchError, match=r"step 0, agent 'adder': message 0 \(system\) differs"):
        replay_run(run)
    with pytest.raises(TapeMismatchError, match="step 0, agent 'adder'"):
        find_decisive_step(run)
    loose = replay_run(run, mode="lenient")
    assert not loose.is_from_tape
    assert [(one.step, one.agent) for one in loose.divergences] == [(0, "adder")]


def test_until_is_the_first_live_step(duo: Duo) -> None:
    run = duo.fail()
    replayed = replay_run(run, until=1)
    assert (replayed.served, replayed.live, duo.asked) == (1, 1, ["doubler"])
    with pytest.raises(ConfigError, match="until is -1"):
        replay_run(run, until=-1)


# --- options ---------------------------------------------------------------------------------------------------------
def test_callbacks_hear_of_every_run_and_every_step(duo: Duo) -> None:
    run = duo.fail()
    trials: list[Trial] = []
    tests: list[Counterfactual] = []
    found = find_decisive_step(run, on_trial=trials.append, on_test=tests.append)
    assert len(trials) == found.runs
    assert tuple(tests) == found.tested
    result = counterfactual(run, step=0, on_test=tests.append)
    assert tests[-1] == result


def test_the_cap_bounds_a_search(duo: Duo) -> None:
    found = find_decisive_step(duo.fail(), cap=CostCap(max_runs=2))
    assert found.runs == 2
    assert "the cap of 2 runs" in found.reason


class Curious:
    """A proposer that keeps what it is given."""

    name = "curious"

    def __init__(self) -> None:
        self.given: list[Failure] = []

    def propose(self, failure: Failure, step: int) -> Repair:
        self.given.append(failure)
        return Repair(strategy=self.name, target=RepairTarget.REPLY, agent=failure.agent_at(step), text="5")


@pytest.mark.parametrize("show", [False, True])
def test_the_proposer_sees_the_expected_answer_only_when_asked(duo: Duo, path: Path, show: bool) -> None:
    run_id = duo.fail(store=path, check=None, expected="10", diagnose="inline").trajectory.run_id
    proposer = Curious()
    result = counterfactual(
        run_id, step=0, build_team=duo.build_team, proposer=proposer, show_reference=show, store=path
    )
    assert result.correction.source == "curious"
    assert {one.trajectory.reference for one in proposer.given} == {"10" if show else None}
    assert all("10" not in (one.trajectory.outcome_reason or "") for one in proposer.given)


class Leaking(Curious):
    """A proposer that tells the answer."""

    name = "leaking"

    def propose(self, failure: Failure, step: int) -> Repair:
        repair = super().propose(failure, step)
        return repair.model_copy(update={"text": "The answer is ten."})


def test_a_proposer_that_tells_the_answer_is_not_run(duo: Duo) -> None:
    run = duo.fail(check=None, expected="10")
    with pytest.raises(ReplayError, match="'leaking' wrote for step 0 gives the expected answer away"):
        counterfactual(run, step=0, proposer=Leaking())
    assert duo.asked == []
    assert counterfactual(run, step=0, proposer=Leaking(), show_reference=True).corrected.trials > 0
    assert counterfactual(run, step=0, correction="10").corrected.trials > 0, "what the caller gives is the caller's"


def test_a_search_takes_several_proposers_and_one_step_takes_one(duo: Duo) -> None:
    run = duo.fail()
    found = find_decisive_step(run, proposer=["resample", Curious()])
    assert found.decisive is not None
    assert {test.correction.source for test in found.tested} == {"resample"}
    with pytest.raises(ConfigError, match="one of: resample, curious"):
        counterfactual(run, step=0, proposer=["resample", Curious()])


class Pointing:
    """An attributor that always says the same step, and keeps what it was shown."""

    name = "pointing"

    def __init__(self, step: int) -> None:
        self.step = step
        self.shown: list[Trajectory] = []

    def attribute(self, trajectory: Trajectory, *, reference: str | None = None) -> Attribution:
        self.shown.append(trajectory)
        assert reference is None
        candidate = Candidate(agent="a", step=self.step, score=0.9)
        return Attribution(run_id=trajectory.run_id, agent="a", step=self.step, confidence=0.9, candidates=(candidate,))


def test_the_attributor_says_where_to_look_first_without_the_expected_answer(duo: Duo) -> None:
    run = duo.fail(check=None, expected="10")
    for step in (0, 1):
        attributor = Pointing(step)
        found = find_decisive_step(run, attributor=attributor, placebo=False)
        assert found.tested[0].step == step
        assert found.decisive is not None
        assert found.decisive.step == 0
        assert [one.reference for one in attributor.shown] == [None]


def test_the_runs_own_diagnosis_is_used_when_there_is_one(duo: Duo) -> None:
    attributor = Pointing(1)
    duo.bad = {"adder": "7"}
    run = tracer_hooks.run(duo.build_team, "2 3", check=passes, attributor=attributor)
    duo.bad = {}
    assert len(attributor.shown) == 1
    assert find_decisive_step(run).tested[0].step == 1
    assert len(attributor.shown) == 1


def test_the_tape_in_the_store_is_the_runs_own(duo: Duo, path: Path) -> None:
    run = duo.fail(store=path)
    stored: StoredRun = RunStore(path).get(run.trajectory.run_id)
    assert Tape.model_validate(stored.tape) == run.tape


def test_a_run_made_again_streams_unless_a_part_of_it_changes_replies() -> None:
    assert not _Watch([Interventions([RewriteInstructions({}), RecordReplies()])]).changes_replies
    assert _Watch([Interventions([ReplaceModelReply.prefix(0, "a")])]).changes_replies

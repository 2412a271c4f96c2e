"""Recovering a failed call: the steps that are kept, what is told, and what may not be."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks import Verdict
from tracer_hooks.errors import ConfigError
from tracer_hooks.repair import Repair, RepairTarget
from tracer_hooks.schema import Usage
from tracer_hooks.telemetry import ChatReply

from ._framework import Blame
from ._office import USAGE, At, Office, always_wrong, ended_run, hooked, log_of, second_time, told_so
from ._spans import Recording


# --- resuming --------------------------------------------------------------------------------------------------------
def test_a_retry_goes_on_at_the_blamed_step() -> None:
    office = Office(second_time)
    solve = hooked(office)
    assert solve("six times seven?") == "It is 42."
    assert office.asked == ["planner", "solver", "writer", "solver", "writer"], "the planner is not asked again"
    run = ended_run(solve)
    assert [step.agent for step in run.trajectory.steps] == ["planner", "solver", "writer"]
    assert [step.content for step in run.trajectory.steps] == ["6 * 7", "42", "It is 42."]
    log = log_of(solve)
    (trial,) = log.trials
    assert (trial.repair.resume_from, trial.passed, trial.note) == (1, True, "")
    assert trial.usage == USAGE + USAGE
    assert log.kept_usage == USAGE
    assert log.stopped == "the run was recovered"
    assert log.passed_from == 1


def test_the_span_of_a_retry_says_what_it_tries() -> None:
    seen = Recording()
    solve = hooked(Office(second_time), tracer_provider=seen.provider)
    solve("x")
    first, second = (dict(root.attributes or {}) for root in seen.named("invoke_workflow"))
    assert not [key for key in first if key.startswith("tracer_hooks.repair")]
    told = {key: value for key, value in second.items() if key.startswith("tracer_hooks.repair")}
    assert told == {
        "tracer_hooks.repair.strategy": "resample",
        "tracer_hooks.repair.target": "nothing",
        "tracer_hooks.repair.agent": "solver",
        "tracer_hooks.repair.resume_from": 1,
        "tracer_hooks.repair.kept_input_tokens": 10,
        "tracer_hooks.repair.kept_output_tokens": 5,
    }


async def test_the_same_in_an_asynchronous_stream() -> None:
    office = Office(second_time)

    @tracer_hooks.hook(
        check=lambda result: "42" in result.text,
        retries=1,
        retry_streams=True,
        attributor=Blame(("solver",)),
        repair="resample",
    )
    async def stream(task: str) -> AsyncIterator[str]:
        for word in office(task).split(" "):
            yield word

    assert [item async for item in stream("x") if isinstance(item, str)][-1] == "42."  # type: ignore[redundant-expr]
    assert office.asked[3:] == ["solver", "writer"]


def test_twenty_calls_at_once_keep_their_own_steps() -> None:
    offices = [Office(second_time) for _ in range(20)]

    @tracer_hooks.hook(expected="42", retries=1, attributor=Blame(("solver",)), repair="resample")
    def solve(task: str) -> str:
        return offices[int(task)](task)

    answers: dict[int, str] = {}
    threads = [threading.Thread(target=lambda n=n: answers.__setitem__(n, solve(str(n)))) for n in range(len(offices))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(answers.values()) == {"It is 42."}
    assert [office.asked[3:] for office in offices] == [["solver", "writer"]] * 20


def test_a_team_that_does_something_else_is_run_anew_from_there_and_it_is_said() -> None:
    numbers = iter(range(100))

    class Restless(Office):
        def turn(self, agent: str, task: str, text: str) -> str:
            return super().turn(agent, f"{task} at {next(numbers)} o'clock", text)

    office = Restless(second_time)
    solve = hooked(office)
    assert solve("x") == "It is 42."
    assert office.asked[3:] == ["planner", "solver", "writer"]
    (trial,) = log_of(solve).trials
    assert "no step was kept" in trial.note
    assert "step 0" in trial.note
    assert log_of(solve).passed_from is None, "it left the record"
    assert log_of(solve).kept_usage == Usage()


def test_tools_of_kept_steps_are_built_again_and_all_obey_their_rules() -> None:
    booked: list[str] = []

    @tracer_hooks.tool
    def book(what: str) -> str:
        booked.append(what)
        return f"booked {what}"

    class Desk(Office):
        def turn(self, agent: str, task: str, text: str) -> str:
            reply = super().turn(agent, task, text)

            @tracer_hooks.agent(name=agent, instructions=f"You are the {agent}.")
            def uses_tool() -> str:
                return book(agent)

            uses_tool()
            return reply

    desk = Desk(second_time)
    solve = hooked(desk)
    assert solve("x") == "It is 42."
    assert booked == ["planner", "solver", "writer"] * 2, "those of kept steps run again, for what they do to the team"

    booked.clear()
    desk = Desk(second_time)
    solve = hooked(desk, tools={"book": "blocked"})
    assert solve("x") == "It is 42."
    assert booked == ["planner", "solver", "writer"], "answered from the record"


# --- the ladder ------------------------------------------------------------------------------------------------------
def test_the_agent_whom_the_reason_names_is_told_it_where_it_acts_and_nobody_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    office = Office(told_so)

    def is_right(result: Any) -> tracer_hooks.Verdict:
        return tracer_hooks.Verdict(passed="42" in result.text, reason="the solver took a wrong number")

    solve = tracer_hooks.hook(lambda task: office(task), check=is_right, retries=1, store="off")
    assert [solve("six times seven?"), solve("six times seven?")] == ["It is 42."] * 2
    assert office.asked == ["planner", "solver", "writer", "solver", "writer"] * 2
    assert {agent for agent, shown in office.calls if "wrong number" in shown} == {"solver"}
    (trial,) = log_of(solve).trials
    assert trial.repair.reason == "the run goes on from step 1, and 'solver' is told the check's reason"
    told = [line for line in caplog.messages if "as it is" in line and "pass expected=" in line]
    assert len(told) == 1, "that nothing was masked is said, once"


# --- what is told ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("step", [None, 1])
def test_what_is_added_to_the_task_is_seen_by_all_who_see_the_task(step: int | None) -> None:
    office = Office(told_so)
    solve = hooked(office, repair=At(step, RepairTarget.TASK, text="An earlier answer was wrong."))
    assert solve("six times seven?") == "It is 42."
    shown = office.calls[3:]
    assert [agent for agent, _ in shown] == (["planner"] if step is None else []) + ["solver", "writer"]
    assert all("Task: six times seven?\n\nAn earlier answer was wrong." in text for _, text in shown)


def test_what_is_added_to_an_agents_message_is_seen_by_that_agent_alone() -> None:
    office = Office(told_so)
    solve = hooked(office, repair=At(None, RepairTarget.MESSAGE, "solver", "An earlier answer was wrong."))
    assert solve("x") == "It is 42."
    assert [agent for agent, text in office.calls[3:] if "wrong" in text] == ["solver"]
    assert office.calls[4][1].endswith("6 * 7\n\nAn earlier answer was wrong.")


def test_instructions_reach_an_agent_whose_requests_have_no_system_message() -> None:
    class Bare(Office):
        def turn(self, agent: str, task: str, text: str) -> str:
            @tracer_hooks.model
            def model(messages: list[dict[str, str]]) -> ChatReply:
                return self.ask(agent, messages)

            @tracer_hooks.agent(name=agent)
            def act(text: str) -> str:
                return model([{"role": "user", "content": text}]).content

            return act(text)

    office = Bare(told_so)
    solve = hooked(office, repair=At(1, RepairTarget.INSTRUCTIONS, "solver", "The last one was wrong."))
    assert solve("x") == "It is 42."
    assert office.calls[3] == ("solver", "The last one was wrong.\n\n6 * 7")


def test_a_text_that_reaches_nobody_is_said_to() -> None:
    solve = hooked(Office(always_wrong), repair=At(2, RepairTarget.MESSAGE, "planner", "wrong"))
    solve("x")
    (trial,) = log_of(solve).trials
    assert trial.note == "the text reached nobody: no request of the agent's came"


def test_the_record_shows_the_teams_own_requests_so_that_later_trials_can_keep_their_steps() -> None:
    office = Office(always_wrong)
    scores = iter([0.1, 0.3, 0.2])
    strategy = At(None, RepairTarget.TASK, text="An earlier answer was wrong.")

    def check(result: Any) -> Verdict:
        strategy.step = 2 if len(office.calls) > 3 else None
        return Verdict(passed=False, score=next(scores))

    solve = hooked(office, expected=None, check=check, repair=strategy, retries=2)
    solve("x")
    first, second = log_of(solve).trials
    assert (first.note, second.note) == ("", "")
    assert (first.repair.resume_from, second.repair.resume_from) == (None, 2)
    assert office.asked[3:] == ["planner", "solver", "writer", "writer"], "two steps of the better attempt are kept"


# --- leaks -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("text", ["Say 42.", "The answer is forty-two.", "42.0!"])
def test_a_text_that_tells_the_answer_is_a_failed_trial_and_is_not_run(
    text: str, caplog: pytest.LogCaptureFixture
) -> None:
    office = Office(always_wrong)
    leak = At(None, RepairTarget.TASK, text=text, usage=Usage(input_tokens=7))
    solve = hooked(office, repair=leak, retries=2)
    assert solve("x") == "It is 41."
    assert office.asked == ["planner", "solver", "writer"]
    log = log_of(solve)
    assert [(trial.passed, trial.attempt, trial.repair.text) for trial in log.trials] == [(False, None, "[hidden]")] * 2
    assert log.stopped == "2 of 2 retries used"
    assert log.usage == Usage(input_tokens=14)
    assert len([line for line in caplog.messages if "tells the expected answer" in line]) <= 1


def test_a_strategy_sees_neither_the_answer_nor_the_checks_reason() -> None:
    strategy = At()
    solve = hooked(Office(always_wrong), repair=strategy)
    solve("x")
    for failure in strategy.seen:
        assert failure.trajectory.reference is None
        assert failure.trajectory.outcome_reason is None
        assert "42" not in (failure.feedback or "")


def test_what_a_check_says_may_be_told_is_told_as_it_is() -> None:
    office = Office(told_so)

    def check(result: Any) -> Verdict:
        return Verdict(passed="42" in result.text, reason="not 42", feedback="The last answer was wrong, sorry.")

    solve = hooked(office, expected=None, check=check, repair="feedback_in_task")
    assert solve("x") == "It is 42."
    assert "The last answer was wrong, sorry." in office.calls[3][1]


def test_nothing_is_told_where_nothing_may_be() -> None:
    office = Office(told_so)
    solve = hooked(office, expected=None, check=has("42", "a wrong number"), repair="feedback_in_task", feedback="none")
    solve("x")
    assert not any("wrong" in text for _, text in office.calls)


def has(text: str, reason: str) -> Any:
    return lambda result: Verdict(passed=text in result.text, reason=reason)


# --- by hand ---------------------------------------------------------------------------------------------------------
def test_a_run_is_resumed_by_hand() -> None:
    office = Office(second_time)
    solve = hooked(office, retries=0)
    solve("x")
    told = Repair(strategy="mine", target=RepairTarget.MESSAGE, agent="writer", text="Be brief.")
    resumed = tracer_hooks.resume(ended_run(solve), step=1, repair=told)
    assert office.asked[3:] == ["solver", "writer"]
    assert office.calls[-1][1].endswith("42\n\nBe brief.")
    assert (resumed.trial.passed, resumed.note, resumed.kept_usage) == (False, "", USAGE), "the writer quotes its order"
    assert tracer_hooks.resume(ended_run(solve), step=0).kept_usage == Usage()


@pytest.mark.parametrize("step", [-1, 3, 99])
def test_a_step_that_there_is_not_cannot_be_resumed_at(step: int) -> None:
    solve = hooked(Office(always_wrong), retries=0)
    solve("x")
    with pytest.raises(ConfigError, match="expected the index of one of the run's 3 steps"):
        tracer_hooks.resume(ended_run(solve), step=step)


def test_nobody_else_answers_in_a_resumed_run() -> None:
    solve = hooked(Office(always_wrong), retries=0)
    solve("x")
    reply = Repair(strategy="mine", target=RepairTarget.REPLY, agent="solver", text="42")
    with pytest.raises(ConfigError, match="counterfactual"):
        tracer_hooks.resume(ended_run(solve), step=1, repair=reply)


@pytest.mark.parametrize(
    ("strategy", "why"),
    [
        (At(None, RepairTarget.REPLY, "writer", "It is 42."), "proposed what an agent says"),
        (At(99), "proposed to resume at a step that the run cannot be resumed at"),
    ],
)
def test_a_proposal_that_cannot_be_carried_out_is_left_out_and_said(
    strategy: At, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    office = Office(always_wrong)
    solve = hooked(office, repair=strategy, retries=2)
    assert solve("x") == "It is 41."
    assert office.asked == ["planner", "solver", "writer"] * 3, "plain retries"
    assert len([line for line in caplog.messages if f"repair strategy 'at' {why}" in line]) == 1

"""The ladder: which rung is taken when, and that a run is resumed only where it is known what tools did before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks.errors import ConfigError
from tracer_hooks.repair import (
    Failure,
    Ladder,
    PastTrial,
    Repair,
    RepairLog,
    estimated_usage,
    strategies_of,
)
from tracer_hooks.schema import Attribution, Candidate, Finding, FindingKind, RunOutcome, Usage

from ._failures import Telling, failure, found, run

PROOF = Finding(
    kind=FindingKind.WRONG_CALCULATION, step=1, agent="solver", text="3 + 38 is 41, not 42.", leads_to_answer=True
)
NAMED = Finding(kind=FindingKind.REASON_MATCHED, detail="agent", step=0, agent="planner", text="It names 'planner'.")


def diagnosis(*findings: Finding, confidence: float = 0.95) -> Attribution:
    """One that blames the solver at step 1, with its findings and the evidence of them."""
    evidence = tuple(found("42", each.text) for each in findings if each.step == 1)
    return Attribution(
        run_id="r",
        agent="solver",
        step=1,
        confidence=confidence,
        candidates=(Candidate(agent="solver", step=1, score=confidence),),
        findings=findings,
        evidence=evidence,
    )


def climbed(failed: Failure, trials: int) -> list[Repair]:
    """The repairs of so many trials that all fail."""
    ladder = Ladder(failed, strategies_of("auto"))
    repairs = []
    for _ in range(trials):
        repairs.append(ladder.choose())
        ladder.learn(PastTrial(repair=repairs[-1], outcome=RunOutcome.FAILED))
    return repairs


def test_where_nothing_is_known_it_is_a_plain_retry_each_time() -> None:
    for failed in (failure(), failure(attribution=diagnosis(PROOF, confidence=0.8))):
        assert [repair.is_plain for repair in climbed(failed, 3)] == [True] * 3


@pytest.mark.parametrize(
    ("feedback", "why"),
    [
        (None, "the run goes on from step 1, which a finding proves wrong; 'solver' is asked again"),
        ("wrong total", "the run goes on from step 1, and 'solver' is told the check's reason"),
    ],
)
def test_a_step_that_a_finding_proves_wrong_is_resumed_at_and_then_it_is_tried_again(
    feedback: str | None, why: str
) -> None:
    first, *others = climbed(failure(attribution=diagnosis(PROOF), feedback=feedback), 4)
    assert (first.strategy, first.agent, first.resume_from) == ("resume_at_finding", "solver", 1)
    assert ("wrong total" in first.text) is (feedback is not None)
    assert "41" not in first.text, "the finding is not told"
    assert first.reason == why
    told = ["feedback_in_task"] if feedback else ["from_scratch"]
    assert [repair.strategy for repair in others] == ["from_scratch", *told, "from_scratch"]


def test_whom_the_reason_names_is_told_first() -> None:
    first, second, *_ = climbed(failure(attribution=diagnosis(PROOF, NAMED), feedback="the planner forgot VAT"), 2)
    assert (first.strategy, first.agent, first.resume_from) == ("reason_to_agent", "planner", None)
    assert first.reason == "the whole run is made again, and 'planner' is told the check's reason"
    assert (second.strategy, second.agent) == ("resume_at_finding", "solver")


def test_where_the_run_cannot_be_resumed_it_is_made_again() -> None:
    failed = replace(failure(attribution=diagnosis(PROOF)), steps=(0,))
    assert [repair.is_plain for repair in climbed(failed, 1)] == [True]


def test_strategies_of_the_users_own_are_taken_in_turn_and_may_raise(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        name = "broken"

        def propose(self, failure: Failure, step: int | None) -> Repair | None:
            raise RuntimeError("no words")

    ladder = Ladder(failure(), strategies_of([Telling("a"), Broken(), Telling("b", None)]))
    names = []
    for _ in range(3):
        repair = ladder.choose()
        names.append(repair.strategy)
        ladder.learn(PastTrial(repair=repair, outcome=RunOutcome.FAILED))
    assert names == ["a", "a", "a"], "the two others have nothing to propose"
    assert [line for line in caplog.messages if "'broken' raised RuntimeError: no words" in line]


def test_the_former_name_still_means_the_ladder(caplog: pytest.LogCaptureFixture) -> None:
    assert strategies_of("search") == strategies_of("auto")
    assert "is called 'auto' now" in caplog.text
    with pytest.raises(ConfigError, match="expected one of: 'auto', 'plain', 'from_scratch'"):
        strategies_of("bandit")


def test_a_log_of_an_older_version_is_read_without_its_verified_step() -> None:
    old = {"trials": (), "stopped": "x", "verified": {"agent": "a", "step": 1, "reason": "passed"}}
    assert RepairLog.model_validate(old).stopped == "x"


def test_an_estimate_counts_what_models_did_not_report() -> None:
    silent = run("x" * 400)
    assert estimated_usage(silent) == Usage(output_tokens=(len("Add 3 and 38.") + 400) // 4)
    told = [step.model_copy(update={"usage": Usage(input_tokens=1)}) for step in silent.steps]
    assert estimated_usage(silent.model_copy(update={"steps": tuple(told)})) is None


# --- tools of kept steps ---------------------------------------------------------------------------------------------
def shop(orders: list[tuple[str, ...]]) -> Callable[[], Callable[[str], str]]:
    """A factory whose team has a cart of its own: a picker fills it, a clerk orders it to the wrong address once."""
    addresses = iter(("Side Street 2", *["Main Street 1"] * 9))

    def build() -> Callable[[str], str]:
        cart: list[str] = []

        @tracer_hooks.tool
        def add(item: str) -> str:
            cart.append(item)
            return f"{item} is in the cart"

        @tracer_hooks.tool
        def order(address: str) -> str:
            orders.append(tuple(cart))
            return f"ordered to {address}"

        @tracer_hooks.model
        def say(text: str) -> str:
            return f"It is {text}." if "cart" in text else f"Send it to {next(addresses)}"

        @tracer_hooks.agent
        def picker(task: str) -> str:
            return say(add("apple"))

        @tracer_hooks.agent
        def clerk(task: str) -> str:
            return order(say(task))

        def team(task: str) -> str:
            picker(task)
            return clerk(task)

        return team

    return build


class ClerkBlamed:
    """Blames the clerk's step."""

    name = "clerk"

    def attribute(self, trajectory: Any, *, reference: str | None = None) -> Attribution:
        step = next(step.index for step in trajectory.steps if step.agent == "clerk")
        return Attribution(run_id=trajectory.run_id, agent="clerk", step=step, confidence=0.9)


def ordered(**options: Any) -> tuple[list[tuple[str, ...]], RepairLog]:
    orders: list[tuple[str, ...]] = []
    hooked = tracer_hooks.hook(
        shop(orders),
        check=lambda result: "Main" in result.text,
        retries=1,
        repair="resample",
        attributor=ClerkBlamed(),
        store="off",
        **options,
    )
    team = hooked()
    team("Order an apple.")
    log = tracer_hooks.last_run(team).wait(10).repair
    assert isinstance(log, RepairLog)
    return orders, log


def test_a_resumed_run_has_the_state_that_tools_before_made() -> None:
    orders, log = ordered()
    assert orders == [("apple",), ("apple",)], "no empty cart"
    assert log.passed_from is not None


@pytest.mark.parametrize(("rule", "cart"), [("replayable", ()), ("live", ("apple",))])
def test_a_rule_of_the_users_decides_behind_which_tool_a_run_resumes(rule: str, cart: tuple[str, ...]) -> None:
    orders, log = ordered(tools=rule)
    assert orders[1] == cart
    assert (log.passed_from is None) is (rule == "live"), "what a live tool did before is not known: from scratch"


def test_a_rule_for_a_tool_that_is_not_there_allows_no_retry_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    orders, log = ordered(tools={"odrer": "blocked"})
    assert len(orders) == 1
    assert "a rule for 'odrer', and the team has no such tool" in log.stopped
    assert [line for line in caplog.messages if "does not retry" in line]

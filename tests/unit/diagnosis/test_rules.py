"""The attributor by rules alone: what it names, and how sure a sign must be in a run that did not fail."""

from __future__ import annotations

import pytest

from tracer_hooks.diagnosis import diagnose_trajectory
from tracer_hooks.schema import Attribution, ErrorMode, RunOutcome, Step, StepKind, ToolCall, Trajectory

WRONG_SUM = (("accountant", "3 x 120 = 350"), ("writer", "You pay 350."))
ASSUMED = (("clerk", "I will assume a placeholder value of 12."), ("writer", "12"))
NOTHING = (("clerk", "There are 12."), ("writer", "Yes, 12."))


def judged(outcome: RunOutcome, *said: tuple[str, str]) -> Attribution:
    steps = tuple(Step(index=index, agent=agent, content=text) for index, (agent, text) in enumerate(said))
    run = Trajectory(run_id="r", task="What do three nights at 120 cost?", steps=steps, outcome=outcome)
    return diagnose_trajectory(run, attributor="rules")


@pytest.mark.parametrize("outcome", list(RunOutcome))
def test_a_wrong_sum_is_named_however_the_run_ended(outcome: RunOutcome) -> None:
    found = judged(outcome, *WRONG_SUM)
    assert (found.agent, found.step, found.error_mode) == ("accountant", 0, ErrorMode.FM_2_6)
    assert [(one.step, one.quote) for one in found.evidence][:1] == [(0, "3 x 120 = 350")]
    assert found.attributor == "rules/0"
    assert found.elapsed_s > 0


def test_a_weak_sign_is_enough_only_for_a_run_that_failed() -> None:
    found = judged(RunOutcome.FAILED, *ASSUMED)
    assert (found.agent, found.step) == ("clerk", 0)
    assert "placeholder" in found.evidence[0].why
    for outcome in (RunOutcome.UNKNOWN, RunOutcome.SUCCEEDED):
        assert judged(outcome, *ASSUMED).abstained_reason == "no sign of failure"


def test_a_failed_run_without_any_sign_gets_its_last_speaker_and_is_told_that_nothing_stands_out() -> None:
    found = judged(RunOutcome.FAILED, *NOTHING)
    assert (found.agent, found.step) == ("writer", 1)
    assert found.confidence < judged(RunOutcome.FAILED, *ASSUMED).confidence
    assert [one.why for one in found.evidence] == [
        "Nothing that was said or done in this step stands out; it is listed since 'writer' was the last to speak."
    ]


@pytest.mark.parametrize("said", [(), (("clerk", ""),), (("clerk", " "), ("writer", "\n"))])
def test_a_run_without_content_is_too_incomplete(said: tuple[tuple[str, str], ...]) -> None:
    found = judged(RunOutcome.FAILED, *said)
    assert (found.abstained, found.abstained_reason, found.evidence) == (True, "trace too incomplete", ())


def test_a_run_that_an_outage_broke_off_is_nobodys_fault() -> None:
    call = ToolCall(name="fetch", error="503 Service Unavailable: try again later")
    steps = (
        Step(index=0, agent="scout", kind=StepKind.TOOL_CALL, tool_calls=(call,)),
        Step(index=1, agent="scout", kind=StepKind.ERROR, error="503 Service Unavailable: try again later"),
    )
    run = Trajectory(run_id="r", task="Fetch it.", steps=steps, outcome=RunOutcome.FAILED)
    found = diagnose_trajectory(run, attributor="rules")
    assert found.abstained_reason == "environment fault"
    assert "503" in found.evidence[0].quote

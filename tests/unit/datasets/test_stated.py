"""What a person says of runs, and what that makes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks.datasets import OutcomeOverride
from tracer_hooks.errors import ConfigError
from tracer_hooks.schema import RunOutcome, Step, Trajectory

SILENT = Step(index=0, agent="a")


def run(outcome: RunOutcome = RunOutcome.UNKNOWN, final: str | None = "It costs 430 EUR.", **fields: Any) -> Trajectory:
    steps = (
        Step(index=0, agent="adder", content="3 x 120 + 2 x 55 = 430"),
        Step(index=1, agent="writer", content="It costs 430 EUR."),
        Step(index=2, agent="writer", content="TERMINATE"),
    )
    return Trajectory(run_id="r", task="What does it cost?", steps=steps, outcome=outcome, final_output=final, **fields)


def test_nothing_said_changes_nothing() -> None:
    assert OutcomeOverride().of(run()).trajectory == run()
    assert OutcomeOverride().of(run()).source == "trace"


@pytest.mark.parametrize(
    ("given", "expected", "outcome", "source", "noted"),
    [
        (run(), "430", RunOutcome.SUCCEEDED, "expected answer", ""),
        (run(RunOutcome.FAILED, outcome_reason="ValueError"), "430", RunOutcome.FAILED, "trace", "although"),
        (run(final=None), "470", RunOutcome.FAILED, "expected answer", "its last message (step 1)"),
        (Trajectory(run_id="r", steps=(SILENT,)), "470", RunOutcome.UNKNOWN, "trace", "no final answer"),
    ],
    ids=["it agrees", "it agrees with a failed run", "the last message is compared", "there are no words"],
)
def test_what_an_expected_answer_says_of_a_run(
    given: Trajectory, expected: str, outcome: RunOutcome, source: str, noted: str
) -> None:
    found = OutcomeOverride(expected=expected).of(given)
    assert (found.trajectory.outcome, found.source) == (outcome, source)
    assert noted in found.note
    if source == "trace":
        assert found.trajectory.outcome_reason == given.outcome_reason


@pytest.mark.parametrize("outcome", RunOutcome)
def test_an_answer_that_differs_makes_any_run_a_failed_one(outcome: RunOutcome) -> None:
    found = OutcomeOverride(expected="470").of(run(outcome))
    assert (found.trajectory.outcome, found.source) == (RunOutcome.FAILED, "expected answer")
    assert found.trajectory.outcome_reason == "expected 470, got 430 EUR"
    assert found.trajectory.reference == "470"


def test_the_reason_of_a_success_is_no_reason_for_a_failure() -> None:
    found = OutcomeOverride(outcome=RunOutcome.FAILED).of(run(RunOutcome.SUCCEEDED, outcome_reason="stop message seen"))
    assert found.trajectory.outcome_reason is None
    assert "The trace itself says that it succeeded" in found.note


def test_what_speaks_against_the_outcome_that_is_said_is_noted() -> None:
    passed = OutcomeOverride(outcome=RunOutcome.SUCCEEDED, expected="470").of(run())
    assert passed.trajectory.outcome is RunOutcome.SUCCEEDED
    assert "Its final answer does not state the expected one: expected 470, got 430 EUR." in passed.note
    failed = OutcomeOverride(outcome=RunOutcome.FAILED, expected="430").of(run())
    assert failed.trajectory.outcome is RunOutcome.FAILED
    assert "Its final answer states the expected one." in failed.note
    for outcome, expected in ((RunOutcome.SUCCEEDED, "430"), (RunOutcome.FAILED, "470")):
        assert "final answer" not in OutcomeOverride(outcome=outcome, expected=expected).of(run()).note


@pytest.mark.parametrize(
    "said", [{"reason": "x"}, {"reason": "x", "outcome": RunOutcome.SUCCEEDED}, {"reason": "x", "outcome": "unknown"}]
)
def test_a_reason_needs_a_failure(said) -> None:
    with pytest.raises(ConfigError):
        tracer_hooks.diagnose(run(), **said)


def test_diagnose_in_python_takes_the_same(tmp_path: Path) -> None:
    assert tracer_hooks.diagnose(run(), expected="470").agent == "adder"
    assert tracer_hooks.diagnose(run(), outcome="failed", reason="expected 470, got 430").agent == "adder"
    with pytest.raises(ConfigError, match="'good'"):
        tracer_hooks.diagnose(run(), outcome="good")
    (tmp_path / "runs.jsonl").write_text(run().model_dump_json() + "\n")
    (one,) = tracer_hooks.diagnose(tmp_path / "runs.jsonl", expected="470")
    assert one.agent == "adder"

"""What proposers are given, what they never see, and what they write."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tracer_hooks.errors import ConfigError, ReplayError
from tracer_hooks.repair import Failure, Repair, RepairTarget, Resample, WrittenGuidance, masked_feedback
from tracer_hooks.replay import (
    FeedbackProposer,
    GuidanceProposer,
    LLMProposer,
    Proposer,
    ResampleProposer,
    TemplateProposer,
    proposers_of,
)
from tracer_hooks.schema import AgentSpec, Attribution, ErrorMode, Evidence, RunOutcome, Step, ToolCall, Trajectory

from .._known import known

ANSWER = "82.50 EUR"
RUN = Trajectory(
    run_id="r",
    task="What do 3 tickets cost?",
    agents=(AgentSpec(name="calculator", instructions="You calculate."),),
    steps=(
        Step(index=0, agent="researcher", tool_calls=(ToolCall(name="price", arguments={"n": 1}, result="25.00"),)),
        Step(index=1, agent="calculator", content="3 * 25 = 75.00 EUR"),
        Step(index=2, agent="writer", content="It is 75.00 EUR."),
    ),
    outcome=RunOutcome.FAILED,
    outcome_reason=f"check: the fee is missing: {ANSWER}, got 75.00 EUR",
    reference=ANSWER,
)
DIAGNOSIS = Attribution(
    run_id="r",
    agent="calculator",
    step=1,
    error_mode=ErrorMode.FM_3_2,
    confidence=0.7,
    evidence=(
        Evidence(step=1, quote="3 * 25 = 75.00 EUR", why="the fee is missing"),
        Evidence(step=1, quote="75.00 EUR", why=f"the answer should be {ANSWER.lower()}"),
        Evidence(step=2, quote="It is 75.00 EUR.", why="it takes the sum over"),
    ),
)


def failure(attribution: Attribution | None = None, *, reference: str | None = None) -> Failure:
    told = masked_feedback(RUN.outcome_reason, RUN.reference)
    made = Failure.of(RUN, attribution, feedback=told.text, steps=(1, 2))
    shown = made.trajectory.model_copy(update={"reference": reference})
    return Failure(trajectory=shown, attribution=made.attribution, feedback=made.feedback, steps=made.steps)


def proposed(proposer: Proposer, given: Failure, step: int = 1) -> Repair:
    repair = known(proposer.propose(given, step))
    assert repair.strategy == proposer.name
    return repair


class Model:
    """A language model that notes what it was shown."""

    def __init__(self, reply: Any) -> None:
        self.reply = reply
        self.shown = ""

    def __call__(self, messages: Sequence[dict[str, str]]) -> Any:
        self.shown = json.dumps(messages, ensure_ascii=False)
        return self.reply


def test_template_adds_to_the_message_from_the_diagnosis_of_the_step() -> None:
    plain = proposed(TemplateProposer(), failure())
    guided = proposed(TemplateProposer(), failure(DIAGNOSIS))
    assert (guided.target, guided.agent) == (RepairTarget.MESSAGE, "calculator")
    for said in (plain.text, ErrorMode.FM_3_2.definition, "the fee is missing"):
        assert said in guided.text
    assert ANSWER not in guided.text
    other = proposed(TemplateProposer(), failure(DIAGNOSIS), 2)
    assert "A mistake to avoid" not in other.text
    assert "it takes the sum over" in other.text
    resampled = proposed(ResampleProposer(), failure())
    assert (resampled.target, resampled.resume_from) == (RepairTarget.NOTHING, 1)


def test_feedback_is_what_the_check_said_without_the_answer() -> None:
    repair = proposed(FeedbackProposer(), failure())
    assert (repair.target, repair.agent) == (RepairTarget.MESSAGE, "calculator")
    assert repair.text == (
        "An earlier attempt at this task failed: the fee is missing: [hidden], got 75.00 EUR. "
        "Do not make the same mistake."
    )
    with pytest.raises(ReplayError, match="said nothing that may be told"):
        FeedbackProposer().propose(Failure.of(RUN), 1)


def test_guidance_is_written_by_a_model_that_does_not_see_the_answer() -> None:
    model = Model({"text": "Mind the fee. Add it last. Good luck.", "usage": {"input_tokens": 7, "output_tokens": 5}})
    repair = proposed(GuidanceProposer(model), failure(DIAGNOSIS))
    assert (repair.target, repair.agent, repair.text) == (
        RepairTarget.MESSAGE,
        "calculator",
        "Mind the fee. Add it last.",
    )
    assert (repair.usage.input_tokens, repair.usage.output_tokens) == (7, 5)
    assert "[hidden], got 75.00 EUR" in model.shown
    assert ANSWER not in model.shown
    assert GuidanceProposer(Model(" ")).propose(failure(), 1) is None


def test_the_llm_writes_the_reply_and_sees_the_run_but_not_the_answer_unless_it_is_shown() -> None:
    model = Model(" 3 * 25 + 10 % = 82.50 EUR ")
    repair = proposed(LLMProposer(model), failure(DIAGNOSIS))
    assert (repair.target, repair.text) == (RepairTarget.REPLY, "3 * 25 + 10 % = 82.50 EUR")
    assert repair.usage.output_tokens > 0
    run = ("What do 3 tickets cost?", "You calculate.", "price(", "25.00", "It is 75.00 EUR.", "the fee is miss")
    assert [shown for shown in run if shown not in model.shown] == []
    assert [hidden for hidden in (ANSWER, "expected") if hidden in model.shown] == []
    LLMProposer(model).propose(failure(reference=ANSWER), 1)
    assert ANSWER in model.shown


@pytest.mark.parametrize("reply", ["", "  \n", "3 * 25 = 75.00 EUR "])
def test_an_llm_that_writes_nothing_new_is_an_error(reply: str) -> None:
    with pytest.raises(ReplayError, match="no other reply for step 1"):
        LLMProposer(Model(reply)).propose(failure(), 1)


def test_proposers_are_named_or_given_alone_or_several() -> None:
    own = LLMProposer(Model(""))
    assert [one.name for one in proposers_of("resample")] == ["resample"]
    assert [one.name for one in proposers_of("resample, feedback")] == ["resample", "feedback"]
    assert [one.name for one in proposers_of(["template", own])] == ["template", "llm"]
    assert proposers_of(own) == (own,)
    assert [one.name for one in proposers_of([Resample(), WrittenGuidance(Model(""))])] == ["resample", "guidance"]


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("oracle", "unknown proposer 'oracle', expected 'resample', 'template', 'feedback', or a Proposer"),
        ("resample,,feedback", "unknown proposer ''"),
        ("guidance", "needs a language model"),
        (3, "method propose"),
        ([], "expected one at least"),
    ],
)
def test_what_is_no_proposer_is_refused(named: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        proposers_of(named)

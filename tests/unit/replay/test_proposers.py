"""What proposers are given, what they never see, and what they write."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from tracer_hooks.errors import ReplayError
from tracer_hooks.replay import Correction, LLMProposer, Proposal, ResampleProposer, TemplateProposer
from tracer_hooks.schema import AgentSpec, Attribution, ErrorMode, Evidence, RunOutcome, Step, ToolCall, Trajectory

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
    outcome_reason=f"check: expected '{ANSWER}', got '75.00 EUR'",
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


class Model:
    """A language model that notes what it was shown."""

    def __init__(self, reply: str) -> None:
        self.reply = reply
        self.shown = ""

    def __call__(self, messages: Sequence[dict[str, str]]) -> str:
        self.shown = json.dumps(messages, ensure_ascii=False)
        return self.reply


def test_a_proposal_holds_nothing_that_gives_the_answer_away() -> None:
    proposal = Proposal.of(RUN, 1, attribution=DIAGNOSIS)
    assert proposal.reference is None
    everything = proposal.trajectory.model_dump_json() + (proposal.attribution or DIAGNOSIS).model_dump_json()
    assert ANSWER.lower() not in everything.lower()
    assert proposal.notes == ["«3 * 25 = 75.00 EUR»: the fee is missing"]


def test_a_proposal_shows_the_answer_where_the_caller_wants_it() -> None:
    proposal = Proposal.of(RUN, 1, attribution=DIAGNOSIS, reference=ANSWER)
    assert proposal.reference == ANSWER
    assert len(proposal.notes) == 2


def test_a_diagnosis_of_another_step_says_no_mode_of_this_one() -> None:
    assert Proposal.of(RUN, 1, attribution=DIAGNOSIS).error_mode is ErrorMode.FM_3_2
    assert Proposal.of(RUN, 2, attribution=DIAGNOSIS).error_mode is None
    assert Proposal.of(RUN, 2).notes == []


def test_resample_changes_nothing() -> None:
    assert ResampleProposer().propose(Proposal.of(RUN, 1)) == Correction(source="resample")


def test_template_gives_guidance_from_the_diagnosis_and_no_reply() -> None:
    plain = TemplateProposer().propose(Proposal.of(RUN, 1))
    guided = TemplateProposer().propose(Proposal.of(RUN, 1, attribution=DIAGNOSIS))
    assert not guided.is_reply
    assert plain.guidance in guided.guidance
    assert ErrorMode.FM_3_2.definition in guided.guidance
    assert "the fee is missing" in guided.guidance
    assert ANSWER not in guided.guidance
    assert guided.source == "template"


def test_the_llm_writes_the_reply_and_sees_the_run_but_not_the_answer() -> None:
    model = Model(" 3 * 25 + 10 % = 82.50 EUR ")
    correction = LLMProposer(model).propose(Proposal.of(RUN, 1, attribution=DIAGNOSIS))
    assert (correction.content, correction.source) == ("3 * 25 + 10 % = 82.50 EUR", "llm")
    for shown in (
        "What do 3 tickets cost?",
        "You calculate.",
        "price(",
        "25.00",
        "It is 75.00 EUR.",
        "the fee is miss",
    ):
        assert shown in model.shown
    assert ANSWER not in model.shown
    assert "expected" not in model.shown


def test_the_llm_sees_the_answer_when_it_is_shown_and_not_how_it_went_on_when_that_is_off() -> None:
    model = Model("82.50")
    LLMProposer(model, continues=False).propose(Proposal.of(RUN, 1, reference=ANSWER))
    assert ANSWER in model.shown
    assert "It is 75.00 EUR." not in model.shown


@pytest.mark.parametrize("reply", ["", "  \n", "3 * 25 = 75.00 EUR "])
def test_an_llm_that_writes_nothing_new_is_an_error(reply: str) -> None:
    with pytest.raises(ReplayError, match="no other reply for step 1"):
        LLMProposer(Model(reply)).propose(Proposal.of(RUN, 1))

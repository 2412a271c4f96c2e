"""What each strategy tells whom, and from which step the trial is live."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from tracer_hooks.repair import (
    NOT_RIGHT,
    Failure,
    FeedbackInMessage,
    FeedbackInTask,
    FromScratch,
    PastTrial,
    Repair,
    RepairStrategy,
    RepairTarget,
    Resample,
    WrittenGuidance,
)
from tracer_hooks.schema import RunOutcome, Usage

from ._failures import blame, failure, found, run

TOLD = "An earlier attempt at this task failed: f(2) gave 5. Do not make the same mistake."


class Model:
    """A language model that notes what it is shown."""

    def __init__(self, reply: Any = "Add the units first. Then add the tens. Be kind.") -> None:
        self.reply = reply
        self.shown = ""

    def __call__(self, messages: Sequence[dict[str, str]]) -> Any:
        self.shown = "\n".join(message["content"] for message in messages)
        return self.reply


ALL: list[RepairStrategy] = [
    FromScratch(),
    Resample(),
    FeedbackInTask(),
    FeedbackInMessage(),
    WrittenGuidance(Model()),
]


def proposed(strategy: RepairStrategy, given: Failure, step: int | None) -> Repair:
    repair = strategy.propose(given, step)
    assert repair is not None
    assert (repair.strategy, repair.resume_from) == (strategy.name, step)
    return repair


def test_their_names_and_their_one_protocol() -> None:
    assert [strategy.name for strategy in ALL] == [
        "from_scratch",
        "resample",
        "feedback_in_task",
        "feedback_in_message",
        "guidance",
    ]
    assert all(isinstance(strategy, RepairStrategy) for strategy in ALL)


@pytest.mark.parametrize("strategy", ALL, ids=lambda strategy: strategy.name)
def test_they_sign_their_repairs_and_resume_where_they_are_asked_to(strategy: RepairStrategy) -> None:
    given = failure(attribution=blame(), feedback="f(2) gave 5")
    offers = {step: strategy.propose(given, step) for step in (None, 0, 1)}
    for step, repair in offers.items():
        assert repair is None or (repair.strategy, repair.resume_from) == (strategy.name, step)
    assert (offers[None] is None) is (strategy.name == "resample")
    assert (offers[0] is None) is (strategy.name == "from_scratch")


@pytest.mark.parametrize("strategy", ALL, ids=lambda strategy: strategy.name)
def test_they_propose_nothing_at_a_step_that_is_not_there(strategy: RepairStrategy) -> None:
    assert strategy.propose(failure(attribution=blame(), feedback="f(2) gave 5"), 7) is None


def test_from_scratch_is_the_plain_retry() -> None:
    assert proposed(FromScratch(), failure(), None).is_plain


def test_resampling_says_nothing_and_names_the_agent() -> None:
    repair = proposed(Resample(), failure(), 0)
    assert (repair.target, repair.agent, repair.text) == (RepairTarget.NOTHING, "planner", "")


@pytest.mark.parametrize("step", [None, 1])
def test_feedback_in_the_task_is_for_everybody(step: int | None) -> None:
    repair = proposed(FeedbackInTask(), failure(feedback="f(2) gave 5"), step)
    assert (repair.target, repair.agent, repair.text) == (RepairTarget.TASK, None, TOLD)


@pytest.mark.parametrize(("step", "agent"), [(None, "solver"), (0, "planner"), (1, "solver")])
def test_feedback_in_a_message_is_for_one_agent(step: int | None, agent: str) -> None:
    repair = proposed(FeedbackInMessage(), failure(attribution=blame(), feedback="f(2) gave 5"), step)
    assert (repair.target, repair.agent, repair.text) == (RepairTarget.MESSAGE, agent, TOLD)


@pytest.mark.parametrize("feedback", [None, "", "  ", NOT_RIGHT])
@pytest.mark.parametrize("strategy", [FeedbackInTask(), FeedbackInMessage()], ids=lambda strategy: strategy.name)
def test_where_nothing_may_be_told_there_is_no_feedback(strategy: RepairStrategy, feedback: str | None) -> None:
    assert strategy.propose(failure(attribution=blame(), feedback=feedback), 1) is None


@pytest.mark.parametrize("strategy", [FeedbackInMessage(), WrittenGuidance(Model())])
def test_what_is_for_one_agent_needs_one(strategy: RepairStrategy) -> None:
    assert strategy.propose(failure(feedback="f(2) gave 5"), None) is None
    abstained = blame().model_copy(update={"abstained": True})
    assert strategy.propose(failure(attribution=abstained, feedback="f(2) gave 5"), None) is None


def test_feedback_of_several_lines_keeps_them_and_cannot_be_filled_in() -> None:
    repair = proposed(FeedbackInTask(), failure(feedback="f({'a': 1})\ngave {name}"), None)
    assert repair.text == (
        "An earlier attempt at this task failed:\nf(('a': 1))\ngave (name)\nDo not make the same mistake."
    )


def test_guidance_is_at_most_two_sentences_for_the_next_message() -> None:
    model = Model()
    tried = PastTrial(
        repair=Repair(strategy="guidance", target=RepairTarget.MESSAGE, agent="solver", text="Count on your fingers."),
        outcome=RunOutcome.FAILED,
    )
    secret = run(reference="4711", reason="check: expected 4711, got 42")
    diagnosis = blame(found("The sum is 42."), found("The sum", "it should be 4711"))
    repair = proposed(
        WrittenGuidance(model), failure(secret, diagnosis, feedback="The sum is too big", tried=(tried,)), 1
    )
    assert (repair.target, repair.agent) == (RepairTarget.MESSAGE, "solver")
    assert repair.text == "Add the units first. Then add the tens."
    for shown in (
        "What is 3 + 38?",
        "You are a solver.",
        "[0] planner: Add 3 and 38.",
        "«The sum is 42.»: It is wrong.",
    ):
        assert shown in model.shown
    assert "The sum is too big" in model.shown
    assert "Count on your fingers." in model.shown
    assert "4711" not in model.shown


@pytest.mark.parametrize(
    ("reply", "text", "usage"),
    [
        (SimpleNamespace(text="Do it.", usage=Usage(input_tokens=9, output_tokens=3)), "Do it.", (9, 3)),
        (SimpleNamespace(content="Do it.", usage={"prompt_tokens": 9, "completion_tokens": 3}), "Do it.", (9, 3)),
        (
            {"text": '<think>Well. Hm.</think>\n"Do it."', "usage": {"input_tokens": 1, "output_tokens": 0}},
            "Do it.",
            (1, 0),
        ),
        ("Do it.", "Do it.", None),
        ({"text": "Do it.", "usage": {"total_tokens": 9}}, "Do it.", None),
        ("```\nDo it in 1.5 h, e.g. now!\nOr not? Or so.\n```", "Do it in 1.5 h, e.g. now!", None),
    ],
)
def test_what_a_model_may_return(reply: Any, text: str, usage: tuple[int, int] | None) -> None:
    model = Model(reply)
    repair = proposed(WrittenGuidance(model), failure(attribution=blame()), None)
    assert repair.text.startswith(text)
    assert len(repair.text) <= 400
    if usage is None:  # the model does not say, so it is estimated: text is not free
        assert repair.usage.input_tokens == pytest.approx(len(model.shown) / 4, abs=2)
        said = reply if isinstance(reply, str) else reply["text"]
        assert repair.usage.output_tokens == pytest.approx(len(said) / 4, abs=2)
    else:
        assert (repair.usage.input_tokens, repair.usage.output_tokens) == usage


@pytest.mark.parametrize("reply", ["", " \n", "```", None, 3, SimpleNamespace(text=None)])
def test_a_model_that_writes_nothing_proposes_nothing(reply: Any) -> None:
    assert WrittenGuidance(Model(reply)).propose(failure(attribution=blame()), 1) is None

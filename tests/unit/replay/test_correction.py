"""Corrections as users write them, and what agents and models see of them."""

from __future__ import annotations

import pytest

from tracer_hooks.errors import ConfigError
from tracer_hooks.frameworks import ModelRequest, ToolRequest
from tracer_hooks.repair import Repair, RepairTarget
from tracer_hooks.replay import Correction, TapedRequest, TapedToolRequest, with_guidance, with_message
from tracer_hooks.telemetry import assistant_message, text_message

from .._known import known
from ._sums import Sums

FAULT = {1: "I get 11"}


def test_of_takes_a_text_a_mapping_and_itself() -> None:
    assert Correction.of("nine") == Correction(content="nine")
    assert Correction.of({"guidance": "Add again."}).guidance == "Add again."
    made = Correction(tool_calls=(TapedToolRequest(name="look", arguments={"x": 1}),))
    assert Correction.of(made) is made
    assert made.is_reply
    assert made.reply().tool_calls[0].id == "call_corrected_0"
    assert not Correction().is_reply


@pytest.mark.parametrize(
    ("target", "named"),
    [(RepairTarget.MESSAGE, "message"), (RepairTarget.INSTRUCTIONS, "instructions"), (RepairTarget.REPLY, "content")],
)
def test_of_takes_a_repair(target: RepairTarget, named: str) -> None:
    made = Correction.of(Repair(strategy="own", target=target, agent="adder", text="Add."))
    assert made == Correction.model_validate({named: "Add.", "source": "own"})
    assert not made.is_resample
    resample = Correction.of(Repair(strategy="own"))
    assert (resample, resample.is_resample) == (Correction(source="own"), True)


@pytest.mark.parametrize(
    ("correction", "place"),
    [(Correction(message="Be careful."), 1), (Correction(guidance="Be careful."), 0), (Correction(), None)],
    ids=["message", "guidance", "asked again"],
)
def test_words_reach_the_model_at_their_step_only_and_stay_out_of_the_record(
    correction: Correction, place: int | None
) -> None:
    team = Sums()
    trial = team.replay(FAULT).corrected(1, correction)
    assert trial.passed
    told = {name: [message["content"] for message in messages] for name, messages in team.asked}
    expected = {"doubler": "I get 5", "taker": "I get 10", "writer": "I get 9"}
    shown = {name: [f"You are the {name}.", said] for name, said in expected.items()}
    if place is not None:
        shown["doubler"][place] += "\n\nBe careful."
    assert told == shown
    assert "Be careful" not in trial.trajectory.model_dump_json()
    assert "Be careful" not in trial.tape.model_dump_json()


@pytest.mark.parametrize("wrong", [{"text": "nine"}, 9])
def test_anything_else_is_refused(wrong: object) -> None:
    with pytest.raises(ConfigError, match="expected the reply as text, or a mapping"):
        Correction.of(wrong)  # type: ignore[arg-type]


def test_a_given_reply_stands_at_the_step_and_all_after_it_is_live() -> None:
    team = Sums()
    trial = team.replay(FAULT).corrected(1, Correction(content="I get 21"))
    assert [step.content for step in trial.trajectory.steps] == [
        "I get 5",
        "I get 21",
        "I get 20",
        "The answer is 20 .",
    ]
    assert [name for name, _ in team.asked] == ["taker", "writer"]


def test_a_taped_request_is_known_by_agent_and_messages() -> None:
    tape = Sums().record().tape
    request = TapedRequest.at_step(tape, 2)
    messages = tuple(tape.messages_of(request.call))
    assert request.matches(ModelRequest(agent="taker", messages=messages, step=9))
    assert not request.matches(ModelRequest(agent="writer", messages=messages, step=2))
    assert not request.matches(ModelRequest(agent="taker", messages=messages[:1], step=2))
    assert not request.matches(ToolRequest(agent="taker", name="note", step=2))


def test_guidance_without_a_system_message_ends_the_last_message() -> None:
    request = ModelRequest(agent="a", messages=(text_message("user", "first"), text_message("user", "second")))
    changed = with_guidance(request, "Mind the sign.")
    assert changed.covert
    assert changed.messages[0] == request.messages[0]
    assert changed.messages[1] == text_message("user", "second\n\nMind the sign.")
    assert with_guidance(ModelRequest(agent="a"), "x") == ModelRequest(agent="a")


def test_a_message_is_added_for_whom_the_model_answers_else_to_the_instructions() -> None:
    system, user = text_message("system", "You add."), text_message("user", "2 3")
    both = with_message(ModelRequest(agent="a", messages=(system, user)), "Mind the sign.")
    alone = known(with_message(ModelRequest(agent="a", messages=(system, assistant_message("5"))), "Mind the sign."))
    assert known(both).messages == (system, text_message("user", "2 3\n\nMind the sign."))
    assert alone.messages[0] == text_message("system", "You add.\n\nMind the sign.")
    assert with_message(ModelRequest(agent="a", messages=(assistant_message("5"),)), "Mind the sign.") is None
